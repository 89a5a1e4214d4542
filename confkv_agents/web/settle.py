"""Waiting until a page is worth reading, never longer than its bounds.

Never `networkidle` or `load`: pages that poll, or one picture that hangs, would hold every step. What counts
is that a navigation under way has arrived, that requests the action caused are answered, and that the
document has been still for a moment.
"""

from __future__ import annotations

import contextlib
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from playwright.sync_api import BrowserContext, Page, Request

_WATCH = """() => {
  const state = {changed: performance.now(), stop: () => watch.disconnect()};
  const watch = new MutationObserver(() => { state.changed = performance.now(); });
  watch.observe(document, {subtree: true, childList: true, attributes: true, characterData: true});
  return state;
}"""
# The page's own names can hide properties of the document (<img name="images">), so nodes are asked for by selector.
_STILL = """([state, quiet, pictures]) => {
  const loading = image => {
    if (image.complete) return false;
    const box = image.getBoundingClientRect();
    if (box.width <= 0 || box.bottom <= 0 || box.top >= innerHeight) return false;
    if (image.loading !== 'lazy') return true;
    const middle = document.elementFromPoint(box.x + box.width / 2, box.y + box.height / 2);
    return middle === image;  // a lazy one is asked for only where it can be seen: not one that its frame cuts off
  };
  return performance.now() - state.changed >= quiet &&
    !(pictures && [...document.querySelectorAll('img')].some(loading));
}"""
_POLL_MS = 20
_BEGIN_MS = 500


@dataclass(frozen=True)
class SettleLimits:
    """Bounds in seconds.

    Attributes:
        navigation: For a page that was asked for to arrive.
        still: For the document to come to rest.
        quiet: How long it must not change to be at rest.
        pictures: Wait for those in view; for a browser that loads none (`Browser(images=False)`) say False.
    """

    navigation: float = 10.0
    still: float = 1.0
    quiet: float = 0.08
    pictures: bool = True


DEFAULT_LIMITS = SettleLimits()


class Traffic:
    """Requests of a context or page that are under way: pages, and data that scripts ask for."""

    def __init__(self, source: BrowserContext | Page) -> None:
        self._source = cast(Any, source)
        self._pages: set[Request] = set()
        self._data: set[Request] = set()
        self._listeners = {
            "request": self._started,
            "requestfinished": self._ended,
            "requestfailed": self._ended,
        }
        for event, listener in self._listeners.items():
            self._source.on(event, listener)

    def detach(self) -> None:
        """Stop listening."""
        for event, listener in self._listeners.items():
            self._source.remove_listener(event, listener)

    @property
    def navigating(self) -> bool:
        """True while a page was asked for and has not arrived."""
        return bool(self._pages)

    def data(self) -> set[Request]:
        """Requests by scripts that are under way."""
        return set(self._data)

    def forget(self) -> None:
        """Give up on what is under way, as after a deadline."""
        self._pages.clear()
        self._data.clear()

    def _started(self, request: Request) -> None:
        from confkv_agents.web.network import _is_top

        if request.is_navigation_request():
            if _is_top(request):
                self._pages.add(request)
        elif request.resource_type in ("xhr", "fetch"):
            self._data.add(request)

    def _ended(self, request: Request) -> None:
        self._pages.discard(request)
        self._data.discard(request)


def settle(page: Page, traffic: Traffic, limits: SettleLimits = DEFAULT_LIMITS) -> str:
    """Wait until the page rests or a bound passes.

    Returns:
        A remark for the outcome when it did not arrive or rest in time, else "".
    """
    from playwright.sync_api import Error, TimeoutError

    page.wait_for_timeout(15)  # lets the events of the action come in
    for _ in range(5):
        end = time.monotonic() + limits.navigation
        while traffic.navigating and time.monotonic() < end:
            page.wait_for_timeout(15)
        if traffic.navigating:
            traffic.forget()
            _stop_loading(page)
            return f"the page did not arrive within {limits.navigation:g} s"
        try:
            page.wait_for_load_state("domcontentloaded", timeout=limits.navigation * 1000)
        except TimeoutError:
            _stop_loading(page)
            return f"the page was still loading after {limits.navigation:g} s"
        try:
            end = time.monotonic() + limits.still
            asked = traffic.data()
            while asked & traffic.data() and time.monotonic() < end and not traffic.navigating:
                page.wait_for_timeout(15)
            _wait_until_still(page, traffic, limits)
        except Error:
            if page.is_closed():
                return ""
            page.wait_for_timeout(15)  # a navigation began meanwhile
            continue
        if not traffic.navigating:
            return ""
    return "the page keeps loading other pages"


def _wait_until_still(page: Page, traffic: Traffic, limits: SettleLimits) -> None:
    """Playwright polls, on its own clock: a promise of the page's would wait for ever where timers are replaced."""
    from playwright.sync_api import TimeoutError

    state = _watch(page, traffic)
    try:
        with contextlib.suppress(TimeoutError):
            page.wait_for_function(
                _STILL, arg=[state, limits.quiet * 1000, limits.pictures], polling=_POLL_MS, timeout=limits.still * 1000
            )
        if not traffic.navigating:
            state.evaluate("state => state.stop()")
    finally:
        state.dispose()


def _watch(page: Page, traffic: Traffic) -> Any:
    """Begin to watch the document for changes.

    A navigation that begins in this moment holds everything that is evaluated until its page arrives, and it may
    never: then Playwright's TimeoutError is raised, and `settle` waits for the navigation within its bound.
    """
    from playwright.sync_api import TimeoutError

    try:
        return page.wait_for_function(_WATCH, polling=_POLL_MS, timeout=_BEGIN_MS)
    except TimeoutError:
        if traffic.navigating:
            raise
        return page.evaluate_handle(_WATCH)  # the page is busy; the step's deadline bounds this


def _stop_loading(page: Page) -> None:
    """Give up on what is loading: Playwright's calls would wait for it, some of them without a bound."""
    from playwright.sync_api import Error

    with contextlib.suppress(Error):
        session = page.context.new_cdp_session(page)
        session.send("Page.stopLoading")
        session.detach()
