"""page_image_query: what the pictures of a page show."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PIL import Image

from confkv_agents.errors import ImageError
from confkv_agents.web.evaluators.base import Check, EvaluationInput
from confkv_agents.web.evaluators.calls import parse_call
from confkv_agents.web.evaluators.fetching import reference_picture, shown_pictures
from confkv_agents.web.evaluators.helpers import call_helper
from confkv_agents.web.evaluators.judging import Finding, Judged
from confkv_agents.web.evaluators.means import Verdict, VisualJudge
from confkv_agents.web.evaluators.similarity import picture_similarity
from confkv_agents.web.evaluators.string_match import OR

if TYPE_CHECKING:
    from confkv_agents.web.tasks import ImageQuery, Task


def page_image_query(task: Task, given: EvaluationInput) -> list[Finding]:
    """Checks for each query in order; `last` means the page that the evaluator before left open.

    `eval_fuzzy_image_match`: one picture of the page is more similar to one of the references (alternatives by
    ` |OR| `) than `ssim_threshold`. `eval_vqa`: for each question, the visual judge's answer about one picture of the
    page holds the expected answer. A page without pictures fails, and the queries after it are not looked at.
    """
    page = given.need_page()
    findings: list[Finding] = []
    for index, query in enumerate(task.evaluation.page_image_query):
        name = f"page_image_query[{index}]"
        url = query.eval_image_url
        if url.startswith("func:"):
            url = str(call_helper(parse_call(url.removeprefix("func:"), allow_page=False), given))
        if url and url != "last":
            page.goto(url)
        selector = query.eval_image_class.strip()
        pictures, problems = shown_pictures(page, selector, given) if url else ([], ["there is no page to look at"])
        place = f"{selector or 'any picture'} on {page.url}"
        if not pictures:
            why = "; ".join(["no picture is there", *problems[:3]])
            findings.append(Check(name, place, "", False, why))
            break
        if query.eval_fuzzy_image_match is not None:
            findings.append(_compare(task, query, name, pictures, place, given))
        for number, asked in enumerate(query.eval_vqa):
            findings.append(_question(f"{name}.eval_vqa[{number}]", asked.question, asked.answer, pictures, given))
    return findings


def _compare(
    task: Task, query: ImageQuery, name: str, pictures: list[Image.Image], place: str, given: EvaluationInput
) -> Check:
    assert query.eval_fuzzy_image_match is not None
    best, nearest, unread = -1.0, "", []
    for reference in query.eval_fuzzy_image_match.split(OR):
        try:
            wanted = reference_picture(reference, given, task)
        except ImageError as error:
            unread.append(str(error))
            continue
        for picture in pictures:
            try:
                found = picture_similarity(picture, wanted)
            except ImageError as error:
                unread.append(str(error))
                continue
            if found > best:
                best, nearest = found, reference
    ok = best > query.ssim_threshold
    why = (
        f"the most similar of {len(pictures)} at {place} has {best:.3f}, {'above' if ok else 'not above'} the threshold"
    )
    if nearest and OR in query.eval_fuzzy_image_match:
        why += f", against {nearest}"
    if unread:
        why += f"; not compared: {'; '.join(dict.fromkeys(unread[:3]))}"
    expected = f"{query.eval_fuzzy_image_match} (similarity above {query.ssim_threshold:g})"
    return Check(f"{name}.eval_fuzzy_image_match", expected, f"{best:.3f}", ok, why)


def _question(name: str, question: str, answer: str, pictures: list[Image.Image], given: EvaluationInput) -> Judged:
    judge = given.means.visual_judge
    assert judge is not None  # a task that asks is refused without one
    return Judged(
        name, f"{question} {answer}", f"{len(pictures)} pictures", lambda: _ask(judge, question, answer, pictures)
    )


def _ask(judge: VisualJudge, question: str, answer: str, pictures: list[Image.Image]) -> Verdict:
    """Whether the answer about one of the pictures holds the expected one, in whatever case."""
    answers = []
    for picture in pictures:
        said = str(judge.answer(picture, question))
        if answer.lower() in said.lower():
            return Verdict(True, said)
        answers.append(said)
    return Verdict(False, "; ".join(answers))
