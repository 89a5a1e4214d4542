"""`confkv-agent replay`: recorded episodes put to every policy on identical inputs, teacher-forced.

At each step the conversation that an agent would have had is read into the policy's cache, evictions active, and the
recorded reply is fed token by token as a model's own would be. So two policies differ in nothing but what their caches
kept, and a model too weak to finish a task still tells them apart.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import InitVar, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from confkv_agents.cache import CacheConfig, ConfKVCache
from confkv_agents.engine.encoding import PromptEncoder
from confkv_agents.engine.reading import again_if_unsure, read_prompt
from confkv_agents.engine.segments import segments_of
from confkv_agents.errors import PromptError
from confkv_agents.evaluation.agents import open_agent
from confkv_agents.evaluation.bench.decoding import step
from confkv_agents.evaluation.bench.policies import REFERENCE
from confkv_agents.evaluation.bench.recorded import AGENT, Asked, RecordedEpisode, actions_equal, conversation_of
from confkv_agents.evaluation.bench.statistics import bootstrap, wilson
from confkv_agents.evaluation.bench.suite import Common, Item, Row, Setup
from confkv_agents.evaluation.files import sha256_of

if TYPE_CHECKING:
    from rich.table import Table

    from confkv_agents.engine.loading import LoadedModel

GREEDY_TOKENS = 32
_SOURCES = ("replay.py", "recorded.py", "teacher.py", "decoding.py")


@dataclass
class ReplayBench:
    """Replays episodes under every policy.

    Args:
        common: What every benchmark is told; `limit` is the most episodes.
        episodes: What to replay.
        max_steps: Most steps of each, or None.
    """

    common: Common
    episodes: InitVar[Sequence[RecordedEpisode]]
    max_steps: int | None = None
    name = "replay"
    reads_texts = False

    def __post_init__(self, episodes: Sequence[RecordedEpisode]) -> None:
        self._episodes = list(episodes)
        self._reference: tuple[str, list[_Told]] = ("", [])

    def settings(self) -> dict[str, Any]:
        """Return what figures depend on: agent, code, steps."""
        agent = open_agent(AGENT)
        folder = Path(__file__).parent
        return {
            "agent": {agent.name: sha256_of(agent.path)[:16]},
            "max_steps": self.max_steps,
            "code": {name: sha256_of(folder / name)[:16] for name in _SOURCES},
        }

    def items(self, setup: Setup) -> list[Item]:
        """Return every episode under every policy; one episode's policies follow each other."""
        chosen = self._episodes[: self.common.limit]
        return [
            Item(f"{episode.name}@{episode.sha256[:8]} {label}", {"place": place, "policy": label})
            for place, episode in enumerate(chosen)
            for label in setup.configs
        ]

    def measure(self, setup: Setup, item: Item) -> Row:
        """Replay one episode under one policy, and full KV's first if it is not known yet."""
        episode, label = self._episodes[item.what["place"]], item.what["policy"]
        if self._reference[0] != episode.sha256:  # of the latest episode only: distributions take room
            config = setup.configs.get(REFERENCE, CacheConfig(policy=REFERENCE))
            self._reference = (episode.sha256, self._replay(setup, episode, config))
        reference = self._reference[1]
        own = reference if label == REFERENCE else self._replay(setup, episode, setup.configs[label])
        return {
            "episode": episode.name,
            "policy": label,
            "steps": [mine.figures(full) for mine, full in zip(own, reference, strict=True)],
            "left_out": min(len(episode.steps), self.max_steps or len(episode.steps)) - len(own),
        }

    def _replay(self, setup: Setup, episode: RecordedEpisode, config: CacheConfig) -> list[_Told]:
        return replay(setup.loaded, conversation_of(episode)[: self.max_steps], config)

    def summarize(self, setup: Setup, rows: Sequence[Row]) -> dict[str, Any]:
        """Return figures by policy, and by policy and step."""
        labels = [label for label in setup.configs if any(row["policy"] == label for row in rows)]
        return {
            "episodes": len({row["episode"] for row in rows}),
            "left_out": sum(row["left_out"] for row in rows if row["policy"] == labels[0]),
            "policies": {label: summed([row for row in rows if row["policy"] == label]) for label in labels},
        }

    def tables(self, summary: Mapping[str, Any]) -> list[Table]:
        """Return one table."""
        from confkv_agents.evaluation.bench.replay_views import replay_table

        return [replay_table(summary)]

    def plot(self, summary: Mapping[str, Any], path: Path) -> None:
        """Draw bytes and likelihood over the steps."""
        from confkv_agents.evaluation.bench.replay_views import replay_plot

        replay_plot(summary, path)


