"""What there is to run tasks with, held against what tasks need, before anything starts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Self

from confkv_agents.web.evaluators.means import Means
from confkv_agents.web.http import is_healthy, post_form
from confkv_agents.web.network import AllowList
from confkv_agents.web.sites import SiteSet, installed_sites

if TYPE_CHECKING:
    from confkv_agents.web.tasks.models import Task
    from confkv_agents.web.tasks.needs import Need

_PATIENCE = 2.0


@dataclass
class Surroundings:
    """Sites by every name they go by, and what evaluators may use.

    Attributes:
        sites: Name -> address; None for an installed site, which is started when needed.
        means: Judges and access.
        allow: What pages may talk to.
    """

    sites: Mapping[str, str | None]
    means: Means = field(default_factory=Means)
    allow: AllowList = field(default_factory=AllowList)
    _own: dict[str, bool] = field(default_factory=dict)

    @classmethod
    def of(cls, given: Mapping[str, str], means: Means | None = None, allow_hosts: Iterable[str] = ()) -> Self:
        """The installed sites, and those given by address in place of or beside them.

        Args:
            given: Addresses by a name of the site.
            means: Judges and access; default is none.
            allow_hosts: Hosts beside the sites.

        Raises:
            ConfigError: A host is no such thing.
        """
        sites: dict[str, str | None] = {}
        for info in installed_sites().values():
            address = next((given[name] for name in sorted(info.names) if name in given), None)
            sites |= dict.fromkeys(info.names, address)
        return cls(sites | dict(given), means or Means(), AllowList(given.values(), allow_hosts))

    @classmethod
    def running(cls, sites: SiteSet, means: Means, allow: AllowList) -> Self:
        """Sites that run, whoever started them."""
        return cls(
            {name: None if sites.started(url) else url for url, info in sites.infos().items() for name in info.names},
            means,
            allow,
        )

    def is_own(self, name: str) -> bool:
        """Whether a site tells its state, as installed ones do; one given by address is asked, once."""
        address = self.sites[name]
        if address is None:
            return True
        if address not in self._own:
            self._own[address] = is_healthy(address.rstrip("/"), _PATIENCE)
        return self._own[address]

    def unmet(self, task: Task) -> list[str]:
        """What a task needs and is not there, a sentence each; empty for a task that can be run."""
        return [sentence for _, sentence in self.lacks(task)]

    def lacks(self, task: Task) -> list[tuple[Need, str]]:
        """The needs that are not met, each with what to do."""
        return list(self._lacks(task))

    def _lacks(self, task: Task) -> Iterator[tuple[Need, str]]:
        for need in task.needs:
            if not need.optional and (sentence := self._against(need, task)):
                yield need, sentence

    def _against(self, need: Need, task: Task) -> str:
        """Why a need is not met; empty when it is."""
        names = " or ".join(need.detail)
        if need.kind == "site" and names not in self.sites:
            return f"site {names}: give its address, --site {names}=http://..."
        if need.kind == "magento-api" and self.sites.get("shopping", "") != "" and not self._shop_answers():
            return (
                "magento-api: the shop at the given address tells orders and reviews to its administrator only; "
                "set CONFKV_SHOP_TOKEN, or CONFKV_SHOP_ADMIN to user:password"
            )
        if need.kind == "reset" and self.sites.get("classifieds", "") != "" and not self._can_be_reset():
            return "reset: the classifieds site at the given address is reset by a token; set CONFKV_CLASSIFIEDS_TOKEN"
        if need.kind == "llm-judge" and self.means.judge is None:
            return "llm-judge: answers are compared by meaning; give a judge, --judge MODEL"
        if need.kind == "vqa" and self.means.visual_judge is None:
            return "vqa: questions about pictures are asked; give a judge that sees, --visual-judge MODEL"
        if need.kind == "internet" and not any(self._reaches(host) for host in need.detail):
            return f"internet: {names} is no site; allow it, --allow-host {need.detail[0]}"
        if need.kind == "file" and not any(task.beside(name).is_file() for name in need.detail):
            return f"file: {names} is not in the folder of {task.source.name}"
        return ""

    def _shop_answers(self) -> bool:
        return self.means.shop_access is not None or self.is_own("shopping")

    def _can_be_reset(self) -> bool:
        return bool(self.means.reset_token) or self.is_own("classifieds")

    def _reaches(self, host: str) -> bool:
        return any(self.allow.allows(f"{scheme}://{host}/") for scheme in ("https", "http"))


def reset_foreign(task: Task, sites: SiteSet, means: Means) -> None:
    """Reset a classifieds site that is none of ours, where the task asks for it (`SiteSet.reset` does the others).

    Raises:
        SiteError: It does not answer.
    """
    if task.require_reset and "classifieds" in task.sites and means.reset_token and not sites.is_own("classifieds"):
        post_form(f"{sites.url('classifieds')}/index.php?page=reset", {"token": means.reset_token}, deadline=60.0)
