"""url_match: where the agent ended."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import parse_qs, urlsplit

from confkv_agents.web.evaluators.base import Check, EvaluationInput
from confkv_agents.web.evaluators.judging import Finding
from confkv_agents.web.evaluators.string_match import OR

if TYPE_CHECKING:
    from confkv_agents.web.tasks import Task


def url_match(task: Task, given: EvaluationInput) -> list[Finding]:
    """One check: the page's address against `reference_url`, by the dialect's rule.

    `vwa`: equality (EXACT, the default) or the reference inside the address (GOLD in PRED), one slash at the
    end dropped. `webarena`: host and path of a reference inside the address's, and for every query key of the
    references one of its values among the address's.
    """
    evaluation = task.evaluation
    address = given.page.url if given.page is not None else given.final_url
    references = (evaluation.reference_url or "").split(OR)
    if task.rules == "webarena":
        ok, why = _contains_parts(references, address)
    else:
        cleaned = [_clean(reference) for reference in references]
        predicted = _clean(address)
        if (evaluation.url_note or "EXACT") == "EXACT":
            ok = predicted in cleaned
            why = "the address equals a reference" if ok else "not true that the address equals a reference"
        else:
            ok = any(reference in predicted for reference in cleaned)
            why = "the address holds a reference" if ok else "not true that the address holds a reference"
    return [Check("url_match", OR.join(references), address, ok, why)]


def _canonical(url: str) -> str:
    """One name for this machine: sites rewrite the one into the other."""
    return url.replace("localhost", "127.0.0.1")


def _clean(url: str) -> str:
    return _canonical(url).removesuffix("/")


def _contains_parts(references: list[str], address: str) -> tuple[bool, str]:
    def split(url: str) -> tuple[str, dict[str, list[str]]]:
        parts = urlsplit(_canonical(url).rstrip("/"))
        return (parts.netloc + parts.path).rstrip("/"), parse_qs(parts.query)

    base, query = split(address)
    wanted: dict[str, set[str]] = {}
    bases = []
    for reference in references:
        reference_base, reference_query = split(reference)
        bases.append(reference_base)
        for key, values in reference_query.items():
            wanted.setdefault(key, set()).update(values)
    if not any(reference in base for reference in bases):
        return False, "not true that host and path hold those of a reference"
    for key, options in wanted.items():
        if not options & set(query.get(key, [])):
            return False, f"not true that query key {key!r} has one of {sorted(options)}"
    return True, "host, path and query hold those of a reference"
