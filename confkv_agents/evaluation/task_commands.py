"""The commands about task files: `confkv-agent tasks list` and `tasks check`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from confkv_agents.evaluation.words import printable

if TYPE_CHECKING:
    from confkv_agents.web.surroundings import Surroundings
    from confkv_agents.web.tasks import Task

SITES_FILE_HELP = "TOML file of lines such as: shopping = 'http://...'. Default: what CONFKV_SITES names."
JUDGE_HELP = (
    "Model that compares answers by meaning where a task asks for it: embedded, a folder, a hub id, or provider:model."
)
VISUAL_JUDGE_HELP = "Model that answers questions about pictures where a task asks for it; named as for --judge."
ALLOW_HELP = "Host beside the sites that pages and checks may load from, such as images.pexels.com; may be repeated."
DEVICE_MAP_HELP = (
    "Where the model's weights go: auto, balanced, a device such as cuda:1, or JSON such as "
    '\'{"model.embed_tokens": "cpu", "model.layers": "disk", ...}\'. Default: the first CUDA device, else the CPU.'
)
OFFLOAD_HELP = "Folder for weights that --device-map puts on disk."
AGENT_HELP = "Agent: a name such as react or oracle, or a file. Default: pilot for the pilot, react for other models."
PAGES_OF_HELP = (
    "For an agent without a model: record pages as this agent and the model would be shown them, for replay."
)
TOKEN_HELP = "Token of the administration of a Magento shop given by --site. Default: CONFKV_SHOP_TOKEN."
DIALECT_HELP = "How task files are read and judged: vwa, webarena, browsergym or browsergym-webarena."


def list_tasks(
    benchmark: Annotated[str | None, typer.Argument(help="A benchmark whose tasks to list, such as miniwob.")] = None,
) -> None:
    """List the tasks that come with the package, and the benchmarks."""
    from confkv_agents.evaluation import benchmark_commands
    from confkv_agents.plugins import available, data_dir
    from confkv_agents.web.tasks import load_tasks

    if benchmark is not None:
        return benchmark_commands.show_one(benchmark)
    for name in available("tasks"):
        for task in load_tasks(data_dir("tasks") / f"{name}.json"):
            suffix = task.key.removeprefix(task.source.stem)
            typer.echo(printable(f"{name}{suffix}  {task.intent}"))
    benchmark_commands.show_all()


def check(
    paths: Annotated[list[Path], typer.Argument(help="Task files, or folders of them.")],
    dialect: Annotated[str, typer.Option(help=DIALECT_HELP)] = "vwa",
    site: Annotated[list[str] | None, typer.Option(help="name=url of a site that runs; may be repeated.")] = None,
    sites_file: Annotated[Path | None, typer.Option(help=SITES_FILE_HELP)] = None,
    judge: Annotated[str | None, typer.Option(help=JUDGE_HELP)] = None,
    visual_judge: Annotated[str | None, typer.Option(help=VISUAL_JUDGE_HELP)] = None,
    allow_host: Annotated[list[str] | None, typer.Option(help=ALLOW_HELP)] = None,
    shop_token: Annotated[str | None, typer.Option(help=TOKEN_HELP)] = None,
    each: Annotated[bool, typer.Option("--each", help="Name every task that cannot be run, and why.")] = False,
) -> None:
    """Check task files without running anything, and tell what they need; exit code 2 if one is wrong."""
    from confkv_agents.evaluation.means import surroundings_of
    from confkv_agents.evaluation.options import PlayOptions
    from confkv_agents.evaluation.preparing import read_tasks
    from confkv_agents.evaluation.site_urls import site_urls

    options = PlayOptions(
        dialect=dialect,
        sites=site_urls(site or [], sites_file),
        judge=judge,
        visual_judge=visual_judge,
        allow_hosts=tuple(allow_host or ()),
        shop_token=shop_token,
    )
    tasks = [task for path in paths for task in read_tasks(path, options)]
    show_needs(tasks, surroundings_of(options), each=each)


def show_needs(tasks: Sequence[Task], surroundings: Surroundings, *, each: bool = False) -> None:
    """Print what tasks need, why some cannot be run, and how many can.

    Args:
        tasks: From `load_tasks`.
        surroundings: What there is.
        each: Name every task that cannot be run.
    """
    lacking = {place: reasons for place, task in enumerate(tasks) if (reasons := _reasons(task, surroundings))}
    needs = Counter(str(need) for task in tasks for need in _kinds(task))
    optional = Counter(str(need) for task in tasks for need in task.needs if need.optional)
    remarks = {name: f"{number} of them are judged without it too, more strictly" for name, number in optional.items()}
    _print_table("need", [(needs[name], name, remarks.get(name, "")) for name in sorted(needs)])
    why = Counter(reason for reasons in lacking.values() for reason in reasons)
    _print_table("cannot be run here", [(number, reason, "") for reason, number in why.most_common()])
    if each:
        for place, reasons in lacking.items():
            typer.echo(printable(f"{tasks[place].key}: valid, but cannot be run here: {'; '.join(reasons)}"))
    typer.echo(printable(_served(tasks, surroundings)))
    signed_out = sum(_starts_signed_out(task, surroundings) for place, task in enumerate(tasks) if place not in lacking)
    if signed_out:
        typer.echo(f"{_tasks(signed_out)} will start signed out: storage_state names no file beside the task file")
    free = sum(not any(need.kind in ("llm-judge", "vqa") for need in task.needs) for task in tasks)
    typer.echo(
        f"{len(tasks)} valid task{'s' if len(tasks) != 1 else ''}, {len(tasks) - len(lacking)} can be run, "
        f"{sum(bool(task.oracle) for task in tasks)} with a scripted solution; "
        f"{free} never need a model to be judged"
    )


def _reasons(task: Task, surroundings: Surroundings) -> list[str]:
    return [*task.unsupported, *surroundings.unmet(task)]


def _kinds(task: Task) -> set[str]:
    """The needs of a task, each kind of file or host once."""
    return {str(need) if need.kind in ("site", "internet") else need.kind for need in task.needs}


def _served(tasks: Sequence[Task], surroundings: Surroundings) -> str:
    """Which sites there are, and who serves them: an installed site may hold other things than a file means."""
    from confkv_agents.web.sites import installed_sites

    titles = {name: info.title for info in installed_sites().values() for name in info.names}
    parts = []
    for name in sorted({name for task in tasks for name in task.site_names}):
        if name in surroundings.sites:
            parts.append(f"{name} by {surroundings.sites[name] or f'the installed {titles[name]}'}")
    return f"sites served: {', '.join(parts) or 'none'}"


def _starts_signed_out(task: Task, surroundings: Surroundings) -> bool:
    foreign = any(not surroundings.is_own(name) for name in task.sites)
    return bool(task.storage_state) and foreign and not task.beside(task.storage_state or "").is_file()


def _tasks(number: int) -> str:
    return f"{number} task{'s' if number != 1 else ''}"


def _print_table(title: str, rows: Sequence[tuple[int, str, str]]) -> None:
    from rich.console import Console
    from rich.table import Table

    if not rows:
        return
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    table.add_column("tasks", justify="right", no_wrap=True)
    table.add_column(title, overflow="fold")
    table.add_column("", overflow="fold")
    for number, name, remark in rows:
        table.add_row(str(number), printable(name), remark)
    console = Console(highlight=False)
    console.print(table)
    console.print()
