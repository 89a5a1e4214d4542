"""`confkv-agent replay`: the options only; whatever is heavy is imported on use."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

from confkv_agents.errors import ConfigError
from confkv_agents.evaluation.bench.commands import Budget, Dtype, Fresh, Model, Policies, Threads

if TYPE_CHECKING:
    from confkv_agents.evaluation.bench.retelling import Scored

_POLICIES = "full,window,h2o,snapkv,confkv,confkv+recall"


def replay(
    run: Annotated[
        Path,
        typer.Argument(help="Folder of a run, a batch or one episode; or a suite file: its tasks are recorded first."),
    ],
    policies: Policies = _POLICIES,
    budget: Budget = 512,
    model: Model = "embedded",
    agent: Annotated[
        str | None,
        typer.Option(help="Whose conversations are held. Default: the agent that played, or pages were recorded for."),
    ] = None,
    pictures: Annotated[
        str | None, typer.Option(help="What a model that sees is shown; see run. Default: as in the run.")
    ] = None,
    scored: Annotated[
        str | None,
        typer.Option(help="What of a reply is scored: action, or reply. Default: what suits the agent."),
    ] = None,
    out: Annotated[Path, typer.Option(help="Folder that result folders are made in.")] = Path("benchmarks"),
    limit: Annotated[int | None, typer.Option(help="Most episodes.")] = None,
    max_steps: Annotated[int | None, typer.Option(help="Most steps of each.", min=1)] = None,
    threads: Threads = None,
    dtype: Dtype = "auto",
    fresh: Fresh = False,
) -> None:
    """Put recorded episodes to every policy on identical inputs, and score the recorded actions.

    Any recorded episode will do, the oracle's too: the model only has to read, so policies can be compared on a model
    however weak. Of a suite file, the oracle plays the tasks with pages as the agent and the model would be shown them.
    Continues where the same command was interrupted.
    """
    from confkv_agents.evaluation.bench.policies import parse_policies
    from confkv_agents.evaluation.bench.progress import Reporter
    from confkv_agents.evaluation.bench.recorded import read_recorded
    from confkv_agents.evaluation.bench.replay import ReplayBench
    from confkv_agents.evaluation.bench.suite import Common, run_bench
    from confkv_agents.paths import user_path

    if scored not in (None, "action", "reply"):
        raise ConfigError(f"--scored {scored!r}: write action or reply")
    parse_policies(policies, budget)  # before anything is recorded
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
    episodes = read_recorded(_record(run, agent, model, out) if run.suffix == ".toml" else run)
    bench = ReplayBench(common, episodes, max_steps, agent, pictures, cast("Scored | None", scored))
    run_bench(bench, Reporter())


def _record(suite: Path, agent: str | None, model: str, out: Path) -> Path:
    """Let the oracle play a suite's tasks, or what is left of them; returns the batch's folder.

    Raises:
        ConfigError: The environment failed an episode each time, so that the table would lack it.
    """
    from confkv_agents.evaluation.batch.options import merged, read_suite
    from confkv_agents.evaluation.batch.progress import BatchConsole
    from confkv_agents.evaluation.batch.running import run_batch

    given = {"model": model, "pages_of": agent, "out": out}
    options = merged({"agent": "oracle", "pages_of": "react", **read_suite(suite)}, given)
    results = run_batch(options, console=BatchConsole())
    if results.summary["infra_errors"]:
        raise ConfigError(f"some episodes of {suite} could not be recorded; the same command tries them again")
    return results.directory
