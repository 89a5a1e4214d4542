"""Reads the active page once: tree, place, pictures, screenshot. Runs in the browser's thread."""

from __future__ import annotations

import base64
import json
import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from confkv_agents.errors import InfraError
from confkv_agents.web.breaks import READ_BREAKS, part_lines
from confkv_agents.web.browser import first_line
from confkv_agents.web.clicks import READ_CLICKS, add_clicks
from confkv_agents.web.flat import DEEPEST, READ_DEPTH, READ_FLAT, flat_tree
from confkv_agents.web.marks import PagePicture
from confkv_agents.web.observation import Scroll
from confkv_agents.web.text import unquoted
from confkv_agents.web.tree import Box, Node, SnapshotError, add_frame_offsets, clean, parse_snapshot

if TYPE_CHECKING:
    from playwright.sync_api import Page

logger = logging.getLogger(__name__)

_SNAPSHOT_MS = 5000
_DEEP_MS = 1500  # a snapshot that can be held is there by then
_SCREENSHOT_MS = 5000
_TRIES = 3
_MAX_FRAMES = 20

_LOOK = """() => {
  const root = document.scrollingElement || document.documentElement;
  const pictures = [...document.querySelectorAll('img')].slice(0, 500).map(image => {
    const box = image.getBoundingClientRect();
    const shown = image.complete && image.naturalWidth > 0 &&
      (!image.checkVisibility || image.checkVisibility({visibilityProperty: true, opacityProperty: true}));
    if (!shown) return null;
    const hit = document.elementFromPoint(box.x + box.width / 2, box.y + box.height / 2);
    const way = 'a,button,input,[role],[onclick]';
    const owner = (hit && hit.closest(way)) || image.closest(way);
    const at = owner ? owner.getBoundingClientRect() : {x: 0, y: 0, width: 0, height: 0};
    const words = image.alt || image.title || '';
    return [words, box.x, box.y, box.width, box.height, at.x, at.y, at.width, at.height];
  }).filter(picture => picture && picture[3] > 0 && picture[2] < innerHeight && picture[2] + picture[4] > 0);
  const editors = [...document.querySelectorAll('[contenteditable]')].filter(
    node => node.isContentEditable && !(node.parentElement && node.parentElement.isContentEditable)).map(node => {
      const box = node.getBoundingClientRect();
      return [box.x, box.y, box.width, box.height];
    });
  return {editors, top: Math.round(root.scrollTop), height: innerHeight, total: root.scrollHeight, pictures: pictures,
          breaks: (BREAKS)(), clicks: (CLICKS)(), depth: (DEPTH)()};
}"""
_LOOK = _LOOK.replace("BREAKS", READ_BREAKS).replace("CLICKS", READ_CLICKS).replace("DEPTH", READ_DEPTH)
_BORDER = """element => {
  const style = getComputedStyle(element);
  return [element.clientLeft + (parseFloat(style.paddingLeft) || 0),
          element.clientTop + (parseFloat(style.paddingTop) || 0)];
}"""


@dataclass(frozen=True)
class Reading:
    """What was read from a page.

    Attributes:
        root: Nodes with boxes in the viewport's coordinates.
        snapshot: The snapshot's text, without what changes by itself, for comparing.
        problem: Why the page could not be read; empty when it could.
    """

    root: Node
    snapshot: str
    scroll: Scroll
    title: str
    url: str
    pictures: tuple[PagePicture, ...]
    screenshot: bytes
    problem: str = ""


