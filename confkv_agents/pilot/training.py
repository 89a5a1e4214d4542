"""One training loop for every trained part of the pilot: seeded, logged, and continued where it was stopped.

What is trained is a set of named fp32 parameters. Everything random must come from the step's number, so that a run
that was stopped and continued gives what one that was not stopped gives. Until the rate falls, the number of steps may
be changed when it is continued.
"""

from __future__ import annotations

import json
import math
import random
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import nn

from confkv_agents.errors import ConfigError

_MOMENTS = ("exp_avg", "exp_avg_sq", "step")
CHECKPOINT, CURVE = "checkpoint.safetensors", "curve.jsonl"


@dataclass(frozen=True)
class Settings:
    """How to train.

    Attributes:
        steps: Optimizer steps in all.
        rate: Highest learning rate.
        warmup: Steps in which the rate rises to it.
        decay: Share of the steps, at the end, in which it falls to nothing along a cosine; 1 is from the warmup on.
        weight_decay: Of AdamW.
        clip: Largest norm of the gradient.
        save_every: Steps between checkpoints, which are also when held-out figures are taken.
        seed: Of everything random.
    """

    steps: int
    rate: float = 1e-3
    warmup: int = 100
    decay: float = 1.0
    weight_decay: float = 0.01
    clip: float = 1.0
    save_every: int = 500
    seed: int = 0

    def __post_init__(self) -> None:
        if self.steps < 1 or self.save_every < 1 or self.warmup < 0 or not 0 <= self.decay <= 1:
            raise ConfigError(f"training cannot run with {self}: steps and save_every from 1, decay from 0 to 1")
        if not 0 < self.rate < math.inf:
            raise ConfigError(f"the rate is {self.rate}; pass a number above 0")

    def rate_at(self, step: int) -> float:
        """Learning rate of a step, counted from 0."""
        if step < self.warmup:
            return self.rate * (step + 1) / self.warmup
        start = max(self.warmup, round(self.steps * (1 - self.decay)))
        if step < start:
            return self.rate
        return self.rate * 0.5 * (1 + math.cos(math.pi * (step - start) / max(1, self.steps - start)))


def train(
    parameters: Mapping[str, nn.Parameter],
    loss_of: Callable[[int], torch.Tensor],
    settings: Settings,
    folder: Path,
    evaluate: Callable[[], Mapping[str, Any]] = dict,
    say: Callable[[str], None] = lambda _: None,
    writes: bool = True,
) -> list[dict[str, Any]]:
    """Train parameters in place, from the folder's checkpoint if there is one.

    Args:
        parameters: What is trained, by name.
        loss_of: Loss of a step's batch; the step, from 0, decides the batch.
        settings: How.
        folder: Holds the checkpoint and `curve.jsonl`, one line per checkpoint.
        evaluate: Held-out figures, taken with each checkpoint.
        say: Told each line of the curve.
        writes: Whether the folder is written to; of several processes that train the same, one does.

    Returns:
        The curve: step, mean loss since the line before, rate, seconds, figures.

    Raises:
        ConfigError: The folder's checkpoint is of other parameters or settings.
    """
    folder.mkdir(parents=True, exist_ok=True)
    names, values = list(parameters), list(parameters.values())
    optimizer = torch.optim.AdamW(values, lr=settings.rate, weight_decay=settings.weight_decay)
    step, curve = _resume(folder, names, values, optimizer, settings)
    before = curve[-1]["seconds"] if curve else 0.0
    start, losses = time.monotonic(), []
    while step < settings.steps:
        for group in optimizer.param_groups:
            group["lr"] = settings.rate_at(step)
        optimizer.zero_grad(set_to_none=True)
        loss = loss_of(step)
        loss.backward()
        nn.utils.clip_grad_norm_(values, settings.clip)
        optimizer.step()
        losses.append(float(loss.detach()))
        if not math.isfinite(losses[-1]):
            raise ConfigError(f"the loss is {losses[-1]} at step {step}; train with a lower rate than {settings.rate}")
        step += 1
        if step % settings.save_every == 0 or step == settings.steps:
            seconds = round(before + time.monotonic() - start, 1)
            mean = round(sum(losses) / len(losses), 5)
            rate = float(f"{settings.rate_at(step - 1):.3g}")
            curve.append({"step": step, "loss": mean, "rate": rate, "seconds": seconds, **evaluate()})
            if writes:
                _save(folder, names, values, optimizer, step, settings, curve)
            say(json.dumps(curve[-1]))
            losses = []
    return curve


