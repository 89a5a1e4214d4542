"""Setting the amplitudes that a layer's int8 keys are divided by, once, before its first codes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from confkv_agents.cache.quantize import pair_amplitude

if TYPE_CHECKING:
    from confkv_agents.cache.bounded import BoundedBank


def calibrate(bank: BoundedBank, part: slice, coding: torch.Tensor) -> None:
    """Set the int8 keys' channel amplitudes of rows that code tokens for the first time."""
    if bank.calibrated:
        return
    stores, regions = bank.stores, bank.stores.table.regions
    first = coding.any(-1, keepdim=True).any(-2, keepdim=True) & ~bank.amplitude_known[part]
    start = 0 if bank.first_real is None else bank.first_real.view(-1, 1, 1)
    for index, layer in enumerate(range(bank.layers)[part]):
        position = stores.table.position[layer]
        counts = (position >= 0) & (position - start >= bank.policy.config.sinks)
        largest = torch.full_like(stores.int8[layer].amplitude, 1e-6)
        for region in (stores.full, stores.buffer):
            if region:
                store, begin = region[layer], regions.columns("full" if region is stores.full else "buffer").start
                if not store.slots:
                    continue
                weight = counts[..., begin : begin + store.slots]
                largest = torch.maximum(largest, pair_amplitude(store.keys[:, :, : store.slots], weight))
        amplitude = stores.int8[layer].amplitude
        amplitude.copy_(torch.where(first[index][..., None], largest, amplitude))
    bank.amplitude_known[part] |= first
