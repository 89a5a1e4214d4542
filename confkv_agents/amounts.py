"""Amounts of memory as people write them."""

from __future__ import annotations

import re

_UNITS = {"": 1, "b": 1, "kb": 10**3, "mb": 10**6, "gb": 10**9, "tb": 10**12}
_TOO_MUCH = 2**63
_UNITS |= {"kib": 2**10, "mib": 2**20, "gib": 2**30, "tib": 2**40}


def parse_bytes(text: str) -> int:
    """Number of bytes of a text like "1.5GiB", "200 MB" or "1024".

    Raises:
        ValueError: The text is no amount of bytes.
    """
    hit = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([a-zA-Z]*)\s*", text)
    if hit is None or hit[2].lower() not in _UNITS:
        raise ValueError(f"{text[:40]!r} is no amount of memory; write it like '1.5GiB', '200MB' or 1073741824")
    amount = float(hit[1]) * _UNITS[hit[2].lower()]
    if amount >= _TOO_MUCH:
        raise ValueError(f"{text[:40]!r} is more memory than there can be; write it like '1.5GiB'")
    return int(amount)