def checkpoint_of(folder: Path) -> tuple[dict[str, torch.Tensor], list[dict[str, Any]]]:
    """Return a checkpoint's parameters by name, and the curve up to it.

    Raises:
        OSError: There is none.
    """
    with safe_open(folder / CHECKPOINT, "pt") as file:
        names = [name for name in file.keys() if name.startswith("value.")]  # noqa: SIM118 - it is no mapping
        values = {name.removeprefix("value."): file.get_tensor(name) for name in names}
        return values, list(json.loads((file.metadata() or {})["curve"]))


def batches(count: int, size: int, step: int, seed: int) -> list[int]:
    """Indices of a step's batch out of `count` items; every epoch takes them in another order.

    A batch that an epoch has no items left for is filled from the next one.
    """
    taken = (_item(count, at, seed) for at in range(step * size, (step + 1) * size))
    return list(taken)


def _item(count: int, at: int, seed: int) -> int:
    epoch, place = divmod(at, count)
    key = (count, epoch, seed)
    if key not in _ORDERS:
        while len(_ORDERS) > 3:
            _ORDERS.pop(next(iter(_ORDERS)))
        _ORDERS[key] = random.Random(f"{seed}:{epoch}").sample(range(count), count)
    return _ORDERS[key][place]


_ORDERS: dict[tuple[int, int, int], list[int]] = {}


def _save(
    folder: Path,
    names: list[str],
    values: list[nn.Parameter],
    optimizer: torch.optim.Optimizer,
    step: int,
    settings: Settings,
    curve: list[dict[str, Any]],
) -> None:
    tensors = {f"value.{name}": value.detach() for name, value in zip(names, values, strict=True)}
    for name, value in zip(names, values, strict=True):
        state = optimizer.state.get(value, {})
        tensors |= {f"{moment}.{name}": torch.as_tensor(state[moment]) for moment in _MOMENTS if moment in state}
    about = {"step": str(step), "settings": json.dumps(asdict(settings)), "curve": json.dumps(curve)}
    temporary = folder / f".{CHECKPOINT}"
    save_file({name: tensor.contiguous() for name, tensor in tensors.items()}, temporary, metadata=about)
    temporary.replace(folder / CHECKPOINT)
    (folder / CURVE).write_text("".join(json.dumps(line) + "\n" for line in curve))


def _resume(
    folder: Path,
    names: list[str],
    values: list[nn.Parameter],
    optimizer: torch.optim.Optimizer,
    settings: Settings,
) -> tuple[int, list[dict[str, Any]]]:
    path = folder / CHECKPOINT
    if not path.is_file():
        return 0, []
    with _opened(path) as file:
        about = file.metadata() or {}
        there = set(file.keys())
        missing = [name for name in names if f"value.{name}" not in there]
        if missing or not _goes_on(about, settings):
            what = f"lacks {missing[0]}" if missing else f"was made with {about.get('settings')}"
            raise ConfigError(f"{path} {what}; train into another folder, or remove it to start again")
        for name, value in zip(names, values, strict=True):
            with torch.no_grad():
                value.copy_(file.get_tensor(f"value.{name}"))
            kept = [moment for moment in _MOMENTS if f"{moment}.{name}" in there]
            state = {moment: file.get_tensor(f"{moment}.{name}") for moment in kept}
            # The count of steps stays where the optimizer has it, beside the processor.
            optimizer.state[value] = {key: each if key == "step" else each.to(value) for key, each in state.items()}
    return int(about["step"]), list(json.loads(about["curve"]))


def _opened(path: Path) -> Any:
    """A checkpoint, open.

    Raises:
        ConfigError: It is damaged.
    """
    try:
        return safe_open(path, "pt")
    except (OSError, SafetensorError) as error:
        raise ConfigError(f"{path} cannot be read: {error}; remove it to start again") from error


def _goes_on(about: Mapping[str, str], settings: Settings) -> bool:
    """Whether a run with these settings would have come to the checkpoint: how long it goes on may be changed."""
    try:
        before, step = Settings(**json.loads(about["settings"])), int(about["step"])
    except (KeyError, ValueError, TypeError):
        return False
    onwards = replace(settings, steps=before.steps, decay=before.decay, save_every=before.save_every)
    return before == onwards and all(before.rate_at(at) == settings.rate_at(at) for at in range(step))


def trained(module: nn.Module, prefix: str = "") -> Iterator[tuple[str, nn.Parameter]]:
    """Parameters of a module that ask for a gradient, with a prefix before their names."""
    yield from ((prefix + name, value) for name, value in module.named_parameters() if value.requires_grad)
