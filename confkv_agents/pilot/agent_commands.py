"""The commands that make the pilot an agent: its data, its training and its evaluation."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from confkv_agents.errors import ConfigError
from confkv_agents.evaluation.recording import require_writable
from confkv_agents.evaluation.template_commands import parse_seeds, write_tasks
from confkv_agents.evaluation.words import printable
from confkv_agents.paths import user_path

if TYPE_CHECKING:
    import torch

    from confkv_agents.pilot.demonstrations import Demonstration
    from confkv_agents.pilot.encoding import Encoded


def data(
    seeds: Annotated[str, typer.Option(help="Training seeds, such as 1000-1099.")],
    out: Annotated[Path, typer.Option(help="File of JSON lines; continued if it exists.")],
    template: Annotated[
        list[str] | None, typer.Option(help="Name or pattern; may be repeated. All by default.")
    ] = None,
    without: Annotated[
        list[str] | None, typer.Option(help="Name or pattern of templates to leave out; may be repeated.")
    ] = None,
    slip: Annotated[float, typer.Option(help="Share of episodes with a wrong link and the way back.")] = 0.1,
    visual: Annotated[bool, typer.Option(help="Also templates whose pictures must be looked at.")] = False,
) -> None:
    """Play the scripted solutions of many tasks as conversations to learn from."""
    from confkv_agents.engine.weights import embedded_model
    from confkv_agents.pilot.data import DataOptions, make_data
    from confkv_agents.web.tasks import find_templates, load_template

    _require_file_or_nothing(out)
    names = [name for pattern in template or ["*"] for name in find_templates(pattern)]
    left_out = {name for pattern in without or [] for name in find_templates(pattern)}
    chosen = [load_template(name) for name in dict.fromkeys(names) if name not in left_out]
    if not visual:
        chosen = [each for each in chosen if each.visual == "easy"]
        if not chosen:
            raise ConfigError("of all these templates the pictures must be looked at; add --visual")
    options = DataOptions(chosen, parse_seeds(seeds), out, slip)
    tokenizer = _tokenizer(embedded_model())
    good, bad = make_data(options, lambda text: len(tokenizer(text)["input_ids"]), _tell)
    typer.echo(f"{good} demonstrations in {out}" + (f"; {bad} did not work out" if bad else ""))


def chat(
    out: Annotated[Path, typer.Option(help="File of JSON lines; continued if it exists.")],
    count: Annotated[int, typer.Option(help="Questions.", min=1)] = 120,
    seed: Annotated[int, typer.Option(help="Of their choice.")] = 0,
) -> None:
    """Let the text model answer ordinary questions, so that training beside them leaves it a chat model."""
    from confkv_agents.engine.loading import load_model
    from confkv_agents.engine.weights import embedded_model
    from confkv_agents.pilot.chat import chats, questions
    from confkv_agents.pilot.data import appending, read_data

    _require_file_or_nothing(out)
    have = {each.task: each.success for each in read_data(out, successes_only=False)}
    left = [each for each in questions(count, seed) if f"chat:{each}" not in have]
    with appending(out) as keep:
        for made in chats(load_model(str(embedded_model())), left) if left else ():
            keep(made)
            have[made.task] = made.success
            typer.echo(printable(f"{len(have)}  {made.messages[0]['content'][0]['text']}"))
    good = sum(have.values())
    typer.echo(f"{good} conversations in {out}; {len(have) - good} answers did not end")


def describe(
    out: Annotated[Path, typer.Option(help="File of JSON lines; continued if it exists.")],
    count: Annotated[int, typer.Option(help="Conversations, of six to ten pictures each.", min=1)] = 200,
    seed: Annotated[int, typer.Option(help="Of everything random.")] = 0,
) -> None:
    """Write conversations about drawn pictures, so that the text model learns to read what the eyes see."""
    from confkv_agents.pilot.data import appending, read_data
    from confkv_agents.pilot.describing import describe as make
    from confkv_agents.pilot.describing import name_of

    _require_file_or_nothing(out)
    have = {each.task for each in read_data(out)}
    left = [number for number in range(count) if name_of(number, seed) not in have]
    with appending(out) as keep:
        for done, number in enumerate(left, start=count - len(left) + 1):
            keep(make(number, seed))
            if done % 50 == 0 or done == count:
                typer.echo(f"{done}/{count}")
    typer.echo(f"{len(have) + len(left)} conversations in {out}")


def reword(
    data: Annotated[Path, typer.Argument(help="File that `pilot data` wrote.")],
    out: Annotated[Path, typer.Option(help="File of JSON lines; continued if it exists.")],
    seed: Annotated[int, typer.Option(help="Of the choice of wordings.")] = 0,
) -> None:
    """Put the tasks of played episodes in other words: new conversations without playing again."""
    from confkv_agents.pilot.rewording import reworded

    _make_of(data, out, lambda made: reworded(made, seed))


def condense(
    data: Annotated[Path, typer.Argument(help="File that `pilot data` or `pilot reword` wrote.")],
    out: Annotated[Path, typer.Option(help="File of JSON lines; continued if it exists.")],
    seed: Annotated[int, typer.Option(help="Of the choice of lines.")] = 0,
) -> None:
    """Shorten the pages of played episodes to what they need and a few other lines."""
    from confkv_agents.pilot.condensing import condensed

    _make_of(data, out, lambda made: condensed(made, seed))


def plans(
    data: Annotated[Path, typer.Argument(help="File that `pilot data` wrote.")],
    seeds: Annotated[str, typer.Option(help="Training seeds whose tasks are told.")],
    out: Annotated[Path, typer.Option(help="File of JSON lines; continued if it exists.")],
    seed: Annotated[int, typer.Option(help="Of the choice of wordings.")] = 0,
) -> None:
    """Tell tasks of many seeds in many words, each answered by its plan, without playing them."""
    from confkv_agents.pilot.data import appending, read_data, require_training_seeds
    from confkv_agents.pilot.planning import plans as make

    numbers = parse_seeds(seeds)
    require_training_seeds(numbers)
    _require_another(data, out)
    have = {each.task for each in read_data(out)}
    played = read_data(data)
    if not played:
        raise ConfigError(f"{data} holds no episodes")
    with appending(out) as keep:
        for made in make(played, numbers, seed, frozenset(have)):
            keep(made)
            have.add(made.task)
            if len(have) % 100 == 0:
                typer.echo(f"{len(have)} plans")
    typer.echo(f"{len(have)} plans in {out}")


def train(
    data: Annotated[
        list[Path], typer.Option(help="Files of conversations, as the commands before this one write; may be repeated.")
    ],
    out: Annotated[
        Path, typer.Option(help="Folder for checkpoints, the curve and the adapters; continued if it exists.")
    ],
    steps: Annotated[int, typer.Option(help="Optimizer steps.")] = 1500,
    batch: Annotated[int, typer.Option(help="Episodes a step.")] = 8,
    rate: Annotated[float, typer.Option(help="Highest learning rate.")] = 1e-3,
    decay: Annotated[
        float, typer.Option(help="Share of the steps at the end in which the rate falls to nothing.")
    ] = 0.5,
    rank: Annotated[int, typer.Option(help="Of the adapters.")] = 16,
    start: Annotated[Path | None, typer.Option(help="Adapters to begin with.")] = None,
    longest: Annotated[int, typer.Option(help="Longer conversations, in tokens, are left out.")] = 6144,
    seed: Annotated[int, typer.Option(help="Of everything random.")] = 0,
    processes: Annotated[int, typer.Option(help="Processes of one thread each that share a step.")] = 1,
    save_every: Annotated[int, typer.Option(help="Steps between checkpoints.")] = 25,
    full_every: Annotated[
        int, typer.Option(help="Steps of which one lets gradients flow through pages too; the others cost less.")
    ] = 1,
    compiled: Annotated[bool, typer.Option(help="Compile the layers; needs a C++ compiler.")] = False,
) -> None:
    """Train the pilot's language model on demonstrations."""
    from confkv_agents.pilot.train_agent import AgentData, AgentPlan, train_agent
    from confkv_agents.pilot.training import Settings

    _require_files(data)
    require_writable(out)
    settings = Settings(steps, rate, warmup=20, decay=decay, weight_decay=0.0, save_every=save_every, seed=seed)
    plan = AgentPlan(settings, batch, rank, start, processes, full_every, compiled)
    if compiled and not any(map(shutil.which, ("c++", "g++", "clang++"))):
        raise ConfigError("--compiled needs a C++ compiler, and there is none")
    encoded, pictures = _encoded(data)
    fitting = [each for each in encoded if len(each.ids) <= longest]
    if len(fitting) < 2:
        named = ", ".join(map(str, data))
        raise ConfigError(f"{len(fitting)} demonstrations to learn from, of at most {longest} tokens, in {named}")
    kept_back = fitting[:: max(2, len(fitting) // 16)][:16]
    learned = [each for each in fitting if not any(each is other for other in kept_back)]
    tokens = sum(len(each.ids) for each in learned)
    typer.echo(f"{len(learned)} demonstrations, {tokens:,} tokens; {len(encoded) - len(fitting)} were too long")
    adapters = train_agent(AgentData(learned, kept_back, pictures), plan, out, _say)
    typer.echo(f"adapters in {adapters}")


def install(
    run: Annotated[Path, typer.Argument(help="Folder that `pilot train` wrote.")],
    weights: Annotated[
        Path | None, typer.Option(help="Folder of the trained weights. Default: the package's own.")
    ] = None,
    unfinished: Annotated[bool, typer.Option("--unfinished", help="Take the training's last checkpoint.")] = False,
) -> None:
    """Put trained adapters among the pilot's weights; the pilot is put together anew when it is used next."""
    from confkv_agents.engine.eyes import EyesConfig
    from confkv_agents.pilot.export import PACKAGE_WEIGHTS, write_trained
    from confkv_agents.pilot.train_agent import adapters_of

    tensors, about = adapters_of(run, unfinished)
    path = write_trained(weights or PACKAGE_WEIGHTS, tensors, EyesConfig(), {"lora": about})
    typer.echo(f"weights in {path}")


def evaluate(
    out: Annotated[Path, typer.Option(help="Folder for tasks, records and report; continued if it exists.")],
    seeds: Annotated[str, typer.Option(help="Held-out seeds, below 1000.")] = "500-501",
    template: Annotated[
        list[str] | None, typer.Option(help="Name or pattern; may be repeated. All by default.")
    ] = None,
    policies: Annotated[str, typer.Option(help="Policies, as eval takes them.")] = "full",
    budget: Annotated[int, typer.Option(help="Slots that a layer of the cache may hold.")] = 512,
    model: Annotated[str, typer.Option(help="Model; others than the pilot can be asked in its form.")] = "pilot",
    blind: Annotated[bool, typer.Option(help="Show white pictures, to tell what pictures are worth.")] = False,
    workers: Annotated[int, typer.Option(help="Episodes at the same time.")] = 1,
) -> None:
    """Play held-out tasks: other seeds, wordings and names than those trained on."""
    from confkv_agents.evaluation.batch.api import evaluate as play
    from confkv_agents.web.tasks import find_templates, split_of

    numbers = parse_seeds(seeds)
    if (seen := next((seed for seed in numbers if split_of(seed) != "heldout"), None)) is not None:
        raise ConfigError(f"seed {seen} is one to train on; held-out seeds are below 1000")
    names = dict.fromkeys(name for pattern in template or ["*"] for name in find_templates(pattern))
    files = write_tasks(names, numbers, out / "tasks")
    results = play(
        files,
        policies,
        agent="pilot",
        model=model,
        budget=budget,
        workers=workers,
        pictures="blank" if blind else "auto",
        out=out,
        show=True,
    )
    if results.summary["infra_errors"]:
        raise typer.Exit(1)


def _encoded(files: list[Path]) -> tuple[list[Encoded], dict[str, torch.Tensor]]:
    """Conversations as the pilot reads them, and what its eyes make of their pictures."""
    from confkv_agents.engine.loading import load_model
    from confkv_agents.engine.pilot_weights import pilot_model
    from confkv_agents.pilot.prepared import prepared

    loaded = load_model(str(pilot_model()))
    encoded: list[Encoded] = []
    pictures: dict[str, torch.Tensor] = {}
    for path in files:
        found, seen = prepared(path, loaded, _say)
        encoded += found
        pictures |= seen
    return encoded, pictures


def _make_of(data: Path, out: Path, change: Callable[[Demonstration], Demonstration | None]) -> None:
    """Add to a file what `change` makes of another file's episodes, and their pictures."""
    from confkv_agents.pilot.data import appending, link_pictures, read_data

    _require_another(data, out)
    have = {each.task for each in read_data(out)}
    played = [each for each in read_data(data) if each.task not in have]
    if not played and not have:
        raise ConfigError(f"{data} holds no episodes")
    with appending(out) as keep:
        for made in filter(None, map(change, played)):
            link_pictures(made, data, out)
            keep(made)
            have.add(made.task)
    typer.echo(f"{len(have)} conversations in {out}")


def _require_files(paths: list[Path]) -> None:
    for path in paths:
        if not user_path(path).is_file():
            raise ConfigError(f"{path} is {'a folder' if path.is_dir() else 'not there'}; name a file of JSON lines")


def _require_another(data: Path, out: Path) -> None:
    """Refuse to read from what is no file, and to write to the same one."""
    _require_files([data])
    _require_file_or_nothing(out)
    if out.exists() and out.samefile(data):
        raise ConfigError(f"{out} holds the episodes themselves; name another file")


def _require_file_or_nothing(path: Path) -> None:
    if user_path(path).is_dir():
        raise ConfigError(f"{path} is a folder; name a file")
    require_writable(path.parent)


def _say(line: str) -> None:
    typer.echo(line)


def _tokenizer(folder: Path) -> Any:
    from transformers import AutoTokenizer

    return AutoTokenizer.from_pretrained(folder)


def _tell(made: Any, done: int, wanted: int) -> None:
    typer.echo(
        printable(f"{done}/{wanted}  {made.task}  {made.steps} steps" + ("" if made.success else "  NOT SOLVED"))
    )
