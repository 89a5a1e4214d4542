"""Cache policies: each a selection of the same parts, one file each, all on the same storage and attention.

A new policy is a file here with one `Policy` subclass, plus one line in `POLICIES`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from confkv_agents.cache.policies.base import Policy, SlotView
from confkv_agents.cache.policies.confkv import ConfKV, ConfKVRecall
from confkv_agents.cache.policies.full import Full
from confkv_agents.cache.policies.h2o import H2O
from confkv_agents.cache.policies.snapkv import SnapKV
from confkv_agents.cache.policies.window import Window

if TYPE_CHECKING:
    from confkv_agents.cache.config import CacheConfig

POLICIES: dict[str, Callable[[CacheConfig], Policy]] = {
    "full": Full,
    "window": Window,
    "h2o": H2O,
    "snapkv": SnapKV,
    "confkv": ConfKV,
    "confkv+recall": ConfKVRecall,
}

__all__ = ["H2O", "POLICIES", "ConfKV", "ConfKVRecall", "Full", "Policy", "SlotView", "SnapKV", "Window"]
