"""Models for the engine's tests; one thread, since tests share two cores with browsers."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch

from confkv_agents.engine.engine import Engine
from confkv_agents.engine.loading import LoadedModel
from tests.engine.tiny import tiny_llama, tiny_smolvlm

torch.set_num_threads(1)


@pytest.fixture
def loaded() -> LoadedModel:
    return tiny_llama()


@pytest.fixture
def engine(loaded: LoadedModel) -> Iterator[Engine]:
    with Engine(lambda: loaded, "tiny") as made:
        yield made


@pytest.fixture
def vlm_engine() -> Iterator[Engine]:
    model = tiny_smolvlm()
    with Engine(lambda: model, "tiny-vlm") as made:
        yield made
