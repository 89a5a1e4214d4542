"""`confkv-agent bench env`: how fast the environment is, and whether it stays as it was."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated, Any

import typer


def env(
    tasks: Annotated[
        str, typer.Option(help="Tasks with scripted solutions: a name, a folder or a pattern.")
    ] = "tasks/**/*.json",
    episodes: Annotated[int, typer.Option(help="Episodes after every task was played once.", min=1)] = 200,
    bare: Annotated[bool, typer.Option("--bare", help="Without screenshots, marks and pictures.")] = False,
    beside: Annotated[
        Path | None,
        typer.Option(
            help="Instead: a Python that has browsergym-core, whose steps are timed beside ours on the sites' pages.",
            metavar="PYTHON",
        ),
    ] = None,
    rounds: Annotated[int, typer.Option(help="With --beside: times that every site is gone through.", min=1)] = 3,
    out: Annotated[Path, typer.Option(help="Folder that result folders are made in.")] = Path("benchmarks"),
) -> None:
    """Play scripted solutions one after the other: time of a step per site, errors, memory, what is left.

    It is measured in one go; Ctrl-C ends it with what it has.
    """
    from confkv_agents.evaluation.batch.options import task_files
    from confkv_agents.evaluation.bench.browsing import Played, play, spread, summarize, write
    from confkv_agents.evaluation.bench.progress import Reporter
    from confkv_agents.evaluation.console import RunConsole
    from confkv_agents.paths import user_path
    from confkv_agents.web.tasks import load_tasks

    if beside is not None:
        _beside(beside, rounds, bare, user_path(out))
        return
    chosen = spread([task for file in task_files(tasks) for task in load_tasks(file)])
    warm_up, reporter = len(chosen), Reporter()
    facts = [("tasks", str(warm_up)), ("episodes", f"{episodes}, after {warm_up} to warm up")]
    reporter.begin("env", facts, warm_up + episodes, 0)
    found: list[Played] = []

    def told(_: int, played: Played) -> None:
        found.append(played)
        reporter.finished(played.task)

    left = -1
    try:
        with reporter:
            _, left = play(chosen, warm_up + episodes, not bare, told)
    finally:
        if found:
            summary = summarize(found, left, warm_up)
            folder = user_path(out) / f"env-{time.strftime('%Y%m%d-%H%M%S')}"
            write(folder, found, summary)
            for table in _tables(summary):
                reporter.console.print(table)
            RunConsole(reporter.console).path("result.json", folder / "result.json")


def _beside(python: Path, rounds: int, bare: bool, out: Path) -> None:
    from confkv_agents.evaluation.bench import beside
    from confkv_agents.evaluation.bench.progress import Reporter
    from confkv_agents.evaluation.console import RunConsole
    from confkv_agents.paths import user_path

    names, reporter = ["classifieds", "forum", "shop"], Reporter()
    reporter.begin("env", [("beside", "BrowserGym's core"), ("rounds", str(rounds))], rounds * len(names), 0)
    with reporter:
        timed = beside.compare_sites(str(user_path(python)), names, rounds, bare=bare, told=reporter.finished)
    summary = beside.summarize(timed)
    folder = out / f"env-beside-{time.strftime('%Y%m%d-%H%M%S')}"
    beside.write(folder, timed, summary)
    reporter.console.print(_beside_table(summary))
    RunConsole(reporter.console).path("result.json", folder / "result.json")


def _beside_table(summary: dict[str, dict[str, dict[str, float]]]) -> Any:
    from confkv_agents.evaluation.bench.tables import column, plain_table

    table = plain_table("Acting and observing, medians (x: times ours, for the same act)")
    for name in ("site", "", "steps", "ms", "x", "CPU ms", "x of CPU"):
        column(table, name)
    for site, rows in summary.items():
        for name, row in rows.items():
            figures = f"{row['steps']:,.0f}", f"{row['ms']:,.0f}", f"{row['ms_x']:.2f}", f"{row['cpu_ms']:,.0f}"
            table.add_row(site, name, *figures, f"{row['cpu_x']:.2f}")
    return table


def _tables(summary: dict[str, Any]) -> list[Any]:
    from confkv_agents.evaluation.bench.tables import column, mib, plain_table

    steps = plain_table("Acting and observing, in ms")
    for name in ("site", "steps", "median", "90 %", "until the first page"):
        column(steps, name)
    for site, row in summary["sites"].items():
        if row["steps"]:
            figures = [f"{row[key]:,.0f}" for key in ("step_ms", "step_p90_ms", "begin_ms")]
            steps.add_row(site, f"{row['steps']:,}", *figures)
    whole = plain_table("All episodes")
    memory = summary["memory"]
    for name in ("episodes", "succeeded", "infra errors", "processes left", "MiB at first", "MiB at last", "ratio"):
        column(whole, name)
    held = [mib(memory["first"]), mib(memory["last"]), f"{memory['ratio']:.3f}"] if memory else ["", "", ""]
    left = "" if summary["left"] < 0 else str(summary["left"])
    counts = [str(summary[key]) for key in ("episodes", "succeeded", "infra_errors")]
    whole.add_row(*counts, left, *held)
    return [steps, whole]