@dataclass
class _Told:
    """What a policy had to say of one step.

    Attributes:
        index: Number of the step.
        action: As recorded.
        logprobs: `[n, V]` at each token of the action, float32, on the CPU.
        tokens: `[n]` ids of the action.
        greedy: What the model would have written in place of the action.
    """

    index: int
    action: str
    logprobs: torch.Tensor
    tokens: torch.Tensor
    greedy: str
    tokens_read: int
    kv_bytes: int
    peak_kv_bytes: int
    full_kv_bytes: int
    read_s: float
    token_s: float

    def figures(self, full: _Told) -> dict[str, Any]:
        """Return JSON-safe figures, compared with full KV's of the same step."""
        own = self.logprobs.gather(1, self.tokens[:, None]).squeeze(1)
        divergence = (full.logprobs.exp() * (full.logprobs - self.logprobs)).sum(-1).clamp_min(0)
        return {
            "step": self.index,
            "tokens": len(self.tokens),
            "nats": -float(own.sum()),
            "recorded": self.action,
            "greedy": self.greedy,
            "agrees": actions_equal(self.greedy, self.action),
            "agrees_with_full": self.greedy == full.greedy,
            "token_agreement": float((self.logprobs.argmax(-1) == self.tokens).float().mean()),
            "divergence": float(divergence.mean()),
            "tokens_read": self.tokens_read,
            "kv_bytes": self.kv_bytes,
            "peak_kv_bytes": self.peak_kv_bytes,
            "full_kv_bytes": self.full_kv_bytes,
            "read_s": self.read_s,
            "token_s": self.token_s,
        }


def replay(loaded: LoadedModel, asked: Sequence[Asked], config: CacheConfig) -> list[_Told]:
    """Put an episode to one policy; stops before a step that the model's positions do not hold.

    Args:
        loaded: The model.
        asked: The episode's steps as questions.
        config: Of the cache.

    Raises:
        PromptError: The model's chat template changes earlier turns when one is added.
    """
    encoder = PromptEncoder(loaded)
    cache = ConfKVCache(loaded.model.config, config)
    read: list[int] = []
    told = []
    for question in asked:
        prompt = encoder.encode(question.turns, {})
        lead, action = encoder.text_ids(question.lead), encoder.text_ids(question.step.action)
        if len(prompt.ids) + len(lead) + len(action) + GREEDY_TOKENS > loaded.position_limit:
            break
        if prompt.ids[: len(read)] != read:
            raise PromptError(
                f"the chat template of model {loaded.name!r} changes earlier turns when one is added, so an episode "
                "cannot be replayed turn by turn"
            )
        told.append(_put(loaded, cache, encoder, prompt, read, question, lead, action))
        text = question.lead + question.step.action
        encoder.remember(question.turns, text, [*lead, *action], prompt)
        read = [*prompt.ids, *lead, *action]
    return told


def _put(
    loaded: LoadedModel,
    cache: ConfKVCache,
    encoder: PromptEncoder,
    prompt: Any,
    read: list[int],
    question: Asked,
    lead: list[int],
    action: list[int],
) -> _Told:
    """Read what is new of a prompt, then the recorded reply, token by token."""
    if cache.segments is not None:
        known = cache.segments.all[-1].start if cache.segments.all else -1
        for segment in segments_of(prompt, cache.config.budget):
            if segment.start >= max(len(read), known):
                cache.segment(segment.kind, start=segment.start, grid=segment.grid)
    fresh = torch.tensor([prompt.ids[len(read) :]], device=loaded.device)
    began = time.perf_counter()
    logits = read_prompt(loaded.model, cache, fresh)
    cache.compact()
    read_s = time.perf_counter() - began
    last = fresh[:, -1:]
    for token in lead:
        logits, last = _observed(loaded, cache, last, logits), torch.tensor([[token]], device=loaded.device)
        logits = step(loaded.model, cache, last)
    greedy = _greedy(loaded, cache.fork(), last, logits)
    logprobs = []
    began = time.perf_counter()
    for token in action:
        logits = _observed(loaded, cache, last, logits)
        logprobs.append(logits[0].float().log_softmax(-1).cpu())
        last = torch.tensor([[token]], device=loaded.device)
        logits = step(loaded.model, cache, last)
    token_s = (time.perf_counter() - began) / max(1, len(action))
    cache.compact()  # as at the end of every answer
    usage = cache.usage()
    return _Told(
        index=question.step.index,
        action=question.step.action,
        logprobs=torch.stack(logprobs),
        tokens=torch.tensor(action),
        greedy=greedy,
        tokens_read=fresh.shape[1],
        kv_bytes=int(usage.kv_bytes),
        peak_kv_bytes=int(usage.peak_kv_bytes),
        full_kv_bytes=int(usage.full_kv_bytes),
        read_s=read_s,
        token_s=token_s,
    )


