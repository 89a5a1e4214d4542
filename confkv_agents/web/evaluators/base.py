"""What evaluators take and give."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from confkv_agents.errors import InfraError
from confkv_agents.web.evaluators.means import Means
from confkv_agents.web.settle import DEFAULT_LIMITS, SettleLimits, Traffic, settle

if TYPE_CHECKING:
    from playwright.sync_api import Page

    from confkv_agents.web.network import AllowList
    from confkv_agents.web.sites import SiteSet


@dataclass(frozen=True)
class Check:
    """One finding.

    Attributes:
        name: Which evaluator and which of its conditions, such as `string_match.must_include[0]`.
        expected: What was asked for.
        got: What was there, shortened.
        ok: Whether it holds.
        why: One sentence.
    """

    name: str
    expected: str
    got: str
    ok: bool
    why: str

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self)


def succeeded(checks: Sequence[Check]) -> bool:
    """An episode succeeds when there are checks and all hold."""
    return bool(checks) and all(check.ok for check in checks)


class EvaluatorPage:
    """The evaluators' own page, with the agent's cookies; what the agent sees stays untouched.

    It opens where the agent ended, when first needed, and is carried through all evaluators in order, since
    some tasks' conditions mean the page that the one before opened.

    Args:
        open_page: Opens it.
        final_url: Where the agent ended.
        navigation_ms: Deadline of a page.
        limits: Bounds of waiting for one.
        behind: What a site's locked door at an address tells, None for other addresses (`SiteSet.behind`). It is shown
            to this page when a check goes there, and never came by the browser's own requests.
    """

    def __init__(
        self,
        open_page: Callable[[], Page],
        final_url: str,
        navigation_ms: int = 15_000,
        limits: SettleLimits = DEFAULT_LIMITS,
        behind: Callable[[str], Any] = lambda _: None,
    ) -> None:
        self._open = open_page
        self._behind = behind
        self._page: Page | None = None
        self._url = final_url
        self._navigation_ms = navigation_ms
        self._limits = limits

    @property
    def url(self) -> str:
        """The agent's last address until an evaluator goes elsewhere, then that page's."""
        return self._url

    @property
    def page(self) -> Page:
        """Playwright's page, opened at `url` when first asked for."""
        if self._page is None:
            self._page = self._open()
            if self._url.startswith(("http://", "https://")):
                self._visit(self._url)
        return self._page

    def goto(self, url: str) -> None:
        """Open an address and wait until it rests.

        Raises:
            InfraError: It does not answer.
            SiteError: A site does not tell its state.
        """
        if self._page is None:
            self._page = self._open()
        told = self._behind(url)
        if told is not None:
            self._page.route(
                url, lambda route: route.fulfill(json=told, headers={"Cache-Control": "no-store"}), times=1
            )
        self._visit(url)
        self._url = self._page.url

    def _visit(self, url: str) -> None:
        from playwright.sync_api import Error

        assert self._page is not None
        traffic = Traffic(self._page)
        try:
            self._page.goto(url, wait_until="domcontentloaded", timeout=self._navigation_ms)
            settle(self._page, traffic, self._limits)
        except Error as error:
            raise InfraError(f"the check could not open {url}: {str(error).splitlines()[0]}") from error
        finally:
            traffic.detach()

    def close(self) -> None:
        """Close the page."""
        from playwright.sync_api import Error

        if self._page is not None:
            with contextlib.suppress(Error):  # it may be gone already
                self._page.close()
            self._page = None


@dataclass
class EvaluationInput:
    """What an episode leaves behind to be judged.

    Attributes:
        answer: Text of the final `stop`; empty without one.
        page: The evaluators' page. Its calls run in the browser's thread.
        sites: Running sites, for helpers that ask a site's state.
        final_url: Where the agent ended.
        means: Judges, and access to a shop's administration.
        allow: What pages may talk to, and so what checks may load; None for no limit.
        stopped: False while the episode goes on: no judge is asked about an answer that was not given.
    """

    answer: str = ""
    page: EvaluatorPage | None = None
    sites: SiteSet | None = None
    final_url: str = ""
    means: Means = field(default_factory=Means)
    allow: AllowList | None = None
    stopped: bool = True

    def need_page(self) -> EvaluatorPage:
        """The page; raises InfraError where there is none."""
        if self.page is None:
            raise InfraError("this check needs a browser page and none is open")
        return self.page


def brief(value: Any, limit: int = 300) -> str:
    """A value as text for a check, shortened."""
    from confkv_agents.web.text import shorten

    text = value if isinstance(value, str) else repr(value)
    return shorten(" ".join(text.split()), limit)
