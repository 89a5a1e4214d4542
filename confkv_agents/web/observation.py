"""What an agent sees after each action: text, elements with ids, a screenshot, and pictures of the page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, get_args

from confkv_agents.errors import ConfigError
from confkv_agents.web import compact
from confkv_agents.web.outline import Line
from confkv_agents.web.text import TokenCounter, estimate_tokens, quote
from confkv_agents.web.tree import Box

_MOST_TABS = 8  # named in the text, the current one always
TextFormat = Literal["label-first", "compact", "vwa"]


@dataclass(frozen=True)
class ObservationConfig:
    """How observations are made.

    Attributes:
        format: `label-first` puts the id behind the quoted name, where a small model can copy it
            (`link 'Red Canvas Backpack' [12]`); `compact` is the same in fewer words and does not repeat what is as
            it was (see `compact.py`); `vwa` is VisualWebArena's form (`[12] link 'Red Canvas Backpack'`).
        max_tokens: Bound on the text, counted by `count_tokens`; what does not fit is cut between elements
            and the text says how much.
        count_tokens: Number of tokens of a text; four characters a token where none is given.
        max_name: Longest name or text, in code points.
        max_options: Options of a list that are named; the others are counted.
        marks: Draw the set-of-marks picture.
        pictures: Cut at most this many pictures out of the screenshot; 0 for none.
        screenshots: Take a screenshot of every page; without it there are neither marks nor pictures.
        min_picture: Shorter side from which on a picture counts, in CSS pixels.
        max_picture: Longer side to which pictures are scaled down, in pixels.
    """

    format: TextFormat = "label-first"
    max_tokens: int = 1500
    count_tokens: TokenCounter = estimate_tokens
    max_name: int = 200
    max_options: int = 20
    marks: bool = True
    pictures: int = 8
    screenshots: bool = True
    min_picture: int = 48
    max_picture: int = 512

    def __post_init__(self) -> None:
        if self.format not in get_args(TextFormat):
            raise ConfigError(f"observation format {self.format!r}: use one of {', '.join(get_args(TextFormat))}")
        if not self.screenshots and (self.marks or self.pictures):
            raise ConfigError("without screenshots there are neither marks nor pictures; pass marks=False, pictures=0")
        if self.max_tokens < 100:
            raise ConfigError(f"max_tokens is {self.max_tokens}; a page needs at least 100")
        if min(self.max_name, self.max_options, self.min_picture, self.max_picture) < 1 or self.pictures < 0:
            raise ConfigError("max_name, max_options, min_picture, max_picture must be positive, pictures not negative")


@dataclass(frozen=True)
class Element:
    """Something one can act on.

    Attributes:
        id: Number in this observation, from 1.
        ref: Playwright's handle; the same in later observations while the element lives.
        role: ARIA role, or "clickable".
        value: A field's content or a list's choice.
        box: In CSS pixels of the viewport; frame offsets are added.
        states: Such as `checked`, `disabled`.
        options: Labels of a list's options.
    """

    id: int
    ref: str
    role: str
    name: str
    value: str = ""
    box: Box | None = None
    states: tuple[str, ...] = ()
    options: tuple[str, ...] = ()
    url: str = ""

    def __str__(self) -> str:
        return f"{self.role} {quote(self.name, 80)} [{self.id}]"


@dataclass(frozen=True)
class Picture:
    """A picture of the page, as it shows: PNG, alternative text, and the element it belongs to, if any."""

    png: bytes
    alt: str
    element_id: int | None = None


@dataclass(frozen=True)
class DialogRecord:
    """A dialog that came up and how it was answered (`accepted` or `dismissed`)."""

    type: str
    message: str
    answer: str


@dataclass(frozen=True)
class Tab:
    """An open tab, in order of opening."""

    title: str
    url: str
    active: bool = False


@dataclass(frozen=True)
class Scroll:
    """Where the viewport is on the page, in CSS pixels."""

    top: int = 0
    height: int = 0
    total: int = 0

    @property
    def above(self) -> int:
        """Pixels above the viewport."""
        return max(0, self.top)

    @property
    def below(self) -> int:
        """Pixels below the viewport."""
        return max(0, self.total - self.top - self.height)

    def __str__(self) -> str:
        if self.height <= 0 or (self.above <= 1 and self.below <= 1):
            return "Page 1 of 1"
        pages = -(-self.total // self.height)
        here = pages if self.below <= 1 else min(pages, self.top // self.height + 1)
        ways = [word for word, left in (("up", self.above), ("down", self.below)) if left > 1]
        return f"Page {here} of {pages} (scroll {' or '.join(ways)} for more)"


@dataclass(frozen=True)
class Observation:
    """What an agent sees.

    Attributes:
        text: What a model reads: outcome of the last action, tabs, address, elements.
        elements: The elements `text` lists, by id from 1.
        screenshot: PNG of the viewport.
        marked: The same with boxes and ids drawn in; None when not asked for.
        url: Address of the active tab.
        tabs: All tabs in order of opening.
        dialog: The last dialog since the last observation, or None.
        outcome: What the last action did, in words.
        pictures: Pictures of the page inside the viewport.
        goal: The task's intent.
        left_out: Lines that did not fit the token bound.
        cut_at: Top of the first element left out, in CSS pixels of the viewport, or None.
    """

    text: str
    elements: tuple[Element, ...] = ()
    screenshot: bytes = b""
    marked: bytes | None = None
    url: str = ""
    title: str = ""
    tabs: tuple[Tab, ...] = ()
    dialog: DialogRecord | None = None
    outcome: str = ""
    pictures: tuple[Picture, ...] = ()
    goal: str = ""
    scroll: Scroll = field(default_factory=Scroll)
    left_out: int = 0
    cut_at: float | None = None
    body: str = ""
    format: TextFormat = "label-first"

    def element(self, number: int) -> Element | None:
        """The element with this id, or None."""
        return self.elements[number - 1] if 1 <= number <= len(self.elements) else None

    def now(self, element: Element) -> Element | None:
        """The element of an earlier observation as it is here, or None if this one does not list it.

        A new page counts handles from 1 again, so role and name must be the same too.
        """
        for here in self.elements:
            if (here.ref, here.role, here.name) == (element.ref, element.role, element.name):
                return here
        return None

    def with_outcome(self, outcome: str, shown_url: str) -> Observation:
        """The same page after an action that was refused."""
        return replace(
            self,
            outcome=outcome,
            dialog=None,
            text=compose(write_head(outcome, self.tabs, shown_url, self.scroll, self.format), self.body),
        )


@dataclass(frozen=True)
class Body:
    """The element lines as text, the elements, what was left out, and what later observations need not repeat."""

    text: str
    elements: tuple[Element, ...]
    left_out: int
    cut_at: float | None
    known: compact.Known = field(default_factory=dict)


def write_body(
    lines: Sequence[Line],
    config: ObservationConfig,
    reserved: int = 0,
    *,
    site: str = "",
    page: str = "",
    known: compact.Known | None = None,
) -> Body:
    """Number the elements and write the lines, within the token bound.

    Args:
        lines: From `outline`.
        config: Format and bounds.
        reserved: Tokens that the rest of the observation takes.
        site: Which site the page belongs to; used by the compact form only, as are the next two.
        page: The page's address.
        known: What earlier observations of the episode have shown.
    """
    elements: list[Element] = []
    written: list[str] = []
    numbered: list[compact.Numbered] = []
    known = known or {}
    kept = _fitting(lines, config, config.max_tokens - reserved)
    for index in kept:
        line, number = lines[index], len(elements) + 1
        written.append(_write_line(line, number, config))
        numbered.append((line, number if line.ref else 0))
        if line.ref:
            elements.append(
                Element(
                    number,
                    line.ref,
                    line.role,
                    line.name,
                    line.value,
                    line.box,
                    line.states,
                    line.options,
                    line.url,
                )
            )
    if config.format == "compact":
        written, known = compact.write_lines(
            numbered, site, page, known, lambda line, number: _write_line(line, number, config)
        )
    shown = set(kept)
    rest = [line for index, line in enumerate(lines) if index not in shown]
    if rest:
        written.append(_marker(sum(bool(line.ref) for line in rest), sum(not line.ref for line in rest)))
    elif not written:
        written.append("(nothing to read or to act on)")
    tops = [line.box.y for line in rest if line.box is not None]
    return Body("\n".join(written), tuple(elements), len(rest), min(tops, default=None), known)


def _fitting(lines: Sequence[Line], config: ObservationConfig, bound: int) -> list[int]:
    """Indices, ascending, of the lines that fit into so many tokens with a marker of what was cut.

    Those are kept whose tops lie highest in the window, so that what is cut comes into view by scrolling down, in a
    page's second column too. A line without a place is where the one before it is.
    """
    left = bound - config.count_tokens(_marker(len(lines), len(lines)))
    top, tops = 0.0, []
    for line in lines:
        top = line.box.y if line.box is not None else top
        tops.append(top)
    kept = []
    for index in sorted(range(len(lines)), key=tops.__getitem__):
        left -= config.count_tokens(_write_line(lines[index], index + 1, config) + "\n")
        if left < 0:
            break
        kept.append(index)
    return sorted(kept)


def _marker(elements: int, texts: int) -> str:
    parts = [
        f"{count} {word}{'s' if count != 1 else ''}"
        for count, word in ((elements, "element"), (texts, "text"))
        if count
    ]
    return f"(cut here: {' and '.join(parts)} not shown; scroll down to see them)"


def _write_line(line: Line, number: int, config: ObservationConfig) -> str:
    if config.format == "compact":
        return compact.write_line(line, number if line.ref else 0, config.max_name, config.max_options)
    name = quote(line.name, config.max_name)
    if not line.ref:
        words = [line.role, name]
    elif config.format == "vwa":
        words = [f"[{number}]", line.role, name]
    else:
        words = [line.role, name, f"[{number}]"]
    if line.value:
        words += ["value", quote(line.value, config.max_name)]
    words += line.states
    if line.options:
        shown = ", ".join(quote(option, 60) for option in line.options[: config.max_options])
        more = len(line.options) - config.max_options
        words += ["options", shown + (f" and {more} more" if more > 0 else "")]
    indent = "\t" * line.depth if config.format == "vwa" else ""
    return indent + " ".join(words)


def write_head(
    outcome: str,
    tabs: Sequence[Tab],
    url: str,
    scroll: Scroll,
    format: TextFormat = "label-first",
    did: str = "",
) -> str:
    """The lines above the elements.

    Args:
        outcome: What the last action did.
        tabs: All tabs.
        url: Address as it is shown.
        scroll: Where the viewport is.
        format: Which form.
        did: The part of the outcome that says which action was carried out; the compact form goes without it.
    """
    shown = [index for index, tab in enumerate(tabs) if tab.active or index < _MOST_TABS]
    names = " | ".join(
        f"Tab {index}{' (current)' if tabs[index].active else ''}: {quote(tabs[index].title or 'untitled', 80)}"
        for index in shown
    )
    if len(shown) < len(tabs):
        names += f" | and {len(tabs) - len(shown)} more, {len(tabs)} in all"
    if format == "compact":
        place = "" if str(scroll) == str(Scroll()) else str(scroll)
        return compact.write_head(compact.short_outcome(outcome, did), names if len(tabs) > 1 else "", place)
    lines = [f"Outcome: {outcome}"] if outcome else []
    return "\n".join([*lines, names, f"URL: {url}", str(scroll)])


def compose(head: str, body: str) -> str:
    """The whole text of an observation."""
    return f"{head}\n\n{body}" if head else body
