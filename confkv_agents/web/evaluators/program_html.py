"""program_html: what stands on pages after the episode."""

from __future__ import annotations

import html
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from confkv_agents.web.evaluators.base import Check, EvaluationInput, EvaluatorPage, brief
from confkv_agents.web.evaluators.calls import parse_call
from confkv_agents.web.evaluators.helpers import call_helper
from confkv_agents.web.evaluators.judging import Finding, Judged
from confkv_agents.web.evaluators.string_match import OR
from confkv_agents.web.evaluators.words import includes, same, satisfies, whole_number

if TYPE_CHECKING:
    from confkv_agents.web.tasks import HtmlTarget, Task


def program_html(task: Task, given: EvaluationInput) -> list[Finding]:
    """Checks for each target in order; `last` means the page that the target before left open."""
    page = given.need_page()
    checks: list[Finding] = []
    for index, target in enumerate(task.evaluation.program_html):
        name = f"program_html[{index}]"
        url = target.url
        if url.startswith("func:"):
            url = str(call_helper(parse_call(url.removeprefix("func:"), allow_page=False), given))
            if not url:
                checks.append(Check(name, target.url, "", False, "there is no page to look at"))
                break
        if url != "last":
            page.goto(url)
        selected = select(task, target, page, given)
        if selected is None:  # the page is a wrong one; later targets may build on it
            checks.append(Check(name, _place(target), "", False, f"nothing there on {page.url}"))
            break
        checks += _compare(task, target, name, selected, page.url, given)
    return checks


def select(task: Task, target: HtmlTarget, page: EvaluatorPage, given: EvaluationInput) -> Any:
    """What the target's locator selects: a text, a helper's value, or None when a `lambda:` finds nothing."""
    from playwright.sync_api import Error

    locator = target.locator
    selected: Any
    if not locator.strip():
        selected = page.page.content()
    elif locator.startswith("func:"):
        selected = call_helper(parse_call(locator.removeprefix("func:")), given)
    elif locator.startswith("lambda:"):
        try:
            selected = page.page.evaluate(locator.removeprefix("lambda:")) or None
        except Error:
            return None
    else:
        for preparation in target.prep_actions:
            try:
                page.page.evaluate(f"() => {preparation}")
            except Error:
                break
        try:
            selected = _as_text(page.page.evaluate(f"() => {locator}"))
        except Error:
            selected = ""
    if task.rules == "webarena" and isinstance(selected, str):
        selected = html.unescape(selected)
    return selected


def _as_text(value: Any) -> str:
    """As the references were written: Python's words for JavaScript's values."""
    return str(value)


def _compare(
    task: Task, target: HtmlTarget, name: str, selected: Any, url: str, given: EvaluationInput
) -> Sequence[Finding]:
    required = target.required_contents
    dialect = task.rules
    text = selected if isinstance(selected, str) else str(selected)
    got = brief(text)
    where = f"{_place(target)} on {url}"
    if required.exact_match is not None:
        ok = same(required.exact_match, text, dialect)
        return [Check(f"{name}.exact_match", required.exact_match, got, ok, _why(ok, "equals", where))]
    if required.must_include is not None:
        checks = []
        for index, entry in enumerate(required.must_include):
            ok = any(includes(each, text, dialect, tokenize=False)[0] for each in entry.split(OR))
            checks.append(Check(f"{name}.must_include[{index}]", entry, got, ok, _why(ok, "includes", where)))
        return checks
    if required.must_exclude is not None:
        checks = []
        for index, entry in enumerate(required.must_exclude):
            ok = not includes(entry, text, dialect, tokenize=True)[0]
            expected = f"not {entry}"
            checks.append(Check(f"{name}.must_exclude[{index}]", expected, got, ok, _why(ok, "excludes", where)))
        return checks
    if required.required_values is not None:
        number = whole_number(selected) if isinstance(selected, str) else selected
        checks = []
        for index, entry in enumerate(required.required_values):
            ok = isinstance(number, int | float) and any(satisfies(number, each) for each in entry.split(OR))
            checks.append(Check(f"{name}.required_values[{index}]", entry, got, ok, _why(ok, "satisfies", where)))
        return checks
    assert required.fuzzy_match is not None  # the loader saw to one of them
    return [
        _same_meaning(f"{name}.fuzzy_match[{index}]", reference, text, where, given)
        for index, reference in enumerate(required.fuzzy_match.split(OR))  # upstream wants all alternatives
    ]


def _same_meaning(name: str, reference: str, text: str, where: str, given: EvaluationInput) -> Finding:
    """A judge finds that the page says the same as a reference; an empty text is not shown to it."""
    judge = given.means.judge
    if not text.strip():
        return Check(name, reference, "", False, f"nothing stands at {where}")
    assert judge is not None  # a task that needs one is refused without
    return Judged(name, reference, brief(text), lambda: judge.same_answer("", reference, text))


def _place(target: HtmlTarget) -> str:
    return brief(target.locator, 80) if target.locator.strip() else "the whole page"


def _why(ok: bool, verb: str, where: str) -> str:
    return f"{where} {verb} it" if ok else f"not true that {where} {verb} it"
