"""The environment's actions as LangChain tools, and its task as the message that an agent begins with.

```python
with WebEnv() as env:
    env.reset(task)
    agent = create_agent(model, browser_tools(env, model))
    agent.invoke({"messages": [task_message(env, model)]})
    checks = env.evaluate()
```
"""

from __future__ import annotations

import asyncio
import base64
import logging
import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Literal, get_args

from langchain.tools import ToolRuntime
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.tools import BaseTool, StructuredTool, ToolException

from confkv_agents.errors import ConfigError
from confkv_agents.turnstile import Turnstile
from confkv_agents.web.actions import VERBS, ActionParseError, action_of, action_schema
from confkv_agents.web.env import StepResult, WebEnv
from confkv_agents.web.observation import Observation
from confkv_agents.web.tasks import Task

logger = logging.getLogger(__name__)

Pictures = Literal["auto", "none", "screenshot", "marked"]
Blocks = list[dict[str, Any]]

_ENDING = ("stop", "fail")
_THREADS = 64  # calls of one answer that may wait for each other


def browser_tools(
    env: WebEnv,
    model: BaseChatModel | None = None,
    *,
    pictures: Pictures = "auto",
    actions: Sequence[str] | None = None,
) -> list[BaseTool]:
    """The actions of an environment as tools, one per action, for `create_agent` or any other loop.

    A result holds what the agent sees afterwards as content blocks: the action's outcome and the page as text and, for
    a model that takes them, a screenshot. What could not be done, or not be understood, is a result with the status
    "error" that says why. Calls of one answer are carried out in the order in which it has them, and their ids are
    those of the page that the model saw. When the episode is over, with `stop` or otherwise, the agent's loop ends.

    Args:
        env: Reset it before the agent runs; call its `evaluate` afterwards.
        model: The model that will call the tools; its profile says whether it takes pictures in tool messages.
        pictures: The `marked` screenshot (with the elements' numbers), the plain `screenshot`, or `none`. `auto` is
            `marked` for a model that takes pictures, else `none`.
        actions: Names of the actions to offer, all by default; `stop` is always among them.

    Returns:
        The tools; they work from threads and from asyncio, for one agent at a time.

    Raises:
        ConfigError: `env` is no environment, an action or kind of picture is not known, or pictures are asked of a
            model that takes none.

    While the agent runs, `InfraError` is raised when browser or sites fail, and `ActionError` when the environment
    was never reset or is closed: neither is the model's fault.
    """
    _require_environment(env)
    chosen = list(VERBS) if actions is None else list(actions)
    unknown = [name for name in chosen if name not in VERBS]
    if unknown:
        raise ConfigError(f"actions names {', '.join(map(repr, unknown))}; choose from {', '.join(VERBS)}")
    driver = _Driver(env, _kind_of(pictures, model, "image_tool_message"))
    driver.tools = [driver.tool(name) for name in VERBS if name in chosen or name == "stop"]
    return list(driver.tools)


def task_message(env: WebEnv, model: BaseChatModel | None = None, *, pictures: Pictures = "auto") -> HumanMessage:
    """What an agent is told first: the task with its pictures, and the page it begins on.

    Args:
        env: After `reset`.
        model: As for `browser_tools`.
        pictures: As for `browser_tools`.

    Raises:
        ConfigError: `env` is no environment, no episode is running, or a picture of the task is not there.
    """
    _require_environment(env)
    task, page = env.task, env.observation
    if task is None or page is None:
        raise ConfigError("there is no task yet; call env.reset(task) first")
    kind = _kind_of(pictures, model, "image_inputs")
    blocks: Blocks = [_text(f"Task: {task.intent}\n\n{page.text}"), *_picture(page, kind)]
    if task.images and kind == "none":
        logger.warning("task %s has pictures, which the model is not shown", task.key)
    for number, name in enumerate(task.images if kind != "none" else (), start=1):
        path = task.beside(name)
        if not path.is_file():
            raise ConfigError(f"{task.source}: the task's picture {name!r} is not there")
        blocks += [_text(f"Picture {number} of the task:"), _image(path.read_bytes())]
    return HumanMessage(content=list(blocks))


def _require_environment(env: object) -> None:
    if not callable(getattr(env, "step", None)) or not hasattr(env, "observation"):  # or what stands for a WebEnv
        raise ConfigError(f"env is {env!r}; give a WebEnv")


class _Refused(ToolException):
    """Ends a call whose action was not carried out; LangChain makes a result with the status "error" of it."""

    def __init__(self, blocks: Blocks):
        super().__init__(blocks[0]["text"])
        self.blocks = blocks


