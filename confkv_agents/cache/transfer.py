"""Small figures on their way to the device, without the host waiting for it."""

from __future__ import annotations

from typing import Any

import torch


def on_device(figures: Any, device: torch.device) -> torch.Tensor:
    """Return figures of the host as a tensor on a device.

    A plain copy to a CUDA device waits until everything queued there has run; from pinned memory it is queued itself.

    Args:
        figures: Numbers as `torch.as_tensor` takes them.
        device: Where they go.
    """
    tensor = torch.as_tensor(figures)
    if device.type != "cuda":
        return tensor.to(device)
    return tensor.pin_memory().to(device, non_blocking=True)
