"""How a cache comes to its trace: counts of what leaves and comes back, and one record per forward.

Counting asks the device, so it happens only while there is a trace; a cache without one pays for an `is not None`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Protocol

import torch

from confkv_agents.cache.bank import Bank
from confkv_agents.cache.bounded import BoundedBank
from confkv_agents.cache.trace import StepKind, StepTrace, TraceSink
from confkv_agents.cache.usage import CacheUsage

if TYPE_CHECKING:
    from confkv_agents.cache.segments import Segments


class Tally:
    """Counts of tokens that left the tiers or came back, summed over layers, rows and heads.

    Attributes:
        evicted: Left the hot tiers, by kind of segment.
        demoted: Became int8 codes, by kind of segment.
        promoted: Came back from the cold tier.
        total_evicted: All evicted, those without segment included.
        total_demoted: All demoted.
        recalled: The cold tier was looked at.
    """

    def __init__(self) -> None:
        self.evicted: Counter[str] = Counter()
        self.demoted: Counter[str] = Counter()
        self.promoted = self.total_evicted = self.total_demoted = 0
        self.recalled = False

    def left(
        self, evicted: torch.Tensor, demoted: torch.Tensor, position: torch.Tensor, segments: Segments | None
    ) -> None:
        """Count the tokens marked, `[..., S]` bool; `position [..., S]` says which they are."""
        self.total_evicted += self._count(self.evicted, evicted, position, segments)
        self.total_demoted += self._count(self.demoted, demoted, position, segments)

    def __deepcopy__(self, memo: dict[int, Any]) -> None:
        """Give the copy of a bank none: a fork has no trace."""
        return

    @staticmethod
    def _count(into: Counter[str], marks: torch.Tensor, position: torch.Tensor, segments: Segments | None) -> int:
        where = position[marks]
        if segments is not None and segments.all and len(where):
            numbers, counts = torch.unique(segments.names(where), return_counts=True)
            for number, count in zip(numbers.tolist(), counts.tolist(), strict=True):
                if number >= 0:
                    into[segments.all[number].kind] += count
        return len(where)


class Traced(Protocol):
    """What is asked of a cache."""

    trace: TraceSink | None
    seen: int

    def usage(self) -> CacheUsage:
        """Its figures."""


class StepTracer:
    """Makes one record per forward of one cache and hands it to the cache's trace, if it has one.

    A record is handed in when the forward has reached every layer, and amended when its logits are observed, when it
    is computed again with the cold tier open, and when the reading buffer is given back.
    """

    def __init__(self) -> None:
        self.tokens = 0
        self._tally: Tally | None = None
        self._record: StepTrace | None = None
        self._sink: TraceSink | None = None  # who has the record
        self._again = False

    def __deepcopy__(self, memo: dict[int, Any]) -> StepTracer:
        """Give the copy of a cache one of its own: a fork has no trace."""
        return StepTracer()

    def begin(self, cache: Traced, tokens: int, banks: Sequence[Bank]) -> None:
        """Count from here on: a forward of `tokens` tokens begins."""
        self.tokens = tokens
        if cache.trace is None and self._tally is None:
            return
        if cache.trace is None:
            self._record, self._again = None, False
        if not (self._again and self._tally is not None):
            self._tally = None if cache.trace is None else Tally()
        for bank in banks:
            self.watch(bank)

    def watch(self, bank: Bank) -> None:
        """Let a bank report what leaves its tiers."""
        if isinstance(bank, BoundedBank):
            bank.tally = self._tally

    def again(self) -> None:
        """Take the next forward as the last one computed once more, with the cold tier open."""
        self._again = True

    def end(self, cache: Traced, kind: StepKind, banks: Sequence[Bank]) -> None:
        """Hand in the record of the forward that has just reached every layer."""
        if cache.trace is None or self._tally is None:
            return
        position = cache.seen - (0 if kind == "probe" else self.tokens)
        budget = cache.usage().budget
        record = StepTrace(position=position, tokens=self.tokens, kind=kind, budget=budget)
        self._hand_in(cache, record, banks, amend=self._again)
        self._again = False

    def observed(self, cache: Traced, raw: Sequence[float], smoothed: Sequence[float]) -> None:
        """Note the confidence of the last forward, the mean over rows."""
        if self._record is not None and cache.trace is self._sink and self._record.kind != "probe":
            self._record = replace(self._record, confidence=_share(raw), smoothed=_share(smoothed))
            self._amend(cache)

    def settled(self, cache: Traced, banks: Sequence[Bank]) -> None:
        """Note what the end of a turn moved: the reading buffer is emptied and given back."""
        if self._record is not None and cache.trace is not None and cache.trace is self._sink:
            self._hand_in(cache, self._record, banks, amend=True)

    def _hand_in(self, cache: Traced, record: StepTrace, banks: Sequence[Bank], *, amend: bool) -> None:
        tally, usage = self._tally or Tally(), cache.usage()
        full, int8, cold = _stored(banks)
        before, self._record = (
            self._record,
            replace(
                record,
                full=full,
                int8=int8,
                cold=cold,
                evicted=tally.total_evicted,
                demoted=tally.total_demoted,
                promoted=tally.promoted,
                recalled=tally.recalled,
                evicted_by_segment=dict(tally.evicted),
                demoted_by_segment=dict(tally.demoted),
                kv_bytes=usage.kv_bytes,
                cold_bytes=usage.cold_bytes,
            ),
        )
        if amend and before is not None and cache.trace is self._sink:
            self._amend(cache)
        elif cache.trace is not None:
            self._sink = cache.trace
            cache.trace.add(self._record)

    def _amend(self, cache: Traced) -> None:
        if cache.trace is not None and self._record is not None:
            cache.trace.amend(self._record)


def _stored(banks: Sequence[Bank]) -> tuple[float, float, float]:
    """Return mean tokens per layer, row and head: in full precision with the buffer, as codes, in the cold tier."""
    layers = sum(bank.layers for bank in banks) or 1
    full = int8 = cold = 0.0
    for bank in banks:
        if isinstance(bank, BoundedBank):
            full += bank.layers * float(bank.full_count.mean() + bank.arrived.mean())
            int8 += bank.layers * float(bank.int8_count.mean())
            cold += bank.layers * bank.mirrored
        else:
            full += bank.layers * bank.seen
    return full / layers, int8 / layers, cold / layers


def _share(values: Sequence[float]) -> float:
    """Return a mean that rounding has not carried out of [0, 1]."""
    return min(1.0, max(0.0, sum(values) / len(values)))
