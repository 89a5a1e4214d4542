"""Eyes for a small language model: an ImageNet network, and a resampler that makes a few tokens of a picture.

The vision part of the pilot in transformers' form, for `LlavaForConditionalGeneration`: a configuration, a model and
an image processor, known to the Auto classes once `register` was called. The network (`EfficientNetLite`) is frozen;
what its cells see is joined with their colours, which ImageNet's features forget, and four learned queries look at
the cells (as in Perceiver, arXiv 2103.03206).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from PIL import Image
from torch import nn
from transformers import AutoConfig, AutoImageProcessor, AutoModel, PreTrainedConfig, PreTrainedModel
from transformers.image_processing_backends import PilBackend
from transformers.modeling_outputs import BaseModelOutputWithPooling

from confkv_agents.engine.efficientnet import COARSE, FINE, STRIDE, EfficientNetLite

MODEL_TYPE = "confkv_eyes"
_COLOURS = 4  # sub-cells along a cell's side of which the mean colour is kept
_SAME = 14  # of 255: shades of a plain ground, as lossy pictures have
_PLAIN = 0.9  # share of the edge that shows it
_CORNER = 12  # of a rounded corner, in pixels
_MARGIN = 0.04


class EyesConfig(PreTrainedConfig):
    """Sizes of the eyes.

    Attributes:
        image_size: Side of the square that pictures are brought to, in pixels.
        patch_size: Side of the square that one token stands for, as processors count: `(image_size / patch_size) ** 2`
            tokens a picture. Every token looks at the whole picture.
        hidden_size: Width of a token.
        mixing_layers: Layers in which neighbouring cells meet.
        num_hidden_layers: Layers in which the queries look at the cells.
        num_attention_heads: Heads of these.
    """

    model_type = MODEL_TYPE
    base_config_key = "vision_config"

    image_size: int = 224
    patch_size: int = 112
    hidden_size: int = 256
    mixing_layers: int = 2
    num_hidden_layers: int = 2
    num_attention_heads: int = 4
    initializer_range: float = 0.02

    @property
    def tokens(self) -> int:
        """Tokens a picture."""
        return int((self.image_size // self.patch_size) ** 2)


class _Mixing(nn.Module):
    """Each cell with its eight neighbours, then each cell alone (as in ConvNeXt, arXiv 2201.03545)."""

    def __init__(self, width: int):
        super().__init__()
        self.near = nn.Conv2d(width, width, 3, padding=1, groups=width)
        self.norm = nn.LayerNorm(width)
        self.wide = nn.Linear(width, 2 * width)
        self.narrow = nn.Linear(2 * width, width)

    def forward(self, cells: torch.Tensor) -> torch.Tensor:
        near = self.near(cells.permute(0, 3, 1, 2)).permute(0, 2, 3, 1)
        alone: torch.Tensor = self.narrow(nn.functional.gelu(self.wide(self.norm(near))))
        return cells + alone


class _Looking(nn.Module):
    """The queries look at each other and at the cells."""

    def __init__(self, width: int, heads: int):
        super().__init__()
        self.heads = heads
        self.norm_queries, self.norm_cells, self.norm = (nn.LayerNorm(width) for _ in range(3))
        self.query, self.key_value = nn.Linear(width, width), nn.Linear(width, 2 * width)
        self.out = nn.Linear(width, width)
        self.wide, self.narrow = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, queries: torch.Tensor, cells: torch.Tensor) -> torch.Tensor:
        normed = self.norm_queries(queries)
        seen = torch.cat([normed, self.norm_cells(cells)], 1)
        key, value = self.key_value(seen).chunk(2, -1)
        query, key, value = (
            each.unflatten(-1, (self.heads, -1)).transpose(1, 2) for each in (self.query(normed), key, value)
        )
        attended = nn.functional.scaled_dot_product_attention(query, key, value)
        queries = queries + self.out(attended.transpose(1, 2).flatten(2))
        alone: torch.Tensor = self.narrow(nn.functional.gelu(self.wide(self.norm(queries))))
        return queries + alone


class Resampler(nn.Module):
    """Makes tokens of what a picture's cells hold; the trained part of the eyes."""

    def __init__(self, config: EyesConfig):
        super().__init__()
        width, side = config.hidden_size, config.image_size // STRIDE
        self.norm_coarse, self.norm_fine = nn.LayerNorm(COARSE), nn.LayerNorm(4 * FINE)
        self.coarse, self.fine = nn.Linear(COARSE, width), nn.Linear(4 * FINE, width)
        self.colours = nn.Linear(3 * _COLOURS**2, width)
        self.places = nn.Parameter(torch.zeros(side, side, width))
        self.mixing = nn.ModuleList(_Mixing(width) for _ in range(config.mixing_layers))
        self.queries = nn.Parameter(torch.zeros(config.tokens, width))
        self.looking = nn.ModuleList(
            _Looking(width, config.num_attention_heads) for _ in range(config.num_hidden_layers)
        )
        self.norm = nn.LayerNorm(width)

    def forward(self, fine: torch.Tensor, coarse: torch.Tensor, colours: torch.Tensor) -> torch.Tensor:
        """Return the tokens `[B, tokens, width]`.

        Args:
            fine: `[B, 112, 2 h, 2 w]`, what the network sees at stride 16.
            coarse: `[B, 320, h, w]`, what it sees at stride 32.
            colours: `[B, 3, 4 h, 4 w]`, mean colours, scaled as the pixels are.
        """
        cells = self.coarse(self.norm_coarse(coarse.permute(0, 2, 3, 1)))
        cells = cells + self.fine(self.norm_fine(nn.functional.pixel_unshuffle(fine, 2).permute(0, 2, 3, 1)))
        cells = cells + self.colours(nn.functional.pixel_unshuffle(colours, _COLOURS).permute(0, 2, 3, 1))
        cells = cells + self.places
        for mixing in self.mixing:
            cells = mixing(cells)
        tokens = self.queries.expand(len(cells), -1, -1)
        for looking in self.looking:
            tokens = looking(tokens, cells.flatten(1, 2))
        out: torch.Tensor = self.norm(tokens)
        return out


