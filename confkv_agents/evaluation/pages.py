"""What every report page is made with: templates, tiles, rows of facts, pictures inside the page."""

from __future__ import annotations

import base64
import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from confkv_agents.evaluation import words

if TYPE_CHECKING:
    from jinja2 import Environment


def template(name: str) -> Any:
    """Return a page's template; whatever is put into it is escaped."""
    return _templates().get_template(name)


def tile(name: str, value: object, more: str = "") -> dict[str, str]:
    """One figure of a page's head: its name, its value, and a smaller line below."""
    return {"name": name, "value": str(value), "more": "" if more == words.MISSING else more}


def facts(*groups: dict[str, Any]) -> list[tuple[str, str]]:
    """Rows of a table of facts: names in words, values as text; what is empty is left out."""
    rows = []
    for group in groups:
        for name, value in group.items():
            if value in (None, "", [], {}, words.MISSING) or name == "remarks":
                continue
            if isinstance(value, list):
                value = ", ".join(str(entry) for entry in value)
            elif isinstance(value, dict):
                value = ", ".join(f"{key} = {entry}" for key, entry in value.items())
            words_ = name.replace("_", " ") if name.isidentifier() else name  # file names stay as they are
            rows.append((words_, str(value)))
    return rows


def both_shapes(draw: Callable[..., str | None]) -> dict[str, str] | None:
    """Draw a plot wide and narrow, as data addresses; None if there is nothing to draw."""
    wide, narrow = draw(narrow=False), draw(narrow=True)
    if wide is None or narrow is None:
        return None
    return {name: data_url("image/svg+xml", svg.encode()) for name, svg in (("wide", wide), ("narrow", narrow))}


def data_url(kind: str, data: bytes) -> str:
    """Return bytes as an address that holds them."""
    return f"data:{kind};base64,{base64.b64encode(data).decode()}"


@functools.cache
def _templates() -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    return Environment(
        loader=PackageLoader("confkv_agents.evaluation", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