def _observed(loaded: LoadedModel, cache: ConfKVCache, last: torch.Tensor, logits: torch.Tensor) -> torch.Tensor:
    """Let the cache see a step's raw logits `[1, V]`; returns them, or those of the step computed again."""
    logits = again_if_unsure(loaded.model, cache, last, logits)
    cache.observe(logits)
    return logits


def _greedy(loaded: LoadedModel, cache: ConfKVCache, last: torch.Tensor, logits: torch.Tensor) -> str:
    """The line that the model would write now."""
    ids: list[int] = []
    for _ in range(GREEDY_TOKENS):
        logits = _observed(loaded, cache, last, logits)
        token = int(logits.argmax(-1))
        if token in loaded.eos_ids:
            break
        ids.append(token)
        text = str(loaded.tokenizer.decode(ids))
        if "\n" in text.lstrip():
            break
        last = torch.tensor([[token]], device=loaded.device)
        logits = step(loaded.model, cache, last)
    cache.reset()
    lines = str(loaded.tokenizer.decode(ids)).strip().splitlines()
    return lines[0].strip() if lines else ""


def summed(rows: Sequence[Row]) -> dict[str, Any]:
    """Sum up one policy's episodes; intervals are over steps, 95 %."""
    steps = [step for row in rows for step in row["steps"]]
    sums = np.array([[-each["nats"], each["tokens"]] for each in steps], dtype=np.float64).reshape(-1, 2)
    spread = np.array([[each["divergence"], 1.0] for each in steps], dtype=np.float64).reshape(-1, 2)
    count = len(steps)
    agreed, with_full = (sum(each[key] for each in steps) for key in ("agrees", "agrees_with_full"))
    numbers = sorted({each["step"] for each in steps})
    by_step = {number: [each for each in steps if each["step"] == number] for number in numbers}
    return {
        "steps": count,
        "log_likelihood": _share(sums) if count else None,
        "log_likelihood_interval": bootstrap(sums, _share),
        "agreed": agreed,
        "agreement": agreed / count if count else None,
        "agreement_interval": wilson(agreed, count),
        "agreed_with_full": with_full,
        "agreement_with_full": with_full / count if count else None,
        "agreement_with_full_interval": wilson(with_full, count),
        "token_agreement": _mean(steps, "token_agreement"),
        "divergence": _mean(steps, "divergence"),
        "divergence_interval": bootstrap(spread, _share),
        "kv_bytes": _mean(steps, "kv_bytes"),
        "peak_kv_bytes": max((each["peak_kv_bytes"] for each in steps), default=None),
        "full_kv_bytes": _mean(steps, "full_kv_bytes"),
        "read_s_per_step": _mean(steps, "read_s"),
        "ms_per_token": 1000 * (_mean(steps, "token_s") or 0.0) if count else None,
        "by_step": {
            str(number): {
                "kv_bytes": _mean(each, "kv_bytes"),
                "log_likelihood": -sum(one["nats"] for one in each) / sum(one["tokens"] for one in each),
                "divergence": _mean(each, "divergence"),
                "seconds": _mean(each, "read_s"),
            }
            for number, each in by_step.items()
        },
    }


def _share(table: Any) -> float:
    return float(table[:, 0].sum()) / float(table[:, 1].sum())


def _mean(rows: Sequence[Mapping[str, Any]], key: str) -> float | None:
    return sum(row[key] for row in rows) / len(rows) if rows else None
