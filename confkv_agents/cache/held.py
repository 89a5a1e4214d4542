"""What a cache holds, apart from what happens in a forward: banks, figures, going back, saving, rows."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from statistics import fmean
from typing import Any, Self

import torch
from transformers import PreTrainedConfig
from transformers.cache_utils import Cache, DynamicSlidingWindowLayer, get_layer_types_and_kwargs

from confkv_agents.cache.bank import Bank, GrowingBank
from confkv_agents.cache.bounded import BoundedBank
from confkv_agents.cache.budget import BudgetSchedule
from confkv_agents.cache.confidence import Smoother
from confkv_agents.cache.config import CacheConfig
from confkv_agents.cache.gate import Recalls
from confkv_agents.cache.layer import ConfKVLayer, LayerOwner
from confkv_agents.cache.policies import POLICIES
from confkv_agents.cache.segments import Segments
from confkv_agents.cache.trace import TraceSink
from confkv_agents.cache.tracing import StepTracer
from confkv_agents.cache.usage import CacheUsage, held_bytes, token_bytes
from confkv_agents.errors import CacheStateError, ConfigError, UnsupportedModelError


class HeldCache(Cache, LayerOwner):
    """The part of `ConfKVCache` that holds; see there for its arguments and errors."""

    def __init__(self, model_config: PreTrainedConfig, config: CacheConfig | None = None) -> None:
        if config is not None and not isinstance(config, CacheConfig):
            raise ConfigError(f"a cache wants a CacheConfig, not {config!r}; pass CacheConfig(budget=512) or the like")
        self.config = config or CacheConfig()
        self.policy = POLICIES[self.config.policy](self.config)
        text = model_config.get_text_config(decoder=True)
        layers: list[Any] = []
        self._full: list[int] = []
        for index, (kind, kwargs) in enumerate(zip(*get_layer_types_and_kwargs(text), strict=True)):
            if kind == "full_attention":
                self._full.append(index)
                layers.append(ConfKVLayer(self, index, self.config.group))
            elif kind == "sliding_attention":
                layers.append(DynamicSlidingWindowLayer(**kwargs))
            else:
                raise UnsupportedModelError(
                    f"model type {text.model_type!r} has a {kind!r} layer; only full and sliding attention "
                    "layers are supported: use the stock DynamicCache with it"
                )
        if not self._full:
            raise UnsupportedModelError(
                f"every layer of model type {text.model_type!r} is sliding attention, so its cache is bounded "
                "already; use the stock DynamicCache with it"
            )
        super().__init__(layers=layers)
        self.seen = 0
        self._banks: list[tuple[Bank, int]] = []
        self._schedule = BudgetSchedule(self.policy, len(self._full))
        self._smoother = Smoother(self.config.smoothing)
        self._confidence: list[float] = []
        self._waiting: set[int] = set()
        self._length, self._new = 0, True
        self._peak = 0
        self._looking = False
        self._ahead = 0
        self.segments = Segments(self.config.image_floor) if self.policy.segments else None
        self._recalls = Recalls(self.config, self.policy.recall)
        self.trace: TraceSink | None = None
        self._tracer = StepTracer()

    def _all_banks(self) -> list[Bank]:
        return [bank for bank, _ in self._banks]

    # ------------------------------------------------------------------ figures

    def _sliding_tensors(self) -> list[torch.Tensor]:
        layers = [layer for layer in self.layers if isinstance(layer, DynamicSlidingWindowLayer)]
        return [tensor for layer in layers for tensor in (layer.keys, layer.values) if tensor is not None]

    @property
    def cold_bytes(self) -> int:
        """Bytes of the cold tier in host memory; a fork may share some of them."""
        return held_bytes([tensor for bank, _ in self._banks for tensor in bank.cold_tensors()])

    @property
    def nbytes(self) -> int:
        """Bytes of every tensor held now, the cold tier apart."""
        banks = [tensor for bank, _ in self._banks for tensor in bank.tensors()]
        return held_bytes(banks + self._sliding_tensors())

    @property
    def rows(self) -> int:
        """Rows it holds; 0 before anything was read."""
        return self._banks[0][0].rows if self._banks else 0

    def stored_slots(self) -> list[list[int]]:
        """Return slots in use per full-attention layer and row, in full-precision equivalents."""
        return [row for bank, _ in self._banks for row in bank.stored().tolist()]

    def usage(self) -> CacheUsage:
        """Return the cache's figures; `full_kv_bytes` counts the layers this cache manages and stock sliding ones."""
        banks, sliding = self._all_banks(), held_bytes(self._sliding_tensors())
        layers = sum(bank.layers for bank in banks)
        stored = sum(float(bank.stored().mean()) * bank.layers for bank in banks) / layers if layers else 0.0
        full = sum(bank.rows * bank.layers * token_bytes(bank.heads, bank.width, bank.dtype.itemsize) for bank in banks)
        means = self._schedule.means
        return CacheUsage(
            seen=self.seen,
            stored_slots=stored,
            budget=float(fmean(means)) if self.policy.bounded and means else float(self.seen),
            confidence=fmean(self._confidence) if self._confidence else None,
            kv_bytes=self.nbytes,
            peak_kv_bytes=self._peak,
            full_kv_bytes=full * self.seen + sliding,
            cold_bytes=self.cold_bytes,
        )

    # ------------------------------------------------------------------ sessions

    @property
    def keeps_everything(self) -> bool:
        """Whether nothing is ever evicted, by the policy or by a sliding layer, so that any rollback is possible."""
        return not self.policy.bounded and len(self._full) == len(self.layers)

    def can_crop_to(self, length: int) -> bool:
        """Whether `crop_to(length)` is possible: nothing the first `length` tokens need has been evicted."""
        if len(self._full) < len(self.layers) and length != self.seen:
            return False
        return 0 <= length <= self.seen and all(bank.can_crop_to(length) for bank, _ in self._banks)

    def crop_to(self, length: int) -> None:
        """Forget every token from position `length` on.

        Raises:
            CacheStateError: If `can_crop_to(length)` is False.
        """
        if not self.can_crop_to(length):
            raise CacheStateError(
                f"cannot go back to {length} of {self.seen} tokens: some were evicted since then; restore a fork "
                "taken at that point, or reset and read the tokens again"
            )
        for bank, _ in self._banks:
            bank.crop_to(length)
        if self.segments is not None:
            self.segments.crop_to(length)
        self.seen, self._waiting = length, set()

    def crop(self, tokens_to_remove: int) -> None:
        """Transformers' form of `crop_to`: minus the number of tokens to take off the end.

        Raises:
            CacheStateError: If it is positive (which once meant the length to keep), or `can_crop_to` says no.
        """
        if tokens_to_remove > 0:
            raise CacheStateError(
                f"crop({tokens_to_remove}) is not clear; pass -{tokens_to_remove} to take that many tokens off the "
                f"end, or call crop_to({tokens_to_remove}) to keep that many"
            )
        if tokens_to_remove:
            self.crop_to(self.seen + tokens_to_remove)

    def fork(self) -> Self:
        """Return an independent copy; its size is bounded by the budget."""
        return copy.deepcopy(self)

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        other = type(self).__new__(type(self))
        memo[id(self)] = other
        other.__dict__ = {name: copy.deepcopy(value, memo) for name, value in self.__dict__.items()}
        for layer in other.layers:
            if isinstance(layer, ConfKVLayer):
                layer.belong_to(other)
        return other

    def compact(self) -> None:
        """Give back the reading buffer, as at the end of a turn."""
        for bank, _ in self._banks:
            bank.release_buffers()
        self._tracer.settled(self, self._all_banks())

    def reset(self) -> None:
        """Forget everything, as if new."""
        self.seen, self._banks = 0, []
        self._schedule = BudgetSchedule(self.policy, len(self._full))
        self._smoother.reset()
        self._recalls, self._ahead = Recalls(self.config, self.policy.recall), 0
        if self.segments is not None:
            self.segments.crop_to(0)
        self._confidence, self._waiting = [], set()
        self._length, self._new, self._peak = 0, True, 0
        for index, layer in enumerate(self.layers):
            if isinstance(layer, DynamicSlidingWindowLayer):
                self.layers[index] = DynamicSlidingWindowLayer(sliding_window=layer.sliding_window)
            else:
                layer.reset()

    def state(self) -> tuple[dict[str, torch.Tensor], dict[str, Any]]:
        """Return tensors and plain values that `restore` makes the same cache of; releases the reading buffer.

        Raises:
            CacheStateError: If the last forward did not reach every layer.
        """
        if self._waiting:
            raise CacheStateError("the last forward did not reach every layer; reset the cache instead of saving it")
        self.compact()
        tensors: dict[str, torch.Tensor] = {}
        banks = []
        for number, (bank, first) in enumerate(self._banks):
            own, values = bank.state()
            tensors |= {f"bank.{number}.{name}": tensor for name, tensor in own.items()}
            shape = {"rows": bank.rows, "heads": bank.heads, "width": bank.width, "dtype": str(bank.dtype)}
            banks.append({"first": first, "layers": bank.layers, **shape, "values": values})
        sliding = {}
        for index, layer in enumerate(self.layers):
            if isinstance(layer, DynamicSlidingWindowLayer) and layer.keys is not None and layer.values is not None:
                tensors |= {f"sliding.{index}.keys": layer.keys, f"sliding.{index}.values": layer.values}
                sliding[str(index)] = layer.cumulative_length
        values = {"seen": self.seen, "peak": self._peak, "means": self._schedule.means, "sliding": sliding}
        values["segments"] = [] if self.segments is None else self.segments.state()
        values["recalls"] = self._recalls.state()
        return tensors, {**values, "banks": banks, "smoothed": self._smoother.values, "layers": len(self.layers)}

    def restore(self, tensors: Mapping[str, torch.Tensor], values: Mapping[str, Any]) -> None:
        """Take over what `state` returned, into a cache that was just made for the same model.

        Raises:
            CacheStateError: If it belongs to a model of another shape.
        """
        if values["layers"] != len(self.layers):
            raise CacheStateError(f"saved with {values['layers']} layers, but this model has {len(self.layers)}")
        for number, each in enumerate(values["banks"]):
            prefix = f"bank.{number}."
            own = {name.removeprefix(prefix): tensor for name, tensor in tensors.items() if name.startswith(prefix)}
            device = next(iter(own.values())).device
            shape = (each["rows"], each["heads"], 0, each["width"])
            like = torch.empty(shape, dtype=getattr(torch, each["dtype"].removeprefix("torch.")), device=device)
            bank: Bank = GrowingBank(like, each["layers"])
            if self.policy.bounded:
                bank = BoundedBank(like, each["layers"], self.policy, self.segments)
            bank.restore(own, each["values"])
            self._banks.append((bank, each["first"]))
        for index, length in values["sliding"].items():
            layer = self.layers[int(index)]
            assert isinstance(layer, DynamicSlidingWindowLayer)
            layer.lazy_initialization(tensors[f"sliding.{index}.keys"], tensors[f"sliding.{index}.values"])
            layer.keys, layer.values = tensors[f"sliding.{index}.keys"], tensors[f"sliding.{index}.values"]
            layer.cumulative_length = length
        self.seen, self._peak = values["seen"], values["peak"]
        if self.segments is not None:
            self.segments.restore(values["segments"])
        self._recalls.restore(values["recalls"])
        self._schedule.means = list(values["means"])
        self._smoother.values = list(values["smoothed"])
        self._confidence = list(values["smoothed"])
        for layer in self.layers:
            if isinstance(layer, ConfKVLayer) and self._banks:
                layer.is_initialized, layer.batch_size = True, self._banks[0][0].rows

    # ------------------------------------------------------------------ rows

    def select_rows(self, rows: torch.Tensor) -> None:
        """Keep the rows `[n]` int64, in that order; rows may repeat."""
        chosen = rows.tolist()
        for bank, _ in self._banks:
            bank.select_rows(rows)
        self._schedule.select(chosen)
        self._smoother.select(chosen)
        self._recalls.gate.select(chosen)
        self._confidence = [self._confidence[row] for row in chosen] if self._confidence else []
        for layer in self.layers:
            if isinstance(layer, ConfKVLayer):
                layer.batch_size = len(chosen)
            elif isinstance(layer, DynamicSlidingWindowLayer):
                layer.batch_select_indices(rows)

    def reorder_cache(self, beam_idx: torch.LongTensor) -> None:
        """Reorder rows for beam search."""
        self.select_rows(beam_idx)

    def batch_repeat_interleave(self, repeats: int) -> None:
        """Repeat each row `repeats` times."""
        self.select_rows(torch.arange(self.rows).repeat_interleave(repeats))

    def batch_select_indices(self, indices: torch.Tensor) -> None:
        """Keep the rows given."""
        self.select_rows(indices)
