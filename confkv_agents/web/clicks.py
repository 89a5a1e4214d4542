"""What answers to a click without saying so: text with a handler or a hand over it, links without an address.

Playwright's snapshot tells elements by their role, and whole blocks by the hand the pointer turns into. Words in a line
are part of their paragraph's text there, and handlers are not told at all. So pages are begun with `LISTEN`, which
notes what is given a handler; `READ_CLICKS` tells what of it is in view; `add_clicks` puts it into the tree, with a
handle of its own kind (`own-7`) where the snapshot has none.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from confkv_agents.web.tree import Box, Node, clean

ENGINE = "confkv-own"
"""Name of the selector engine that finds elements by the number in their handle."""
PREFIX = "own-"
"""Begins the handles of elements that Playwright gives none."""
_SAME = 0.85
_ACTIVE = (
    "button, link, checkbox, radio, switch, tab, option, menuitem, menuitemcheckbox, menuitemradio, treeitem, textbox"
)
_REAL = ",".join(
    [
        "a[href],area,button,input,select,textarea,label,summary,option,iframe,object,embed,video,audio,[contenteditable]",
        *(
            f"[role={role}]"
            for role in [*_ACTIVE.split(", "), "searchbox", "combobox", "listbox", "slider", "spinbutton"]
        ),
    ]
)

LISTEN = """(() => {
  'use strict';
  const kinds = new Set(['click', 'mousedown', 'pointerdown', 'dblclick']);
  const heard = new WeakSet(), numbers = new WeakMap(), elements = [];
  const native = EventTarget.prototype.addEventListener, apply = Reflect.apply, isElement = Element;
  EventTarget.prototype.addEventListener = {
    addEventListener(type, listener) {
      if (kinds.has(type) && listener && this instanceof isElement) heard.add(this);
      return apply(native, this, arguments);
    },
  }.addEventListener;
  const number = element => {
    if (!numbers.has(element)) numbers.set(element, elements.push(new WeakRef(element)));
    return numbers.get(element);
  };
  const find = wanted => {
    const element = wanted > 0 && wanted <= elements.length ? elements[wanted - 1].deref() : null;
    return element && element.isConnected ? element : null;
  };
  Object.defineProperty(window, Symbol.for('confkv.clicks'), {value: Object.freeze({heard, number, find})});
})();"""
"""Script that every page begins with."""

READ_CLICKS = (
    """() => {
  const known = window[Symbol.for('confkv.clicks')], found = [];
  if (!known || !document.body) return found;
  const real = '"""
    + _REAL
    + """';
  const inline = new Set('SPAN A B I EM STRONG SMALL U FONT MARK CODE ABBR SUP SUB'.split(' '));
  const hand = element => getComputedStyle(element).cursor === 'pointer';
  const answers = element =>
    known.heard.has(element) || typeof element.onclick === 'function' ||
    (inline.has(element.nodeName) && hand(element) && !hand(element.parentElement));
  for (const element of [...document.body.querySelectorAll('*')].slice(0, 5000)) {
    if (!answers(element) || element.closest(real) || element.querySelector(real)) continue;
    const box = element.getBoundingClientRect();
    if (box.width < 4 || box.height < 4 || box.bottom <= 0 || box.top >= innerHeight) continue;
    if (box.right <= 0 || box.left >= innerWidth) continue;
    if (!element.checkVisibility({visibilityProperty: true, opacityProperty: true})) continue;
    const words = (element.innerText || '').trim() || element.getAttribute('aria-label') || element.title || '';
    if (words.length > 200 || getComputedStyle(element).pointerEvents === 'none') continue;
    found.push([element, words, box.x, box.y, box.width, box.height]);
    if (found.length >= 200) break;
  }
  const inner = found.filter(([element]) => !found.some(([other]) => other !== element && element.contains(other)));
  return inner.map(([element, ...told]) => [known.number(element), ...told]);
}"""
)
"""Elements in view that answer to a click and are none of those that say so: number, words, box."""

FIND = """{
  query(root, wanted) {
    const known = window[Symbol.for('confkv.clicks')];
    return known ? known.find(Number(wanted)) : null;
  },
  queryAll(root, wanted) {
    const found = this.query(root, wanted);
    return found ? [found] : [];
  },
}"""
"""The selector engine."""


def selector(ref: str) -> str:
    """Playwright's selector of an element's handle."""
    return f"{ENGINE}={ref.removeprefix(PREFIX)}" if ref.startswith(PREFIX) else f"aria-ref={ref}"


def add_clicks(root: Node, places: Iterable[Sequence[object]]) -> None:
    """Give the hand to nodes that answer to a click, and add nodes for words in a line.

    Args:
        root: Parsed snapshot with boxes of the main frame, changed in place.
        places: What `READ_CLICKS` gives.
    """
    for number, words, *numbers in places:
        box = Box(*(float(str(each)) for each in numbers))
        around = _around(root, box)
        if around.box is not None and around.box.overlap(box) > _SAME * around.box.width * around.box.height:
            around.states.setdefault("cursor", "pointer")
            continue
        if around.name and not around.children and not around.value:
            around.value = around.name  # what was the whole of it is now beside a part of it
        node = Node("generic", ref=f"{PREFIX}{number}", box=box, states={"cursor": "pointer"}, value=clean(str(words)))
        below = (
            index for index, child in enumerate(around.children) if child.box and child.box.y >= box.y + box.height
        )
        around.children.insert(next(below, len(around.children)), node)


def _around(root: Node, box: Box) -> Node:
    """The smallest node that holds a place, outside of frames; the root where none does."""
    found, size = root, float("inf")
    stack = list(root.children)
    while stack:
        node = stack.pop()
        if node.role == "iframe":
            continue
        stack += node.children
        if node.box is None or not node.ref or node.box.overlap(box) < 0.95 * box.width * box.height:
            continue
        if node.box.width * node.box.height <= size:
            found, size = node, node.box.width * node.box.height
    return found
