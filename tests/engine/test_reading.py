"""Reading a prompt in chunks, with and without a look ahead."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from transformers.cache_utils import DynamicCache

from confkv_agents.cache import CacheConfig, ConfKVCache
from confkv_agents.engine.loading import LoadedModel
from confkv_agents.engine.reading import read_prompt


class Recorder:
    """Stands in for a model and a cache that wants probes; notes what it was fed, and whether looking ahead."""

    def __init__(self, probe: int, reads_ahead: bool = False) -> None:
        self.wants_probe, self.reads_ahead = probe > 0, reads_ahead
        self.policy = SimpleNamespace(probe=probe)
        self.config = SimpleNamespace(chunk=4)
        self.fed: list[tuple[list[int], int]] = []
        self._looking: int = False

    @contextlib.contextmanager
    def looking_ahead(self) -> Iterator[None]:
        self._looking = True
        yield
        self._looking = False

    @contextlib.contextmanager
    def reading_ahead(self, tokens: int) -> Iterator[None]:
        self._looking = tokens
        yield
        self._looking = False

    def __call__(self, input_ids: torch.Tensor, **kwargs: Any) -> Any:
        assert kwargs["cache"] is self
        assert kwargs["logits_to_keep"] == 1
        self.fed.append((input_ids[0].tolist(), self._looking))
        return SimpleNamespace(logits=torch.full((1, 1, 5), float(input_ids[0, -1])))


def test_end_of_the_prompt_looks_at_every_chunk_but_the_last() -> None:
    recorder = Recorder(probe=3)
    logits = read_prompt(recorder, recorder, torch.arange(10)[None])
    assert recorder.fed == [
        ([0, 1, 2, 3], False),
        ([7, 8, 9], True),
        ([4, 5, 6, 7], False),
        ([8, 9], True),  # never what has been read already
        ([8, 9], False),
    ]
    assert logits.tolist() == [[9.0] * 5]


def test_end_of_the_prompt_goes_with_the_chunk_where_the_cache_can_tell_them_apart() -> None:
    recorder, read = Recorder(probe=3, reads_ahead=True), []
    logits = read_prompt(recorder, recorder, torch.arange(10)[None], on_chunk=read.append)
    assert recorder.fed == [([0, 1, 2, 3, 7, 8, 9], 3), ([4, 5, 6, 7, 8, 9], 2), ([8, 9], 0)]
    assert logits.tolist() == [[9.0] * 5]
    assert read == [4, 8, 10]


def test_cache_that_wants_no_probe_is_only_fed() -> None:
    recorder, read = Recorder(probe=0), []
    read_prompt(recorder, recorder, torch.arange(6)[None], on_chunk=read.append)
    assert recorder.fed == [([0, 1, 2, 3], False), ([4, 5], False)]
    assert read == [4, 6]


def test_chunks_give_the_stock_caches_logits(loaded: LoadedModel) -> None:
    ids = torch.randint(5, 60, (1, 50), generator=torch.Generator().manual_seed(1))
    config = CacheConfig(policy="full", chunk=16)
    with torch.inference_mode():
        ours = read_prompt(loaded.model, ConfKVCache(loaded.model.config, config), ids)
        stock = read_prompt(loaded.model, DynamicCache(config=loaded.model.config), ids)
    assert torch.allclose(ours, stock, atol=1e-5)


def test_empty_prompt_is_refused(loaded: LoadedModel) -> None:
    with pytest.raises(ValueError, match="no token"):
        read_prompt(loaded.model, ConfKVCache(loaded.model.config), torch.zeros(1, 0, dtype=torch.long))
