"""Observe, think, act: an agent on any LangChain chat model.

The conversation only ever grows (system, task with the first page, answer, next page, answer, ...), so that
a model which keeps its KV cache reads no token twice. An answer is a line of thought and a line with one
action. When no action can be read from it, the model is told the grammar and asked once more; if that fails
too, the answer goes to the environment as it is, which counts it as a parse failure.
"""

from __future__ import annotations

import base64
import io
import uuid
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, get_args

from langchain_core.exceptions import ContextOverflowError
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage
from PIL import Image

from confkv_agents.errors import ConfigError, PromptTooLongError
from confkv_agents.evaluation.agents import Decision
from confkv_agents.evaluation.usage import merge_usage, usage_of_message
from confkv_agents.web.actions import ActionParseError, format_action, parse_action

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

    from confkv_agents.web.observation import Observation, Picture
    from confkv_agents.web.tasks import Task

NEEDS_MODEL = True

_BREAK = "\n---\n"
Pictures = Literal["auto", "none", "screenshot", "marked", "page", "marked+page", "blank"]

GRAMMAR = """\
click [id]
type [id] [text] [1]   (replaces the field's content; the last [1] presses Enter)
select [id] [option]
hover [id], clear [id], drag [id] [id], upload [id] [file]
press [keys], scroll [down], scroll [up], goto [url], go_back, go_forward, wait
new_tab, tab_focus [number], close_tab, dialog [accept], dialog [dismiss]
stop [answer]   (the task is done; the answer is empty if none is asked for)
fail [reason]   (the task cannot be done)"""

SYSTEM = f"""\
You use a web browser to do a task. Each turn shows you the page; a number in brackets belongs to the \
element before it. Reply with one short line of thought, then one line with one of these actions:
{GRAMMAR}"""

REPAIR = "{problem}\nReply with one line that is one action, such as click [3], with a number of the page."


def create_agent(
    model: BaseChatModel, *, pictures: Pictures = "auto", repairs: int = 1, system: str = SYSTEM
) -> ReactAgent:
    """Make the agent.

    Args:
        model: Any LangChain chat model.
        pictures: What the model is shown besides the text: the `screenshot`, the `marked` screenshot with the
            elements' numbers, the pictures on the `page`, both (`marked+page`), or `none`; `blank` is white ones
            in place of those on the page, to tell what pictures are worth. `auto` is
            `marked` for models whose profile says that they take pictures and `none` for others; a model whose
            profile does not say is believed to take what is asked for.
        repairs: How often an answer without an action is sent back within one step.
        system: The system prompt.

    Raises:
        ConfigError: Pictures are asked for and the model takes none.
    """
    pictures, sees = chosen_pictures(model, pictures, "marked")
    return ReactAgent(model, pictures=pictures, sees=sees, repairs=repairs, system=system)


def chosen_pictures(model: BaseChatModel, asked: Pictures, best: Pictures) -> tuple[Pictures, bool]:
    """Return what a model is shown, and whether it takes pictures.

    Args:
        model: Any LangChain chat model.
        asked: What the caller wants; `auto` is `best` for models whose profile says that they take pictures.
        best: As told.

    Raises:
        ConfigError: There is no such choice, or pictures are asked for and the model takes none.
    """
    if asked not in get_args(Pictures):
        raise ConfigError(f"pictures is {asked!r}; choose one of {', '.join(get_args(Pictures))}")
    sees = (getattr(model, "profile", None) or {}).get("image_inputs")
    if asked == "auto":
        return (best if sees else "none"), bool(sees)
    if asked != "none" and sees is False:
        raise ConfigError(f"pictures is {asked!r}, but the model takes text only; pass pictures='none'")
    return asked, bool(sees) or asked != "none"


