"""`ConfKVCache`: a `transformers.Cache` that spends memory where the model is unsure."""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Iterator, Mapping, Sequence
from statistics import fmean
from typing import Any

import torch
from transformers import PreTrainedConfig
from transformers.cache_utils import Cache, DynamicSlidingWindowLayer, get_layer_types_and_kwargs

from confkv_agents.cache.attention import Heads
from confkv_agents.cache.bank import Bank, GrowingBank
from confkv_agents.cache.bounded import BoundedBank
from confkv_agents.cache.budget import BudgetSchedule
from confkv_agents.cache.confidence import Smoother, confidence
from confkv_agents.cache.config import CacheConfig
from confkv_agents.cache.gate import Recalls
from confkv_agents.cache.layer import ConfKVLayer
from confkv_agents.cache.policies import POLICIES
from confkv_agents.cache.processor import ConfidenceProcessor
from confkv_agents.cache.segments import SegmentKind, Segments
from confkv_agents.cache.trace import TraceSink
from confkv_agents.cache.tracing import StepTracer
from confkv_agents.cache.usage import CacheUsage, held_bytes, token_bytes
from confkv_agents.errors import CacheStateError, ConfigError, UnsupportedModelError


class ConfKVCache(Cache):
    """A KV cache that keeps to a budget which follows the model's confidence.

    Args:
        model_config: The model's configuration (`model.config`); the text part is taken from it.
        config: What to keep; the default is `CacheConfig()`.

    Raises:
        UnsupportedModelError: If a layer is neither full nor sliding attention.
        ConfigError: If `config` is something else.

    Attributes:
        trace: Set to a `Trace`, it is told of every step from then on; None costs nothing.

    The model must have been prepared once with `attach(model)`. Pass the cache as `cache=` to the model or to
    `generate`; `logits_processors()` lets the budget follow confidence there. Absolute positions are kept, so a
    conversation still has to end before the model's last trained position.

    Example:
        >>> model = attach(model)
        >>> cache = ConfKVCache(model.config, CacheConfig(budget=512))
        >>> output = model.generate(**inputs, cache=cache, logits_processor=cache.logits_processors())

        The next turn passes the same cache with the whole conversation; only what is new is read.
    """

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

    # ------------------------------------------------------------------ one forward

    def arrive(self, layer: ConfKVLayer, keys: torch.Tensor) -> None:
        """Note that a layer got new tokens; the first layer of a forward makes room in every bank."""
        length = keys.shape[-2] - self._ahead
        if self._looking:
            return
        if length < 1:
            raise CacheStateError(f"{self._ahead} tokens were to look ahead behind a chunk, but no more were fed")
        if self._banks and keys.shape[0] != self.rows:
            raise CacheStateError(
                f"the cache holds {self.rows} rows, but {keys.shape[0]} were fed; use a cache of its own for another "
                "batch, or select_rows"
            )
        if layer.index == self._full[0]:
            if self._waiting:
                raise CacheStateError(
                    f"the last forward did not reach {len(self._waiting)} of {len(self._full)} layers (it was "
                    "interrupted, or the model's attention is not 'confkv': call attach(model)); reset the cache"
                )
            self._begin(keys.shape[0], length)
        found = self._bank_of(layer.index)
        if found is None or (self._new and found[0].device != keys.device):
            self._open_bank(layer.index, keys)

    def check_positions(self, layer: ConfKVLayer, positions: torch.Tensor) -> None:
        """Refuse to read tokens a second time, as `generate` would where the cache has read its whole input.

        Args:
            layer: The layer that asks; one per forward is enough.
            positions: `[1 or B, Q]` of the new tokens, without padding.

        Raises:
            CacheStateError: If all of them lie before what was read last.
        """
        read = self.seen - self._length
        if layer.index != self._full[0] or self._looking or not read or int(positions[..., -1].max()) >= read:
            return
        self._take_back()
        raise CacheStateError(
            f"these tokens have positions below {read}, the number of tokens that the cache has read, so they were fed "
            "before: `generate` does that when the cache has read all of its input; add at least one new token"
        )

    def attend(
        self,
        layer: ConfKVLayer,
        query: torch.Tensor,
        keys: torch.Tensor,
        values: torch.Tensor,
        padding: torch.Tensor | None,
        heads: Heads,
    ) -> torch.Tensor:
        """Attend in the bank that holds the layer; see `Bank.attend`."""
        fed = self.seen + (keys.shape[-2] if self._looking else self._ahead)
        if padding is not None and padding.shape[-1] != fed:
            self._take_back()
            raise CacheStateError(
                f"attention_mask covers {padding.shape[-1]} tokens, but {fed} were fed with these; pass a "
                "mask over the whole sequence, evicted tokens included"
            )
        found = self._bank_of(layer.index)
        assert found is not None
        bank, number = found
        if self._looking:
            self._tracer.tokens = keys.shape[-2]
            return bank.look(number, query, keys, values, heads)
        if self._ahead:
            output = self._attend_ahead(bank, number, (query, keys, values), padding, heads)
        else:
            output = bank.attend(number, query, keys, values, padding, heads)
        self._waiting.discard(layer.index)
        if not self._waiting:
            for each, _ in self._banks:
                each.end()
            self._peak = max(self._peak, self.nbytes)
            self._tracer.end(self, "decode" if self._length == 1 else "read", self._all_banks())
            if self._ahead:
                self._tracer.begin(self, self._ahead, self._all_banks())
                self._tracer.end(self, "probe", self._all_banks())
        return output

    def _attend_ahead(
        self,
        bank: Bank,
        number: int,
        parts: tuple[torch.Tensor, torch.Tensor, torch.Tensor],
        padding: torch.Tensor | None,
        heads: Heads,
    ) -> torch.Tensor:
        """Let a chunk attend and be stored, then the tokens behind it look; `parts` are query, keys and values."""
        chunk = [part[:, :, : -self._ahead] for part in parts]
        behind = [part[:, :, -self._ahead :] for part in parts]
        seen = None if padding is None else padding[:, : self.seen]
        output = bank.attend(number, chunk[0], chunk[1], chunk[2], seen, heads)
        return torch.cat((output, bank.look(number, behind[0], behind[1], behind[2], heads)), 2)

    def _all_banks(self) -> list[Bank]:
        return [bank for bank, _ in self._banks]

    def _take_back(self) -> None:
        """Forget the tokens of a forward that its first layer refused, if no other layer has taken them yet."""
        if len(self._full) == len(self.layers) and len(self._waiting) == len(self._full):
            self.seen -= self._length
            for bank, _ in self._banks:
                bank.crop_to(self.seen)
            if self.seen == 0:
                self._banks = []
            self._waiting = set()

    def _begin(self, rows: int, length: int) -> None:
        if self.seen == 0 or length > 1:
            self._schedule.start(rows)
        slots, looks = self._schedule.slots(), self._recalls.take(rows, length)
        self._tracer.begin(self, length, self._all_banks())
        for bank, first in self._banks:
            bank.begin(length, slots[first : first + bank.layers])
            bank.finish(length)
            bank.open_cold(looks)
        self._length, self._new = length, not self._banks
        self.seen += length
        self._waiting = set(self._full)

    def _open_bank(self, index: int, keys: torch.Tensor) -> None:
        """Open the bank that holds this layer and all after it, up to the next device."""
        first = self._full.index(index)
        if self._banks:
            last, start = self._banks[-1]
            last.truncate(first - start)
        layers = len(self._full) - first
        bank: Bank = GrowingBank(keys, layers)
        if self.policy.bounded:
            bank = BoundedBank(keys, layers, self.policy, self.segments)
        self._tracer.watch(bank)
        bank.begin(self._length, self._schedule.slots()[first : first + layers])
        bank.finish(self._length)
        self._banks.append((bank, first))

    def _bank_of(self, index: int) -> tuple[Bank, int] | None:
        number = self._full.index(index)
        for bank, first in self._banks:
            if first <= number < first + bank.layers:
                return bank, number - first
        return None

    # ------------------------------------------------------------------ segments

    def segment(self, kind: SegmentKind, *, start: int | None = None, grid: tuple[int, int] | None = None) -> None:
        """Say what the tokens from here on are, until the next call; all rows alike. Not every policy uses it.

        Args:
            kind: "pinned" (system prompt, task), "observation" (a page, a tool's result), "image" (a picture in an
                observation), "own" (the model's own turn) or "text".
            start: Position of the first of them; by default the next one to be fed.
            grid: For "image": rows and columns of patches, if its tokens are the patches row by row.

        Raises:
            ConfigError: The kind is unknown, a grid is no grid, or the segment begins before the last one.
        """
        if self.segments is not None:
            self.segments.begin(kind, self.seen if start is None else start, grid)

    # ------------------------------------------------------------------ looking ahead

    @property
    def wants_probe(self) -> bool:
        """Whether the policy ranks better when the end of a prompt looks at each chunk; see `looking_ahead`."""
        return self.policy.probe > 0

    @property
    def wants_recall(self) -> bool:
        """Whether a new turn should look at what was evicted before it is read; see `looking_ahead`."""
        return self.wants_probe and self._mirrored and not self._waiting

    def recall_next(self) -> None:
        """Let the next forward look at the cold tier too, whatever its length; without a cold tier nothing changes.

        A reader asks for it before a prompt's last chunk: what is asked stands there, and may be about anything.
        """
        self._recalls.next_forward()

    @contextlib.contextmanager
    def looking_ahead(self, *, recall: bool = False) -> Iterator[None]:
        """Run the model inside to let tokens look at what is stored without being stored.

        A reader that has the whole prompt uses this after each chunk but the last: `with cache.looking_ahead():` call
        the model with the prompt's last `cache.policy.probe` tokens. The mass they give decides, beside what the
        tokens read so far gave, who stays at the next eviction. Positions and length are unchanged afterwards.

        Args:
            recall: Let them look at the cold tier too and bring back what they use, as is right before the first
                chunk of a new turn; without a cold tier it changes nothing.

        Raises:
            CacheStateError: If the policy ranks without probes, or nothing was read yet.
        """
        if not self.wants_probe or not self._banks or self._waiting:
            raise CacheStateError("looking ahead needs a policy with a probe and a chunk that has been read")
        sliding = {index: layer for index, layer in enumerate(self.layers) if not isinstance(layer, ConfKVLayer)}
        self.layers = [layer if index not in sliding else copy.copy(layer) for index, layer in enumerate(self.layers)]
        self._looking = True
        self._tracer.begin(self, 0, self._all_banks())
        for bank, _ in self._banks:
            bank.open_cold([recall] * bank.rows)
        try:
            yield
        finally:
            self._looking = False
            self.layers = [sliding.get(index, layer) for index, layer in enumerate(self.layers)]
            for bank, _ in self._banks:
                bank.end()
            self._tracer.end(self, "probe", self._all_banks())

    @property
    def reads_ahead(self) -> bool:
        """Whether chunk and look ahead can be one forward, `reading_ahead`: no sliding layer would store the tokens."""
        return self.wants_probe and len(self._full) == len(self.layers)

    @contextlib.contextmanager
    def reading_ahead(self, tokens: int) -> Iterator[None]:
        """Run the model inside on a chunk with the prompt's last tokens behind it: those only look.

        The same as feeding the chunk and then `looking_ahead`, in one forward instead of two.

        Args:
            tokens: How many of the tokens fed, at their end, look at what is stored and at the chunk, and are not
                stored. The logits of the last one mean nothing.

        Raises:
            CacheStateError: If `reads_ahead` is False, or the model was not run on more than these tokens inside.
        """
        if not self.reads_ahead or tokens < 1:
            raise CacheStateError(
                "reading ahead needs a policy with a probe, a model without sliding layers, and tokens"
            )
        self._ahead = tokens
        try:
            yield
        finally:
            self._ahead = 0

    # ------------------------------------------------------------------ confidence

    def observe(self, logits: torch.Tensor) -> list[float]:
        """Take a step's raw next-token logits; they set the next step's budget.

        Args:
            logits: `[B, V]`, before temperature or truncation.

        Returns:
            Smoothed confidence of each row. This is the step's one transfer from the device.
        """
        if logits.dim() != 2:
            raise CacheStateError(f"logits of shape {list(logits.shape)} were observed; pass one step's, `[rows, V]`")
        return self.observe_confidence(confidence(logits, self.config.confidence).tolist())

    def observe_confidence(self, values: Sequence[float]) -> list[float]:
        """Like `observe`, for a caller that brings raw confidence to the host together with the sampled token."""
        if not all(0.0 <= value <= 1.0 for value in values):
            raise CacheStateError(
                f"confidence {list(values)} is no number from 0 to 1: the model's logits overflowed or are not "
                "numbers; load it in bfloat16 or float32"
            )
        self._confidence = self._smoother.update(values)
        self._schedule.follow(self._confidence)
        self._recalls.observed(values, self._mirrored)
        self._tracer.observed(self, values, self._confidence)
        return self._confidence

    def should_recall(self, values: Sequence[float]) -> bool:
        """Whether the step whose raw confidence this is should be computed again, looking at the cold tier too.

        Ask before `observe_confidence`; if so, run the model on the last token inside `with cache.recalling():` and
        observe the new logits instead. A caller that does not ask has the cold tier opened for the next step; so has
        every caller where confidence decides nothing, since it is known beforehand which steps look.

        Args:
            values: `[B]` raw confidence of the step just computed.
        """
        again = self.config.recall_again and self.policy.recall == "gated"
        if not again or not self._mirrored or not self.can_crop_to(self.seen - 1):
            return False
        return self._recalls.ask(values)

    @contextlib.contextmanager
    def recalling(self) -> Iterator[None]:
        """Run the model inside on the last token once more, with the cold tier open to the rows that are unsure.

        Raises:
            CacheStateError: If `should_recall` did not say so, or the model was not run on one token inside.
        """
        if not self._recalls.asked:
            raise CacheStateError("nothing to recall: ask should_recall first")
        before = self.seen
        for bank, _ in self._banks:
            bank.retract()
        self.seen -= 1
        self._tracer.again()
        yield
        if self.seen != before:
            raise CacheStateError(f"the last token was to be fed once more, but {self.seen - before + 1} were fed")

    @property
    def decoded_steps(self) -> int:
        """Decoding steps so far."""
        return self._recalls.decoded

    @property
    def recalled_steps(self) -> int:
        """How many of them looked at the cold tier, in any row."""
        return self._recalls.recalled

    @property
    def _mirrored(self) -> bool:
        """Whether there is anything in the cold tier that is not hot."""
        return any(bank.mirrored and bank.last_eviction for bank, _ in self._banks if isinstance(bank, BoundedBank))

    def logits_processors(self) -> list[ConfidenceProcessor]:
        """Return what to pass as `logits_processor=` to `generate`, so that the budget follows confidence."""
        return [ConfidenceProcessor(self.observe)]

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

    def fork(self) -> ConfKVCache:
        """Return an independent copy; its size is bounded by the budget."""
        return copy.deepcopy(self)

    def __deepcopy__(self, memo: dict[int, Any]) -> ConfKVCache:
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
