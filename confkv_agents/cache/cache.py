"""`ConfKVCache`: a `transformers.Cache` that spends memory where the model is unsure."""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Iterator, Sequence

import torch

from confkv_agents.cache.attention import Heads
from confkv_agents.cache.bank import Bank, GrowingBank
from confkv_agents.cache.bounded import BoundedBank
from confkv_agents.cache.confidence import confidence
from confkv_agents.cache.held import HeldCache
from confkv_agents.cache.layer import ConfKVLayer
from confkv_agents.cache.processor import ConfidenceProcessor
from confkv_agents.cache.segments import SegmentKind
from confkv_agents.errors import CacheStateError


class ConfKVCache(HeldCache):
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
