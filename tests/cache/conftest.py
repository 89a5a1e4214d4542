"""Models are built once per test run; attaching is idempotent."""

from __future__ import annotations

import pytest
import torch
from tiny import CORE, FAMILIES, make_model
from transformers import PreTrainedModel

from confkv_agents.cache import attach


@pytest.fixture(autouse=True)
def no_gradients():
    torch.set_num_threads(1)  # the tensors are tiny: more threads only wait for each other
    with torch.no_grad():
        yield


@pytest.fixture(autouse=True)
def no_positions_of_another_test(request):
    """Qwen-VL models keep the last call's `rope_deltas` and use them for the next conversation's positions."""
    for name in {"stock", "model"} & set(request.fixturenames):
        inner = request.getfixturevalue(name).base_model
        if hasattr(inner, "rope_deltas"):
            inner.rope_deltas = None


@pytest.fixture(scope="session", params=FAMILIES)
def family(request) -> str:
    return request.param


@pytest.fixture(scope="session")
def stock(family) -> PreTrainedModel:
    return make_model(family)


@pytest.fixture(scope="session")
def model(family) -> PreTrainedModel:
    return attach(make_model(family))


def pytest_collection_modifyitems(config, items):
    """Run every policy on the core families, and on the others those that together use every part of the cache."""
    dropped = []
    for item in items:
        values = getattr(item, "callspec", None) and item.callspec.params
        if not values or values.get("family", CORE[0]) in CORE:
            continue
        if values.get("policy", "confkv") not in ("full", "confkv") or values.get("dtype") == torch.float16:
            dropped.append(item)
    config.hook.pytest_deselected(items=dropped)
    items[:] = [item for item in items if item not in set(dropped)]
