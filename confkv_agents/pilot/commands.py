"""The commands under `confkv-agent pilot`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from confkv_agents.pilot import agent_commands

pilot_app = typer.Typer(
    help="Training of the pilot, the package's own model.", no_args_is_help=True, rich_markup_mode=None
)


pilot_app.command()(agent_commands.data)
pilot_app.command()(agent_commands.chat)
pilot_app.command()(agent_commands.describe)
pilot_app.command()(agent_commands.reword)
pilot_app.command()(agent_commands.condense)
pilot_app.command()(agent_commands.plans)
pilot_app.command()(agent_commands.train)
pilot_app.command()(agent_commands.install)
pilot_app.command("eval")(agent_commands.evaluate)


@pilot_app.callback()
def _group() -> None:
    """Commands that take hours."""


@pilot_app.command()
def eyes(
    out: Annotated[Path, typer.Option(help="Folder for pictures' features, checkpoints and curves.")] = Path(
        "runs/pilot-eyes"
    ),
    weights: Annotated[
        Path | None, typer.Option(help="Folder that the weights are written to. Default: weights below --out.")
    ] = None,
    pictures: Annotated[int, typer.Option(help="Pictures to train on.", min=1)] = 16384,
    held: Annotated[int, typer.Option(help="Pictures to take figures on.", min=1)] = 2048,
    steps: Annotated[int, typer.Option(help="Steps on facts.", min=0)] = 4000,
    word_steps: Annotated[int, typer.Option(help="Steps on words' embeddings.", min=0)] = 1000,
    caption_steps: Annotated[int, typer.Option(help="Steps on captions.", min=0)] = 1000,
    save_every: Annotated[int, typer.Option(help="Steps between checkpoints.", min=1)] = 250,
    seed: Annotated[int, typer.Option(help="Seed.")] = 0,
    start: Annotated[Path | None, typer.Option(help="Folder of trained weights to begin with.")] = None,
    threads: Annotated[int, typer.Option(help="Threads to compute with.", min=1)] = 1,
) -> None:
    """Train eyes and projector on drawn pictures; run it again to continue where it was stopped."""
    import torch

    from confkv_agents.evaluation.recording import require_writable
    from confkv_agents.paths import user_path
    from confkv_agents.pilot.eyes_run import EyesPlan, train_all

    torch.set_num_threads(threads)
    begin = user_path(start) if start else None
    plan = EyesPlan(pictures, held, steps, word_steps, caption_steps, save_every=save_every, seed=seed, start=begin)
    folder = user_path(out)
    target = user_path(weights) if weights else folder / "weights"
    for place in (folder, target):
        require_writable(place)
    typer.echo(train_all(plan, folder, target, lambda line: typer.echo(line, err=True)))
