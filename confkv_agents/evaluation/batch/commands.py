"""`confkv-agent eval` and `confkv-agent compare`: the options only; whatever is heavy is imported on use."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from confkv_agents.errors import ConfigError
from confkv_agents.evaluation.task_commands import (
    AGENT_HELP,
    ALLOW_HELP,
    DEVICE_MAP_HELP,
    DIALECT_HELP,
    JUDGE_HELP,
    OFFLOAD_HELP,
    PAGES_OF_HELP,
    SITES_FILE_HELP,
    TOKEN_HELP,
    VISUAL_JUDGE_HELP,
)

EXIT_FAILED = 1


def evaluate(
    tasks: Annotated[
        list[str] | None,
        typer.Option(help="A file, a folder, a quoted pattern such as 'tasks/**/*.json', or a name; may be repeated."),
    ] = None,
    suite: Annotated[
        Path | None, typer.Option(help="A TOML file that holds these options; what is given here wins.")
    ] = None,
    policies: Annotated[
        str | None,
        typer.Option(
            help="Policies, with commas; settings after colons, such as confkv:int8_share=0. Default: all six."
        ),
    ] = None,
    budget: Annotated[int | None, typer.Option(help="Slots that a layer of the cache may hold. Default: 512.")] = None,
    seeds: Annotated[str | None, typer.Option(help="Seeds with commas; by default each task's own.")] = None,
    agent: Annotated[str | None, typer.Option(help=AGENT_HELP)] = None,
    model: Annotated[
        str | None, typer.Option(help="Model: pilot, embedded, a local folder, or a hub id. Default: pilot.")
    ] = None,
    device_map: Annotated[str | None, typer.Option(help=DEVICE_MAP_HELP)] = None,
    offload_folder: Annotated[str | None, typer.Option(help=OFFLOAD_HELP)] = None,
    workers: Annotated[
        int | None, typer.Option(help="Episodes at the same time, each with a browser of its own. Default: 1.")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Folder that sets are made in. Default: runs.")] = None,
    max_steps: Annotated[int | None, typer.Option(help="Steps at most; by default as each task says.")] = None,
    timeout: Annotated[
        float | None, typer.Option(help="Seconds after which an episode begins no further step. Default: 900.")
    ] = None,
    max_tokens: Annotated[
        int | None, typer.Option(help="Tokens that the model may write per step. Default: 128.")
    ] = None,
    pictures: Annotated[str | None, typer.Option(help="What a model that sees is shown; see run.")] = None,
    page_tokens: Annotated[
        int | None, typer.Option(help="Tokens of a page's text; by default a share of the model's context.")
    ] = None,
    pages_of: Annotated[str | None, typer.Option(help=PAGES_OF_HELP)] = None,
    site: Annotated[
        list[str] | None, typer.Option(help="name=url of a site that runs already; may be repeated.")
    ] = None,
    sites_file: Annotated[Path | None, typer.Option(help=SITES_FILE_HELP)] = None,
    dialect: Annotated[str | None, typer.Option(help=f"{DIALECT_HELP} Default: vwa.")] = None,
    judge: Annotated[str | None, typer.Option(help=JUDGE_HELP)] = None,
    visual_judge: Annotated[str | None, typer.Option(help=VISUAL_JUDGE_HELP)] = None,
    allow_host: Annotated[list[str] | None, typer.Option(help=ALLOW_HELP)] = None,
    shop_token: Annotated[str | None, typer.Option(help=TOKEN_HELP)] = None,
    backend: Annotated[
        str | None, typer.Option(help="local, or ray: workers in processes of a Ray cluster. Default: local.")
    ] = None,
    ray_address: Annotated[
        str | None,
        typer.Option(help="host:port of a Ray cluster that runs, or auto; by default one is started on this machine."),
    ] = None,
    ray_cpus: Annotated[float | None, typer.Option(help="Processors of the cluster per worker. Default: 1.")] = None,
    ray_gpus: Annotated[float | None, typer.Option(help="GPUs of the cluster per worker. Default: 0.")] = None,
    attempts: Annotated[
        int | None, typer.Option(help="How often an episode that the environment failed is tried. Default: 3.")
    ] = None,
    skip_unsupported: Annotated[
        bool, typer.Option("--skip-unsupported", help="Leave out tasks that cannot be scored, or played by the agent.")
    ] = False,
    headed: Annotated[bool, typer.Option("--headed", help="Show the browsers' windows.")] = False,
    trace: Annotated[
        bool, typer.Option("--trace", help="Keep what the cache did at each step: cache-trace.jsonl of each episode.")
    ] = False,
) -> None:
    """Run tasks x seeds x policies, and write a report that compares the policies.

    The same command continues what was interrupted; other options start a new set beside it. More tasks, seeds or
    policies join the set. Exit code 1 if the environment failed an episode each time it was tried.
    """
    from confkv_agents.evaluation.batch.options import merged, read_suite
    from confkv_agents.evaluation.batch.progress import BatchConsole
    from confkv_agents.evaluation.batch.running import run_batch
    from confkv_agents.evaluation.site_urls import site_urls

    suite_values = read_suite(suite) if suite else {}
    given = {
        "tasks": tuple(tasks) if tasks else None,
        "policies": policies,
        "budget": budget,
        "seeds": None if seeds is None else _seeds(seeds),
        "agent": agent,
        "model": model,
        "device_map": device_map,
        "offload_folder": offload_folder,
        "workers": workers,
        "out": out,
        "max_steps": max_steps,
        "timeout": timeout,
        "max_tokens": max_tokens,
        "pictures": pictures,
        "page_tokens": page_tokens,
        "pages_of": pages_of,
        "sites": site_urls(site or [], sites_file, given=suite_values.get("sites")) or None,
        "dialect": dialect,
        "judge": judge,
        "visual_judge": visual_judge,
        "allow_hosts": tuple(allow_host) if allow_host else None,
        "shop_token": shop_token,
        "backend": backend,
        "ray_address": ray_address,
        "ray_cpus": ray_cpus,
        "ray_gpus": ray_gpus,
        "attempts": attempts,
        "skip_unsupported": skip_unsupported or None,
        "headed": headed or None,
        "trace": trace or None,
    }
    options = merged(suite_values, given)
    results = run_batch(options, console=BatchConsole())
    if results.summary["infra_errors"]:
        raise typer.Exit(EXIT_FAILED)


def compare(
    a: Annotated[Path, typer.Argument(help="Folder of a batch or a run.")],
    b: Annotated[Path, typer.Argument(help="Folder of another one.")],
    policies: Annotated[
        str | None, typer.Option(help="Policies of both with commas, or a pair A/B; by default all that both have.")
    ] = None,
    changed_tasks: Annotated[
        bool, typer.Option("--changed-tasks", help="Pair tasks by name alone, also where their files differ.")
    ] = False,
    json_file: Annotated[Path | None, typer.Option("--json", help="Write the numbers to this file too.")] = None,
) -> None:
    """Pair two batches or runs on the tasks and seeds that both have."""
    from confkv_agents.evaluation.batch.compare import COMPARISON_SCHEMA
    from confkv_agents.evaluation.batch.compare import compare as pair
    from confkv_agents.evaluation.batch.progress import show_comparison
    from confkv_agents.evaluation.files import write_json
    from confkv_agents.paths import user_path

    named = [name.strip() for name in (policies or "").split(",") if name.strip()]
    found = pair(a, b, named, changed_tasks=changed_tasks)
    show_comparison(found)
    if json_file is not None:
        write_json(user_path(json_file), {"schema": COMPARISON_SCHEMA, "a": str(a), "b": str(b), "policies": found})


def _seeds(text: str) -> tuple[int, ...]:
    try:
        return tuple(int(part) for part in text.split(","))
    except ValueError:
        raise ConfigError(f"--seeds {text!r}: write whole numbers with commas, such as 0,1") from None
