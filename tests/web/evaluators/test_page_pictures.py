"""page_image_query on small local pages: which pictures count, similarity, questions, and what may be loaded."""

from __future__ import annotations

import base64
import io
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest
from PIL import Image, ImageDraw

from confkv_agents.errors import ImageError, InfraError
from confkv_agents.web.env import WebEnv
from confkv_agents.web.evaluators import Check, Means, succeeded
from confkv_agents.web.evaluators.fetching import fetch_picture
from confkv_agents.web.network import AllowList
from confkv_agents.web.tasks import Task
from tests.web.conftest import Driver, Pages


def picture(kind: str, size: tuple[int, int] = (60, 40)) -> bytes:
    image = Image.new("RGB", (60, 40), "white")
    draw = ImageDraw.Draw(image)
    if kind == "ball":
        draw.ellipse((15, 5, 45, 35), fill="red")
    else:
        for x in range(0, 60, 6):
            draw.rectangle((x, 0, x + 2, 40), fill="blue")
    held = io.BytesIO()
    image.resize(size).save(held, "PNG")
    return held.getvalue()


def served(data: bytes, cookies: list[str | None] | None = None) -> Callable[[BaseHTTPRequestHandler], None]:
    def answer(handler: BaseHTTPRequestHandler) -> None:
        if cookies is not None:
            cookies.append(handler.headers["Cookie"])
        handler.send_response(200)
        handler.send_header("Content-Length", str(len(data)))
        handler.end_headers()
        handler.wfile.write(data)

    return answer


PAGE = """<title>Post</title><script>document.cookie = 'seen=yes'</script>
<img class=submission__image src=/ball.png><article class=submission__row><a><img src=stripes.png></a></article>
<img class=broken src=/missing.png><p class=submission__title>No picture</p>"""


@dataclass
class Eyes:
    """Says what the average colour of a picture is nearest to."""

    asked: list[str] = field(default_factory=list)

    def answer(self, image: Image.Image, question: str) -> str:
        self.asked.append(question)
        red, _, blue = image.convert("RGB").resize((1, 1), Image.Resampling.BOX).getpixel((0, 0))  # type: ignore[misc]
        return "A Red ball" if red > blue else "blue stripes"


@pytest.fixture
def shown(driver: Driver) -> Iterator[Driver]:
    driver.pages.pages |= {
        "/": PAGE,
        "/f/cats/7/a": PAGE,
        "/empty": "<title>Empty</title>",
        "/ball.png": served(picture("ball")),
        "/stripes.png": served(picture("stripes")),
        "/small-ball.png": served(picture("ball", (30, 20))),
        "/f/cats/7/stripes.png": served(picture("stripes")),
    }
    driver.env.means = Means(visual_judge=Eyes())
    yield driver


def judge(driver: Driver, *queries: dict[str, Any], types: Any = None, source: Path = Path(__file__)) -> list[Check]:
    whole = [{"eval_image_url": "last", "eval_image_class": ""} | query for query in queries]
    target = {"url": "__PAGES__/empty", "locator": "document.title", "required_contents": {"exact_match": "Empty"}}
    evaluation = {
        "eval_types": types or ["page_image_query"],
        "page_image_query": whole,
        "program_html": [target],
    }
    raw = {"sites": ["pages"], "intent": "x", "start_url": "__PAGES__/", "eval": evaluation}
    driver.env.reset(Task.read(raw, source=source))
    return driver.env.evaluate()


@pytest.mark.browser
@pytest.mark.parametrize(
    ("selector", "reference", "threshold", "ok"),
    [
        ("", "__PAGES__/ball.png", None, True),
        ("", "__PAGES__/small-ball.png", 0.7, True),  # brought to one size
        ("", "__PAGES__/small-ball.png", 0.999, False),
        (".submission__image", "__PAGES__/ball.png", None, True),
        (".submission__image", "__PAGES__/stripes.png", None, False),
        (".submission__image", "__PAGES__/stripes.png |OR| __PAGES__/ball.png", None, True),
        (".submission__row", "__PAGES__/stripes.png", None, True),  # a picture inside of the class
        (".submission__title", "__PAGES__/ball.png", None, False),  # no picture
        (".broken", "__PAGES__/ball.png", None, False),  # a picture that does not load
        ("..", "__PAGES__/ball.png", None, False),  # no selector
    ],
)
def test_one_picture_of_the_class_must_be_similar(
    shown: Driver, selector: str, reference: str, threshold: float | None, ok: bool
) -> None:
    limit = {} if threshold is None else {"ssim_threshold": threshold}
    (check,) = judge(shown, {"eval_image_class": selector, "eval_fuzzy_image_match": reference} | limit)
    assert check.ok is ok, check.why