class ReactAgent:
    """Keeps one conversation per episode; `create_agent` makes it."""

    def __init__(self, model: BaseChatModel, *, pictures: Pictures, sees: bool, repairs: int, system: str) -> None:
        self._model = model
        self._pictures = pictures
        self._sees = sees
        self._repairs = repairs
        self._system = system
        self._opening: list[dict[str, Any]] = []
        self._thread = ""
        self.messages: list[BaseMessage] = []

    def reset(self, task: Task, observation: Observation) -> None:
        """Begin a new conversation about a task."""
        self._thread = f"react-{uuid.uuid4().hex}"
        self.messages = [SystemMessage(self._system)]
        self._opening = _blocks(f"Task: {task.intent}", _task_pictures(task) if self._sees else [])
        if task.images and not self._sees:
            self._opening[0]["text"] += f"\n({len(task.images)} picture(s) belong to it, which you cannot see.)"

    def act(self, observation: Observation) -> Decision:
        """Show the page and ask for the next action."""
        shown = _merged([*self._opening, *self._show(observation)])
        self._opening = []
        prompts, replies, usages = [_text_of(shown)], [], []
        self._say(shown)
        thought = action = ""
        for attempt in range(self._repairs + 1):
            reply = self._ask(observation)
            replies.append(reply.text)
            usages.append(usage_of_message(reply))
            try:
                thought, action = split_reply(reply.text)
                break
            except ActionParseError as error:
                thought, action = "", reply.text.strip()
                if attempt < self._repairs:
                    repair = REPAIR.format(problem=f"{error}.")
                    prompts.append(repair)
                    self._say([text_block(repair)])
        return Decision(
            action=action,
            thought=thought,
            raw=_BREAK.join(replies),
            prompt=_BREAK.join(prompts),
            usage=merge_usage(usages),
        )

    def _ask(self, observation: Observation) -> AIMessage:
        config: Any = {"configurable": {"thread_id": self._thread}}
        try:
            reply = self._model_asked(observation).invoke(self.messages, config)
        except ContextOverflowError as error:
            raise PromptTooLongError(f"the conversation no longer fits the model: {error}") from error
        self.messages.append(reply)
        return reply

    def _model_asked(self, observation: Observation) -> Any:
        """The model that gives the next answer, to a page."""
        return self._model

    def _say(self, blocks: list[dict[str, Any]]) -> None:
        """Add a user turn: plain text where there is nothing else, since not every template takes blocks."""
        plain = len(blocks) == 1 and blocks[0]["type"] == "text"
        self.messages.append(HumanMessage(blocks[0]["text"] if plain else list(blocks)))

    def _show(self, observation: Observation) -> list[dict[str, Any]]:
        """The page as blocks of text and pictures."""
        return _blocks(observation.text, self._pictures_of(observation))

    def _pictures_of(self, observation: Observation) -> list[tuple[str, bytes]]:
        chosen: list[tuple[str, bytes]] = []
        if self._pictures.startswith("marked") and observation.marked:
            chosen.append(("The page, with the elements' numbers:", observation.marked))
        elif self._pictures == "screenshot":
            chosen.append(("The page:", observation.screenshot))
        for picture in self._on_page(observation):
            name = f" [{picture.element_id}]" if picture.element_id is not None else ""
            chosen.append((f"Picture {picture.alt!r}{name}:", picture.png))
        return chosen

    def _on_page(self, observation: Observation) -> list[Picture]:
        """The pictures of the page that are shown apart."""
        if self._pictures == "blank":
            return [replace(picture, png=_white(picture.png)) for picture in observation.pictures]
        return list(observation.pictures) if self._pictures.endswith("page") else []


def split_reply(text: str) -> tuple[str, str]:
    """Split a model's reply into what it thought and the action it decided on, in canonical form.

    Raises:
        ActionParseError: There is no action in it.
    """
    action = parse_action(text)
    lines = text.strip().splitlines()
    for start in range(len(lines) - 1, -1, -1):
        try:
            if parse_action("\n".join(lines[start:])) == action:
                break
        except ActionParseError:
            continue
    thought = "\n".join(line.strip() for line in lines[:start] if line.strip(" `"))
    return thought.removeprefix("Thought:").strip(), format_action(action)


def text_block(text: str) -> dict[str, Any]:
    """Return a block of a message: text."""
    return {"type": "text", "text": text}


def picture_block(png: bytes) -> dict[str, Any]:
    """Return a block of a message: a picture."""
    return {"type": "image", "base64": base64.b64encode(png).decode(), "mime_type": "image/png"}


def _white(png: bytes) -> bytes:
    """A white picture of the same size."""
    with Image.open(io.BytesIO(png)) as image:
        size = image.size
    out = io.BytesIO()
    Image.new("RGB", size, "white").save(out, "PNG")
    return out.getvalue()


def _blocks(text: str, pictures: list[tuple[str, bytes]]) -> list[dict[str, Any]]:
    return [text_block(text), *(block for words, png in pictures for block in (text_block(words), picture_block(png)))]


def _merged(blocks: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Texts that stand side by side become one, with an empty line between them: templates put nothing there."""
    merged: list[dict[str, Any]] = []
    for block in blocks:
        if block["type"] == "text" and merged and merged[-1]["type"] == "text":
            merged[-1] = text_block(f"{merged[-1]['text']}\n\n{block['text']}")
        else:
            merged.append(block)
    return merged


def _text_of(blocks: list[dict[str, Any]]) -> str:
    lines = "".join(block["text"] if block["type"] == "text" else " (picture)\n" for block in blocks)
    return lines.replace(" (picture)\n\n", " (picture)\n").rstrip("\n")


def _task_pictures(task: Task) -> list[tuple[str, bytes]]:
    """The pictures that belong to a task's goal, from files beside the task file."""
    found = []
    for number, name in enumerate(task.images, start=1):
        path = task.beside(name)
        if not path.is_file():
            raise ConfigError(f"{task.source}: the task's picture {name!r} is not there")
        found.append((f"Picture {number} of the task:", path.read_bytes()))
    return found
