"""From the page's node tree to the flat list of things worth reading, in the viewport, in order.

A line is an element one can act on, or a text. Names that only repeat what an ancestor or descendant already
says are left out, so that the same words do not cost tokens twice.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from confkv_agents.web.tree import Box, Node

INTERACTIVE = frozenset(
    [
        "button",
        "checkbox",
        "combobox",
        "gridcell",
        "link",
        "listbox",
        "menuitem",
        "menuitemcheckbox",
        "menuitemradio",
        "option",
        "radio",
        "scrollbar",
        "searchbox",
        "slider",
        "spinbutton",
        "switch",
        "tab",
        "textbox",
        "treeitem",
    ]
)
"""Roles that get an id."""

EDITABLE = frozenset({"textbox", "searchbox", "spinbutton", "combobox", "slider"})
LANDMARKS = frozenset({"banner", "contentinfo"})
"""Parts that most pages of a site share: the head and the foot."""
_LABELLED = EDITABLE | {"checkbox", "radio", "switch"}
"""Roles whose name stands beside them, in a table often in a cell of its own."""
_CELLS = frozenset({"cell", "gridcell", "columnheader", "rowheader"})
_TITLED = frozenset({"dialog", "alertdialog", "group", "radiogroup"})
_LEAF_ROLES = {"heading": "heading", "img": "img", "progressbar": "progressbar", "meter": "meter"}
_SHOWN_STATES = ("checked", "selected", "pressed", "expanded", "disabled", "readonly", "required", "invalid")
_MIN_VISIBLE = 4.0
_MAX_CARD = 200  # a longer text is a page that shows the hand everywhere, not a card to click


@dataclass(frozen=True)
class Line:
    """One line of an observation before ids are given.

    Attributes:
        depth: Nesting among kept lines.
        ref: Set for elements one can act on, empty for texts.
        options: Labels of a list's options.
        landmark: One of `LANDMARKS` that the line lies in, else empty.
        cell: Handle of the table cell that the line lies in, else empty.
    """

    role: str
    name: str
    depth: int
    ref: str = ""
    box: Box | None = None
    value: str = ""
    states: tuple[str, ...] = ()
    options: tuple[str, ...] = ()
    url: str = ""
    landmark: str = ""
    cell: str = ""


def outline(root: Node, viewport: Box) -> list[Line]:
    """The lines of a page that fall into `viewport` (for frames: into their visible part)."""
    lines: list[Line] = []
    for line in _visit_children(root, 0, viewport, None):
        if not line.ref and any(_repeats(line, earlier) for earlier in lines[-2:]):
            continue  # said a moment ago, as by the field that this label belongs to
        if line.ref and lines and not lines[-1].ref and _announces(lines[-1], line):
            lines.pop()  # a label before its field, a picture before the link to what it shows
        lines.append(line)
    return lines


def _repeats(line: Line, earlier: Line) -> bool:
    """Whether a text only says again what stands before it; what two cells of a table say alike are two facts."""
    if line.name != earlier.name or line.role not in ("text", earlier.role):
        return False
    return not _apart(line, earlier) or earlier.role in _LABELLED


def _announces(text: Line, line: Line) -> bool:
    if text.name != line.name or text.role not in ("text", "img"):
        return False
    return text.role == "img" or not _apart(text, line) or line.role in _LABELLED


def _apart(line: Line, other: Line) -> bool:
    """True for lines of two cells."""
    return bool(line.cell and other.cell) and line.cell != other.cell


def _visit_children(parent: Node, depth: int, clip: Box, inside: Node | None) -> Iterator[Line]:
    children = parent.children
    for index, child in enumerate(children):
        if child.role == "text" and not _text_visible(children, index, parent, clip):
            continue
        lines = _visit(child, depth, clip, inside)
        if child.role in LANDMARKS:
            yield from (replace(line, landmark=child.role) for line in lines)
        elif child.role in _CELLS:
            yield from (replace(line, cell=line.cell or child.ref) for line in lines)
        else:
            yield from lines


def _text_visible(children: list[Node], index: int, parent: Node, clip: Box) -> bool:
    """Bare texts have no box: they lie between their neighbours, or in their parent."""
    before = next((node.box for node in reversed(children[:index]) if node.box), None)
    after = next((node.box for node in children[index + 1 :] if node.box), None)
    if before is not None and before.y >= clip.y + clip.height:
        return False
    if after is not None and after.y + after.height <= clip.y:
        return False
    return parent.box is None or _visible(parent.box, clip)


def _visible(box: Box | None, clip: Box) -> bool:
    return box is None or box.overlap(clip) >= min(_MIN_VISIBLE, box.width * box.height)


def _visit(node: Node, depth: int, clip: Box, inside: Node | None) -> Iterator[Line]:
    if node.role == "iframe":
        if node.box is not None and _visible(node.box, clip):
            yield from _visit_children(node, depth, _intersection(node.box, clip), None)
        return
    if node.role == "text":
        if not _told_by(inside, node.name):
            yield Line("text", node.name, depth)
        return
    if node.role == "option" and not node.ref:  # left over from a list that is hidden, as in a closed <details>
        return
    shown = _visible(node.box, clip)
    if shown and _acts(node):
        name = node.name or node.placeholder
        if not name and node.role not in EDITABLE:
            name = (_text_of(node) if node.role in INTERACTIVE else _own_text(node)) or node.url
        yield Line(
            role="clickable" if node.role not in INTERACTIVE else node.role,
            name=name,
            depth=depth,
            ref=node.ref,
            box=node.box,
            value=_value(node),
            states=_states(node),
            options=tuple(option.name for option in node.walk() if option.role == "option" and not option.ref),
            url=node.url,
        )
        named = Node(node.role, name=name)
        for child in node.children:
            if child.role == "option" and not child.ref:
                continue
            if node.role in EDITABLE and child.role == "text":
                continue
            yield from _visit(child, depth + 1, clip, named)
        return
    if not shown:
        yield from _visit_children(node, depth, clip, inside)
        return
    if node.role == "row" and not any(_acts(child) for child in node.walk()):
        cells = [text for text in (_text_of(cell) for cell in node.children) if text]
        if cells and not _told_by(inside, " | ".join(cells)):
            yield Line("row", " | ".join(cells), depth, box=node.box)
        return
    if node.role in _LEAF_ROLES:
        name = node.name or _text_of(node)
        if name and not _told_by(inside, name) and not _told_below(node, name):
            yield Line(_LEAF_ROLES[node.role], name, depth, box=node.box, value=_value(node) if node.name else "")
        said = Node(node.role, name=name) if name else inside
        for child in node.children:
            yield from _visit(child, depth + 1, clip, said)
        return
    if node.role in _TITLED and node.name:
        yield Line(node.role, node.name, depth, box=node.box)
        yield from _visit_value(node, depth + 1, inside)
        yield from _visit_children(node, depth + 1, clip, inside)
        return
    if node.name and not node.children and not node.value:
        if not _told_by(inside, node.name):
            yield Line("text", node.name, depth, box=node.box)
        return
    yield from _visit_value(node, depth, inside)
    yield from _visit_children(node, depth, clip, inside)


def _visit_value(node: Node, depth: int, inside: Node | None) -> Iterator[Line]:
    if node.value and not _told_by(inside, node.value):
        yield Line("text", node.value, depth, box=node.box)


def _acts(node: Node) -> bool:
    """Whether one can act on the node: by its role, or because the page shows a hand over it."""
    if not node.ref:
        return False
    if node.role in INTERACTIVE:
        return node.role != "gridcell" or node.clickable
    if node.role == "generic" and node.name and "active" not in node.states:
        return True
    if not node.clickable or node.role in ("iframe", "root"):
        return False
    inner = [child.name for child in node.walk() if child.ref and child.role in INTERACTIVE]
    own = _own_text(node)
    return not inner or (0 < len(own) <= _MAX_CARD and not any(own.casefold() in name.casefold() for name in inner))


def _own_text(node: Node) -> str:
    """A clickable thing's text without that of the elements inside it."""
    bare = Node(node.role, node.name, value=node.value)
    bare.children = [_without_elements(child) for child in node.children if child.role not in INTERACTIVE]
    return _text_of(bare)