@pytest.mark.browser
def test_references_may_be_files_beside_the_task(shown: Driver, tmp_path: Path) -> None:
    (tmp_path / "ball.png").write_bytes(picture("ball"))
    (check,) = judge(shown, {"eval_fuzzy_image_match": "no.png |OR| ball.png"}, source=tmp_path / "task.json")
    assert check.ok and check.got == "1.000"
    assert "no.png cannot be read" in check.why and "against ball.png" in check.why


@pytest.mark.browser
def test_questions_are_judged_after_everything_else_and_hold_for_any_picture(shown: Driver) -> None:
    eyes = Eyes()
    shown.env.means = Means(visual_judge=eyes)
    asked = {"eval_vqa": [{"question": "What is it?", "answer": "STRIPES"}, {"question": "And?", "answer": "red"}]}
    assert succeeded(judge(shown, asked)) and eyes.asked == ["What is it?", "What is it?", "And?"]
    checks = judge(shown, {"eval_vqa": [{"question": "What is it?", "answer": "a cat"}]})
    assert [(check.ok, check.why) for check in checks] == [(False, "the judge says no: A Red ball; blue stripes")]
    eyes.asked.clear()
    checks = judge(shown, asked | {"eval_fuzzy_image_match": "__PAGES__/small-ball.png", "ssim_threshold": 0.999})
    assert not succeeded(checks) and eyes.asked == []


@pytest.mark.browser
def test_a_page_without_pictures_fails_and_ends_it(shown: Driver) -> None:
    match = {"eval_fuzzy_image_match": "__PAGES__/ball.png"}
    checks = judge(shown, {"eval_image_url": "__PAGES__/empty"} | match, match)
    assert [(check.name, check.ok) for check in checks] == [("page_image_query[0]", False)]


@pytest.mark.browser
def test_last_is_the_page_that_the_evaluator_before_opened(shown: Driver) -> None:
    match = {"eval_fuzzy_image_match": "__PAGES__/ball.png"}
    checks = judge(shown, match, types=["program_html", "page_image_query"])
    assert [check.ok for check in checks] == [True, False] and "/empty" in checks[1].expected
    checks = judge(shown, match, types=["page_image_query", "program_html"])
    assert [check.ok for check in checks] == [True, True]


@pytest.mark.browser
def test_addresses_may_be_calls(shown: Driver) -> None:
    query = {
        "eval_image_url": "func:reddit_get_post_url('__last_url__')",
        "eval_fuzzy_image_match": "__PAGES__/stripes.png",
    }
    shown.pages.pages["/f/cats/7/"] = "<img src=stripes.png>"
    raw = {
        "sites": ["pages"],
        "intent": "x",
        "start_url": "__PAGES__/f/cats/7/a",
        "eval": {"eval_types": ["page_image_query"], "page_image_query": [query]},
    }
    shown.env.reset(Task.read(raw, source=Path(__file__)))
    assert succeeded(shown.env.evaluate())


@pytest.mark.browser
def test_pictures_are_loaded_with_the_agents_cookies(shown: Driver) -> None:
    cookies: list[str | None] = []
    shown.pages.pages["/ball.png"] = served(picture("ball"), cookies)
    judge(shown, {"eval_image_class": ".submission__image", "eval_fuzzy_image_match": "__PAGES__/stripes.png"})
    assert cookies[-1] == "seen=yes"


@pytest.mark.browser
def test_a_reference_that_does_not_answer_is_no_fault_of_the_agents(shown: Driver) -> None:
    with pytest.raises(InfraError, match="the check's picture: "):
        judge(shown, {"eval_fuzzy_image_match": "__PAGES__/missing.png"})
    assert isinstance(shown.env, WebEnv) and shown.env.stop_reason == "infra_error"


def test_what_pages_may_not_load_checks_may_not_either(pages: Pages, other_pages: Pages) -> None:
    other_pages.pages["/ball.png"] = served(picture("ball"))
    allow = AllowList([pages.url])

    def redirect(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(302)
        handler.send_header("Location", f"{other_pages.url}/ball.png")
        handler.send_header("Content-Length", "0")
        handler.end_headers()

    pages.pages |= {"/away": redirect, "/text": "no picture"}
    for url, why in (
        (f"{other_pages.url}/ball.png", "is outside of"),
        (f"{pages.url}/away", "leads to"),
        (f"{pages.url}/text", "is no picture"),
        (f"{pages.url}/missing", "404"),
        ("file:///etc/hostname", "is outside of"),
        ("data:image/png;base64,####", "picture"),
    ):
        with pytest.raises(ImageError, match=why):
            fetch_picture(url, allow)
    assert other_pages.requests == []
    assert fetch_picture(f"{pages.url}/away", AllowList([pages.url, other_pages.url])).size == (60, 40)
    inline = "data:image/png;base64," + base64.b64encode(picture("ball")).decode()
    assert fetch_picture(inline, allow).size == (60, 40)
