"""The cold tier: every token fed so far as int8 codes in host memory, for the steps that look there.

It is a mirror: tokens are coded once, in order of position, before they can be evicted from the hot tiers. Evicting
a token is then forgetting its hot copy, bringing it back is copying its codes, and what a recall may look at is
everything mirrored but what the hot tiers hold. Codes are those of the int8 tier (see `quantize`), so a token that
comes back is not quantized again.

Codes lie in segments that are never written again once full; a fork shares them.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

import torch

from confkv_agents.cache.quantize import encode_keys, encode_values
from confkv_agents.cache.tiers import MASKED, Int8Store, Int8Tier, allocate

SEGMENT = 1024  # tokens; a recall reads one at a time
FIELDS = ("key_codes", "key_scale", "key_zero", "value_codes", "value_scale")


class Cold:
    """Codes of all tokens of `layers` layers.

    Args:
        like: `[B, Hkv, Q, D]` keys that give shape and device; the codes lie in host memory, pinned beside CUDA.
        layers: Number of layers.

    Attributes:
        counts: Tokens mirrored, by layer.
        drawn: Weight that the last recall gave each mirrored token, `[B, Hkv, n]` by layer, until it is promoted.
        kept: Weight that it gave all hot tokens together, `[B, Hkv, 1]` by layer.
    """

    def __init__(self, like: torch.Tensor, layers: int) -> None:
        self.rows, self.heads, _, self.width = like.shape
        self.device, self.layers = like.device, layers
        self.segments: list[list[dict[str, torch.Tensor]]] = [[] for _ in range(layers)]
        self.counts = [0] * layers
        self.real = allocate(self.rows, 0, dtype=torch.bool, device=self.device)
        self.drawn: dict[int, torch.Tensor] = {}
        self.kept: dict[int, torch.Tensor] = {}

    def tensors(self) -> list[torch.Tensor]:
        """Return every tensor held in host memory."""
        return [tensor for layer in self.segments for segment in layer for tensor in segment.values()]

    # ------------------------------------------------------------------ in

    def append(
        self, layer: int, keys: torch.Tensor, values: torch.Tensor, amplitude: torch.Tensor, real: torch.Tensor
    ) -> None:
        """Code the next tokens of a layer.

        Args:
            layer: The layer.
            keys: `[B, Hkv, n, D]` of the positions `counts[layer]` and after.
            values: `[B, Hkv, n, D]`.
            amplitude: `[B, Hkv, 1, D]` of the layer's int8 tier.
            real: `[B, n]` bool, False for padding.
        """
        codes, scale, zero = encode_keys(keys, amplitude)
        coded, value_scale = encode_values(values)
        fresh = dict(zip(FIELDS, (codes, scale, zero, coded, value_scale), strict=True))
        start, length, done = self.counts[layer], keys.shape[-2], 0
        self._note_real(start, real)
        while done < length:
            offset = (start + done) % SEGMENT
            if offset == 0:
                self.segments[layer].append(self._segment())
            piece = min(SEGMENT - offset, length - done)
            for name, tensor in self.segments[layer][-1].items():
                source = fresh[name][:, :, done : done + piece]
                tensor[:, :, offset : offset + piece].copy_(source, non_blocking=True)
            done += piece
        self.counts[layer] = start + length

    def _note_real(self, start: int, real: torch.Tensor) -> None:
        stop = start + real.shape[1]
        if stop > self.real.shape[1]:
            wider = allocate(self.rows, stop + stop // 4, dtype=torch.bool, device=self.device)
            wider[:, : self.real.shape[1]] = self.real
            self.real = wider
        self.real[:, start:stop] = real

    def _segment(self) -> dict[str, torch.Tensor]:
        host, shape = torch.device("cpu"), (self.rows, self.heads, SEGMENT)
        made = {
            name: allocate(*shape, self.width, dtype=torch.int8, device=host)
            if name.endswith("codes")
            else allocate(*shape, dtype=torch.float32, device=host)
            for name in FIELDS
        }
        return {name: tensor.pin_memory() for name, tensor in made.items()} if self.device.type == "cuda" else made

    # ------------------------------------------------------------------ out

    def bias(self, layer: int, hot: torch.Tensor, rows: torch.Tensor | None) -> torch.Tensor:
        """Return `[B, Hkv, n]` fp32: `MASKED` for padding, for what is hot, and in rows that do not recall.

        Args:
            layer: The layer.
            hot: `[B, Hkv, S]` positions in its hot tiers, -1 for empty slots.
            rows: `[B]` bool, which rows recall; None for all.
        """
        count = self.counts[layer]
        hidden = ~self.real[:, :count] if rows is None else ~(self.real[:, :count] & rows[:, None])
        shape = (self.rows, self.heads, count + 1)
        bias = torch.zeros(shape, device=self.device)
        bias[..., :count].masked_fill_(hidden[:, None], MASKED)
        where = torch.where((hot >= 0) & (hot < count), hot, count).long()
        return bias.scatter_(-1, where, MASKED)[..., :count]

    def tier(self, layer: int, amplitude: torch.Tensor, bias: torch.Tensor) -> ColdTier:
        """Return what a layer's queries may look at."""
        return ColdTier(self.segments[layer], self.counts[layer], amplitude, bias)

    def fetch(self, layer: int, index: torch.Tensor) -> dict[str, torch.Tensor]:
        """Return the codes of the positions `index [B, Hkv, n]` (in host memory), on the device."""
        number = index // SEGMENT
        wanted = torch.unique(number).tolist()
        place = torch.searchsorted(torch.tensor(wanted), number) * SEGMENT + index % SEGMENT
        wide = place[..., None].expand(*place.shape, self.width)
        found = {}
        for name in FIELDS:
            parts = [self.segments[layer][each][name] for each in wanted]
            whole = parts[0] if len(parts) == 1 else torch.cat(parts, 2)
            found[name] = whole.gather(2, wide if name.endswith("codes") else place).to(self.device)
        return found

    # ------------------------------------------------------------------ rows, rollback, copies, files

    def crop_to(self, length: int) -> None:
        """Forget positions from `length` on; a segment that will be written again is copied, a fork may share it."""
        self.drawn.clear()
        for layer, count in enumerate(self.counts):
            if count > length:
                kept = self.segments[layer][: -(-length // SEGMENT)]
                if length % SEGMENT:
                    kept[-1] = {name: self._copy(tensor) for name, tensor in kept[-1].items()}
                self.segments[layer], self.counts[layer] = kept, length

    @staticmethod
    def _copy(tensor: torch.Tensor) -> torch.Tensor:
        other = tensor.clone()
        return other.pin_memory() if tensor.is_pinned() else other

    def __deepcopy__(self, memo: dict[int, Any]) -> Cold:
        """Share full segments, copy the one that is still written."""
        other = copy.copy(self)
        memo[id(self)] = other
        other.counts, other.drawn, other.kept, other.real = list(self.counts), {}, {}, self.real.clone()
        other.segments = []
        for layer, segments in enumerate(self.segments):
            mine = list(segments)
            if self.counts[layer] % SEGMENT:
                mine[-1] = {name: self._copy(tensor) for name, tensor in mine[-1].items()}
            other.segments.append(mine)
        return other

    def select_rows(self, rows: torch.Tensor) -> None:
        """Keep the rows given, in that order."""
        self.drawn.clear()
        here = rows.to("cpu")
        self.segments = [
            [{name: self._selected(tensor, here) for name, tensor in segment.items()} for segment in layer]
            for layer in self.segments
        ]
        self.real = self.real.index_select(0, rows.to(self.device))
        self.rows = len(rows)

    @staticmethod
    def _selected(tensor: torch.Tensor, rows: torch.Tensor) -> torch.Tensor:
        other = tensor.index_select(0, rows)
        return other.pin_memory() if tensor.is_pinned() else other

    def truncate(self, layers: int) -> None:
        """Keep the first `layers` layers."""
        self.segments, self.counts, self.layers = self.segments[:layers], self.counts[:layers], layers
        self.drawn.clear()

    def state(self) -> dict[str, torch.Tensor]:
        """Return what is mirrored, by name; layers have the same count between two forwards."""
        if not self.counts[0]:
            return {}
        named = {"cold.real": self.real[:, : self.counts[0]]}
        for layer, segments in enumerate(self.segments):
            for name in FIELDS:
                whole = torch.cat([segment[name] for segment in segments], 2)
                named[f"cold.{layer}.{name}"] = whole[:, :, : self.counts[layer]]
        return named

    def restore(self, named: Mapping[str, torch.Tensor]) -> None:
        """Take over what `state` returned."""
        if "cold.real" not in named:
            return
        self._note_real(0, named["cold.real"].to(self.device))
        for layer in range(self.layers):
            count = named[f"cold.{layer}.key_codes"].shape[2]
            self.segments[layer] = [self._segment() for _ in range(-(-count // SEGMENT))]
            for number, segment in enumerate(self.segments[layer]):
                for name, tensor in segment.items():
                    part = named[f"cold.{layer}.{name}"][:, :, number * SEGMENT : (number + 1) * SEGMENT]
                    tensor[:, :, : part.shape[2]] = part
            self.counts[layer] = count


class ColdTier:
    """A layer's codes in host memory, read a segment at a time; beside CUDA, a segment ahead of the computation."""

    copies = True
    step = SEGMENT

    def __init__(
        self, segments: list[dict[str, torch.Tensor]], count: int, amplitude: torch.Tensor, bias: torch.Tensor
    ) -> None:
        self.segments, self.slots, self.bias = segments, count, bias
        self.amplitude = amplitude
        device = amplitude.device
        self._stream = torch.cuda.Stream(device) if device.type == "cuda" else None
        self._ahead: dict[tuple[int, str], dict[str, torch.Tensor]] = {}
        self._view = _View(amplitude)
        self._coded = Int8Tier(self._view, SEGMENT, bias[..., :SEGMENT])  # type: ignore[arg-type]

    def scores(self, query: torch.Tensor, start: int, stop: int) -> torch.Tensor:
        """Products with the coded keys in `start:stop`, which lie in one segment."""
        self._view.show(self._staged(start // SEGMENT, "key"))
        return self._coded.scores(query, start % SEGMENT, start % SEGMENT + stop - start)

    def mix(self, weights: torch.Tensor, start: int, stop: int) -> torch.Tensor:
        """Weighted sums of the coded values in `start:stop`, which lie in one segment."""
        self._view.show(self._staged(start // SEGMENT, "value"))
        return self._coded.mix(weights, start % SEGMENT, start % SEGMENT + stop - start)

    def _staged(self, number: int, kind: str) -> dict[str, torch.Tensor]:
        """Return a segment's keys or values on the device, and begin to copy the next one's."""
        if self._stream is None:
            return {name: tensor for name, tensor in self.segments[number].items() if name.startswith(kind)}
        current = torch.cuda.current_stream(self.amplitude.device)
        staged = self._ahead.pop((number, kind), None) or self._copied(number, kind)
        current.wait_stream(self._stream)
        for tensor in staged.values():
            tensor.record_stream(current)
        self._ahead.clear()
        if (number + 1) * SEGMENT < self.slots:
            self._ahead[number + 1, kind] = self._copied(number + 1, kind)
        return staged

    def _copied(self, number: int, kind: str) -> dict[str, torch.Tensor]:
        stream = self._stream
        assert stream is not None
        stream.wait_stream(torch.cuda.current_stream(self.amplitude.device))  # codes may still be on their way out
        with torch.cuda.stream(stream):
            return {
                name: tensor.to(self.amplitude.device, non_blocking=True)
                for name, tensor in self.segments[number].items()
                if name.startswith(kind)
            }


class _View:
    """What `Int8Tier` reads of a store, over the segment at hand."""

    slots = SEGMENT
    key_codes: torch.Tensor
    key_scale: torch.Tensor
    key_zero: torch.Tensor
    value_codes: torch.Tensor
    value_scale: torch.Tensor

    def __init__(self, amplitude: torch.Tensor) -> None:
        self.amplitude = amplitude

    def show(self, fields: Mapping[str, torch.Tensor]) -> None:
        """Let the tier read these tensors."""
        for name, tensor in fields.items():
            setattr(self, name, tensor)


def put_codes(store: Int8Store, index: torch.Tensor, codes: Mapping[str, torch.Tensor]) -> None:
    """Write codes `[B, H, n, ...]` as they are to the slots `index [B, H, n]` of an int8 store."""
    wide = index[..., None].expand(*index.shape, store.key_codes.shape[-1])
    for name, tensor in codes.items():
        getattr(store, name).scatter_(2, wide if name.endswith("codes") else index, tensor)
