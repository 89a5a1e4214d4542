"""A long conversation, turn by turn: what is read again, how long an answer takes, what is held; and several at once.

One item is one conversation, which all contenders have in turns: each speaks once about a page before any sees the
next one, so that a busy machine slows all alike. Another kind of item has some conversations one after the other, then
the same ones at once.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

import confkv_agents.engine
from confkv_agents.engine import Engine, Request
from confkv_agents.engine.conversation import Turn
from confkv_agents.engine.request import Result
from confkv_agents.errors import ConfigError
from confkv_agents.evaluation.bench import conversations
from confkv_agents.evaluation.bench.conversations import SYSTEM, Pages, Say, reading_anew, through_engine, with_new
from confkv_agents.evaluation.bench.needles import Haystack
from confkv_agents.evaluation.bench.statistics import median
from confkv_agents.evaluation.bench.suite import Common, Item, Row, Setup, check_context
from confkv_agents.evaluation.files import sha256_of

if TYPE_CHECKING:
    from rich.table import Table

    from confkv_agents.cache import CacheConfig

STOCK = "stock"
_MOST_POLICIES = 7  # an engine keeps eight sessions
_SOURCES = (Path(confkv_agents.engine.__file__).parent, Path(conversations.__file__), Path(__file__))
_SERIES = ("new", "read", "reused", "probed", "first_s", "tokens_per_s", "latency_s", "kv_bytes", "peak_kv_bytes")


@dataclass
class SessionsBench:
    """Has a conversation under every policy, and with the stock cache that reads all again at each turn.

    Args:
        common: What every benchmark is told; `limit` is the most rounds.
        turns: Turns of a conversation.
        observation: Tokens of the page shown at each turn.
        reply: Most tokens of an answer.
        rounds: Conversations, each about other pages.
        parallel: Conversations had at once; 0 leaves that part out.
        parallel_reply: Most tokens of their answers.
    """

    common: Common
    turns: int = 20
    observation: int = 300
    reply: int = 24
    rounds: int = 1
    parallel: int = 4
    parallel_reply: int = 64
    name = "sessions"

    def __post_init__(self) -> None:
        if self.turns < 4:
            raise ConfigError(f"--turns is {self.turns}; late turns are compared with early ones, so 4 are needed")
        if min(self.reply, self.parallel_reply) < 2 or self.rounds < 1:
            raise ConfigError("--reply and --parallel-reply must be at least 2, --rounds at least 1")
        if self.parallel < 0 or self.parallel == 1:
            raise ConfigError(f"--parallel is {self.parallel}; it must be 0, or at least 2")

    def settings(self) -> dict[str, Any]:
        """Return what the figures depend on: the contenders too, since they share the machine in turns."""
        return {
            "turns": self.turns,
            "observation": self.observation,
            "reply": self.reply,
            "parallel": [self.parallel, self.parallel_reply],
            "policies": self.common.policies,
            "threads": torch.get_num_threads(),
            "sources": [sha256_of(path)[:16] for path in _SOURCES],
        }

    def items(self, setup: Setup) -> list[Item]:
        """Return every round, and every policy's conversations at once in every round."""
        configs = setup.configs
        if STOCK in configs:
            raise ConfigError(f"--policies: {STOCK!r} is the name of the stock cache, which always takes part")
        if len(configs) > _MOST_POLICIES:
            raise ConfigError(
                f"--policies names {len(configs)}; at most {_MOST_POLICIES} conversations are kept at once"
            )
        if len(set(configs.values())) < len(configs):
            raise ConfigError(
                "--policies names the same cache twice, which would share its conversation; leave one out"
            )
        self._pictures = setup.loaded.takes_pictures
        self._haystack = Haystack(setup.loaded.tokenizer, [text.content for text in setup.texts])
        with Engine(lambda: setup.loaded, "bench") as engine:
            shown = [self._pages(setup, 0).turn(number) for number in (1, 2)]
            first = engine.count_tokens((Turn("system", (SYSTEM,)), shown[0]))
            second = engine.count_tokens((Turn("system", (SYSTEM,)), shown[0], Turn("assistant", ("x",)), shown[1]))
        check_context(setup, first + (self.turns - 1) * (second - first + self.reply) + self.reply)
        rounds = min(self.rounds, self.common.limit or self.rounds)
        return [
            *(Item(f"round {number + 1}", {"round": number}) for number in range(rounds)),
            *(
                Item(f"{self.parallel} at once, {label}, round {number + 1}", {"round": number, "policy": label})
                for number in range(rounds if self.parallel else 0)
                for label in configs
            ),
        ]

    def measure(self, setup: Setup, item: Item) -> Row:
        """Have one conversation under all contenders, or some at once under one policy."""
        number = item.what["round"]
        if "policy" in item.what:
            config = setup.configs[item.what["policy"]]
            openings = [self._opening(setup, f"{number} {each}") for each in range(self.parallel)]
            return {**item.what, **at_once(setup, config, openings, self.parallel_reply, number)}
        with Engine(lambda: setup.loaded, "bench") as engine:
            says: dict[str, Say] = {STOCK: reading_anew(engine, self.reply)}
            says |= {
                label: through_engine(engine, config, label, self.reply) for label, config in setup.configs.items()
            }
            for say in says.values():  # what a first call costs is not measured
                say((Turn("user", ("Hello.",)),))
            engine.drop_session()
            rows = self._converse(setup, says, self._pages(setup, number), number)
        return {**item.what, "contenders": {label: with_new(own) for label, own in rows.items()}}

    def _converse(self, setup: Setup, says: Mapping[str, Say], pages: Pages, number: int) -> dict[str, list[Row]]:
        system = Turn("system", (SYSTEM,))
        talks: dict[str, tuple[Turn, ...]] = dict.fromkeys(says, (system,))
        rows: dict[str, list[Row]] = {label: [] for label in says}
        labels = list(says)
        for turn in range(1, self.turns + 1):
            page = pages.turn(turn)
            first = (turn + number) % len(labels)
            for label in labels[first:] + labels[:first]:
                setup.part(f"round {number + 1}, turn {turn}, {label}")
                answer, row = says[label]((*talks[label], page))
                talks[label] = (*talks[label], page, Turn("assistant", (answer,)))
                rows[label].append({"turn": turn, **row})
        return rows

    def _pages(self, setup: Setup, number: int) -> Pages:
        return Pages(self._haystack, self.observation, self._pictures, f"{setup.common.seed} {number}")

    def _opening(self, setup: Setup, seed: str) -> tuple[Turn, ...]:
        pages = Pages(self._haystack, self.observation, self._pictures, f"{setup.common.seed} at once {seed}")
        return Turn("system", (SYSTEM,)), pages.turn(1)

    def summarize(self, setup: Setup, rows: Sequence[Row]) -> dict[str, Any]:
        """Return figures by contender: medians by turn, and late turns against early ones."""
        talks = [row["contenders"] for row in rows if "contenders" in row]
        together = [row for row in rows if "policy" in row]
        early, late = compared_turns(self.turns)
        found: dict[str, Any] = {
            "turns": self.turns,
            "observation": self.observation,
            "reply": self.reply,
            "pictures": self._pictures,
            "rounds": len(talks),
            "budget_bytes": setup.equal_bytes,
            "early": early,
            "late": late,
            "contenders": {},
            "at_once": self.parallel,
            "parallel": {},
        }
        if talks:
            labels = (STOCK, *setup.configs)
            found["contenders"] = {
                label: contender([talk[label] for talk in talks], early, late) for label in labels if label in talks[0]
            }
        for label in setup.configs:
            own = [row for row in together if row["policy"] == label]
            if own:
                found["parallel"][label] = parallel_summary(own)
        return found

    def tables(self, summary: Mapping[str, Any]) -> list[Table]:
        """Return a table of ratios, tables by turn, and one of conversations at once."""
        from confkv_agents.evaluation.bench.sessions_views import sessions_tables

        return sessions_tables(summary)

    def plot(self, summary: Mapping[str, Any], path: Path) -> None:
        """Draw tokens read, time to the first token, speed and bytes over the turns."""
        from confkv_agents.evaluation.bench.sessions_views import sessions_plot

        sessions_plot(summary, path)


