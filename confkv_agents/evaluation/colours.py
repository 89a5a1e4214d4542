"""Colours of the policies, the same in every picture: Okabe and Ito's, which stay apart for colour-blind readers."""

from __future__ import annotations

from collections.abc import Sequence

_OWN = {
    "stock": "#1f2933",
    "full": "#8a949e",
    "window": "#E69F00",
    "h2o": "#A84300",
    "snapkv": "#8E4585",
    "confkv": "#0072B2",
    "confkv+recall": "#007A5A",
}
_OTHERS = ("#B8860B", "#CC79A7", "#56B4E9", "#5b3a8c")


def colour_of(labels: Sequence[str], label: str) -> str:
    """A policy's colour; variants get the next free one.

    Args:
        labels: All that are in the picture.
        label: The one to draw.
    """
    if label in _OWN:
        return _OWN[label]
    others = [each for each in labels if each not in _OWN]
    return _OTHERS[others.index(label) % len(_OTHERS)]
