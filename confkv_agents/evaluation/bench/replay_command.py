"""`confkv-agent replay`: the options only; whatever is heavy is imported on use."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from confkv_agents.evaluation.bench.commands import Budget, Dtype, Fresh, Model, Policies, Threads

_POLICIES = "full,window,h2o,snapkv,confkv,confkv+recall"


def replay(
    run: Annotated[Path, typer.Argument(help="Folder of a run, a batch or one episode.")],
    policies: Policies = _POLICIES,
    budget: Budget = 512,
    model: Model = "embedded",
    out: Annotated[Path, typer.Option(help="Folder that result folders are made in.")] = Path("benchmarks"),
    limit: Annotated[int | None, typer.Option(help="Most episodes.")] = None,
    max_steps: Annotated[int | None, typer.Option(help="Most steps of each.", min=1)] = None,
    threads: Threads = None,
    dtype: Dtype = "auto",
    fresh: Fresh = False,
) -> None:
    """Put recorded episodes to every policy on identical inputs, and score the recorded actions.

    Any recorded episode will do, the oracle's too: the model only has to read, so policies can be compared on a model
    however weak. Continues where the same command was interrupted.
    """
    from confkv_agents.evaluation.bench.recorded import read_recorded

    episodes = read_recorded(run)

    from confkv_agents.evaluation.bench.progress import Reporter
    from confkv_agents.evaluation.bench.replay import ReplayBench
    from confkv_agents.evaluation.bench.suite import Common, run_bench
    from confkv_agents.paths import user_path

    common = Common(
        model=model,
        policies=policies,
        budget=budget,
        out=user_path(out),
        threads=threads,
        limit=limit,
        dtype=dtype,
        fresh=fresh,
    )
    run_bench(ReplayBench(common, episodes, max_steps), Reporter())
