"""What a task takes besides an agent: sites, judges, access to an interface, the internet, files.

Computed from the file alone, by what its evaluators will do. What is given is told apart in
`confkv_agents.web.surroundings`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal
from urllib.parse import urlsplit

from confkv_agents.web.evaluators.calls import parse_call
from confkv_agents.web.evaluators.signatures import SIGNATURES

if TYPE_CHECKING:
    from confkv_agents.web.tasks.models import Task

Kind = Literal[
    "site",
    "magento-api",
    "magento-dom",
    "postmill-dom",
    "gitlab-dom",
    "llm-judge",
    "vqa",
    "internet",
    "file",
    "admin",
    "reset",
]
KINDS: dict[Kind, str] = {
    "site": "a site",
    "magento-api": "a shop that tells orders and reviews: its state, or Magento's administration interface",
    "magento-dom": "a shop with Magento's page markup",
    "postmill-dom": "a forum with Postmill's page markup",
    "gitlab-dom": "GitLab's page of members",
    "llm-judge": "a model that compares texts by meaning",
    "vqa": "a model that answers questions about pictures",
    "internet": "a host that is no site",
    "file": "a file beside the task",
    "admin": "the shop's administration site, signed in",
    "reset": "a classifieds site that can be reset",
}
"""Kinds of need, in words."""

_LOOPBACK = ("localhost", "127.0.0.1", "::1")
_OR = " |OR| "


@dataclass(frozen=True)
class Need:
    """One thing that must be there.

    Attributes:
        kind: Of `KINDS`.
        detail: Which site, host or files; of files and hosts one suffices where several are named.
        optional: The task runs without it, and is judged more strictly.
    """

    kind: Kind
    detail: tuple[str, ...] = ()
    optional: bool = False

    def __str__(self) -> str:
        return f"{self.kind} {' or '.join(self.detail)}".strip()


def needs_of(task: Task) -> tuple[Need, ...]:
    """Everything a task needs, each once, sites first; from a file with placeholders in place."""
    found = dict.fromkeys(_needs(task))
    return tuple(need for need in found if not (need.optional and Need(need.kind, need.detail) in found))


def _needs(task: Task) -> Iterator[Need]:
    for site in sorted({*task.sites, *_placeholders(task)}):
        yield Need("site", (site,))
    if "shopping_admin" in task.sites:
        yield Need("admin")
    if task.require_reset and "classifieds" in task.sites:
        yield Need("reset")
    evaluation = task.evaluation
    used = set(evaluation.eval_types)
    yield from _pages([*task.start_urls, *task.images])
    if "string_match" in used and evaluation.reference_answers is not None:
        if evaluation.reference_answers.fuzzy_match == "N/A":
            yield Need("llm-judge", optional=True)
        elif evaluation.reference_answers.fuzzy_match is not None:
            yield Need("llm-judge")
    if "program_html" in used:
        for target in evaluation.program_html:
            yield from _calls(target.url, target.locator)
            yield from _pages([target.url])
            required = target.required_contents
            if required.fuzzy_match is not None and required.model_fields_set == {"fuzzy_match"}:
                yield Need("llm-judge")
    if "page_image_query" in used:
        for query in evaluation.page_image_query:
            yield from _calls(query.eval_image_url)
            yield from _pages([query.eval_image_url])
            if query.eval_vqa:
                yield Need("vqa")
            if query.eval_fuzzy_image_match is not None:
                yield from _references(task, query.eval_fuzzy_image_match.split(_OR))


def _placeholders(task: Task) -> set[str]:
    """Sites whose placeholders stand in addresses, though `sites` may leave them out."""
    from confkv_agents.web.tasks.models import PLACEHOLDER

    evaluation = task.evaluation
    texts = [*task.start_urls, evaluation.reference_url or ""]
    texts += [target.url for target in evaluation.program_html]
    for query in evaluation.page_image_query:
        texts += [query.eval_image_url, query.eval_fuzzy_image_match or ""]
    return {name.strip("_").lower() for text in texts for name in PLACEHOLDER.findall(text)}


def _calls(*texts: str) -> Iterator[Need]:
    for text in texts:
        if text.startswith("func:"):
            asks = SIGNATURES[parse_call(text.removeprefix("func:")).name].asks
            if asks != "any page":
                yield Need(asks)


def _pages(addresses: list[str]) -> Iterator[Need]:
    for address in addresses:
        host = _host(address)
        if host:
            yield Need("internet", (host,))


def _references(task: Task, names: list[str]) -> Iterator[Need]:
    """Where the pictures to compare with lie: a site's need no more than the site, of the others one suffices."""
    hosts = [host for name in names if (host := _host(name))]
    if len(hosts) == len(names):
        yield Need("internet", tuple(dict.fromkeys(hosts)))
    elif not any(re.match(r"__[A-Z]|https?://", name) for name in names):
        yield Need("file", tuple(names))


def _host(address: str) -> str:
    """Host and port of an address outside of this machine; empty for placeholders, files, calls and this machine."""
    if not address.lower().startswith(("http://", "https://")):
        return ""
    parts = urlsplit(address)
    return "" if parts.hostname in _LOOPBACK else parts.netloc.rpartition("@")[2].lower()
