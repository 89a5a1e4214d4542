"""The command `confkv-agent`.

Only this file knows of exit codes: 0 the episode ran, whatever its success; 1 the environment failed under
it (the site, the browser, the disk); 2 the input is wrong, said in one line on standard error; 130 stopped by
Ctrl-C, 143 by a termination signal. Everything heavy is imported where it is used, so that `--help` is instant.
"""

from __future__ import annotations

import contextlib
import logging
import os
import signal
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from types import FrameType
from typing import Annotated, Any

try:
    import typer

    from confkv_agents import __version__
    from confkv_agents.errors import ConfigError, ConfKVError
    from confkv_agents.evaluation import benchmark_commands, cache_commands, task_commands, template_commands
    from confkv_agents.evaluation.batch import commands as batch_commands
    from confkv_agents.evaluation.bench.commands import bench_app
    from confkv_agents.evaluation.bench.replay_command import replay
    from confkv_agents.evaluation.words import printable
    from confkv_agents.pilot.commands import pilot_app
except KeyboardInterrupt:  # on a busy machine this takes seconds; `main` answers all later ones
    sys.stderr.write("stopped\n")
    sys.exit(130)

app = typer.Typer(
    help="Local multimodal web agents whose KV cache spends memory where the model is unsure.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)
weights_app = typer.Typer(
    help="The weights of the models that come with the package.", no_args_is_help=True, rich_markup_mode=None
)
browser_app = typer.Typer(help="The browser that is driven.", no_args_is_help=True, rich_markup_mode=None)
tasks_app = typer.Typer(help="Task files.", no_args_is_help=True, rich_markup_mode=None)
app.add_typer(weights_app, name="weights")
app.add_typer(browser_app, name="browser")
app.add_typer(tasks_app, name="tasks")
app.add_typer(bench_app, name="bench")
app.add_typer(pilot_app, name="pilot")
tasks_app.command("list")(task_commands.list_tasks)
tasks_app.command("check")(task_commands.check)
tasks_app.command("templates")(template_commands.templates)
tasks_app.command("make")(template_commands.make)
tasks_app.command("fetch")(benchmark_commands.fetch)
app.command("eval")(batch_commands.evaluate)
app.command()(batch_commands.compare)
app.command()(replay)
app.command()(cache_commands.plan)
app.command()(cache_commands.trace)

# Newer versions of typer carry their own copy of click, so its error class is found through typer.
_UsageProblem: type[Exception] = next(kind for kind in typer.BadParameter.__mro__ if kind.__name__ == "ClickException")
_PATIENCE_S = 15.0
_MODEL_NAME = typer.Argument(help="embedded or pilot.")
EXIT_FAILED, EXIT_BAD_INPUT, EXIT_INTERRUPTED = 1, 2, 130


class _Terminated(BaseException):
    """A termination signal came; handled as Ctrl-C is, with an exit code of its own."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.number = number


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"confkv-agent {__version__}")
        raise typer.Exit


@app.callback()
def _common(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version.", callback=_print_version, is_eager=True)
    ] = False,
) -> None:
    """Options before any command."""


@app.command()
def run(
    task: Annotated[str, typer.Option(help="Task: a file, or a name such as shop/read_sku.")],
    agent: Annotated[str | None, typer.Option(help=task_commands.AGENT_HELP)] = None,
    model: Annotated[str, typer.Option(help="Model: pilot, embedded, a local folder, or a hub id.")] = "pilot",
    device_map: Annotated[str | None, typer.Option(help=task_commands.DEVICE_MAP_HELP)] = None,
    offload_folder: Annotated[str | None, typer.Option(help=task_commands.OFFLOAD_HELP)] = None,
    policy: Annotated[
        str, typer.Option(help="Cache policy: confkv, confkv+recall, full, window, h2o, snapkv.")
    ] = "confkv",
    budget: Annotated[int, typer.Option(help="Slots that a layer of the cache may hold.")] = 512,
    max_steps: Annotated[int | None, typer.Option(help="Steps at most; by default as the task says.")] = None,
    seed: Annotated[int | None, typer.Option(help="Seed of site and model; by default the task's.")] = None,
    headed: Annotated[bool, typer.Option("--headed", help="Show the browser's window.")] = False,
    out: Annotated[Path, typer.Option(help="Folder that run folders are made in.")] = Path("runs"),
    site: Annotated[
        list[str] | None, typer.Option(help="name=url of a site that runs already; may be repeated.")
    ] = None,
    sites_file: Annotated[Path | None, typer.Option(help=task_commands.SITES_FILE_HELP)] = None,
    dialect: Annotated[str, typer.Option(help=task_commands.DIALECT_HELP)] = "vwa",
    judge: Annotated[str | None, typer.Option(help=task_commands.JUDGE_HELP)] = None,
    visual_judge: Annotated[str | None, typer.Option(help=task_commands.VISUAL_JUDGE_HELP)] = None,
    allow_host: Annotated[list[str] | None, typer.Option(help=task_commands.ALLOW_HELP)] = None,
    shop_token: Annotated[str | None, typer.Option(help=task_commands.TOKEN_HELP)] = None,
    timeout: Annotated[float, typer.Option(help="Seconds after which no further step begins.")] = 900.0,
    max_tokens: Annotated[int, typer.Option(help="Tokens that the model may write per step.")] = 128,
    pictures: Annotated[
        str,
        typer.Option(help="What a model that sees is shown: auto, none, screenshot, marked, page, marked+page, blank."),
    ] = "auto",
    page_tokens: Annotated[
        int | None, typer.Option(help="Tokens of a page's text; by default a share of the model's context.")
    ] = None,
    pages_of: Annotated[str | None, typer.Option(help=task_commands.PAGES_OF_HELP)] = None,
    trace: Annotated[
        bool, typer.Option("--trace", help="Keep what the cache did at each step: cache-trace.jsonl of each episode.")
    ] = False,
) -> None:
    """Run one task (or every task of a file) with one agent, record it, and write a report.

    Exit code 0 if the episode ran, whatever its success.
    """
    from confkv_agents.evaluation.console import RunConsole
    from confkv_agents.evaluation.run import RunOptions
    from confkv_agents.evaluation.run import run as run_tasks
    from confkv_agents.evaluation.site_urls import site_urls

    options = RunOptions(
        task=task,
        agent=agent or "",
        model=model,
        device_map=device_map,
        offload_folder=offload_folder,
        policy=policy,
        budget=budget,
        max_steps=max_steps,
        seed=seed,
        headed=headed,
        out=out,
        sites=site_urls(site or [], sites_file),
        dialect=dialect,
        judge=judge,
        visual_judge=visual_judge,
        allow_hosts=tuple(allow_host or ()),
        shop_token=shop_token,
        timeout=timeout,
        max_tokens=max_tokens,
        pictures=pictures,
        page_tokens=page_tokens,
        pages_of=pages_of,
        trace=trace,
    )
    outcome = run_tasks(options, RunConsole())
    if any(result.success is None for result in outcome.results):
        raise typer.Exit(EXIT_FAILED)


@weights_app.command("fetch")
def weights_fetch(model: Annotated[str, _MODEL_NAME] = "embedded") -> None:
    """Fetch the weights of a model that comes with the package, once."""
    from confkv_agents.engine.named import fetch_named

    typer.echo(fetch_named(model, lambda message: typer.echo(message, err=True)))


@weights_app.command("path")
def weights_path(model: Annotated[str, _MODEL_NAME] = "embedded") -> None:
    """Print where the weights of a model that comes with the package are."""
    from confkv_agents.engine.named import known_model

    typer.echo(known_model(model))


@browser_app.command("find")
def browser_find() -> None:
    """Print which browser would be driven."""
    from confkv_agents.web.chromium import find_chromium

    found = find_chromium()
    typer.echo(found.executable_path or found.channel or "Playwright's own Chromium")


@app.command()
def site(
    name: Annotated[str, typer.Argument(help="Site: a name such as shop, or a folder.")],
    port: Annotated[int, typer.Option(help="Port; 0 takes a free one.", min=0, max=65535)] = 0,
    seed: Annotated[int, typer.Option(help="Seed of the site's state.")] = 0,
) -> None:
    """Serve a site to look at it by hand; Ctrl-C ends it."""
    from confkv_agents.web.doors import VARIABLE, given_key
    from confkv_agents.web.sites import SiteServer

    server = SiteServer(name, seed, port=port, key=given_key())
    with server, contextlib.suppress(KeyboardInterrupt):
        typer.echo(f"{server.info.title} runs at {server.url} (Ctrl-C ends it)")
        typer.echo(f"Tasks can be played on it, --site {server.info.name}={server.url}, with {VARIABLE}={server.key}")
        threading.Event().wait()


@app.command()
def report(
    directory: Annotated[Path, typer.Argument(help="The folder of a batch, of a run, or of one of its episodes.")],
    to: Annotated[Path | None, typer.Option(help="Folder for the pages alone, without the records.")] = None,
    picture_width: Annotated[int, typer.Option(help="Pixels that a screenshot is wide at most.", min=100)] = 1280,
) -> None:
    """Write the reports of a batch or a run again from its records."""
    from confkv_agents.evaluation.report import write_reports

    typer.echo(write_reports(directory, to, picture_width)[0])


def _handle_signals() -> None:
    """Turn signals into exceptions; while the first is cleaned up after, more of them change nothing."""
    last = float("-inf")

    def interrupt(number: int, _frame: FrameType | None) -> None:
        nonlocal last
        before, last = last, time.monotonic()
        if last - before > _PATIENCE_S:
            raise KeyboardInterrupt if number == signal.SIGINT else _Terminated(number)

    for name in ("SIGINT", "SIGTERM", "SIGHUP"):
        if hasattr(signal, name) and threading.current_thread() is threading.main_thread():
            signal.signal(getattr(signal, name), interrupt)


def _refuse_empty(arguments: Sequence[str]) -> None:
    """An empty path would mean the current folder, as of a variable that a script forgot to set."""
    for place, argument in enumerate(arguments):
        name, equals, value = argument.partition("=")
        if not argument or (name.startswith("--") and equals and not value):
            named = name or (arguments[place - 1] if place else "the first argument")
            raise ConfigError(f"the value after {named} is empty; leave it out, or write . for the current folder")


def _one_line(error: BaseException) -> str:
    spell = getattr(error, "format_message", None)
    message = spell() if spell is not None else str(error)
    return printable(" ".join(message.split())) or type(error).__name__


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit code."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")
    logging.basicConfig(level=logging.WARNING, format="%(levelname)s %(name)s: %(message)s")
    # Read when torch is imported: its waiting threads sleep, where spinning ones slow each other on a busy machine.
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    try:
        _handle_signals()
        _refuse_empty(sys.argv[1:] if arguments is None else arguments)
        command: Any = typer.main.get_command(app)
        code = command.main(
            args=list(arguments) if arguments is not None else None,
            prog_name="confkv-agent",
            standalone_mode=False,
        )
    except (ConfKVError, _UsageProblem) as error:
        if type(error).__name__ == "NoArgsIsHelpError":
            typer.echo(str(error))
        else:
            typer.echo(f"error: {_one_line(error)}", err=True)
        return EXIT_BAD_INPUT
    except OSError as error:  # a full disk, a folder that vanished: what no check before could see
        logging.getLogger(__name__).debug("the surroundings failed", exc_info=True)
        typer.echo(f"error: {_one_line(error)}", err=True)
        return EXIT_FAILED
    except _Terminated as error:
        typer.echo("stopped", err=True)
        return 128 + error.number
    except (KeyboardInterrupt, typer.Abort):
        code = EXIT_INTERRUPTED
    if code == EXIT_INTERRUPTED:  # what typer itself makes of Ctrl-C
        typer.echo("stopped", err=True)
    return code if isinstance(code, int) else 0
