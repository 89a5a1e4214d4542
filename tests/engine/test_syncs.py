"""Contract 9 in the engine: choosing a token, its confidence and the next forward ask the device once."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

from confkv_agents.cache import CacheConfig, ConfKVCache
from confkv_agents.engine.conversation import Turn
from confkv_agents.engine.encoding import PromptEncoder
from confkv_agents.engine.job import Job
from confkv_agents.engine.loading import LoadedModel
from confkv_agents.engine.request import Request, Stream
from confkv_agents.engine.sampling import SamplingConfig
from confkv_agents.engine.session import SessionStore
from tests.cache.syncs import counted
from tests.engine.tiny import tiny_llama, tiny_qwen_vl

POLICIES = ("full", "window", "h2o", "snapkv", "confkv")
CONFIG = {"budget": 64, "window": 16, "chunk": 32, "evict_every": 4}
SAMPLED = SamplingConfig(temperature=0.7, top_p=0.9, top_k=20, seed=1)


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("sampling", [SamplingConfig(temperature=0.0), SAMPLED], ids=["greedy", "sampled"])
@pytest.mark.parametrize("make", [tiny_llama, lambda: tiny_qwen_vl("qwen3_vl")], ids=["llama", "qwen3_vl"])
def test_a_token_asks_the_device_once(make: Callable[[], LoadedModel], policy: str, sampling: SamplingConfig) -> None:
    loaded = make()
    store = SessionStore(lambda config: ConfKVCache(loaded.model.config, config))
    turns = (Turn("user", ("the other thing on the line, " * 8,)),)
    request = Request(turns, CacheConfig(policy=policy, **CONFIG), max_tokens=16, sampling=sampling)
    job = Job(Stream(request, lambda: None), loaded, PromptEncoder(loaded), store)
    with torch.inference_mode():
        assert job.admit(alone=True)
        while job._logits is None:
            job.step()
        asked, done = [], False
        while not done and len(asked) < 14:
            with counted() as found:
                done = job.step()
            asked.append(found.total())
    assert asked and set(asked[: len(asked) - done]) == {1}
    if policy != "full" and not done:
        assert job.session.cache._banks[0][0].last_eviction > len(job.prompt.ids)
