"""What training reads is kept beside the demonstrations, and made again where it would come out otherwise."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from PIL import Image

from confkv_agents.errors import ConfigError
from confkv_agents.pilot import prepared as module
from confkv_agents.pilot.data import pictures_of
from confkv_agents.pilot.demonstrations import Demonstration
from confkv_agents.pilot.prepared import prepared
from tests.engine.tiny import tiny_pilot


def line_of(number: int, *pictures: str, success: bool = True) -> str:
    shown: list[dict[str, Any]] = [{"text": f"page {number}"}, *({"picture": name} for name in pictures)]
    said = [
        {"role": "user", "content": shown},
        {"role": "assistant", "content": [{"text": f"click [{number}]"}], "learn": True},
    ]
    return Demonstration(f"shop/x:{number}", success, 1, said).to_line() + "\n"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "data.jsonl"
    pictures_of(path).mkdir()
    for name in ("red", "blue", "green"):
        Image.new("RGB", (40, 30), name).save(pictures_of(path) / f"{name}.png")
    path.write_text(line_of(1, "red", "blue") + line_of(2, success=False) + line_of(3, "red"))
    return path


@pytest.fixture
def work(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What is encoded, by task, and what is looked at, by name."""
    done: list[str] = []
    encode, look_at = module.encode, module.look_at

    def encoding(made, *given):
        done.append(made.task)
        return encode(made, *given)

    def looking(loaded, folder, names, say):
        done.extend(sorted(names))
        return look_at(loaded, folder, names, say)

    monkeypatch.setattr(module, "encode", encoding)
    monkeypatch.setattr(module, "look_at", looking)
    return done


def same(one, other) -> bool:
    (left, looks), (right, others) = one, other
    return (
        [each.pictures for each in left] == [each.pictures for each in right]
        and all(
            torch.equal(a.ids, b.ids) and torch.equal(a.learned, b.learned) for a, b in zip(left, right, strict=True)
        )
        and looks.keys() == others.keys()
        and all(torch.equal(looks[name], others[name]) for name in looks)
    )


def test_a_second_time_nothing_is_done_and_what_comes_out_is_the_same(file: Path, work: list[str]):
    loaded = tiny_pilot()
    first = prepared(file, loaded)
    assert work == ["shop/x:1", "shop/x:3", "blue", "red"]
    assert first[0][0].ids.dtype == torch.int64 and first[0][0].learned.dtype == torch.bool
    work.clear()
    assert same(first, prepared(file, loaded)) and not work


def test_only_what_was_added_is_done(file: Path, work: list[str]):
    loaded = tiny_pilot()
    prepared(file, loaded)
    work.clear()
    with file.open("a") as lines:
        lines.write(line_of(4, "green", "red"))
    longer = prepared(file, loaded)
    assert work == ["shop/x:4", "green"]
    file.with_suffix(".prepared.safetensors").unlink()
    assert same(longer, prepared(file, loaded))


def test_it_is_done_anew_for_other_eyes_another_template_and_after_damage(file: Path, work: list[str]):
    everything = ["shop/x:1", "shop/x:3", "blue", "red"]
    loaded = tiny_pilot()
    prepared(file, loaded)
    with torch.no_grad():
        next(loaded.model.model.multi_modal_projector.parameters()).add_(1)
    prepared(file, loaded)
    loaded.tokenizer.chat_template = loaded.tokenizer.chat_template + " "
    prepared(file, loaded)
    kept = file.with_suffix(".prepared.safetensors")
    kept.write_bytes(kept.read_bytes()[:100])
    prepared(file, loaded)
    assert work == 4 * everything


def test_a_text_model_that_changed_needs_nothing_anew(file: Path, work: list[str]):
    loaded = tiny_pilot()
    prepared(file, loaded)
    work.clear()
    with torch.no_grad():
        next(loaded.model.model.language_model.layers.parameters()).add_(1)
    prepared(file, loaded)
    assert not work


def test_a_picture_that_is_missing_is_named(file: Path):
    (pictures_of(file) / "blue.png").unlink()
    with pytest.raises(ConfigError, match=r"blue\.png cannot be read"):
        prepared(file, tiny_pilot())
