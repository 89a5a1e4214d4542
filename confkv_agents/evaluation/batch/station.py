"""What one worker plays with in earnest: a browser, sites on ports of their own, an agent per policy."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from confkv_agents.evaluation.agents import Agent
    from confkv_agents.web.env import WebEnv
    from confkv_agents.web.evaluators import Means


class BrowserStation:
    """A worker's browser, sites and agents.

    Args:
        sites: Sites by name, see `SiteSet.start`.
        observation: How pages are shown.
        make_agent: Makes the agent of a policy; called once per policy.
        headless: False shows the window.
        allow_hosts: Hosts beside the sites, see `WebEnv`.
        means: What evaluators may use, see `WebEnv`.

    Raises:
        ConfKVError: A site or the browser does not start.
    """

    def __init__(
        self,
        sites: Mapping[str, str | None],
        observation: Any,
        make_agent: Callable[[str], Agent],
        *,
        headless: bool = True,
        allow_hosts: Sequence[str] = (),
        means: Means | None = None,
    ) -> None:
        from confkv_agents.web.browser import Browser
        from confkv_agents.web.env import WebEnv
        from confkv_agents.web.sites import SiteSet

        self._make_agent = make_agent
        self._agents: dict[str, Agent] = {}
        with contextlib.ExitStack() as opened:
            running = opened.enter_context(SiteSet.start(sites))
            self._browser = opened.enter_context(Browser(headless=headless))
            self.version = self._browser.version()
            self.env: WebEnv = opened.enter_context(
                WebEnv(self._browser, running, observation=observation, allow_hosts=allow_hosts, means=means)
            )
            self._opened = opened.pop_all()

    def agent(self, policy: str) -> Agent:
        """The agent that plays under a policy."""
        if policy not in self._agents:
            self._agents[policy] = self._make_agent(policy)
        return self._agents[policy]

    def close(self) -> None:
        """End browser and sites."""
        self._browser.close()  # first: it frees a thread that waits for a page
        self._opened.close()
