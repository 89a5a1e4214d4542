"""Makes an episode's observations of what was read from its pages."""

from __future__ import annotations

from dataclasses import replace
from urllib.parse import urlsplit

from confkv_agents.web.compact import Known
from confkv_agents.web.marks import cut_pictures, draw_marks
from confkv_agents.web.observation import Observation, ObservationConfig, compose, write_body, write_head
from confkv_agents.web.outline import Line, outline
from confkv_agents.web.session import Glance
from confkv_agents.web.sites import SiteSet
from confkv_agents.web.text import shown_address
from confkv_agents.web.tree import Box


class Observer:
    """Writes observations, and remembers what it has shown (the compact form does not repeat it).

    Args:
        config: How observations are made.
        sites: Whose addresses are shown by name, since their ports differ from run to run.
        window: Width and height in CSS pixels.
        goal: What the task asks for.

    Attributes:
        lines: What the last observation saw of its page.
    """

    def __init__(self, config: ObservationConfig, sites: SiteSet, window: tuple[int, int], goal: str) -> None:
        self._config = config
        self._sites = sites
        self._window = Box(0, 0, *window)
        self._goal = goal
        self._known: Known = {}
        self.lines: list[Line] = []

    def observe(self, glance: Glance) -> Observation:
        """What the agent is shown of the state after an action."""
        reading, form = glance.reading, self._config.format
        address = self.address(reading.url)
        head = write_head(glance.outcome, glance.tabs, address, reading.scroll, form, glance.did)
        self.lines = [self._named(line) for line in outline(reading.root, self._window)]
        reserved, site = self._config.count_tokens(head), urlsplit(address).netloc
        body = write_body(self.lines, self._config, reserved, site=site, page=address, known=self._known)
        self._known = body.known
        return Observation(
            text=compose(head, body.text),
            elements=body.elements,
            screenshot=reading.screenshot,
            marked=draw_marks(reading.screenshot, body.elements) if self._config.marks else None,
            url=reading.url,
            title=reading.title,
            tabs=glance.tabs,
            dialog=glance.dialogs[-1] if glance.dialogs else None,
            outcome=glance.outcome,
            pictures=cut_pictures(reading.screenshot, reading.pictures, body.elements, self._config),
            goal=self._goal,
            scroll=reading.scroll,
            left_out=body.left_out,
            cut_at=body.cut_at,
            body=body.text,
            format=form,
        )

    def again(self, seen: Observation, outcome: str) -> Observation:
        """The same page, after something that did not reach it."""
        return seen.with_outcome(outcome, self.address(seen.url))

    def address(self, url: str) -> str:
        """A page's address as it is shown."""
        return shown_address(self._sites.show(url))

    def _named(self, line: Line) -> Line:
        if "://" not in line.name + line.value:
            return line
        return replace(line, name=self._sites.show(line.name), value=self._sites.show(line.value))
