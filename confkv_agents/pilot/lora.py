"""Low-rank changes of linear layers (LoRA, arXiv 2106.09685): added for training, kept apart, merged at the end.

The trained parameters are fp32 and are cast to the layer's own format in the forward, so that a model in bf16 can be
trained with small steps.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

import torch
from torch import nn

from confkv_agents.errors import ConfigError

# A decoder layer's linear layer, under whatever holds the decoder; its name within a text model.
_LAYER = re.compile(r"(?:^|.*\.)(layers\.\d+\..+)$")


class LowRank(nn.Module):
    """A linear layer, frozen, with a change of low rank: `W x + scale * B A x`.

    Args:
        base: The layer.
        rank: Rank of the change.
        scale: Factor on it.
        generator: Draws A; B starts at 0, so that nothing changes at first.
    """

    def __init__(self, base: nn.Linear, rank: int, scale: float = 1.0, generator: torch.Generator | None = None):
        super().__init__()
        self.base = base.requires_grad_(False)
        self.scale = scale
        drawn = torch.randn(rank, base.in_features, generator=generator) / base.in_features**0.5
        self.a = nn.Parameter(drawn.to(base.weight.device))
        self.b = nn.Parameter(torch.zeros(base.out_features, rank, device=base.weight.device))

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        """Return what the changed layer gives for `[..., in]`."""
        low = nn.functional.linear(inputs, self.a.to(inputs.dtype))
        out: torch.Tensor = self.base(inputs) + self.scale * nn.functional.linear(low, self.b.to(inputs.dtype))
        return out

    def merged(self) -> nn.Linear:
        """Return the layer with the change added to its weight, computed in fp32."""
        with torch.no_grad():
            change = self.scale * self.b.float() @ self.a.float()
            self.base.weight.copy_((self.base.weight.float() + change).to(self.base.weight.dtype))
        return self.base


def add_lora(model: nn.Module, rank: int = 16, scale: float = 1.0, seed: int = 0) -> None:
    """Freeze a model and give every linear layer of its decoder layers a change of low rank.

    Args:
        model: A causal language model, or one with pictures: a vision part stays as it is.
        rank: Rank of the changes.
        scale: Factor on them.
        seed: Of the drawn parameters.

    Raises:
        ConfigError: It has no such layers, or has changes already.
    """
    if next(_changes(model), None) is not None:
        raise ConfigError("the model has low-rank changes already; merge them first")
    found = [name for name, module in model.named_modules() if isinstance(module, nn.Linear) and _is_text(name)]
    if not found:
        raise ConfigError(f"{type(model).__name__} has no decoder layers that could be changed")
    generator = torch.Generator().manual_seed(seed)
    model.requires_grad_(False)
    for name in found:
        layer = model.get_submodule(name)
        assert isinstance(layer, nn.Linear)
        model.set_submodule(name, LowRank(layer, rank, scale, generator))


def merge_lora(model: nn.Module) -> None:
    """Add all changes to the weights, and take the extra layers out again."""
    for name, change in list(_changes(model)):
        model.set_submodule(name, change.merged())


def lora_tensors(model: nn.Module) -> dict[str, torch.Tensor]:
    """Return all changes in bf16, by the names that `pilot_weights.merged` reads: `lora.model.layers.0...a`."""
    return saved_lora(lora_parameters(model))


def saved_lora(parameters: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """Return parameters by the names of `lora_parameters`, such as a checkpoint's, as `lora_tensors` does."""
    return {
        f"lora.model.{_text_name(name)}": value.detach().to(torch.bfloat16).contiguous()
        for name, value in parameters.items()
    }


def load_lora(model: nn.Module, tensors: Mapping[str, torch.Tensor]) -> None:
    """Set the changes of a model that has them to saved ones.

    Args:
        model: `add_lora` gave it changes of the same rank.
        tensors: What `lora_tensors` returned; other names are left alone.

    Raises:
        ConfigError: A change is missing, or is of another shape.
    """
    for name, change in _changes(model):
        for part in ("a", "b"):
            saved, own = tensors.get(f"lora.model.{_text_name(name)}.{part}"), getattr(change, part)
            if saved is None or saved.shape != own.shape:
                what = "none" if saved is None else f"one of shape {tuple(saved.shape)}"
                raise ConfigError(f"the layer {name} needs a change {part} of shape {tuple(own.shape)}, found {what}")
            with torch.no_grad():
                own.copy_(saved)


def lora_parameters(model: nn.Module) -> dict[str, nn.Parameter]:
    """Return what is to be trained, by name."""
    return {f"{name}.{part}": getattr(change, part) for name, change in _changes(model) for part in ("a", "b")}


def _changes(model: nn.Module) -> Iterator[tuple[str, LowRank]]:
    return ((name, module) for name, module in model.named_modules() if isinstance(module, LowRank))


def _is_text(name: str) -> bool:
    return "vision_tower" not in name and _LAYER.match(name) is not None


def _text_name(name: str) -> str:
    found = _LAYER.match(name)
    assert found is not None
    return found[1]
