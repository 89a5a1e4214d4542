"""What tasks need, and the counts of the public task files, which are kept as they are beside the checkout."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from confkv_agents.errors import TaskError
from confkv_agents.web.env import WebEnv
from confkv_agents.web.evaluators import Means, Verdict
from confkv_agents.web.evaluators.calls import parse_call
from confkv_agents.web.evaluators.words import clean_answer, tokens
from confkv_agents.web.sites import SiteSet
from confkv_agents.web.surroundings import Surroundings
from confkv_agents.web.tasks import HtmlTarget, Task, load_tasks

PUBLIC = Path(__file__).resolve().parents[4] / "shared" / "data" / "visualwebarena"
public = pytest.mark.skipif(not PUBLIC.is_dir(), reason="the public task files are not beside the checkout")
OR = " |OR| "

Files = dict[str, list[Task]]


@pytest.fixture(scope="module")
def files() -> Files:
    found = {name: load_tasks(PUBLIC / f"test_{name}.raw.json") for name in ("classifieds", "reddit", "shopping")}
    return found | {"webarena": load_tasks(PUBLIC / "test_webarena.raw.json", "webarena")}


@pytest.fixture(scope="module")
def vwa(files: Files) -> list[Task]:
    return files["classifieds"] + files["reddit"] + files["shopping"]


@pytest.fixture(scope="module")
def webarena(files: Files) -> list[Task]:
    return files["webarena"]


def needing(tasks: list[Task], kind: str, *, optional: bool | None = None) -> int:
    return sum(any(need.kind == kind and optional in (None, need.optional) for need in task.needs) for task in tasks)


def judged_by_no_model(tasks: list[Task]) -> int:
    return sum(not any(need.kind in ("llm-judge", "vqa") for need in task.needs) for task in tasks)


@public
def test_every_task_parses_and_carries_its_pictures(files: Files) -> None:
    assert {name: len(tasks) for name, tasks in files.items()} == {
        "classifieds": 234,
        "reddit": 210,
        "shopping": 466,
        "webarena": 812,
    }
    assert all([task.task_id for task in tasks] == list(range(len(tasks))) for tasks in files.values())
    pictures = {name: sum(bool(task.images) for task in tasks) for name, tasks in files.items()}
    assert pictures == {"classifieds": 68, "reddit": 84, "shopping": 169, "webarena": 0}  # 321 in all
    assert sum(len(task.images) for tasks in files.values() for task in tasks) == 288 + 11 + 2 * 19 + 3 * 3
    assert not any(task.unsupported for tasks in files.values() for task in tasks)


@public
def test_most_tasks_are_judged_by_no_model(files: Files, vwa: list[Task], webarena: list[Task]) -> None:
    free = {name: judged_by_no_model(tasks) for name, tasks in files.items()}
    assert free == {"classifieds": 224, "reddit": 192, "shopping": 423, "webarena": 694}  # 839 of VisualWebArena's
    assert (needing(vwa, "llm-judge"), needing(vwa, "llm-judge", optional=True)) == (49, 46)
    assert (needing(webarena, "llm-judge"), needing(webarena, "llm-judge", optional=True)) == (118, 36)
    assert (needing(vwa, "vqa"), needing(webarena, "vqa")) == (22, 0)


@public
def test_needs_beside_models(vwa: list[Task], webarena: list[Task]) -> None:
    assert (needing(vwa, "magento-api"), needing(webarena, "magento-api")) == (114, 15)
    assert (needing(vwa, "internet"), needing(webarena, "internet")) == (6, 0)
    assert {need.detail for task in vwa for need in task.needs if need.kind == "internet"} == {("images.pexels.com",)}
    assert [need.detail for task in vwa for need in task.needs if need.kind == "file"] == [
        ("coco_images/000000515982.jpg",)
    ]
    assert (needing(vwa, "admin"), needing(webarena, "admin")) == (0, 182 + 2)
    assert needing(vwa, "postmill-dom") == 28  # 28 calls for a comment, 3 for its parent
    assert needing(webarena, "gitlab-dom") == 9  # 12 calls
    assert sum(task.require_reset for task in vwa) == 62
    assert needing(vwa, "reset") == 22  # those on classifieds; nothing happens at the others
    # Eleven tasks on classifieds begin at, or ask about, a site that their `sites` leave out.
    assert sum(set(task.site_names) > set(task.sites) for task in vwa) == 11


@public
def test_evaluators_and_url_notes(vwa: list[Task], webarena: list[Task]) -> None:
    def kinds(tasks: list[Task]) -> dict[str, int]:
        return dict(Counter("+".join(task.evaluation.eval_types) for task in tasks))

    counted = kinds(vwa)
    assert {name: number for name, number in counted.items() if number > 3} == {
        "program_html": 379,
        "string_match": 265,
        "url_match": 204,
        "program_html+page_image_query": 20,
        "page_image_query": 19,
        "url_match+string_match": 9,
        "url_match+program_html": 5,
    }
    assert (counted["string_match+url_match"], counted["string_match+program_html"]) == (3, 3)
    assert kinds(webarena) == {
        "string_match": 325,
        "program_html": 282,
        "url_match+program_html": 129,
        "url_match": 66,
        "string_match+url_match": 10,
    }

    def notes(tasks: list[Task]) -> Counter[str | None]:
        return Counter(task.evaluation.url_note for task in tasks if "url_match" in task.evaluation.eval_types)

    assert notes(vwa) == {"EXACT": 189, "GOLD in PRED": 29, None: 6}
    assert notes(webarena) == {"GOLD in PRED": 196, None: 9}
    matched = [task for task in vwa if "url_match" in task.evaluation.eval_types]
    options = [len((task.evaluation.reference_url or "").split(OR)) for task in matched]
    assert (sum(count > 1 for count in options), max(options)) == (17, 5)


def answers(tasks: list[Task], field: str) -> list[Any]:
    used = [task.evaluation.reference_answers for task in tasks if "string_match" in task.evaluation.eval_types]
    return [value for each in used if each is not None and (value := getattr(each, field)) is not None]


@public
def test_conditions_on_answers(vwa: list[Task], webarena: list[Task]) -> None:
    included = answers(vwa, "must_include")
    assert (len(included), sum(map(len, included))) == (223, 297)
    assert (len(answers(webarena, "must_include")), sum(map(len, answers(webarena, "must_include")))) == (176, 396)
    assert (len(answers(vwa, "exact_match")), len(answers(webarena, "exact_match"))) == (10, 45)
    assert [len(answers(vwa, field)) for field in ("must_exclude", "required_values", "one_of")] == [0, 0, 2]
    assert (answers(vwa, "fuzzy_match").count("N/A"), answers(webarena, "fuzzy_match").count("N/A")) == (46, 36)
    assert sum(isinstance(value, list) for value in answers(webarena, "fuzzy_match")) == 82
    for task in (*vwa, *webarena):  # every "N/A" has its reason, and no condition beside it that it would discard
        references = task.evaluation.reference_answers
        if references is not None and references.fuzzy_match == "N/A":
            assert task.evaluation.string_note and references.model_fields_set == {"fuzzy_match"}


@public
def test_the_rule_of_one_token_over_all_references(vwa: list[Task]) -> None:
    entries = [entry for value in answers(vwa, "must_include") for entry in value]

    def single(text: str) -> bool:
        return len(tokens(clean_answer(text, "vwa"))) == 1

    assert sum(" " not in entry for entry in entries) == 212  # the count of the survey: words between spaces
    assert sum(map(single, entries)) == 185  # addresses, mail addresses and "$208" are several tokens of NLTK's
    apart = [alternative for entry in entries for alternative in entry.split(OR)]
    assert (len(apart), sum(map(single, apart)), sum(OR in entry for entry in entries)) == (362, 285, 50)


@public
def test_forms_of_locators_and_addresses(vwa: list[Task], webarena: list[Task]) -> None:
    def targets(tasks: list[Task]) -> list[HtmlTarget]:
        used = [task for task in tasks if "program_html" in task.evaluation.eval_types]
        return [target for task in used for target in task.evaluation.program_html]

    def form(locator: str) -> str:
        start = locator.partition(":")[0] if locator.startswith(("func:", "lambda:")) else "document"
        return start if locator.strip() else "page"

    there, here = targets(vwa), targets(webarena)
    assert (len(there), len(here)) == (554, 651)
    assert Counter(form(each.locator) for each in there) == {"document": 220, "func": 217, "page": 101, "lambda": 16}
    assert Counter(form(each.locator) for each in here) == {"document": 524, "page": 105, "func": 22}
    assert (sum(each.url == "last" for each in there), sum(each.url == "last" for each in here)) == (51, 238)
    assert sum(bool(each.prep_actions) for each in here) == 10
    texts = [text for each in (*there, *here) for text in (each.url, each.locator) if text.startswith("func:")]
    assert len(texts) == 434
    calls = Counter(parse_call(text.removeprefix("func:")).name for text in texts)
    assert (calls["get_query_text"], calls["gitlab_get_project_memeber_role"]) == (143, 12)
    assert calls["reddit_get_latest_comment_content_by_username"] == 28
    assert calls["shopping_get_latest_order_url"] == 117 + 10
    assert calls["reddit_get_post_url"] == 3 + 65
    # Upstream strips the characters of "lambda:", not the word: it must come to the same.
    assert all(
        each.locator.lstrip("lambd:") == each.locator.removeprefix("lambda:")
        for each in there
        if "lambda:" in each.locator
    )
    both = [
        task.task_id
        for task in vwa
        for target in task.evaluation.program_html
        if {"must_include", "must_exclude"} <= target.required_contents.model_fields_set
    ]
    assert both == [158, 159]  # their must_exclude is never looked at
    assert Counter(len(task.start_urls) for task in vwa) == {1: 848, 2: 54, 3: 8}  # the survey says 53 and 9
    assert sum(task.viewport.width is not None for task in vwa) == 69


@public
def test_questions_about_pictures(vwa: list[Task]) -> None:
    queries = [query for task in vwa for query in task.evaluation.page_image_query]
    assert (len(queries), sum(bool(query.eval_vqa) for query in queries)) == (46, 22)
    assert sum(query.eval_fuzzy_image_match is not None for query in queries) == 24
    assert Counter(query.ssim_threshold for query in queries if query.eval_fuzzy_image_match) == {0.8: 14, 0.6: 10}
    assert sum(query.eval_image_url == "last" for query in queries) == 31
    classes = Counter(query.eval_image_class for query in queries)
    assert (classes[".submission__image"], classes[".submission__title"], classes[".submission__row"]) == (18, 7, 6)


@public
def test_public_placeholders_resolve_with_every_site(vwa: list[Task], webarena: list[Task]) -> None:
    addresses = {f"__{name.upper()}__": f"http://{name}.test" for task in (*vwa, *webarena) for name in task.site_names}
    for task in (*vwa[::40], *webarena[::40]):
        resolved = task.resolved(addresses)
        assert "__" not in " ".join(resolved.start_urls) and resolved.needs == task.needs


def build(evaluation: dict[str, Any], **fields: Any) -> Task:
    raw = {"sites": ["shopping"], "intent": "x", "start_url": "__SHOPPING__", "eval": evaluation}
    return Task.read(raw | fields, source=Path(__file__))


HERE = Path(__file__).name


class Judge:
    def same_answer(self, question: str, reference: str, answer: str) -> Verdict:
        return Verdict(True, "")

    def same_reason(self, task: str, reason: str, report: str) -> Verdict:
        return Verdict(True, "")

    def answer(self, image: Any, question: str) -> str:
        return ""


FUZZY = {"eval_types": ["string_match"], "reference_answers": {"fuzzy_match": ["x"]}}
EXACT = {"eval_types": ["string_match"], "reference_answers": {"exact_match": "x"}}
SEEN = {
    "eval_types": ["page_image_query"],
    "page_image_query": [{"eval_image_url": "last", "eval_vqa": [{"question": "?", "answer": "x"}]}],
}


def pictures(reference: str) -> dict[str, Any]:
    query = {"eval_image_url": "last", "eval_fuzzy_image_match": reference}
    return {"eval_types": ["page_image_query"], "page_image_query": [query]}


@pytest.mark.parametrize(
    ("task", "needs", "unmet"),
    [
        (build(EXACT), ["site shopping"], []),
        (build(EXACT, sites=["gitlab"]), ["site gitlab", "site shopping"], ["site gitlab: give its address"]),
        (build(FUZZY), ["site shopping", "llm-judge"], ["llm-judge: "]),
        (build(SEEN), ["site shopping", "vqa"], ["vqa: "]),
        (
            build(pictures("https://pictures.test/a.png |OR| https://pictures.test/b.png")),
            ["site shopping", "internet pictures.test"],
            ["internet: pictures.test is no site; allow it, --allow-host pictures.test"],
        ),
        (build(pictures("http://127.0.0.1:9/a.png")), ["site shopping"], []),
        (build(pictures("missing.png")), ["site shopping", "file missing.png"], ["file: missing.png is not in"]),
        (build(pictures(f"no.png |OR| {HERE}")), ["site shopping", f"file no.png or {HERE}"], []),
        (build(pictures("__SHOPPING__/a.png |OR| missing.png")), ["site shopping"], []),
        (build(EXACT, image="https://a.test/b.png"), ["site shopping", "internet a.test"], ["internet: "]),
    ],
)  # fmt: skip
def test_needs_are_computed_and_told_when_not_met(task: Task, needs: list[str], unmet: list[str]) -> None:
    assert [str(need) for need in task.needs] == needs
    found = Surroundings.of({}).unmet(task)
    assert [sentence.startswith(start) for sentence, start in zip(found, unmet, strict=True)] == [True] * len(unmet)
    given = {"gitlab": "http://gitlab.test"}
    full = Surroundings.of(given, Means(judge=Judge(), visual_judge=Judge()), ["*.test"])
    assert [sentence for sentence in full.unmet(task) if not sentence.startswith("file")] == []


def test_one_site_under_two_names() -> None:
    around = Surroundings.of({"shop": "http://127.0.0.1:9"})
    assert around.sites["shopping"] == around.sites["shop"] == "http://127.0.0.1:9"
    assert around.sites["reddit"] is None


@pytest.fixture
def closed() -> Iterator[Callable[[], WebEnv]]:
    """An environment whose browser is never started."""
    with WebEnv(sites=SiteSet({"shopping": "http://127.0.0.1:9"})) as env:
        yield lambda: env


def test_a_task_that_cannot_be_scored_is_refused_before_anything_starts(closed: Callable[[], WebEnv]) -> None:
    env = closed()
    with pytest.raises(TaskError, match=r"cannot be run: llm-judge: .* --judge MODEL"):
        env.reset(build(FUZZY))
    assert not env.browser.alive and env.task is None
