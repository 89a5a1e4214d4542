"""`confkv-agent plan` and `confkv-agent trace`: the options, nothing else; whatever is heavy is imported on use."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

POLICIES = "full,window,h2o,snapkv,confkv,confkv+recall"


def plan(
    model: Annotated[
        str, typer.Option(help="Model: embedded, a local folder, a hub id, or a configuration's JSON file.")
    ],
    memory: Annotated[str, typer.Option(help="Memory for weights and caches, with a unit: 24GiB, 80GB, 1.5TiB.")],
    context: Annotated[int, typer.Option(help="Tokens per session.")] = 32768,
    sessions: Annotated[int, typer.Option(help="Sessions at the same time.")] = 1,
    budget: Annotated[int, typer.Option(help="Slots per layer, in full-precision equivalents.")] = 1024,
    dtype: Annotated[str, typer.Option(help="Number format: auto (the checkpoint's own), bf16, fp16, fp32.")] = "auto",
    chunk: Annotated[int, typer.Option(help="Tokens read at a time.")] = 256,
    policies: Annotated[
        str, typer.Option(help="Policies, with commas; settings after colons, such as confkv:int8_share=0.")
    ] = POLICIES,
    json_file: Annotated[Path | None, typer.Option("--json", help="Write the numbers to this file too.")] = None,
) -> None:
    """Say what fits: bytes of weights and caches by policy, from a model's configuration alone.

    No weights are loaded. The figures are those that the caches themselves would report.
    """
    from confkv_agents.evaluation.files import write_json
    from confkv_agents.evaluation.plan import make_plan, parse_memory
    from confkv_agents.evaluation.plan_view import show_plan
    from confkv_agents.paths import user_path

    made = make_plan(
        model,
        memory=parse_memory(memory),
        context=context,
        sessions=sessions,
        budget=budget,
        dtype=dtype,
        chunk=chunk,
        policies=policies,
    )
    show_plan(made)
    if json_file is not None:
        write_json(user_path(json_file), made)


def trace(
    file: Annotated[Path, typer.Argument(help="A trace: what Trace.write wrote, or cache-trace.jsonl of an episode.")],
    out: Annotated[
        Path | None, typer.Option(help="The picture: .png, .svg or .pdf; by default beside the trace, as .png.")
    ] = None,
) -> None:
    """Summarise and draw what a cache did at each step: confidence, budget, evictions, bytes."""
    from confkv_agents.errors import TraceError
    from confkv_agents.paths import user_path

    source = user_path(file)
    if not source.exists():
        raise TraceError(f"{source} does not exist; give a file that a Trace wrote")

    from confkv_agents.cache import read_trace
    from confkv_agents.evaluation.trace_plot import draw_trace
    from confkv_agents.evaluation.trace_view import show_trace

    recorded = read_trace(source)
    show_trace(recorded, source)
    if recorded.records:
        typer.echo(f"\n{draw_trace(recorded, user_path(out) if out else source.with_suffix('.png'))}")
