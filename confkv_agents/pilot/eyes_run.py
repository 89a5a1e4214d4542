"""The whole training of the eyes, from drawn pictures to weights: three stages, each continued where it was stopped."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import safe_open
from safetensors.torch import load_file
from torch import nn

from confkv_agents.engine.eyes import EyesConfig, EyesModel, Resampler
from confkv_agents.engine.loading import native_bfloat16
from confkv_agents.engine.pilot_weights import network_weights, trained_weights
from confkv_agents.engine.weights import embedded_model
from confkv_agents.errors import ConfigError
from confkv_agents.pilot.export import eyes_tensors, write_trained
from confkv_agents.pilot.features import load_shards, make_shards
from confkv_agents.pilot.heads import Heads
from confkv_agents.pilot.pictures import kinds
from confkv_agents.pilot.projecting import make_projector
from confkv_agents.pilot.train_captions import Reader, train_captions
from confkv_agents.pilot.train_eyes import accuracies, train_eyes
from confkv_agents.pilot.training import CHECKPOINT, Settings

Say = Callable[[str], None]


@dataclass(frozen=True)
class EyesPlan:
    """How the eyes are trained.

    Attributes:
        pictures: Pictures to train on.
        held: Pictures to take figures on.
        steps: Of the first stage: the heads teach the resampler. 0 leaves it out.
        word_steps: Of the second: the projector learns words' embeddings.
        caption_steps: Of the third: the frozen text model teaches captions.
        rate: Highest learning rate of the first stage; the others take half of it.
        save_every: Steps between checkpoints of the first stage; the others take a fifth of it.
        seed: Of everything random but the pictures.
        start: Folder of trained weights to begin with, instead of random ones.
    """

    pictures: int = 16384
    held: int = 2048
    steps: int = 4000
    word_steps: int = 1000
    caption_steps: int = 1000
    rate: float = 1e-3
    save_every: int = 250
    seed: int = 0
    start: Path | None = None

    def __post_init__(self) -> None:
        if not self.stages():
            raise ConfigError("no stage has steps; give one of them some")

    def stages(self) -> dict[str, Settings]:
        """Settings of the stages by their folders' names, in order; a stage of no steps is left out."""
        small = max(1, self.save_every // 5)
        wanted = {
            "eyes": (self.steps, self.rate, 0.05, self.save_every),
            "words": (self.word_steps, self.rate / 2, 0.02, self.save_every),
            "captions": (self.caption_steps, self.rate / 2, 0.02, small),
        }
        return {
            name: Settings(steps, rate, warmup=min(100, steps), weight_decay=decay, save_every=every, seed=self.seed)
            for name, (steps, rate, decay, every) in wanted.items()
            if steps
        }


def train_all(plan: EyesPlan, folder: Path, weights: Path, say: Say = lambda _: None) -> Path:
    """Draw, train and write; what a run that was stopped has done is not done again.

    Args:
        plan: How.
        folder: Holds the pictures' features, checkpoints and curves: some 80 KB a picture.
        weights: Folder that `pilot.safetensors` and `pilot.json` are written to.
        say: Told of every stage and each line of the curves.

    Returns:
        The file of weights.

    Raises:
        WeightsMissingError: The text model or the picture network was not fetched.
        ConfigError: The folder holds checkpoints of another plan.
    """
    reader = load_reader(embedded_model())
    config = EyesConfig()
    modules = new_modules(config, reader.model.config.hidden_size, plan.seed)
    resampler, heads, projector = modules["resampler"], modules["heads"], modules["projector"]
    assert isinstance(resampler, Resampler)
    assert isinstance(heads, Heads)
    told = asdict(plan)
    if plan.start is not None:  # before pictures are drawn, since it may be refused
        start_from(plan.start, resampler, projector)
        told["start"] = trained_weights(plan.start).facts["sha256"]
    network = EyesModel(config).eval()
    network.network.load_state_dict(network_weights())
    network.to(torch.bfloat16 if native_bfloat16() else torch.float32)
    network.network.to(memory_format=torch.channels_last)
    shards = folder / "pictures"
    for split, count in (("held", plan.held), ("train", plan.pictures)):
        make_shards(shards, split, count, network, say=say)
    pictures, held = load_shards(shards, "train", plan.pictures), load_shards(shards, "held", plan.held)

    about: dict[str, Any] = {"plan": told, "pictures": len(pictures), "held": len(held), "stages": {}}
    for name, settings in plan.stages().items():
        say(f"stage {name}: {settings.steps} steps")
        start = time.monotonic()
        if name == "eyes":
            curve = train_eyes(resampler, heads, pictures, held, settings, folder / name, say)
        else:
            words = 1.0 if name == "words" else 0.0
            curve = train_captions(
                resampler, heads, projector, reader, pictures, held, settings, folder / name, words=words, say=say
            )
        about["stages"][name] = curve[-1] | {"minutes": round((time.monotonic() - start) / 60, 1)}
    about["heads"] = dict(accuracies(resampler, heads, held))
    return write_trained(weights, eyes_tensors(resampler, projector), config, {"eyes": about})


def new_modules(config: EyesConfig, width: int, seed: int) -> dict[str, nn.Module]:
    """Return new resampler, heads and projector, by name.

    Args:
        config: Sizes of the eyes.
        width: Of the text model's embeddings.
        seed: Of their parameters.
    """
    torch.manual_seed(seed)
    return {
        "resampler": EyesModel(config).resampler,
        "heads": Heads(config.tokens * config.hidden_size, kinds()),
        "projector": make_projector(config, width, seed),
    }


def start_from(folder: Path, resampler: nn.Module, projector: nn.Module) -> None:
    """Set resampler and projector to trained weights.

    Raises:
        WeightsMissingError: There are none in the folder.
        ModelError: They are altered, or were trained on top of other weights.
        ConfigError: They are of other sizes.
    """
    parts = load_file(trained_weights(folder).weights)
    for prefix, module in (("eyes.", resampler), ("projector.", projector)):
        state = {name.removeprefix(prefix): part.float() for name, part in parts.items() if name.startswith(prefix)}
        try:
            module.load_state_dict(state)
        except RuntimeError as error:
            raise ConfigError(f"the weights in {folder} do not fit {prefix[:-1]}: {error}") from error


def load_modules(modules: Mapping[str, nn.Module], folder: Path) -> None:
    """Set modules to what a stage's checkpoint holds of them.

    Raises:
        ConfigError: There is no checkpoint, or it holds nothing of them.
    """
    path = folder / CHECKPOINT
    if not path.is_file():
        raise ConfigError(f"there is no checkpoint in {folder}; train first")
    found = False
    with safe_open(path, "pt") as file:
        for name, module in modules.items():
            prefix = f"value.{name}."
            keys = [key for key in file.keys() if key.startswith(prefix)]  # noqa: SIM118 - it is no mapping
            state = {key.removeprefix(prefix): file.get_tensor(key) for key in keys}
            if state:
                module.load_state_dict(state)
                found = True
    if not found:
        raise ConfigError(f"{path} holds no {' or '.join(modules)}")


def load_reader(folder: Path) -> Reader:
    """Load a text model, frozen, in bf16 where the processor computes it."""
    from transformers import AutoModelForCausalLM, AutoTokenizer

    dtype = torch.bfloat16 if native_bfloat16() else torch.float32
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=dtype).eval().requires_grad_(False)
    return Reader(model, AutoTokenizer.from_pretrained(folder))