class EyesModel(PreTrainedModel):
    """A vision tower that gives `config.tokens` tokens a picture."""

    config: EyesConfig
    config_class = EyesConfig
    base_model_prefix = "eyes"
    main_input_name = "pixel_values"
    input_modalities = "image"

    def __init__(self, config: EyesConfig):
        super().__init__(config)
        self.network = EfficientNetLite()
        self.resampler = Resampler(config)
        self.post_init()

    @torch.no_grad()
    def _init_weights(self, module: nn.Module) -> None:
        super()._init_weights(module)
        if isinstance(module, Resampler):
            nn.init.normal_(module.places, std=self.config.initializer_range)
            nn.init.normal_(module.queries, std=1.0)

    def features(self, pixel_values: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Return what `Resampler` takes: fine and coarse features of the frozen network, and colours.

        Args:
            pixel_values: `[B, 3, image_size, image_size]` of `EyesImageProcessor`.
        """
        pixels = pixel_values.to(self.dtype)
        colours = nn.functional.avg_pool2d(pixels, STRIDE // _COLOURS)
        fine, coarse = self.network(pixels.contiguous(memory_format=torch.channels_last))
        return fine, coarse, colours

    def forward(self, pixel_values: torch.Tensor, **_: Any) -> BaseModelOutputWithPooling:
        """Return the tokens `[B, tokens, hidden_size]` as the last, and only, hidden state."""
        tokens = self.resampler(*self.features(pixel_values))
        return BaseModelOutputWithPooling(last_hidden_state=tokens, hidden_states=(tokens,))


class EyesImageProcessor(PilBackend):
    """Cuts a plain border off, pads to a white square, scales to 224 x 224, and maps a byte to (byte - 127) / 128."""

    model_input_names = ["pixel_values"]  # noqa: RUF012 - declared so by the base class
    size = {"height": 224, "width": 224}  # noqa: RUF012 - the same
    resample = Image.Resampling.BICUBIC
    image_mean = (127 / 255,) * 3
    image_std = (128 / 255,) * 3
    default_to_square = True
    do_convert_rgb = True
    do_resize = True
    do_rescale = True
    do_normalize = True

    def process_image(self, image: Any, *args: Any, **kwargs: Any) -> np.ndarray:
        """Return `[3, H, W]` bytes of a square, H = W."""
        pixels: np.ndarray = super().process_image(image, *args, **kwargs)
        return squared(without_border(pixels))


def without_border(pixels: np.ndarray) -> np.ndarray:
    """Cut a ground of one colour off, but for a margin, if nearly all of the edge has it.

    Rounded corners and a hairline around the picture, as pages draw them, count as ground.

    Args:
        pixels: `[3, H, W]` bytes.
    """
    _, height, width = pixels.shape
    whole = pixels.astype(np.int16)
    edge = np.concatenate([whole[:, 0], whole[:, -1], whole[:, :, 0], whole[:, :, -1]], 1)
    ground = np.median(edge, axis=1)
    if (np.abs(edge - ground[:, None]).max(0) <= _SAME).mean() < _PLAIN:
        return pixels
    differs = (np.abs(whole - ground[:, None, None]) > _SAME).any(0)
    round_ = min(_CORNER, height // 4, width // 4)
    for rows in (slice(0, round_), slice(height - round_, height)):
        for columns in (slice(0, round_), slice(width - round_, width)):
            differs[rows, columns] = False
    differs[[0, -1]] = differs[:, [0, -1]] = False
    found = np.flatnonzero(differs.any(1)), np.flatnonzero(differs.any(0))
    if not len(found[0]):
        return pixels
    (top, bottom), (left, right) = ((each[0], each[-1] + 1) for each in found)
    margin = round(_MARGIN * max(bottom - top, right - left)) + 1
    return pixels[:, max(0, top - margin) : bottom + margin, max(0, left - margin) : right + margin]


def squared(pixels: np.ndarray) -> np.ndarray:
    """Put a picture into the middle of a white square, `[3, S, S]`."""
    _, height, width = pixels.shape
    side = max(height, width)
    square = np.full((3, side, side), 255, pixels.dtype)
    top, left = (side - height) // 2, (side - width) // 2
    square[:, top : top + height, left : left + width] = pixels
    return square


def register() -> None:
    """Make the eyes known to transformers' Auto classes; harmless when repeated."""
    AutoConfig.register(MODEL_TYPE, EyesConfig, exist_ok=True)
    AutoModel.register(EyesConfig, EyesModel, exist_ok=True)
    AutoImageProcessor.register(EyesConfig, image_processor_classes={"pil": EyesImageProcessor}, exist_ok=True)
