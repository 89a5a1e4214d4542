"""The CONF-KV cache: needs torch and transformers, and works without the rest of the package.

>>> model = attach(model)
>>> cache = ConfKVCache(model.config, CacheConfig(budget=512))
>>> output = model.generate(**inputs, cache=cache, logits_processor=cache.logits_processors())
"""

from confkv_agents.cache.attach import attach
from confkv_agents.cache.cache import ConfKVCache
from confkv_agents.cache.confidence import confidence
from confkv_agents.cache.config import CacheConfig
from confkv_agents.cache.mrope import PictureGrid, mrope_positions
from confkv_agents.cache.persistence import load_cache, save_cache
from confkv_agents.cache.policies import POLICIES, Policy
from confkv_agents.cache.processor import ConfidenceProcessor
from confkv_agents.cache.trace import StepTrace, Trace, TraceFile, read_trace
from confkv_agents.cache.usage import CacheUsage

__all__ = [
    "POLICIES",
    "CacheConfig",
    "CacheUsage",
    "ConfKVCache",
    "ConfidenceProcessor",
    "PictureGrid",
    "Policy",
    "StepTrace",
    "Trace",
    "TraceFile",
    "attach",
    "confidence",
    "load_cache",
    "mrope_positions",
    "read_trace",
    "save_cache",
]
