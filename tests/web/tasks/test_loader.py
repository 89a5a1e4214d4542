"""Task files: the public ones load unchanged, bad ones are refused with file and field."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from confkv_agents.errors import SiteError, TaskError
from confkv_agents.web.tasks import Task, load_tasks

PUBLIC = Path(__file__).resolve().parents[4] / "shared" / "data" / "visualwebarena"
public = pytest.mark.skipif(not PUBLIC.is_dir(), reason="the public task files are not beside the checkout")

GOOD: dict[str, Any] = {
    "sites": ["shopping"],
    "task_id": 3,
    "intent": "Buy a backpack.",
    "start_url": "__SHOPPING__/",
    "eval": {"eval_types": ["string_match"], "reference_answers": {"must_include": ["12"]}},
}

PARTS = {"action": "stop", "part": 2}
UPLOAD = {"action": "upload", "role": "button", "name": "Picture", "file": "a.png"}


@pytest.fixture
def write(tmp_path: Path) -> Callable[[Any], Path]:
    def write_file(content: Any) -> Path:
        file = tmp_path / "task.json"
        file.write_text(content if isinstance(content, str) else json.dumps(content), "utf-8")
        return file

    return write_file


@public
def test_public_placeholders_resolve_or_name_the_missing_site() -> None:
    tasks = load_tasks(PUBLIC / "test_shopping.raw.json")
    alone = next(task for task in tasks if task.sites == ("shopping",))
    resolved = alone.resolved({"__SHOPPING__": "http://127.0.0.1:1"})
    assert resolved.start_urls[0].startswith("http://127.0.0.1:1")
    assert resolved.key == alone.key
    two = next(task for task in load_tasks(PUBLIC / "test_reddit.raw.json") if "reddit" in task.sites)
    with pytest.raises(SiteError, match="needs the site 'reddit'"):
        two.resolved({"__SHOPPING__": "http://127.0.0.1:1"})


def test_one_object_an_array_and_a_folder(write: Callable[[Any], Path], tmp_path: Path) -> None:
    file = write(GOOD)
    (task,) = load_tasks(file)
    assert (task.key, task.intent, task.start_urls) == ("task", "Buy a backpack.", ("__SHOPPING__/",))
    assert task.sha256 == hashlib.sha256(file.read_bytes()).hexdigest()
    write([GOOD, GOOD | {"task_id": 4}])
    assert [task.key for task in load_tasks(file)] == ["task:3", "task:4"]
    (tmp_path / "10.json").write_text(json.dumps(GOOD))
    (tmp_path / "9.json").write_text(json.dumps(GOOD))
    file.unlink()
    assert [task.source.name for task in load_tasks(tmp_path)] == ["9.json", "10.json"]


@pytest.mark.parametrize(
    ("image", "expected"),
    [
        (None, ()),
        ("", ()),
        ("https://pictures.test/a.png", ("https://pictures.test/a.png",)),
        ("b/a.png", ("b/a.png",)),
        ("a.png", ("a.png",)),
        ([], ()),
        (["a.png", "b.png"], ("a.png", "b.png")),
    ],
)
def test_images_become_a_list(image: Any, expected: tuple[str, ...], write: Callable[[Any], Path]) -> None:
    assert load_tasks(write(GOOD | {"image": image}))[0].images == expected


def test_several_start_pages_typos_and_unknown_keys(write: Callable[[Any], Path]) -> None:
    (task,) = load_tasks(
        write(
            GOOD
            | {
                "start_url": "__SHOPPING__/a |AND| __SHOPPING__/b",
                "visual_difficulty": "mediun",
                "overall_difficulty": "hrad",
                "viewport_size": {"width": 500},
                "odd_key": [1],
            }
        )
    )
    assert task.start_urls == ("__SHOPPING__/a", "__SHOPPING__/b")
    assert (task.visual_difficulty, task.overall_difficulty) == ("medium", "hard")
    assert (task.viewport.width, task.viewport.height) == (500, None)
    assert task.raw["odd_key"] == [1]


def test_oracle_actions_are_typed(write: Callable[[Any], Path]) -> None:
    steps = [
        {"action": "type", "role": "textbox", "name": "Search", "text": "bag", "enter": True},
        {"action": "click", "role": "link", "name": "Bag", "nth": 1},
        {"action": "stop", "answer": "12"},
    ]
    (task,) = load_tasks(write(GOOD | {"x_confkv": {"seed": 7, "max_steps": 9, "oracle": steps}}))
    assert (task.seed, task.max_steps, len(task.oracle)) == (7, 9, 3)
    assert task.oracle[0].action == "type"
    assert task.resolved({"__SHOPPING__": "http://s"}).oracle == task.oracle


def test_a_scripted_scroll_names_a_whole_element_or_none(write: Callable[[Any], Path]) -> None:
    def steps(**more: Any) -> dict[str, Any]:
        return GOOD | {"x_confkv": {"oracle": [{"action": "scroll", "direction": "down"} | more]}}

    load_tasks(write([steps(), steps(role="list", name="Results")]))
    with pytest.raises(TaskError, match="role and name go together"):
        load_tasks(write(steps(role="list")))


def bad(**changes: Any) -> dict[str, Any]:
    return GOOD | changes


def evaluation(**changes: Any) -> dict[str, Any]:
    return bad(eval=changes)


def target(**changes: Any) -> dict[str, Any]:
    whole = {"url": "last", "locator": "", "required_contents": {"must_include": ["x"]}} | changes
    return evaluation(eval_types=["program_html"], program_html=[whole])


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('{"sites": [\n  oops]}', "line 2, column 3"),
        ("", "line 1, column 1"),
        ("3", "a task is a JSON object, not a number"),
        (bad(sites=["amazon"]), "sites: unknown site 'amazon'; known: "),
        (bad(sites=[]), "sites: "),
        (bad(intent=""), "intent: "),
        (bad(start_url="__AMAZON__/x"), "start_url: unknown placeholder __AMAZON__"),
        *(
            (bad(start_url=url), "start_url: ")
            for url in (
                "file:///etc/passwd",
                "__SHOPPING__/ |AND| data:text/html,x",
                "javascript:1",
                "/cart",
                "",
                "http://",
            )
        ),
        *(
            (bad(image=image), "image: '")
            for image in ("../../../etc/passwd", "/etc/passwd", ["a.png", "a/../../b.png"], "..")
        ),
        (bad(storage_state="../state.json"), "storage_state: '../state.json' lies outside the task's folder"),
        (bad(x_confkv={"oracle": [UPLOAD | {"file": "../a.png"}]}), "x_confkv.oracle: '../a.png' lies outside"),
        ("[]", "holds no task"),
        ({key: value for key, value in GOOD.items() if key != "eval"}, "eval: is missing"),
        (evaluation(eval_types=["vibes"]), "eval.eval_types[0]: "),
        (evaluation(eval_types=[]), "eval.eval_types: "),
        (evaluation(eval_types=["string_match"]), "reference_answers is empty"),
        (evaluation(eval_types=["url_match"]), "reference_url is empty"),
        (evaluation(eval_types=["url_match"], reference_url="x", url_note="NEARLY"), "'NEARLY' is not one of EXACT"),
        (evaluation(eval_types=["string_match"], reference_answers={"sounds_like": "x"}), "sounds_like"),
        (
            evaluation(eval_types=["string_match"], reference_answers={"required_values": ["about 3"]}),
            "eval.reference_answers.required_values: 'about 3' is not an inequality",
        ),
        (target(locator="$('x')"), "eval.program_html[0].locator: unknown locator form"),
        (target(locator="func:os.system('x')"), "is not one call of a helper"),
        (target(locator="func:get_query_text(__page__, open('x'))"), "arguments of get_query_text"),
        (target(locator="func:get_query_texts(__page__, 'x')"), "unknown helper 'get_query_texts'; known: "),
        (target(locator="func:get_query_text('x')"), "takes (page, text), not (text)"),
        (target(url="func:shopping_get_latest_order_url(", locator=""), "eval.program_html[0].url: "),
        (target(url="func:get_query_text(__page__, 'x')"), "eval.program_html[0].url: "),
        (target(required_contents={}), "needs one of"),
        *(
            (evaluation(eval_types=["page_image_query"], page_image_query=[{"eval_image_url": "last"} | query]), why)
            for query, why in (
                ({}, "eval.page_image_query[0]: needs eval_vqa or eval_fuzzy_image_match"),
                ({"eval_vqa": [{"question": "x"}]}, "eval.page_image_query[0].eval_vqa[0].answer"),
                ({"eval_vqa": [], "eval_image_class": "img"}, "'img' is no class"),
                ({"eval_fuzzy_image_match": "a.png", "ssim_threshold": 3}, "ssim_threshold"),
                ({"eval_fuzzy_image_match": "a.png", "eval_image_url": "func:x()"}, "unknown helper 'x'"),
                ({"eval_fuzzy_image_match": "../a.png"}, "'../a.png' lies outside the task's folder"),
                ({"eval_fuzzy_image_match": "__SHOPPING__/a.png |OR| /etc/a.png"}, "'/etc/a.png' lies outside"),
            )
        ),
        (bad(x_confkv={"oracle": [{"action": "click", "role": "link", "nam": "x"}]}), "x_confkv.oracle[0]"),
        (bad(x_confkv={"oracle": [{"action": "tap"}]}), "x_confkv.oracle[0]: unknown action 'tap'; known: 'c"),
        (bad(x_confkv={"oracle": "click"}), "x_confkv.oracle: must be a list"),
        (bad(x_confkv={"oracle": ["click"]}), "x_confkv.oracle[0]: must be an object"),
        (
            bad(x_confkv={"plan": "a; b", "oracle": [PARTS]}),
            "x_confkv: an action begins part 2 of the plan, whose parts",
        ),
        (bad(x_confkv={"near_miss": [PARTS]}), "x_confkv: an action begins part 2 of the plan, and there is none"),
        (bad(x_confkv={"seed": -1}), "x_confkv.seed: "),
        (bad(x_confkv=[]), "x_confkv: must be an object"),
        (bad(sites=[]), "sites: may not be empty"),
        (bad(sites="shopping"), "sites: must be a list"),
        ("[null]", "[0] a task is a JSON object, not null"),
        (bad(x_confkv={"steps": 3}), "x_confkv.steps: is no known field"),
        (bad(viewport_size={"width": 3}), "viewport_size.width"),
    ],
)
def test_bad_files_are_refused_with_file_and_field(content: Any, message: str, write: Callable[[Any], Path]) -> None:
    file = write(content)
    with pytest.raises(TaskError) as caught:
        load_tasks(file)
    assert str(file) in str(caught.value)
    assert message in str(caught.value)


def test_index_of_the_bad_task_is_named(write: Callable[[Any], Path]) -> None:
    with pytest.raises(TaskError, match=r"\[1\] intent: "):
        load_tasks(write([GOOD, bad(intent="")]))


def test_missing_file_folder_without_tasks_and_other_encodings(tmp_path: Path) -> None:
    with pytest.raises(TaskError, match="No such file"):
        load_tasks(tmp_path / "missing.json")
    with pytest.raises(TaskError, match=r"no \*\.json"):
        load_tasks(tmp_path)
    (tmp_path / "x.json").write_bytes(b'{"intent": "\xff"}')
    with pytest.raises(TaskError, match="UTF-8"):
        load_tasks(tmp_path / "x.json")


def test_dialects_differ_and_are_never_guessed(write: Callable[[Any], Path]) -> None:
    file = write(evaluation(eval_types=["string_match"], reference_answers={"one_of": ["x"]}))
    assert load_tasks(file, "vwa")
    with pytest.raises(TaskError, match="dialect 'webarena' does not know one_of"):
        load_tasks(file, "webarena")
    lambdas = write(target(locator="lambda:(() => 1)()"))
    with pytest.raises(TaskError, match="does not know the locator form 'lambda:'"):
        load_tasks(lambdas, "webarena")
    with pytest.raises(TaskError, match="unknown dialect 'mine': use one of vwa, webarena, browsergym, "):
        load_tasks(file, "mine")  # type: ignore[arg-type]


def test_browsergym_has_the_evaluators_of_the_one_or_the_other(write: Callable[[Any], Path]) -> None:
    file = write(evaluation(eval_types=["string_match"], reference_answers={"one_of": ["x"]}))
    (task,) = load_tasks(file, "browsergym")
    assert (task.dialect, task.rules, task.manner.every_step, task.manner.first_tab) == (
        "browsergym",
        "vwa",
        True,
        False,
    )
    with pytest.raises(TaskError, match="dialect 'webarena' does not know one_of"):
        load_tasks(file, "browsergym-webarena")


def test_names_that_look_like_placeholders_stay(write: Callable[[Any], Path]) -> None:
    locator = "document.querySelector('.fotorama__stage__frame').outerText"
    (task,) = load_tasks(write(target(locator=locator)))
    assert task.resolved({"__SHOPPING__": "http://s"}).evaluation.program_html[0].locator == locator


def test_tasks_of_the_package_load() -> None:
    from confkv_agents import plugins

    for name in plugins.available("tasks"):
        for task in load_tasks(plugins.find_task(name)):
            assert isinstance(task, Task)
            assert task.unsupported == ()
            assert task.oracle, f"{name} has no scripted solution"
