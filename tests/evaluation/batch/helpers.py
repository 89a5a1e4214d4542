"""A batch without a browser or a model."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from confkv_agents.cache import CacheConfig
from confkv_agents.evaluation.batch.backends import Backend, LocalBackend
from confkv_agents.evaluation.batch.callbacks import BatchCallback, BatchInfo
from confkv_agents.evaluation.batch.options import Unit
from confkv_agents.evaluation.batch.results import Results
from confkv_agents.evaluation.batch.running import conduct, finished_rows
from confkv_agents.evaluation.batch.store import BatchStore
from tests.evaluation.fakes import FakeAgent, FakeCheck, FakeEnv, FakeTask

POLICIES: dict[str, Any] = {"full": CacheConfig(policy="full"), "confkv": CacheConfig(policy="confkv", budget=512)}
TASKS = (
    FakeTask("lamp", sha256="1" * 64, visual_difficulty="hard", oracle=({},) * 3),
    FakeTask("order", sha256="2" * 64, sites=("shop", "forum"), oracle=({},) * 12),
)
SCRIPT: list[str | BaseException] = ["click [4]", "click [4]", "stop [$34]"]


@dataclass
class FakeStation:
    """Counts what is played."""

    played: list[str] = field(default_factory=list)
    make_env: Callable[[], FakeEnv] = FakeEnv
    script: Sequence[str | BaseException] = field(default_factory=lambda: list(SCRIPT))
    closed: bool = False

    def __post_init__(self) -> None:
        self.env = self.make_env()

    def agent(self, policy: str) -> FakeAgent:
        self.played.append(policy)
        return FakeAgent(list(self.script))

    def close(self) -> None:
        self.closed = True


def units(tasks: Sequence[FakeTask] = TASKS, seeds: Sequence[int] = (0, 1)) -> list[Unit]:
    return [Unit(task, seed, policy) for task in tasks for seed in seeds for policy in POLICIES]  # type: ignore[arg-type]


def store_in(out: Path, **identity: Any) -> BatchStore:
    return BatchStore(
        out,
        identity={"agent": "fake", "model": "tiny", "budget": 512, **identity},
        policies=POLICIES,
        configure=lambda label: {"agent": "fake", "model": "tiny", "policy": label, "budget": 512},
    )


def batch(
    out: Path,
    station: Callable[[], Any] = FakeStation,
    callbacks: Sequence[BatchCallback] = (),
    asked: Sequence[Unit] | None = None,
    backend: Backend | None = None,
    **how: Any,
) -> Results:
    """Play what the set in this folder lacks, as `run_batch` does."""
    asked = units() if asked is None else asked
    with store_in(out) as store:
        before = finished_rows(store)
        missing = [unit for unit in asked if unit.key not in before]
        info = BatchInfo(
            directory=store.directory,
            policies=list(POLICIES),
            total=len(asked),
            rows=[before[unit.key] for unit in asked if unit.key in before],
            configuration=store.identity,
        )
        return conduct(asked, missing, store, lambda: backend or LocalBackend(station), info, callbacks, **how)


def failing_env() -> FakeEnv:
    return FakeEnv(checks=[FakeCheck("answer", "$34", "$12", ok=False, why="another price")])
