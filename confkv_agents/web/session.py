"""One episode's browser context: opened fresh, acted on, read, judged. Runs in the browser's thread."""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from confkv_agents.errors import ActionError, InfraError, SiteError
from confkv_agents.web.actions.context import ActionContext, reason
from confkv_agents.web.actions.execute import execute
from confkv_agents.web.actions.grammar import Action
from confkv_agents.web.browser import first_line
from confkv_agents.web.clicks import LISTEN
from confkv_agents.web.dialogs import Dialogs
from confkv_agents.web.dialogs import describe as describe_dialog
from confkv_agents.web.evaluators import EvaluationInput, EvaluatorPage, Finding, Means, collect
from confkv_agents.web.http import sign_in
from confkv_agents.web.marks import look_alike
from confkv_agents.web.network import AllowList, host_of
from confkv_agents.web.observation import DialogRecord, Observation, Tab
from confkv_agents.web.reading import Reading, read_page
from confkv_agents.web.settle import SettleLimits, Traffic, settle
from confkv_agents.web.sites import SiteSet
from confkv_agents.web.tabs import Tabs
from confkv_agents.web.text import quote, shorten, shown_address
from confkv_agents.web.tree import clean

if TYPE_CHECKING:
    from playwright.sync_api import BrowserContext, Page

    from confkv_agents.web.tasks import Task

logger = logging.getLogger(__name__)

_MAX_OUTCOME = 1500  # code points
_MOST_TOLD = 3  # dialogs, or tabs, or refusals, of one step
_TRIES = 5  # tabs may open and close while they are read
_BEGINNING = 1_704_067_200  # seconds: when a clock that stands still begins, 2024-01-01 at 0:00 UTC


@dataclass(frozen=True)
class Glance:
    """The state after an action: what was read, and what happened on the way.

    Attributes:
        outcome: What the action did, with everything that came of it, in words.
        error: Why it was not possible; None when it was.
        did: The first part of `outcome` where it says which action was carried out, else empty.
    """

    reading: Reading
    tabs: tuple[Tab, ...]
    outcome: str
    error: str | None = None
    dialogs: tuple[DialogRecord, ...] = ()
    did: str = ""


def context_options(task: Task, viewport: tuple[int, int], allow: AllowList) -> dict[str, Any]:
    """Playwright's options of an episode's context; `viewport` counts where the task names none."""
    options = allow.context_options() | {
        "viewport": {
            "width": task.viewport.width or viewport[0],
            "height": task.viewport.height or viewport[1],
        },
        "device_scale_factor": 1,
        "locale": "en-US",
        "timezone_id": "UTC",
        "reduced_motion": "reduce",
    }
    if task.geolocation:
        options |= {"geolocation": task.geolocation, "permissions": ["geolocation"]}
    if task.storage_state and task.beside(task.storage_state).is_file():
        options["storage_state"] = str(task.beside(task.storage_state))
    return options


