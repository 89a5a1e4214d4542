"""Where a model's weights go: accelerate's `device_map`, checked before anything is loaded.

A map is the name of a strategy (`auto`, `balanced`, ...), one device, or modules with a device each, where `disk` means
that a module's weights stay in files and are read whenever it computes. The cache needs a layer whole: its keys, values
and queries are computed, and kept, on one device.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from confkv_agents.errors import ConfigError

STRATEGIES = ("auto", "balanced", "balanced_low_0", "sequential")
DISK = "disk"
_DEVICE = re.compile(r"(cpu|disk|meta|mps|(cuda|xpu)(:\d+)?)")
_IN_LAYER = re.compile(r"(?P<layer>(?:.*\.)?(?:layers|h|blocks)\.\d+)\..+")
_EYES = re.compile(r"vision|visual")  # no keys are kept of their layers
_FORMS = f'{", ".join(STRATEGIES)}, a device such as cpu or cuda:0, or JSON such as {{"": "cpu"}}'


def parse_device_map(text: str | Mapping[str, Any] | None) -> Any:
    """A device map as a command line or a suite file gives it.

    Args:
        text: A strategy, a device, or an object in JSON; what is no text is returned as it is.

    Raises:
        ConfigError: It looks like JSON and is none.
    """
    if not isinstance(text, str) or not text.lstrip().startswith("{"):
        return text
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise ConfigError(f"device_map {text!r} is no JSON: {error.msg} at column {error.colno}") from None


def check_device_map(device_map: Any, offload_folder: str | Path | None = None) -> None:
    """Refuse a device map that cannot be meant, or that the cache cannot work with.

    Args:
        device_map: As transformers takes it; None is the default.
        offload_folder: Where weights on disk may be written.

    Raises:
        ConfigError: What is wrong with it.
    """
    if offload_folder is not None and device_map is None:
        raise ConfigError("offload_folder is used with a device_map only; give one, such as auto")
    if offload_folder is not None and Path(offload_folder).expanduser().is_file():
        raise ConfigError(f"offload_folder {str(offload_folder)!r} is a file; give a folder")
    if device_map is None:
        return
    if isinstance(device_map, Mapping):
        _check_modules(device_map, offload_folder)
    elif device_map not in STRATEGIES:
        _check_device(device_map, None)


def check_complete(device_map: Mapping[str, Any], model: Any) -> None:
    """Refuse a map that leaves a module of a model without a device, or names one that the model does not have.

    Args:
        device_map: Modules with a device each.
        model: The model; on torch's meta device its weights need not be there.

    Raises:
        ConfigError: The first few names of either kind.
    """
    modules = [name for name, _ in model.named_modules()]
    names = dict.fromkeys([*model.state_dict(), *(name for name, _ in model.named_buffers())])  # tied ones too
    unknown = [name for name in device_map if name not in names and name not in modules]
    if unknown:
        raise ConfigError(
            f"device_map names {_listed(unknown)}, which the model does not have; its parts are "
            f"{_listed([name for name, _ in model.named_children()])}"
        )
    left = [name for name in names if not any(not key or f"{name}.".startswith(f"{key}.") for key in device_map)]
    if left:
        parts = dict.fromkeys(_part(name, device_map) for name in left)
        raise ConfigError(f'device_map gives no device to {_listed(list(parts))}; name them, or "" for all the rest')


def canonical(device_map: Any) -> str:
    """One text for maps that say the same, in whatever order."""
    if isinstance(device_map, Mapping):
        return json.dumps({str(key): str(value) for key, value in device_map.items()}, sort_keys=True)
    return str(device_map)


def computes_on_cpu(device_map: Any) -> bool:
    """Whether every module computes on the CPU, wherever its weights are kept."""
    if isinstance(device_map, Mapping):
        return {str(device) for device in device_map.values()} <= {"cpu", DISK}
    if device_map in STRATEGIES:
        import torch

        return not torch.cuda.is_available()
    return str(device_map) == "cpu"


def _part(name: str, device_map: Mapping[str, Any]) -> str:
    """The largest module with this tensor of which nothing is placed."""
    pieces = name.split(".")
    for count in range(1, len(pieces)):
        part = ".".join(pieces[:count])
        if not any(key.startswith(f"{part}.") for key in device_map):
            return part
    return name


def _listed(names: Sequence[str], most: int = 5) -> str:
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def _check_modules(device_map: Mapping[Any, Any], offload_folder: str | Path | None) -> None:
    if not device_map:
        raise ConfigError('device_map names no module; {"": "cpu"} puts all on the CPU')
    layers: dict[str, set[str]] = {}
    for module, device in device_map.items():
        if not isinstance(module, str):
            raise ConfigError(f"device_map names a module {module!r}; modules are text, such as 'model.layers.0'")
        _check_device(device, module)
        found = _IN_LAYER.fullmatch(module)
        if found and not _EYES.search(module):
            layers.setdefault(found["layer"], set()).add(_computes_at(device, device_map))
    for layer, devices in layers.items():
        above = [name for name in device_map if layer == name or not name or layer.startswith(f"{name}.")]
        if above:
            devices.add(_computes_at(device_map[max(above, key=len)], device_map))
        if len(devices) > 1:
            raise ConfigError(
                f"device_map splits {layer} over {' and '.join(sorted(devices))}; the cache needs a whole layer on one "
                "device"
            )
    if DISK in device_map.values() and offload_folder is None:
        raise ConfigError("device_map puts modules on disk; give an offload_folder for their weights too")


def _computes_at(device: Any, device_map: Mapping[Any, Any]) -> str:
    """The device whose name is meant; weights off the accelerators are brought to the first of them to compute."""
    if device in ("cpu", DISK):
        device = next((each for each in device_map.values() if each not in ("cpu", DISK)), "cpu")
    return {"cuda": "cuda:0"}.get(str(device), f"cuda:{device}" if isinstance(device, int) else str(device))


def _check_device(device: Any, module: str | None) -> None:
    where = "device_map" if module is None else f"device_map, module {module!r},"
    known = type(device) is int and device >= 0
    if not known and not _DEVICE.fullmatch(str(device)):
        raise ConfigError(f"{where} cannot be {device!r}; give {_FORMS if module is None else 'cpu, cuda:0 or disk'}")
    if str(device) == "meta" or (module is None and str(device) == DISK):
        raise ConfigError(f"{where} cannot be {device!r}: nothing would be computed there")
    if known or str(device).startswith("cuda"):
        import torch

        count = torch.cuda.device_count()
        number = device if known else int(str(device).partition(":")[2] or 0)
        if number >= count:
            raise ConfigError(f"{where} is {device!r}, and this machine has {count or 'no'} CUDA devices")
