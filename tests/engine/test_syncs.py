"""Contract 9 in the engine: choosing a token, its confidence and the next forward ask the device once."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

from confkv_agents.cache import CacheConfig, ConfKVCache
from confkv_agents.engine.conversation import Turn
from confkv_agents.engine.decoding import decode
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


def raised(job: Job, error: BaseException) -> None:
    raise error


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("sampling", [SamplingConfig(temperature=0.0), SAMPLED], ids=["greedy", "sampled"])
@pytest.mark.parametrize("make", [tiny_llama, lambda: tiny_qwen_vl("qwen3_vl")], ids=["llama", "qwen3_vl"])
@pytest.mark.parametrize("rows", [1, 3])
def test_a_token_asks_the_device_once(
    make: Callable[[], LoadedModel], policy: str, sampling: SamplingConfig, rows: int
) -> None:
    loaded = make()
    encoder, store = PromptEncoder(loaded), SessionStore(lambda config: ConfKVCache(loaded.model.config, config))
    jobs = []
    for number in range(rows):
        turns = (Turn("user", (f"{number} " + "the other thing on the line, " * 8,)),)
        request = Request(turns, CacheConfig(policy=policy, **CONFIG), max_tokens=16, sampling=sampling)
        jobs.append(Job(Stream(request, lambda: None), loaded, encoder, store))
    with torch.inference_mode():
        for job in jobs:
            assert job.admit(alone=True)
            while not job.decoding:
                job.read()
        asked = []
        for _ in range(14):
            with counted() as found:
                going = decode(jobs, loaded.model, raised)
            if len(going) < rows:
                break
            asked.append(found.total())
    assert asked and set(asked) == {1}
    if policy != "full" and len(asked) == 14:
        assert all(job.session.cache._banks[0][0].last_eviction > len(job.prompt.ids) for job in jobs)
