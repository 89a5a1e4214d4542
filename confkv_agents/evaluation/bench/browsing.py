"""The environment measured: time of a step per site, and whether hundreds of episodes leave anything behind.

Scripted solutions are played one after the other in one browser, as an evaluation does. A step's time is that of
acting, waiting until the page rests, and observing; the agent's own time is not in it. Memory is compared between
episodes of the same tasks, after each was played once: until then, sites fill their caches of pages and pictures.
"""

from __future__ import annotations

import itertools
import json
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psutil

from confkv_agents.errors import ConfigError

if TYPE_CHECKING:
    from confkv_agents.evaluation.records import StepRecord
    from confkv_agents.web.tasks import Task

WINDOW = 50
"""Episodes at the beginning and at the end whose memory is compared."""
DISTINCT = 25
"""Tasks that are played in turn; `WINDOW` is a multiple of it, so that both ends are the same tasks."""
FLAT = 0.05
"""How much more the last may hold than the first."""


@dataclass(frozen=True)
class Played:
    """One episode.

    Attributes:
        task: Its key.
        site: Its sites, joined by `+`.
        success: What the checks said; None after an infra error.
        stop_reason: Why it ended.
        step_s: Seconds of each step.
        begin_s: Seconds until the first page was observed, reset included.
        memory: Bytes of this process and everything below it, shared pages divided (PSS where the system tells it).
    """

    task: str
    site: str
    success: bool | None
    stop_reason: str
    step_s: list[float]
    begin_s: float
    memory: int


def spread(tasks: Sequence[Task], most: int = DISTINCT) -> list[Task]:
    """At most so many of the tasks that have a script, taken evenly from all.

    Raises:
        ConfigError: No task has a script.
    """
    scripted = [task for task in tasks if task.oracle]
    if not scripted:
        raise ConfigError("none of the tasks has a scripted solution (x_confkv.oracle) to play")
    count = min(most, len(scripted))
    return [scripted[index * len(scripted) // count] for index in range(count)]


def play(
    tasks: Sequence[Task], episodes: int, full: bool, told: Callable[[int, Played], None] = lambda *_: None
) -> tuple[list[Played], int]:
    """Play scripted solutions in one browser.

    Args:
        tasks: With scripts; played in turn, again and again.
        episodes: How many.
        full: Take screenshots, draw marks and cut pictures, as for a model that sees.
        told: Called after each episode.

    Returns:
        The episodes, and the number of processes left after everything was closed.

    Raises:
        ConfKVError: The browser or a site does not start.
    """
    from confkv_agents.evaluation.agents import load_agent
    from confkv_agents.evaluation.episode import run_episode
    from confkv_agents.web.browser import Browser
    from confkv_agents.web.env import WebEnv
    from confkv_agents.web.observation import ObservationConfig
    from confkv_agents.web.sites import SiteSet

    names = sorted({name for task in tasks for name in task.sites})
    shown = ObservationConfig() if full else ObservationConfig(marks=False, pictures=0, screenshots=False)
    me = psutil.Process()
    before = {child.pid for child in me.children(recursive=True)}
    found: list[Played] = []
    with Browser() as browser, SiteSet.start(names) as sites, WebEnv(browser, sites, observation=shown) as env:
        for number, task in enumerate(itertools.islice(itertools.cycle(tasks), episodes), start=1):
            steps: list[float] = []
            began = time.monotonic()
            first: list[float] = []

            def phase(_: int, name: str, began: float = began, first: list[float] = first) -> None:
                if name == "model" and not first:
                    first.append(time.monotonic() - began)

            def step(record: StepRecord, steps: list[float] = steps) -> None:
                steps.append(record.seconds["environment"])

            result = run_episode(env, load_agent("oracle"), task, on_step=step, on_phase=phase)
            memory = sum(_held(process) for process in [me, *me.children(recursive=True)])
            site = "+".join(sorted(set(task.sites)))
            begin = first[0] if first else time.monotonic() - began
            found.append(Played(task.key, site, result.success, result.stop_reason, steps, begin, memory))
            told(number, found[-1])
    left = [child for child in me.children(recursive=True) if child.pid not in before and _is_live(child)]
    return found, len(left)


def summarize(episodes: Sequence[Played], left: int, warm_up: int = 0) -> dict[str, Any]:
    """What the episodes come to.

    Args:
        episodes: In the order played.
        left: Processes that were left.
        warm_up: How many of the first count for everything but memory.

    Returns:
        `sites`: per site the number of steps, median and 90th percentile of a step and median of a beginning, in ms;
        `succeeded`, `infra_errors`, `left`; `memory`: mean bytes of the first and the last `WINDOW` episodes, their
        ratio and whether it is flat; None where there are fewer than twice as many.
    """
    sites = {}
    for site in sorted({each.site for each in episodes}):
        steps = sorted(second for each in episodes if each.site == site for second in each.step_s)
        begins = [each.begin_s for each in episodes if each.site == site]
        sites[site] = {
            "steps": len(steps),
            "step_ms": 1000 * statistics.median(steps) if steps else None,
            "step_p90_ms": 1000 * steps[min(len(steps) - 1, int(0.9 * len(steps)))] if steps else None,
            "begin_ms": 1000 * statistics.median(begins),
        }
    memory = None
    held = [each.memory for each in episodes[warm_up:]]
    if len(held) >= 2 * WINDOW:
        first, last = statistics.fmean(held[:WINDOW]), statistics.fmean(held[-WINDOW:])
        memory = {"first": first, "last": last, "ratio": last / first, "flat": last <= (1 + FLAT) * first}
    return {
        "episodes": len(episodes),
        "succeeded": sum(each.success is True for each in episodes),
        "infra_errors": sum(each.stop_reason == "infra_error" for each in episodes),
        "left": left,
        "sites": sites,
        "memory": memory,
    }


def write(folder: Path, episodes: Sequence[Played], summary: dict[str, Any]) -> None:
    """Keep one line per episode and the summary."""
    folder.mkdir(parents=True, exist_ok=True)
    lines = "".join(json.dumps(asdict(each)) + "\n" for each in episodes)
    (folder / "episodes.jsonl").write_text(lines, "utf-8")
    (folder / "result.json").write_text(json.dumps(summary, indent=2) + "\n", "utf-8")


def _held(process: psutil.Process) -> int:
    try:
        full = process.memory_full_info()
        return int(getattr(full, "pss", 0) or full.uss)
    except psutil.Error:  # it ended meanwhile
        return 0


def _is_live(process: psutil.Process) -> bool:
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.Error:
        return False
