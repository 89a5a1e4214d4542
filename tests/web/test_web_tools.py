"""The environment's actions as tools in a real browser, called by LangChain agents."""

from __future__ import annotations

import itertools
import re
import runpy
from pathlib import Path
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, ToolMessage
from torch import set_num_threads

from confkv_agents import ChatConfKV, browser_tools, task_message
from confkv_agents.engine import Engine, Request
from confkv_agents.engine.tools import call_text
from confkv_agents.web.evaluators import succeeded
from tests.engine.tiny import tiny_smolvlm
from tests.engine.tool_templates import tiny_with_tools
from tests.scripted import install
from tests.web.conftest import Driver

pytestmark = pytest.mark.browser
set_num_threads(1)
ROOT = Path(__file__).parents[2]


class Saying(GenericFakeChatModel):
    """A chat model that says what it is told."""

    def bind_tools(self, tools: Any, **options: Any) -> Any:
        return self


def asking(*answers: list[tuple[str, dict[str, Any]]]) -> Saying:
    """A model that makes these calls."""
    messages = [
        AIMessage("", tool_calls=[{"name": n, "args": a, "id": f"{turn}-{at}"} for at, (n, a) in enumerate(answer)])
        for turn, answer in enumerate(answers)
    ]
    return Saying(messages=iter(messages))


def results(state: dict[str, Any]) -> list[ToolMessage]:
    return [message for message in state["messages"] if isinstance(message, ToolMessage)]


GROWING = """<div id=top></div><button onclick="grow()">first</button><button onclick="title_()">second</button>
<script>function grow() { document.getElementById('top').innerHTML = '<button>new</button><button>newer</button>' }
function title_() { document.title = 'second was clicked' }</script>"""


def test_ids_of_calls_made_together_mean_what_they_meant_on_the_page_that_was_seen(driver: Driver) -> None:
    """The first click puts two buttons above, so that the second one's id has another meaning by then."""
    driver.open(GROWING)
    first, second = driver.id_of("first"), driver.id_of("second")
    model = asking([("click", {"id": first}), ("click", {"id": second})], [("stop", {"answer": "done"})])
    state = create_agent(model, browser_tools(driver.env)).invoke({"messages": [task_message(driver.env)]})
    assert driver.id_of("second") == second + 2
    assert "Tab 0 (current): 'second was clicked'" in results(state)[1].text
    assert succeeded(driver.env.evaluate())


def test_an_element_that_went_with_the_call_before_is_not_mistaken_for_another(driver: Driver) -> None:
    """On a new page handles count from 1 again."""
    driver.pages.pages["/next"] = "<button onclick=\"document.title = 'wrong'\">other</button><button>more</button>"
    driver.open("<a href=/next>go</a><button>buy</button>")
    model = asking(
        [("click", {"id": driver.id_of("go")}), ("click", {"id": driver.id_of("buy")}), ("click", {"id": 7})],
        [("stop", {})],
    )
    state = create_agent(model, browser_tools(driver.env)).invoke({"messages": [task_message(driver.env)]})
    moved, gone, never = results(state)[:3]
    assert moved.status == "success" and "button 'other' [1]" in moved.text
    assert gone.status == "error" and "button 'buy' [2] is no longer on the page, which changed since" in gone.text
    assert never.status == "error" and "there is no element [7]; ids went from 1 to 2" in never.text
    assert driver.env.observation is not None and driver.env.observation.title != "wrong"


async def test_an_agent_works_from_asyncio_and_its_model_reads_the_screenshots_once(
    driver: Driver, monkeypatch: pytest.MonkeyPatch
) -> None:
    def clicking(request: Request) -> str:
        clicked = sum(turn.role == "tool" for turn in request.turns)
        assert [len(turn.pictures) for turn in request.turns if turn.role in ("user", "tool")] == [1] * (clicked + 1)
        number = re.findall(r"button 'more' \[(\d+)\]", request.turns[-1].text)[-1]
        return call_text("hermes", *(("stop", {"answer": "done"}) if clicked == 2 else ("click", {"id": int(number)})))

    install(monkeypatch, clicking)
    driver.open("<button onclick=\"this.insertAdjacentHTML('beforebegin', '<button>one</button>')\">more</button>")
    loaded = tiny_smolvlm()
    with Engine(lambda: loaded, "scripted") as engine:
        profile = {"image_inputs": True, "image_tool_message": True}
        model = ChatConfKV(model="tiny", engine=engine, policy="full", max_tokens=120, profile=profile)
        agent = create_agent(model, browser_tools(driver.env, model, actions=["click", "stop"]))
        state = await agent.ainvoke({"messages": [task_message(driver.env, model)]})
    usages = [message.usage_metadata for message in state["messages"] if isinstance(message, AIMessage)]
    assert len(usages) == 3
    for before, after in itertools.pairwise(usages):
        assert after["input_token_details"]["cache_read"] >= before["total_tokens"] - 1
    assert succeeded(driver.env.evaluate())


def test_the_readmes_agent_runs_and_its_task_is_judged(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """Word for word, with a model that knows what to do in place of the embedded one."""

    def shopping(request: Request) -> str:
        page = request.turns[-1].text
        if sku := re.search(r"SKU\W+([A-Z]{2}\d{3})", page):
            return call_text("hermes", "stop", {"answer": sku[1]})
        product = re.search(r"link 'Tarn Purple Backpack' \[(\d+)\]", page)
        if product:
            return call_text("hermes", "click", {"id": int(product[1])})
        number = re.search(r"textbox 'Search' \[(\d+)\]", page)
        assert number, page
        return call_text("hermes", "type", {"id": int(number[1]), "text": "Tarn Purple Backpack", "enter": True})

    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    code = next(block for block in blocks if "browser_tools(" in block)
    example = tmp_path / "example.py"
    example.write_text(code)
    install(monkeypatch, shopping)
    loaded = tiny_with_tools("hermes", positions=65536)
    with Engine(lambda: loaded, "scripted") as engine:
        monkeypatch.setattr("confkv_agents.engine.registry.get_engine", lambda *args, **options: engine)
        monkeypatch.chdir(ROOT)
        runpy.run_path(str(example))
    assert capsys.readouterr().out.splitlines()[-1].split() == ["string_match.exact_match", "True"]
