"""The environment's actions as tools, on an environment without a browser: schemas, results, order, the end."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import after_model, wrap_tool_call
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.utils.function_calling import convert_to_openai_tool

from confkv_agents.errors import ActionError, ConfigError
from confkv_agents.web.actions import VERBS, Action, ActionParseError, action_schema
from confkv_agents.web.env import StepResult, WebEnv
from confkv_agents.web.observation import Observation
from confkv_agents.web.tasks import Task
from confkv_agents.web_tools import browser_tools, task_message


def task(**fields: Any) -> Task:
    raw = {
        "sites": ["shop"],
        "intent": "Buy a lamp.",
        "start_url": "__SHOP__",
        "eval": {"eval_types": ["string_match"], "reference_answers": {"exact_match": "done"}},
    }
    return Task.read(raw | fields, source=Path(__file__))


class Pages:
    """Stands for an environment: counts pages, remembers what was done and on which page it was decided."""

    def __init__(self, limit: int = 99) -> None:
        self.limit = limit
        self.done: list[tuple[str, str | None]] = []
        self.threads: set[str] = set()
        self.task: Task | None = None
        self.observation: Observation | None = None
        self.stop_reason: str | None = None
        self.answer: str | None = None

    def reset(self, new: Task) -> None:
        self.task, self.stop_reason, self.done = new.resolved({"__SHOP__": "http://shop.test"}), None, []
        self.observation = Observation("page 0", screenshot=b"plain 0", marked=b"marked 0", body="page 0")

    def step(self, action: Action, seen: Observation | None = None) -> StepResult:
        if self.observation is None:
            raise ActionError("no episode is running; call reset(task) first")
        self.done.append((str(action), None if seen is None else seen.text))
        number = len(self.done)
        error = "there is no element [99]" if action.element == 99 else None
        outcome = f"not possible: {error}" if error else f"did {action}"
        text = f"Outcome: {outcome}\npage {number}"
        self.observation = Observation(text, screenshot=b"plain", marked=f"marked {number}".encode(), outcome=outcome)
        if action.name == "stop":
            self.answer, self.stop_reason = action.text, "stop"
        elif number >= self.limit:
            self.stop_reason = "max_steps"
        over = self.stop_reason is not None
        return StepResult(self.observation, action, error, over, cast(Any, self.stop_reason), self.answer)

    def refuse(self, error: ActionParseError) -> StepResult:
        assert self.observation is not None
        self.done.append(("refused", None))
        return StepResult(Observation("page", outcome=str(error)), error=str(error))


class Saying(GenericFakeChatModel):
    """A chat model that says what it is told."""

    def bind_tools(self, tools: Any, **options: Any) -> Any:
        return self


def calls(*wanted: tuple[str, dict[str, Any]], number: int = 0) -> AIMessage:
    return AIMessage(
        "", tool_calls=[{"name": n, "args": a, "id": f"call-{number}-{at}"} for at, (n, a) in enumerate(wanted)]
    )


def saying(*messages: AIMessage) -> Saying:
    """A model that takes pictures and gives these answers."""
    return Saying(messages=iter(messages), profile={"image_inputs": True, "image_tool_message": True})


@pytest.fixture
def pages() -> Iterator[Pages]:
    made = Pages()
    made.reset(task())
    yield made


def tools_of(pages: Pages, **options: Any) -> dict[str, Any]:
    return {tool.name: tool for tool in browser_tools(cast(WebEnv, pages), **options)}


def results(state: dict[str, Any]) -> list[ToolMessage]:
    return [message for message in state["messages"] if isinstance(message, ToolMessage)]


def test_there_is_a_tool_per_action_with_the_actions_own_words_and_schema(pages: Pages) -> None:
    tools = tools_of(pages)
    assert list(tools) == list(VERBS)
    for name, tool in tools.items():
        function = convert_to_openai_tool(tool)["function"]
        assert function["name"] == name
        assert function["description"].lower() == f"{VERBS[name].help}.".lower()
        assert function["parameters"]["properties"] == action_schema(name)["properties"]
        assert function["parameters"]["required"] == action_schema(name)["required"]


def test_some_actions_may_be_chosen_and_stop_is_always_there(pages: Pages) -> None:
    assert list(tools_of(pages, actions=["type", "click"])) == ["click", "type", "stop"]
    with pytest.raises(ConfigError, match="'fly'"):
        tools_of(pages, actions=["fly"])


def test_a_tool_works_alone_and_gives_the_page_as_blocks(pages: Pages) -> None:
    tools = tools_of(pages)
    assert tools["click"].invoke({"id": 3}) == [{"type": "text", "text": "Outcome: did click [3]\npage 1"}]
    message = tools["go_back"].invoke({"type": "tool_call", "name": "go_back", "args": {}, "id": "x"})
    assert (message.status, message.tool_call_id, message.text) == ("success", "x", "Outcome: did go_back\npage 2")


async def test_a_tool_works_from_asyncio(pages: Pages) -> None:
    assert "page 1" in str(await tools_of(pages)["click"].ainvoke({"id": 3}))


def test_what_cannot_be_done_or_understood_is_a_result_in_words(pages: Pages) -> None:
    state = create_agent(
        saying(calls(("click", {"id": 99})), calls(("click", {"id": "the bag"}), number=1), AIMessage("Oh.")),
        browser_tools(cast(WebEnv, pages)),
    ).invoke({"messages": [HumanMessage("Go.")]})
    missing, wrong = results(state)
    assert (missing.status, missing.text) == (
        "error",
        "Outcome: not possible: there is no element [99]\npage 1",
    )
    assert wrong.status == "error" and "whole number, not 'the bag'" in wrong.text and "page" not in wrong.text
    assert pages.done == [("click [99]", "page 0"), ("refused", None)]


def test_a_model_that_takes_pictures_gets_the_marked_screenshot(pages: Pages) -> None:
    model = saying(calls(("click", {"id": 3})), AIMessage("Done."))
    for kind, png in (("auto", "bWFya2VkIDE="), ("screenshot", "cGxhaW4=")):
        pages.reset(task())
        blocks = tools_of(pages, model=model, pictures=kind)["click"].invoke({"id": 3})
        assert [block["type"] for block in blocks] == ["text", "image"]
        assert blocks[1] == {"type": "image", "base64": png, "mime_type": "image/png"}
    blind = GenericFakeChatModel(messages=iter([]), profile={"image_inputs": True, "image_tool_message": False})
    assert [block["type"] for block in tools_of(pages, model=blind)["click"].invoke({"id": 3})] == ["text"]
    with pytest.raises(ConfigError, match="takes none"):
        tools_of(pages, model=blind, pictures="marked")
    with pytest.raises(ConfigError, match="'photo'"):
        tools_of(pages, pictures="photo")


def test_the_task_message_holds_task_page_and_screenshot(pages: Pages) -> None:
    env = cast(WebEnv, pages)
    assert task_message(env).content == [{"type": "text", "text": "Task: Buy a lamp.\n\npage 0"}]
    seen = task_message(env, saying())
    assert isinstance(seen.content, list)
    assert [cast(dict[str, Any], block)["type"] for block in seen.content] == ["text", "image"]
    with pytest.raises(ConfigError, match="reset"):
        task_message(cast(WebEnv, Pages()))
    pages.reset(task(image="missing.png"))
    with pytest.raises(ConfigError, match=r"missing\.png"):
        task_message(env, saying())


FIVE = [("click", {"id": number}) for number in (1, 2, 3)] + [("go_back", {}), ("press", {"keys": "Enter"})]
DONE = ["click [1]", "click [2]", "click [3]", "go_back", "press [Enter]"]


def test_calls_of_one_answer_are_done_in_its_order_on_the_page_that_was_seen(pages: Pages) -> None:
    model = saying(calls(*FIVE), calls(("click", {"id": 4}), number=1), AIMessage("Done."))
    state = create_agent(model, browser_tools(cast(WebEnv, pages))).invoke({"messages": [HumanMessage("Go.")]})
    assert pages.done[:5] == [(action, "page 0") for action in DONE]
    assert pages.done[5] == ("click [4]", "Outcome: did press [Enter]\npage 5")
    assert [message.text.splitlines()[-1] for message in results(state)] == [f"page {n}" for n in range(1, 7)]


async def test_calls_of_one_answer_are_done_in_its_order_from_asyncio(pages: Pages) -> None:
    model = saying(calls(*FIVE), AIMessage("Done."))
    await create_agent(model, browser_tools(cast(WebEnv, pages))).ainvoke({"messages": [HumanMessage("Go.")]})
    assert pages.done == [(action, "page 0") for action in DONE]


def test_calls_that_arrive_in_another_order_wait_for_those_before_them(pages: Pages) -> None:
    """The first call is held back until the others have arrived."""
    arrived = threading.Semaphore(0)

    @wrap_tool_call
    def holding(request: Any, handler: Any) -> Any:
        if request.tool_call["id"] == "call-0-0":
            for _ in range(4):
                assert arrived.acquire(timeout=20)
        else:
            arrived.release()
        return handler(request)

    agent = create_agent(
        saying(calls(*FIVE), AIMessage("Done.")), browser_tools(cast(WebEnv, pages)), middleware=[holding]
    )
    agent.invoke({"messages": [HumanMessage("Go.")]})
    assert [action for action, _ in pages.done] == DONE


def test_stop_ends_the_agents_loop_with_the_answer(pages: Pages) -> None:
    model = saying(calls(("stop", {"answer": "ST425"})))  # another model call would find nothing to say
    state = create_agent(model, browser_tools(cast(WebEnv, pages))).invoke({"messages": [HumanMessage("Go.")]})
    assert (pages.stop_reason, pages.answer) == ("stop", "ST425")
    assert state["messages"][-1].text == "Outcome: did stop [ST425]\nThe episode is over (stop)."


@pytest.mark.parametrize("limit", [1, 2])
def test_the_loop_ends_with_the_episode_whatever_ended_it(limit: int) -> None:
    pages = Pages(limit)
    pages.reset(task())
    model = saying(*(calls(("click", {"id": 1}), ("hover", {"id": 2}), number=n) for n in range(limit)))
    agent = create_agent(model, browser_tools(cast(WebEnv, pages)))
    state = agent.invoke({"messages": [HumanMessage("Go.")]})
    assert len(pages.done) == limit
    assert "The episode is over (max_steps)." in results(state)[limit - 1].text
    if limit == 1:
        assert results(state)[1].status == "error"
        assert results(state)[1].text == "Nothing was done: the episode is over (max_steps)."


SCROLL, STOP = ("scroll", {"direction": "down"}), ("stop", {"answer": "x"})


@pytest.mark.parametrize("asynchronous", [False, True])
@pytest.mark.parametrize(
    ("wanted", "limit", "done"),
    [
        ([STOP], 99, 1),
        ([SCROLL, STOP], 99, 2),
        ([STOP, SCROLL], 99, 1),
        ([SCROLL, STOP, SCROLL], 99, 2),
        ([SCROLL] * 9 + [STOP], 99, 10),  # more than there are threads
        ([SCROLL, SCROLL, SCROLL], 2, 2),
        ([SCROLL, SCROLL, SCROLL], 3, 3),
    ],
)
async def test_no_model_call_follows_the_end_wherever_in_an_answer_it_is(
    wanted: list[tuple[str, dict[str, Any]]], limit: int, done: int, asynchronous: bool
) -> None:
    pages = Pages(limit)
    pages.reset(task())
    # the first round goes on to the second; a third model call would find nothing to say
    model = saying(calls(("hover", {"id": 1})), calls(*wanted, number=1))
    pages.limit += 1
    agent = create_agent(model, browser_tools(cast(WebEnv, pages)))
    start: Any = {"messages": [HumanMessage("Go.")]}
    state = await agent.ainvoke(start) if asynchronous else agent.invoke(start)
    assert len(pages.done) == done + 1
    ends = [message.text.splitlines()[-1] for message in results(state)]
    assert ends[1 + done - 1] == f"The episode is over ({pages.stop_reason})."
    over = f"Nothing was done: the episode is over ({pages.stop_reason})."
    assert ends[1 + done :] == [over] * (len(wanted) - done)
    assert len(ends) == len(wanted) + 1


@pytest.mark.parametrize("concurrency", [None, 1, 2])
def test_the_loop_goes_on_after_an_answer_that_does_not_end_the_episode(pages: Pages, concurrency: int | None) -> None:
    model = saying(calls(SCROLL, SCROLL, SCROLL), calls(SCROLL, SCROLL, number=1), calls(STOP, number=2))
    options: Any = {"max_concurrency": concurrency} if concurrency else {}
    create_agent(model, browser_tools(cast(WebEnv, pages))).invoke({"messages": [HumanMessage("Go.")]}, options)
    assert len(pages.done) == 6 and pages.stop_reason == "stop"


def test_calls_that_were_answered_elsewhere_are_not_waited_for(pages: Pages) -> None:
    """As a person's refusal is: its message is there before the tools run."""

    @after_model
    def refusing(state: Any, runtime: Any) -> Any:
        wanted = state["messages"][-1].tool_calls
        return {"messages": [ToolMessage("No.", tool_call_id=wanted[at]["id"]) for at in (0, 2) if len(wanted) == 3]}

    model = saying(calls(SCROLL, FIVE[0], SCROLL), AIMessage("Done."))
    agent = create_agent(model, browser_tools(cast(WebEnv, pages)), middleware=[refusing])
    state = agent.invoke({"messages": [HumanMessage("Go.")]})
    assert [action for action, _ in pages.done] == DONE[:1]
    assert state["messages"][-1].text == "Done."


def test_the_next_episode_runs_with_the_same_tools_and_even_the_same_calls(pages: Pages) -> None:
    tools = browser_tools(cast(WebEnv, pages))
    for _ in range(2):
        pages.reset(task())
        model = saying(calls(("click", {"id": 1}), ("click", {"id": 2})), calls(("stop", {}), number=1))
        create_agent(model, tools).invoke({"messages": [HumanMessage("Go.")]})
        assert pages.done == [
            ("click [1]", "page 0"),
            ("click [2]", "page 0"),
            ("stop []", "Outcome: did click [2]\npage 2"),
        ]


def test_an_environment_that_was_never_reset_is_the_callers_error() -> None:
    with pytest.raises(ActionError, match="reset"):
        tools_of(Pages())["click"].invoke({"id": 3})


@pytest.mark.parametrize("use", [browser_tools, task_message])
@pytest.mark.parametrize("nothing", [None, "shop"])
def test_what_is_no_environment_is_refused_at_once(use: Any, nothing: Any) -> None:
    with pytest.raises(ConfigError, match="give a WebEnv"):
        use(nothing)