def _without_elements(node: Node) -> Node:
    kept = [_without_elements(child) for child in node.children if child.role not in INTERACTIVE]
    return Node(node.role, node.name, value=node.value, children=kept)


def _told_by(inside: Node | None, text: str) -> bool:
    return inside is not None and text.casefold() in inside.name.casefold()


def _told_below(node: Node, name: str) -> bool:
    """True when the elements inside already carry the node's name, as a heading around one link does."""
    names = [child.name for child in node.walk() if child is not node and _acts(child) and child.name]
    return bool(names) and " ".join(names).casefold() == name.casefold()


def _text_of(node: Node) -> str:
    """All text below a node, in order."""
    parts: list[str] = []
    for current in node.walk():
        text = current.value or (current.name if current.role in ("text", "img") or not current.children else "")
        if current is node and not current.value:
            text = current.name if not current.children else ""
        if text and (not parts or parts[-1] != text):
            parts.append(text)
    return " ".join(parts)


def _value(node: Node) -> str:
    if node.role in EDITABLE:
        chosen = [child.name for child in node.walk() if child.role == "option" and "selected" in child.states]
        if chosen:
            return ", ".join(chosen)
        return node.value or " ".join(child.name for child in node.children if child.role == "text")
    if node.role in ("progressbar", "meter"):
        return node.value
    return ""


def _states(node: Node) -> tuple[str, ...]:
    found = []
    for state in _SHOWN_STATES:
        if state in node.states:
            content = node.states[state]
            found.append(f"{state} {content}" if content else state)
    return tuple(found)


def _intersection(first: Box, second: Box) -> Box:
    x, y = max(first.x, second.x), max(first.y, second.y)
    right = min(first.x + first.width, second.x + second.width)
    bottom = min(first.y + first.height, second.y + second.height)
    return Box(x, y, max(0.0, right - x), max(0.0, bottom - y))