class _Driver:
    """What the tools of one environment share."""

    def __init__(self, env: WebEnv, pictures: Pictures) -> None:
        self.tools: list[StructuredTool] = []
        self._env = env
        self._pictures = pictures
        self._turnstile = Turnstile()
        self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="confkv-browser-tools")
        self._lock = threading.Lock()
        self._seen: Observation | None = None
        self._task: Task | None = None

    def tool(self, name: str) -> StructuredTool:
        """The tool of one action; all there is to know of it comes from `VERBS`."""

        def run(runtime: ToolRuntime = None, **arguments: Any) -> Blocks:  # type: ignore[assignment]
            return self._perform(name, arguments, runtime)

        async def arun(runtime: ToolRuntime = None, **arguments: Any) -> Blocks:  # type: ignore[assignment]
            # threads of its own: those of the event loop may all be taken, by calls that wait for this one
            loop = asyncio.get_running_loop()
            return await loop.run_in_executor(self._threads, self._perform, name, arguments, runtime)

        words = VERBS[name].help
        return StructuredTool(
            name=name,
            description=f"{words[0].upper()}{words[1:]}.",
            args_schema=action_schema(name),
            func=run,
            coroutine=arun,
            handle_tool_error=_blocks_of,
            return_direct=name in _ENDING,
        )

    def _perform(self, name: str, arguments: Mapping[str, Any], runtime: Any) -> Blocks:
        order, call = self._calls(runtime)
        with self._lock:
            if self._env.task is not self._task:  # the same calls may come again in another episode
                self._turnstile, self._task = Turnstile(), self._env.task
            turnstile = self._turnstile
        with turnstile.passing(order, call) as first:
            if first:
                self._seen = self._env.observation
            reason = self._env.stop_reason
            if reason is not None:
                self._end(over=True)
                raise _Refused([_text(f"Nothing was done: the episode is over ({reason}).")])
            try:
                action = action_of(name, arguments)
            except ActionParseError as error:
                result, read = self._env.refuse(error), False
            else:
                result, read = self._env.step(action, self._seen), True
            # LangChain asks after each call: all but an answer's last one leave it to those that follow
            self._end(over=result.done or turnstile.others_follow(order, call, wait=not _one_by_one(runtime)))
        blocks = self._blocks(result, read)
        if result.error is not None:
            raise _Refused(blocks)
        return blocks

    def _calls(self, runtime: Any) -> tuple[list[str], str | None]:
        """Ids of the browser's calls in the answer that this call comes from, and its own; nothing if not known."""
        state = getattr(runtime, "state", None)
        messages = state.get("messages") if isinstance(state, Mapping) else getattr(state, "messages", state)
        names = {tool.name for tool in self.tools}
        answered = set()  # by somebody else, such as a person who refused the call
        for message in reversed(messages if isinstance(messages, list) else []):
            if isinstance(message, ToolMessage):
                answered.add(message.tool_call_id)
            if isinstance(message, AIMessage):
                wanted = [call for call in message.tool_calls if call["name"] in names]
                ids = [str(call["id"]) for call in wanted if call["id"] not in answered]
                return ids, runtime.tool_call_id
        return [], None

    def _end(self, *, over: bool) -> None:
        """Let the agent's loop end when the episode is over: it looks at this after each call."""
        for tool in self.tools:
            tool.return_direct = over or tool.name in _ENDING

    def _blocks(self, result: StepResult, read: bool) -> Blocks:
        seen = result.observation
        if result.done:
            return [_text(f"Outcome: {seen.outcome}\nThe episode is over ({result.stop_reason}).")]
        if not read:  # the page is as it was
            return [_text(f"Outcome: {seen.outcome}")]
        return [_text(seen.text), *_picture(seen, self._pictures)]


def _one_by_one(runtime: Any) -> bool:
    return (getattr(runtime, "config", None) or {}).get("max_concurrency") == 1


def _blocks_of(error: ToolException) -> Any:
    return error.blocks if isinstance(error, _Refused) else str(error)


def _kind_of(pictures: Pictures, model: BaseChatModel | None, ability: str) -> Pictures:
    if pictures not in get_args(Pictures):
        raise ConfigError(f"pictures is {pictures!r}; choose one of {', '.join(get_args(Pictures))}")
    profile: Mapping[str, Any] = (getattr(model, "profile", None) or {}) if model is not None else {}
    takes = profile.get(ability, profile.get("image_inputs"))
    if pictures == "auto":
        return "marked" if takes else "none"
    if pictures != "none" and takes is False:
        raise ConfigError(f"pictures is {pictures!r}, but the model takes none here; pass pictures='none'")
    return pictures


def _picture(page: Observation, kind: Pictures) -> Blocks:
    if kind == "none":
        return []
    png = page.marked if kind == "marked" and page.marked is not None else page.screenshot
    return [_image(png)]


def _text(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def _image(png: bytes) -> dict[str, Any]:
    return {"type": "image", "base64": base64.b64encode(png).decode(), "mime_type": "image/png"}
