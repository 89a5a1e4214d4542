"""The commands about benchmarks of others: `confkv-agent tasks fetch`, and their part of `tasks list`."""

from __future__ import annotations

from typing import Annotated

import typer

from confkv_agents.evaluation.words import printable


def fetch(name: Annotated[str, typer.Argument(help="A benchmark, such as miniwob.")]) -> None:
    """Fetch the pages of a benchmark, once."""
    from confkv_agents.web.benchmarks import find_benchmark

    path = find_benchmark(name).fetch(progress=lambda message: typer.echo(message, err=True))
    typer.echo(path if path is not None else f"{name} needs nothing")


def show_all() -> None:
    """Print a line for each benchmark: what it is, how many tasks it has, what is missing."""
    from confkv_agents.web.benchmarks import benchmarks

    for each in benchmarks():
        count = len(each.tasks())
        line = f"{each.name}/NAME  {count} tasks of {each.title}; `confkv-agent tasks list {each.name}` names them"
        missing = each.missing()
        typer.echo(printable(f"{line} ({missing})" if missing else line))


def show_one(name: str) -> None:
    """Print the names of a benchmark's tasks.

    Raises:
        PluginError: There is no such benchmark.
    """
    from confkv_agents.web.benchmarks import find_benchmark

    benchmark = find_benchmark(name)
    for task in benchmark.tasks():
        typer.echo(printable(f"{benchmark.name}/{task['task_id']}"))