def at_once(setup: Setup, config: CacheConfig, openings: Sequence[tuple[Turn, ...]], reply: int, number: int) -> Row:
    """Answer some conversations one after the other and at once, with an engine that knows none of them.

    Args:
        setup: What is measured.
        config: How caches spend memory.
        openings: The conversations.
        reply: Most tokens of an answer.
        number: Of the round; an odd one begins with all at once.

    Returns:
        Wall clock and CPU seconds of both ways, tokens generated, and how many answers are equal.
    """
    requests = [Request(turns, config, max_tokens=reply) for turns in openings]
    answers: dict[str, list[Result]] = {}
    times: Row = {}
    with Engine(lambda: setup.loaded, "bench", max_active=max(4, len(requests))) as engine:
        engine.run(Request((Turn("user", ("Hello.",)),), config, max_tokens=2))
        for way in ("serial", "together")[:: -1 if number % 2 else 1]:
            engine.drop_session()
            began, cpu = time.perf_counter(), time.process_time()
            answers[way] = _all_at_once(engine, requests) if way == "together" else [*map(engine.run, requests)]
            times[f"{way}_s"] = time.perf_counter() - began
            times[f"{way}_cpu_s"] = time.process_time() - cpu
            times[f"{way}_tokens"] = sum(result.tokens_generated for result in answers[way])
    pairs = zip(answers["serial"], answers["together"], strict=True)
    return {**times, "answers": len(requests), "equal": sum(one.token_ids == two.token_ids for one, two in pairs)}