def read_page(page: Page, screenshots: bool = True) -> Reading:
    """Read the page; a navigation in between leads to another try.

    Args:
        page: The page.
        screenshots: Take one; it is half of the time that reading takes.

    Raises:
        InfraError: No screenshot can be taken, which means the page or browser is gone.
    """
    from playwright.sync_api import Error

    problem = ""
    for _ in range(_TRIES):
        try:
            look: dict[str, Any] = page.evaluate(_LOOK)
            snapshot, root = _read_tree(page, look)
        except Error as error:
            if page.is_closed():
                raise InfraError(f"the page is gone: {first_line(error)}") from error
            problem = f"the page cannot be read: {unquoted(first_line(error))}"
            page.wait_for_timeout(200)
            continue
        pictures = tuple(
            PagePicture(clean(str(alt)), Box(*numbers[:4]), Box(*numbers[4:])) for alt, *numbers in look["pictures"]
        )
        return Reading(
            root,
            snapshot.replace(" [active]", ""),
            Scroll(int(look["top"]), int(look["height"]), int(look["total"])),
            clean(page.title()),
            page.url,
            pictures if screenshots else (),
            screenshot(page) if screenshots else b"",
        )
    return Reading(Node("root"), "", Scroll(), "", page.url, (), screenshot(page) if screenshots else b"", problem)


def _read_tree(page: Page, look: dict[str, Any]) -> tuple[str, Node]:
    """The snapshot and its tree; a flat one where none can be had in time, or it has an unknown form."""
    from playwright.sync_api import TimeoutError

    deep = look["depth"] > DEEPEST
    try:
        snapshot = page.aria_snapshot(mode="ai", boxes=True, timeout=_DEEP_MS if deep else _SNAPSHOT_MS)
        root = parse_snapshot(snapshot)
    except SnapshotError as error:
        logger.warning("the page's outline has an unknown form: %s", error)
    except TimeoutError:
        logger.info("%s is %s for a snapshot", page.url, "nested too deep" if deep else "too large")
    else:
        _name_editors(root, look["editors"])
        part_lines(root, look["breaks"])
        add_clicks(root, look["clicks"])
        add_frame_offsets(root, _borders(page, root))
        return snapshot, root
    found = page.evaluate(READ_FLAT)
    return json.dumps(found), flat_tree(found)


def _name_editors(root: Node, places: list[list[float]]) -> None:
    """Editable parts of a page without a role of their own look like any text; give them the role of a field.

    The snapshot folds a lone child into its parent, so the node meant is the smallest that holds the place.
    """
    for place in (Box(*numbers) for numbers in places):
        holding = [
            node
            for node in root.walk()
            if node.box is not None and node.ref and node.role in ("generic", "paragraph")
            if node.box.overlap(place) > 0.99 * place.width * place.height
        ]
        node = min(holding, key=lambda node: node.box.width * node.box.height if node.box else 0.0, default=None)
        if node is None or (node.children and node.box is not None and node.box.height > 2 * place.height):
            continue
        node.role = "textbox"
        node.value = " ".join(filter(None, (child.name or child.value for child in node.walk())))
        node.children = []


def _borders(page: Page, root: Node) -> dict[str, tuple[float, float]]:
    from playwright.sync_api import Error

    borders: dict[str, tuple[float, float]] = {}
    frames = [node for node in root.walk() if node.role == "iframe" and node.ref and node.children]
    for node in frames[:_MAX_FRAMES]:
        try:
            left, top = page.locator(f"aria-ref={node.ref}").evaluate(_BORDER, timeout=500)
            borders[node.ref] = (float(left), float(top))
        except Error:  # the frame left the page meanwhile
            logger.debug("frame %s is gone", node.ref)
    return borders


def screenshot(page: Page) -> bytes:
    """PNG of the viewport, one pixel a CSS pixel.

    Raises:
        InfraError: Neither Playwright nor the browser's own protocol gives one.
    """
    from playwright.sync_api import Error

    try:
        return page.screenshot(timeout=_SCREENSHOT_MS, scale="css")
    except Error as error:
        logger.info("screenshot by protocol, since: %s", first_line(error))
    try:
        session = page.context.new_cdp_session(page)
        try:
            data = session.send("Page.captureScreenshot", {"format": "png"})["data"]
        finally:
            session.detach()
        return base64.b64decode(data)
    except Error as error:
        raise InfraError(f"no screenshot can be taken: {first_line(error)}") from error
