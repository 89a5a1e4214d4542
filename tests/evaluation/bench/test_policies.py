"""The list of policies to compare, and the texts to read."""

from __future__ import annotations

from pathlib import Path

import pytest

from confkv_agents.cache import CacheConfig
from confkv_agents.errors import ConfigError
from confkv_agents.evaluation.bench.policies import parse_policies
from confkv_agents.evaluation.bench.texts import load_texts


def test_policies_are_read_in_order_with_settings_of_their_own() -> None:
    configs = parse_policies("full, h2o,confkv:int8_share=0:pyramid=-0.5:confidence=margin,confkv:budget=300", 200)
    assert list(configs) == ["full", "h2o", "confkv:int8_share=0:pyramid=-0.5:confidence=margin", "confkv:budget=300"]
    assert configs["h2o"] == CacheConfig(policy="h2o", budget=200)
    third = configs["confkv:int8_share=0:pyramid=-0.5:confidence=margin"]
    assert (third.policy, third.budget, third.int8_share) == ("confkv", 200, 0)
    assert (third.pyramid, third.confidence) == (-0.5, "margin")
    assert configs["confkv:budget=300"].budget == 300


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("nonsense", "nonsense"),
        ("confkv:colour=red", "colour=red"),
        ("confkv:policy=full", "policy=full"),
        ("confkv:budget", "budget"),
        ("confkv:budget=many", "many"),
        ("full,full", "twice"),
        (" , ", "no policy"),
    ],
)
def test_bad_policies_are_refused_by_name(text: str, named: str) -> None:
    with pytest.raises(ConfigError, match=named):
        parse_policies(text, 512)


def test_texts_come_from_a_file_or_a_folder_in_order(tmp_path: Path) -> None:
    (tmp_path / "b.txt").write_text("second")
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "c.txt").write_text("first")
    (tmp_path / "notes.md").write_text("not this")
    assert [(text.name, text.content) for text in load_texts(tmp_path)] == [("a/c.txt", "first"), ("b.txt", "second")]
    assert [text.name for text in load_texts(tmp_path / "b.txt")] == ["b.txt"]


def test_unusable_texts_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no such file"):
        load_texts(tmp_path / "missing")
    with pytest.raises(ConfigError, match=r"no \.txt file"):
        load_texts(tmp_path)
    (tmp_path / "a.txt").write_bytes(b"\xff\xfe")
    with pytest.raises(ConfigError, match="UTF-8"):
        load_texts(tmp_path)
    (tmp_path / "a.txt").write_text("  \n")
    with pytest.raises(ConfigError, match="empty"):
        load_texts(tmp_path)


def test_default_texts_are_several_of_like_size_and_need_no_files() -> None:
    texts = load_texts(None)
    sizes = [len(text.content) for text in texts]
    assert len(texts) >= 3
    assert min(sizes) > 40_000
    assert len({text.sha256 for text in texts}) == len(texts)
