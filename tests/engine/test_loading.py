from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from confkv_agents.engine import loading
from confkv_agents.engine.loading import load_model, native_bfloat16
from confkv_agents.errors import ConfigError, ModelError, ModelNotFoundError, UnsupportedModelError
from tests.engine.tiny import CHATML, tiny_llama, tiny_smolvlm


def saved(loaded: Any, folder: Path) -> str:
    loaded.model.save_pretrained(folder)
    (loaded.processor or loaded.tokenizer).save_pretrained(folder)
    return str(folder)


def test_a_saved_causal_model_loads_as_one(tmp_path: Path) -> None:
    loaded = load_model(saved(tiny_llama(), tmp_path), device_map="cpu")
    assert not loaded.takes_pictures and loaded.processor is None
    assert str(loaded.dtype) == "torch.float32"  # the checkpoint's own
    assert loaded.chat_template == CHATML


def test_a_saved_vision_model_loads_as_one(tmp_path: Path) -> None:
    loaded = load_model(saved(tiny_smolvlm(), tmp_path))
    assert loaded.takes_pictures and loaded.image_token_id is not None


def test_a_16_bit_checkpoint_stays_16_bit_only_where_the_processor_computes_it(tmp_path: Path) -> None:
    loaded = tiny_llama()
    loaded.model.bfloat16()
    expected = "torch.bfloat16" if native_bfloat16() else "torch.float32"
    path = saved(loaded, tmp_path)
    assert str(load_model(path, device_map="cpu").dtype) == expected
    assert str(load_model(path, dtype="float32").dtype) == "torch.float32"
    with pytest.raises(ConfigError, match="dtype"):
        load_model(path, dtype="int7")


def test_the_token_that_the_template_writes_after_an_answer_ends_a_turn() -> None:
    template = CHATML.replace("<|im_end|>", "<global-img>")
    loaded = tiny_llama(template)
    assert loaded.eos_ids == {
        loaded.tokenizer.eos_token_id,
        loaded.tokenizer.convert_tokens_to_ids("<global-img>"),
    }


@pytest.mark.parametrize(
    ("name", "words"), [("./none", "there is no folder"), ("/no/such/folder", "there is no folder"), (" ", "empty")]
)
def test_what_is_no_model_is_refused(name: str, words: str) -> None:
    with pytest.raises(ModelNotFoundError, match=words):
        load_model(name)


def test_an_empty_folder_and_a_file_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ModelNotFoundError, match=r"no config\.json"):
        load_model(str(tmp_path))
    file = tmp_path / "file"
    file.write_text("x")
    with pytest.raises(ModelNotFoundError, match="is a file"):
        load_model(str(file))


def test_a_folder_without_weights_is_refused(tmp_path: Path) -> None:
    loaded = tiny_llama()
    loaded.model.config.save_pretrained(tmp_path)
    loaded.tokenizer.save_pretrained(tmp_path)
    with pytest.raises(ModelNotFoundError, match="weights"):
        load_model(str(tmp_path))


def test_a_hub_id_is_not_found_at_once_on_an_offline_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loading, "_hub_answers", lambda: False)
    with pytest.raises(ModelNotFoundError, match="offline"):
        load_model("nobody/no-such-model")


@pytest.mark.parametrize(
    ("config", "words"),
    [
        ({"model_type": "vit"}, "neither a causal"),
        ({"model_type": "no-such-family"}, "does not know"),
        ({"model_type": "mamba"}, "has not been checked"),
        ({"model_type": "custom", "auto_map": {"AutoConfig": "code.Config"}}, "never run"),
    ],
)
def test_families_that_cannot_be_used_are_refused_by_name(tmp_path: Path, config: dict[str, Any], words: str) -> None:
    (tmp_path / "config.json").write_text(json.dumps(config))
    with pytest.raises(UnsupportedModelError, match=words):
        load_model(str(tmp_path))


def test_a_processor_that_needs_a_missing_package_names_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = saved(tiny_smolvlm(), tmp_path)

    def missing(*args: Any, **kwargs: Any) -> Any:
        raise ImportError("requires the num2words library")

    monkeypatch.setattr(loading, "load_processor", missing)
    with pytest.raises(ModelError, match=r"processor .* needs a package .*num2words"):
        load_model(path)


def test_a_vision_model_without_image_processor_files_says_what_lacks(tmp_path: Path) -> None:
    tiny_smolvlm().model.save_pretrained(tmp_path)
    tiny_smolvlm().tokenizer.save_pretrained(tmp_path)
    with pytest.raises(ModelError, match=r"processor .* cannot be loaded: .*preprocessor_config\.json"):
        load_model(str(tmp_path))


@pytest.mark.parametrize(
    ("file", "content", "said"),
    [
        ("config.json", "{bad", "config.json of model .* cannot be read"),
        ("config.json", '{"model_type": "llama", "vocab_size": "x"}', "config.json of model .* is not usable"),
        ("config.json", '{"model_type": "llama", "num_attention_heads": 0}', "config.json of model .* is not usable"),
        ("model.safetensors", "no weights", "cannot be loaded"),
        ("tokenizer.json", "{}", "cannot be loaded"),
    ],
)
def test_a_damaged_file_is_told_as_a_model_that_cannot_be_loaded(
    tmp_path: Path, file: str, content: str, said: str
) -> None:
    folder = saved(tiny_llama(), tmp_path)
    (tmp_path / file).write_text(content)
    with pytest.raises(ModelError, match=said):
        load_model(folder)