def _all_at_once(engine: Engine, requests: Sequence[Request]) -> list[Result]:
    """Ask from a thread each, and wait for all; the first error is raised."""
    found: dict[int, Result] = {}
    errors: list[BaseException] = []

    def ask(place: int, request: Request) -> None:
        try:
            found[place] = engine.run(request)
        except BaseException as error:  # noqa: BLE001 - raised where the benchmark waits
            errors.append(error)

    threads = [threading.Thread(target=ask, args=pair, daemon=True) for pair in enumerate(requests)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]
    return [found[place] for place in range(len(requests))]


def compared_turns(turns: int) -> tuple[list[int], list[int]]:
    """Early turns, around a quarter of the way but without the first, and the last three: 4 to 6 and 18 to 20 of 20."""
    middle = max(3, round(turns / 4))
    return [middle - 1, middle, middle + 1], [turns - 2, turns - 1, turns]


def contender(talks: Sequence[Sequence[Row]], early: Sequence[int], late: Sequence[int]) -> dict[str, Any]:
    """Sum up one contender's conversations.

    Args:
        talks: By conversation, the rows of its turns in order.
        early: Turns that the late ones are compared with.
        late: Those.
    """
    every = [row for talk in talks for row in talk]

    def over(turns: Sequence[int], figure: str) -> float | None:
        values = [row[figure] for row in every if row["turn"] in turns and row[figure] is not None]
        return median(values) if values else None

    def growth(figure: str) -> float | None:
        before, after = over(early, figure), over(late, figure)
        return after / before if after and before else None

    new, read = sum(row["new"] for row in every), sum(row["read"] for row in every)
    series: dict[str, list[float | None]] = {}
    for figure in _SERIES:
        values = [[row[figure] for row in rows if row[figure] is not None] for rows in zip(*talks, strict=True)]
        series[figure] = [median(each) if each else None for each in values]
    return {
        "tokens_read": read,
        "tokens_new": new,
        "tokens_probed": sum(row["probed"] for row in every),
        "tokens_generated": sum(row["generated"] for row in every),
        "read_ratio": read / new,
        "latency_ratio": growth("latency_s"),
        "cpu_ratio": growth("cpu_latency_s"),
        "early_latency_s": over(early, "latency_s"),
        "late_latency_s": over(late, "latency_s"),
        "late_first_s": over(late, "first_s"),
        "late_tokens_per_s": over(late, "tokens_per_s"),
        "last_kv_bytes": max(talk[-1]["kv_bytes"] for talk in talks),
        "peak_kv_bytes": max(row["peak_kv_bytes"] for row in every),
        "series": series,
    }


def parallel_summary(rows: Sequence[Row]) -> dict[str, Any]:
    """Sum up conversations at once: tokens per second against one after the other, and equal answers."""

    def speedup(clock: str) -> float:
        return median(
            [
                (row["together_tokens"] / row[f"together_{clock}"]) / (row["serial_tokens"] / row[f"serial_{clock}"])
                for row in rows
            ]
        )

    return {
        "throughput_ratio": speedup("s"),
        "cpu_ratio": speedup("cpu_s"),
        "serial_tokens_per_s": median([row["serial_tokens"] / row["serial_s"] for row in rows]),
        "together_tokens_per_s": median([row["together_tokens"] / row["together_s"] for row in rows]),
        "answers": sum(row["answers"] for row in rows),
        "equal": sum(row["equal"] for row in rows),
    }