class Session:
    """The agent's tabs in one context.

    Args:
        context: Fresh; made with `AllowList.context_options`.
        sites: Running sites.
        allow: What pages may talk to.
        limits: Bounds of waiting for pages.
        screenshots: Take one of every page.
    """

    def __init__(
        self,
        context: BrowserContext,
        sites: SiteSet,
        allow: AllowList,
        limits: SettleLimits,
        screenshots: bool = True,
    ) -> None:
        self._screenshots = screenshots
        self._context = context
        self._sites = sites
        self._allow = allow
        self._limits = limits
        self._blocked: list[tuple[str, bool]] = []
        self._told_hosts: set[str] = set()
        self._reading: Reading | None = None
        self._clock_stands = False
        allow.install(context, self._blocked)
        context.add_init_script(LISTEN)
        self._dialogs = Dialogs(context)
        self._traffic = Traffic(context)
        self._tabs = Tabs(context)

    def start(self, task: Task) -> Glance:
        """Sign in where the task asks for it, open its pages as tabs, and read the first.

        Raises:
            InfraError: A page does not answer, or answers with a server error.
        """
        from playwright.sync_api import Error

        if task.extension.clock == "steps":
            self._stop_clock()
        if task.require_login or task.storage_state:
            self._sign_in(task)
        for url in task.start_urls:
            page = self._tabs.open()
            if url == "about:blank":
                continue
            if not self._allow.allows(url):
                raise InfraError(f"start page {url} is outside of {self._allow.describe()}; add it to allow_hosts")
            try:
                answer = page.goto(url, wait_until="commit", timeout=self._limits.navigation * 1000)
            except Error as error:
                raise InfraError(f"start page {url} did not open: {first_line(error)}") from error
            if answer is not None and answer.status >= 500:
                raise InfraError(f"start page {url} answered {answer.status}")
            settle(page, self._traffic, self._limits)
        self._tabs.focus(0 if task.manner.first_tab else len(task.start_urls) - 1)
        self._tabs.take_notes()
        return self._look("", None)

    def _stop_clock(self) -> None:
        """Let the pages' time stand still; only `_look` moves it on. Nothing comes to rest by waiting then."""
        self._context.clock.install(time=_BEGINNING)
        self._context.clock.pause_at(_BEGINNING)
        self._limits = replace(self._limits, quiet=0.0)
        self._clock_stands = True

    def _move_clock(self, seconds: int) -> None:
        from playwright.sync_api import Error

        try:
            settle(self._tabs.active, self._traffic, self._limits)
            self._context.clock.run_for(seconds * 1000)
        except Error as error:
            self._check_alive()
            raise InfraError(f"the page's clock does not move: {first_line(error)}") from error

    def _sign_in(self, task: Task) -> None:
        names = set(task.sites)
        if task.storage_state:
            names |= set(Path(task.storage_state).name.removesuffix("_state.json").split("."))
        for url, info in self._sites.infos().items():
            if info.login is None or not names & info.names:
                continue
            if not self._sites.is_own(info.name):
                if not task.storage_state or not task.beside(task.storage_state).is_file():
                    logger.warning("%s: %s is opened signed out: storage_state names no file", task.key, url)
                continue
            try:
                cookies: list[Any] = sign_in(url, info.login.path, info.login.fields)
            except SiteError as error:
                raise InfraError(str(error)) from error
            self._context.add_cookies(cookies)

    def act(self, action: Action, observation: Observation, folder: Path | None) -> Glance:
        """Carry out an action, wait until the page rests, and read it.

        Raises:
            InfraError: The page's renderer died, or nothing can be read.
        """
        from playwright.sync_api import Error

        page = self._tabs.active
        context = ActionContext(
            self._tabs,
            self._dialogs,
            self._sites,
            self._allow,
            observation,
            folder,
            int(self._limits.navigation * 1000),
        )
        error: str | None = None
        try:
            outcome = execute(context, action)
        except ActionError as refusal:
            outcome = error = str(refusal)
        except Error as failure:
            outcome = error = f"{action.name} failed: {reason(failure)}"
        if error is not None and page.is_closed() and not self._tabs.crashed:
            outcome, error = f"did {action}", None  # the page closed itself on it
        return self._look(outcome, error, (action.target or 1) if action.name == "wait" else 1)

    def _look(self, outcome: str, error: str | None, seconds: int = 1) -> Glance:
        before = self._reading
        if self._clock_stands:
            self._move_clock(seconds)
        remark, after = self._settle_and_read()
        self._reading = after
        dialogs = tuple(self._dialogs.take())
        parts = [outcome] if outcome else []
        did = outcome if error is None else ""
        if error is not None:
            parts = [f"not possible: {outcome}"]
        parts += _first([describe_dialog(record) for record in dialogs], "dialogs")
        parts += _first(self._tabs.take_notes(), "tabs or files")
        parts += _first(self._refusals(), "refusals")
        if remark:
            parts.append(remark)
        if after.problem:
            parts.append(after.problem)
        if after.url.startswith("chrome-error:"):
            parts.append("the page could not be reached; go_back leads to the one before")
        if before is not None and outcome:
            moved = _without_fragment(after.url) != _without_fragment(before.url)
            if moved and not after.url.startswith("chrome-error:"):
                parts.append(f"the page is now {shown_address(self._sites.show(after.url))}")
            elif not moved and error is None and len(parts) == 1 and _same(before, after) and _should_change(outcome):
                parts.append("nothing on the page changed")
        return Glance(after, self._tab_list(after), shorten("; ".join(parts), _MAX_OUTCOME), error, dialogs, did)

    def _settle_and_read(self) -> tuple[str, Reading]:
        from playwright.sync_api import Error

        for _ in range(_TRIES):
            self._check_alive()
            page = self._tabs.active
            try:
                remark = settle(page, self._traffic, self._limits)
                self._check_alive()
                if page.is_closed() or self._tabs.active is not page:
                    continue  # another tab took over
                reading = read_page(page, self._screenshots)
                if self._tabs.active is page:
                    return remark, reading
            except Error as error:
                self._check_alive()
                if not page.is_closed():
                    raise InfraError(f"the page cannot be read: {first_line(error)}") from error
        raise InfraError("tabs keep opening and closing while they are read")

    def _check_alive(self) -> None:
        if self._tabs.crashed:
            raise InfraError("the page's renderer crashed")

    def _refusals(self) -> list[str]:
        found, self._blocked[:] = list(self._blocked), []
        parts = [f"{quote(host_of(url), 80)} is not part of this task and was not opened" for url, top in found if top]
        hosts = sorted({host_of(url) for url, top in found if not top} - self._told_hosts)
        self._told_hosts |= set(hosts)
        if hosts:
            names = _first([quote(host, 80) for host in hosts], "hosts")
            parts.append(f"requests to {', '.join(names)} were refused")
        return list(dict.fromkeys(parts))

    def _tab_list(self, active: Reading) -> tuple[Tab, ...]:
        from playwright.sync_api import Error

        tabs = []
        for index, page in enumerate(self._tabs.pages):
            if index == self._tabs.active_index:
                tabs.append(Tab(self._sites.show(active.title), active.url, True))
                continue
            try:
                tabs.append(Tab(self._sites.show(clean(page.title())), page.url))
            except Error:
                tabs.append(Tab("", page.url))
        return tuple(tabs)

    def collect(self, task: Task, answer: str | None, means: Means) -> list[Finding]:
        """Look at what the episode left, on a page of its own. See `confkv_agents.web.evaluators.collect`."""
        final_url = self._tabs.active.url
        page = EvaluatorPage(self._tabs.open_hidden, final_url, limits=self._limits, behind=self._sites.behind)
        said, stopped = task.manner.no_answer if answer is None else answer, answer is not None
        given = EvaluationInput(said, page, self._sites, final_url, means, self._allow, stopped)
        try:
            return collect(task, given)
        finally:
            page.close()
            self._dialogs.take()

    def strays(self) -> list[str]:
        """Addresses of tabs that show neither a site nor an empty page."""
        sites = AllowList(self._sites.addresses)
        return [url for tab in self._tabs.pages if (url := tab.url) and not sites.allows(url)]

    def close(self) -> None:
        """Close the context with all its tabs."""
        self._context.close()

    @property
    def page(self) -> Page:
        """The active tab, for tests and tools."""
        return self._tabs.active


def _first(sentences: list[str], what: str) -> list[str]:
    """The first few; a page can raise any number of dialogs and tabs."""
    more = len(sentences) - _MOST_TOLD
    return sentences if more <= 0 else [*sentences[:_MOST_TOLD], f"and {more} more {what}"]


def _without_fragment(url: str) -> str:
    return url.partition("#")[0]


def _same(before: Reading, after: Reading) -> bool:
    if before.snapshot != after.snapshot or before.url != after.url:
        return False
    return look_alike(before.screenshot, after.screenshot)


def _should_change(outcome: str) -> bool:
    """False for actions that are not meant to change the page."""
    return not outcome.startswith(("waited", "the next dialog", "switched", "opened tab"))
