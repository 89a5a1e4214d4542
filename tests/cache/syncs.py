"""Counts what would be a synchronization with a device: every place where the host needs a tensor's values.

On a CPU nothing waits, so the operations are counted instead. Operations that ask for values below Python (a scalar,
the coordinates of true elements, as boolean indexing does) are seen by the dispatcher; what hands values to Python
without an operation of its own (`tolist`, `numpy`, a copy to the host) is seen as a call on the tensor.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

ASKING = ("_local_scalar_dense", "item", "is_nonzero", "nonzero", "masked_select", "unique", "_unique", "equal")
HANDING = {
    torch.Tensor.tolist: "tolist",
    torch.Tensor.numpy: "numpy",
    torch.Tensor.__array__: "numpy",
    torch.Tensor.cpu: "cpu",
}


class _Operations(TorchDispatchMode):
    def __init__(self, found: Counter[str]) -> None:
        super().__init__()
        self.found = found

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = func.overloadpacket.__name__
        if name.startswith(ASKING):
            self.found[name] += 1
        indices = args[1] if name in ("index", "index_put", "index_put_", "_unsafe_index") else ()
        if any(index is not None and index.dtype in (torch.bool, torch.uint8) for index in indices):
            self.found["boolean index"] += 1
        return func(*args, **(kwargs or {}))


class _Calls(TorchFunctionMode):
    def __init__(self, found: Counter[str]) -> None:
        super().__init__()
        self.found, self.inside = found, False

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        name = HANDING.get(func)
        if func is torch.Tensor.to and "cpu" in [
            each for each in (*args[1:], *kwargs.values()) if isinstance(each, str)
        ]:
            name = "to cpu"
        if name is None or self.inside:
            return func(*args, **kwargs)
        self.found[name] += 1
        self.inside = True  # `numpy` may call `cpu`: one transfer
        try:
            return func(*args, **kwargs)
        finally:
            self.inside = False


@contextmanager
def counted() -> Iterator[Counter[str]]:
    """Count the transfers to the host of what runs inside, by kind."""
    found: Counter[str] = Counter()
    with _Operations(found), _Calls(found):
        yield found
