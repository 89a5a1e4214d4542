"""click, hover, drag: with a look first whether the element can be hit, so that a refusal has a reason."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from confkv_agents.errors import ActionError
from confkv_agents.web.actions.context import PATIENCE_MS, ActionContext, reason
from confkv_agents.web.actions.grammar import Action
from confkv_agents.web.observation import Element
from confkv_agents.web.text import quote
from confkv_agents.web.tree import clean

if TYPE_CHECKING:
    from playwright.sync_api import Locator

# Tries the client rectangles one by one: the middle of a link that wraps is not on the link.
_PROBE = """element => {
  const kind = element.tagName.toLowerCase();
  const type = kind === 'input' ? element.type : '';
  const disabled = element.matches(':disabled') || element.getAttribute('aria-disabled') === 'true';
  if (element.scrollIntoViewIfNeeded) element.scrollIntoViewIfNeeded(true);
  else element.scrollIntoView({block: 'center'});
  const options = kind === 'select' ? [...element.options].slice(0, 50).map(option => option.label) : [];
  const answer = {kind, type, disabled, options, state: 'hidden', x: 0, y: 0, only: true, cover: ''};
  const outer = element.getBoundingClientRect();
  const rectangles = [...element.getClientRects()].filter(box => box.width > 0 && box.height > 0);
  const root = element.getRootNode();
  const owns = hit => {
    for (let node = hit; node; node = node.parentNode || node.host) if (node === element) return true;
    return false;
  };
  let cover = null;
  for (const box of rectangles) {
    const x = (Math.max(0, box.left) + Math.min(innerWidth, box.right)) / 2;
    const y = (Math.max(0, box.top) + Math.min(innerHeight, box.bottom)) / 2;
    if (x < 0 || y < 0 || x > innerWidth || y > innerHeight) continue;
    const hit = root.elementFromPoint ? root.elementFromPoint(x, y) : document.elementFromPoint(x, y);
    if (hit && owns(hit)) {
      return {...answer, state: 'free', only: rectangles.length === 1,
              x: x - outer.left - element.clientLeft, y: y - outer.top - element.clientTop};
    }
    cover = cover || hit;
  }
  if (element.labels && element.labels.length && ['checkbox', 'radio'].includes(type)) {
    return {...answer, state: 'label'};
  }
  if (cover) {
    const named = cover.closest('[role=dialog],dialog,[aria-label],[id]') || cover;
    const words = named.getAttribute('aria-label') || (named.innerText || '').trim().slice(0, 60) || named.id;
    const role = named.getAttribute('role') || named.tagName.toLowerCase();
    return {...answer, state: 'covered', cover: [role, words]};
  }
  return answer;
}"""


def _probe(element: Element, locator: Locator) -> dict[str, Any]:
    from playwright.sync_api import Error

    try:
        result: dict[str, Any] = locator.evaluate(_PROBE, timeout=PATIENCE_MS)
    except Error as error:
        raise ActionError(f"{element} cannot be reached: {reason(error)}") from error
    return result


def _clear_path(context: ActionContext, element: Element, locator: Locator) -> dict[str, Any]:
    """Look until nothing covers the element, or twice: covers often fade away."""
    found = _probe(element, locator)
    if found["state"] == "covered":
        context.page.wait_for_timeout(300)
        found = _probe(element, locator)
    if found["disabled"]:
        raise ActionError(f"{element} is disabled")
    if found["state"] == "hidden":
        raise ActionError(f"{element} is not visible")
    if found["state"] == "covered":
        role, words = found["cover"]
        raise ActionError(f"{element} is covered by {role} {quote(clean(words), 60)}; close that or move it first")
    return found


def click(context: ActionContext, action: Action) -> str:
    """Click an element."""
    from playwright.sync_api import Error

    element, locator = context.locate(action.element)
    found = _clear_path(context, element, locator)
    if found["kind"] == "select":
        options = ", ".join(quote(clean(option), 60) for option in found["options"])
        raise ActionError(f"{element} is a list; write select [{element.id}] [option] with one of: {options}")
    if found["type"] == "file":
        raise ActionError(f"{element} takes a file; write upload [{element.id}] [file]")
    try:
        if found["state"] == "label":
            locator.evaluate("element => element.labels[0].click()", timeout=PATIENCE_MS)
        elif found["only"]:
            locator.click(timeout=PATIENCE_MS, no_wait_after=True)
        else:
            position: Any = {"x": found["x"], "y": found["y"]}
            locator.click(timeout=PATIENCE_MS, no_wait_after=True, position=position)
    except Error as error:
        raise ActionError(f"{element} could not be clicked: {reason(error)}") from error
    return f"clicked {element}"


def hover(context: ActionContext, action: Action) -> str:
    """Move the pointer over an element."""
    from playwright.sync_api import Error

    element, locator = context.locate(action.element)
    found = _clear_path(context, element, locator)
    try:
        locator.hover(timeout=PATIENCE_MS, force=found["state"] == "label")
    except Error as error:
        raise ActionError(f"the pointer could not be moved over {element}: {reason(error)}") from error
    return f"the pointer is over {element}"


def drag(context: ActionContext, action: Action) -> str:
    """Drag an element onto another."""
    from playwright.sync_api import Error

    source, start = context.locate(action.element)
    target, end = context.locate(action.target)
    _clear_path(context, source, start)
    try:
        start.drag_to(end, timeout=PATIENCE_MS)
    except Error as error:
        raise ActionError(f"{source} could not be dragged onto {target}: {reason(error)}") from error
    return f"dragged {source} onto {target}"
