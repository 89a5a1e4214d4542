"""The compact form of an observation, for small models: what the last page said already is not said again.

A page's head and foot (its ARIA `banner` and `contentinfo`) are written when a site is first seen, each in one line;
after that only what changed in them, with the numbers that their elements have. The same goes for the rest of a page
that an action has left almost as it was:

    banner [1]-[7] as before, but 'Cart (1)' [7]
    page [8]-[17] as before, but field 'Coupon code' [15] = 'KG97Z'

Links and texts go without their role. Address and title are left out, the tabs where there is one, the outcome where
it only repeats the action. A conversation must keep every observation for this to be
fair, as `agents/react.py` does.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import groupby

from confkv_agents.web.outline import LANDMARKS, Line
from confkv_agents.web.text import quote

_SHORT = {"textbox": "field", "searchbox": "field", "spinbutton": "field", "combobox": "list", "img": "picture"}
_BARE = frozenset({"link", "text", "row"})
Numbered = tuple[Line, int]
"""A line and its element's number; 0 for a text."""
Fingerprint = tuple[object, ...]
Known = dict[tuple[str, str], tuple[Fingerprint, ...]]
"""Site and landmark, or address and `_MAIN` -> the lines as they were shown last."""
_MAIN = "page"


def write_line(line: Line, number: int, max_name: int, max_options: int) -> str:
    """One line: `'Offers' [4]`, `button 'Apply' [16]`, `field 'Qty' [10] = '2'`, `# 'Shopping Cart'`."""
    role = _SHORT.get(line.role, line.role)
    words = [] if role in _BARE else ["#"] if role == "heading" else [role]
    if line.name:
        words.append(quote(line.name, max_name))
    if number:
        words.append(f"[{number}]")
    if line.value:
        words += ["=", quote(line.value, max_name)]
    words += line.states
    if line.options:
        shown = ", ".join(quote(option, 60) for option in line.options[:max_options])
        more = len(line.options) - max_options
        words += ["of", shown + (f" and {more} more" if more > 0 else "")]
    return " ".join(words)


def write_lines(
    numbered: Sequence[Numbered], site: str, page: str, known: Known, write: Callable[[Line, int], str]
) -> tuple[list[str], Known]:
    """Write a page's lines.

    Args:
        numbered: The lines in order.
        site: Which site the page belongs to.
        page: Its address.
        known: What earlier observations have shown.
        write: Writes one line.

    Returns:
        The written lines, and what is known after them.
    """
    main = tuple(_fingerprint(line, number) for line, number in numbered if line.landmark not in LANDMARKS)
    changes = _changes(main, known.get((page, _MAIN)))
    written: list[str] = []
    after: Known = {key: prints for key, prints in known.items() if key[1] != _MAIN} | {(page, _MAIN): main}
    main_written = False
    for landmark, group in groupby(numbered, key=lambda each: each[0].landmark):
        lines = list(group)
        if landmark in LANDMARKS:
            prints = tuple(_fingerprint(line) for line, _ in lines)
            after[site, landmark] = prints
            before = known.get((site, landmark))
            if before is None or len(before) != len(prints):
                written.append(f"{landmark}: " + "; ".join(write(line, number) for line, number in lines))
            else:
                written.append(
                    _as_before(landmark, lines, [old != new for old, new in zip(before, prints, strict=True)], write)
                )
        elif changes is None:
            written += [write(line, number) for line, number in lines]
        elif not main_written:
            main_written = True
            everything = [each for each in numbered if each[0].landmark not in LANDMARKS]
            written.append(_as_before("page", everything, changes, write))
    return written, after


def _changes(now: tuple[Fingerprint, ...], before: tuple[Fingerprint, ...] | None) -> list[bool] | None:
    """Which lines of a page differ from the last observation's; None where the page is better written out."""
    if before is None or len(before) != len(now):
        return None
    changed = [old != new for old, new in zip(before, now, strict=True)]
    return changed if sum(changed) <= max(1, len(now) // 8) else None


def write_head(outcome: str, tabs: str, scroll: str) -> str:
    """The lines above; what is empty is left out."""
    return "\n".join(part for part in (outcome and f"Outcome: {outcome}", tabs, scroll) if part)


def short_outcome(outcome: str, did: str) -> str:
    """The outcome without what the action and the page themselves say.

    Args:
        outcome: As the environment words it, its parts divided by `; `.
        did: Its first part where that says which action was carried out, else empty.
    """
    rest = outcome.removeprefix(did).removeprefix("; ") if did else outcome
    return "; ".join(part for part in rest.split("; ") if not part.startswith("the page is now "))


def _as_before(name: str, lines: Sequence[Numbered], changed: Sequence[bool], write: Callable[[Line, int], str]) -> str:
    numbers = [number for _, number in lines if number]
    span = f" [{numbers[0]}]-[{numbers[-1]}]" if len(numbers) > 1 else f" [{numbers[0]}]" if numbers else ""
    news = "; ".join(write(line, number) for (line, number), new in zip(lines, changed, strict=True) if new)
    return f"{name}{span} as before" + (f", but {news}" if news else "")


def _fingerprint(line: Line, number: int = 0) -> Fingerprint:
    return (line.role, line.name, line.value, line.states, line.options, number)
