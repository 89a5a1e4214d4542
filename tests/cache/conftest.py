"""Models are built once per test run; attaching is idempotent."""

from __future__ import annotations

import pytest
import torch
from tiny import FAMILIES, make_model
from transformers import PreTrainedModel

from confkv_agents.cache import attach


@pytest.fixture(autouse=True)
def no_gradients():
    torch.set_num_threads(1)  # the tensors are tiny: more threads only wait for each other
    with torch.no_grad():
        yield


@pytest.fixture(scope="session", params=FAMILIES)
def family(request) -> str:
    return request.param


@pytest.fixture(scope="session")
def stock(family) -> PreTrainedModel:
    return make_model(family)


@pytest.fixture(scope="session")
def model(family) -> PreTrainedModel:
    return attach(make_model(family))
