"""How often the host waits for a device: counted by torch beside CUDA, by the operations themselves on a CPU.

A CPU waits for nothing. What is counted there is the part that the dispatcher sees: scalars taken out of tensors, and
operations whose result's size depends on values; values handed over whole (`tolist`) are not among them.
"""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Iterator
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

_DATA_DEPENDENT = ("_local_scalar_dense", "nonzero", "masked_select", "is_nonzero", "equal", "unique")


class _DataDependent(TorchDispatchMode):
    """Counts operations whose result the host must know."""

    def __init__(self) -> None:
        super().__init__()
        self.count = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = func.overloadpacket.__name__
        boolean = name == "index" and any(
            each is not None and each.dtype in (torch.bool, torch.uint8) for each in args[1]
        )
        self.count += boolean or name.startswith(_DATA_DEPENDENT)
        return func(*args, **(kwargs or {}))


@contextlib.contextmanager
def synchronizations(device: torch.device) -> Iterator[list[int]]:
    """Count how often the host waits for the device inside; the count stands in the list afterwards."""
    found: list[int] = []
    if device.type != "cuda":
        with _DataDependent() as mode:
            yield found
        found.append(mode.count)
        return
    torch.cuda.set_sync_debug_mode("warn")
    try:
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            yield found
    finally:
        torch.cuda.set_sync_debug_mode("default")
    found.append(sum("synchroniz" in str(warning.message) for warning in said))
