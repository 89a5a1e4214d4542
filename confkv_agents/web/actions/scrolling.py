"""scroll: the page, or the container an element lies in."""

from __future__ import annotations

from confkv_agents.errors import ActionError
from confkv_agents.web.actions.context import PATIENCE_MS, ActionContext, reason
from confkv_agents.web.actions.grammar import Action

_CAN = """const can = (node, step) => {
    const room = step > 0 ? node.scrollHeight - node.clientHeight - node.scrollTop : node.scrollTop;
    if (node === document.scrollingElement) return room > 1;
    return room > 1 && /(auto|scroll|overlay)/.test(getComputedStyle(node).overflowY);
  };
  const move = (node, distance) => {
    const before = node.scrollTop;
    node.scrollBy({top: distance, behavior: 'instant'});
    return Math.round(node.scrollTop - before);
  };"""
# An application often scrolls a box instead of the document: then the largest box that can move is meant.
_PAGE = (
    "([share, sign, most]) => {"
    + _CAN
    + """
  const page = document.scrollingElement || document.documentElement;
  let best = can(page, sign) ? page : null, size = 0;
  if (!best) for (const node of document.querySelectorAll('*')) {
    const box = node.getBoundingClientRect();
    const shown = Math.max(0, Math.min(innerWidth, box.right) - Math.max(0, box.left)) *
                  Math.max(0, Math.min(innerHeight, box.bottom) - Math.max(0, box.top));
    if (shown <= size || shown < innerWidth * innerHeight / 5 || !can(node, sign)) continue;
    best = node;
    size = shown;
  }
  if (!best) return 0;
  const height = best === page ? innerHeight : best.clientHeight;
  return move(best, sign * Math.max(40, Math.min(height * share, most)));
}"""
)
_CONTAINER = (
    "(element, [share, sign]) => {"
    + _CAN
    + """
  for (let node = element; node; node = node.parentElement || (node.getRootNode().host || null)) {
    if (node instanceof Element && node !== document.scrollingElement && can(node, sign)) {
      return move(node, sign * Math.max(20, node.clientHeight * share));
    }
  }
  return null;
}"""
)
_SHARE = 0.9  # of the height, so that the last line read is seen again


def scroll(context: ActionContext, action: Action) -> str:
    """Scroll down or up by nine tenths of what is visible; less when an observation was cut before that."""
    from playwright.sync_api import Error

    sign = 1 if action.direction == "down" else -1
    try:
        if action.element is not None:
            element, locator = context.locate(action.element)
            moved = locator.evaluate(_CONTAINER, [_SHARE, sign], timeout=PATIENCE_MS)
            if moved is None:
                raise ActionError(f"nothing around {element} can be scrolled {action.direction}")
            return f"scrolled {abs(int(moved))} pixels {action.direction} around {element}"
        cut = context.observation.cut_at
        most = cut - 8 if sign > 0 and cut is not None and cut > 48 else 1_000_000
        moved = context.page.evaluate(_PAGE, [_SHARE, sign, most])
    except Error as error:
        raise ActionError(f"the page could not be scrolled: {reason(error)}") from error
    if not moved:
        raise ActionError(f"the page cannot be scrolled further {action.direction}")
    return f"scrolled {abs(int(moved))} pixels {action.direction}"
