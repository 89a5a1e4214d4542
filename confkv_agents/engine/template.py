"""From turns to the chat template's text, with forged control tokens marked and own turns left open.

The rendered text carries private marks (Unicode noncharacters, removed from all input first):

- a control token that stands in somebody's text is wrapped, so that it is later encoded as ordinary text;
- an assistant turn that this engine generated is a numbered hole, so that its own ids can be put there.
"""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from confkv_agents.engine.conversation import Part, Picture, Role, Turn, pictures_of
from confkv_agents.engine.loading import LoadedModel
from confkv_agents.engine.tools import Syntax, Tool, announcement, call_syntax, call_text, prompt_id
from confkv_agents.engine.turn_forms import merge, with_note, without_system
from confkv_agents.errors import ImageError, PromptError

TEXT_OPEN, TEXT_CLOSE, HOLE_OPEN, HOLE_CLOSE = "\ufdd0", "\ufdd1", "\ufdd2", "\ufdd3"
_UNUSABLE = re.compile("[\ufdd0-\ufdd3\ud800-\udfff]")  # the marks, and lone surrogates, which are no characters
_DATE = re.compile(r"""strftime_now\(\s*(?:"([^"]*)"|'([^']*)')\s*\)""")
_DATED = "\ufdd0dated"  # the template with its dates written out
_PROBE, _PROBE_ID = "qzjxv", "d12345678"


@dataclass(frozen=True)
class Rendered:
    """A rendered prompt.

    Attributes:
        text: Template text with marks.
        pictures: Pictures in the order of their placeholders.
        generation_prompt: The text that the template adds to make the model answer.
        starts: Where turns begin in the text, and who speaks; turns whose place the template does not show are left
            out.
        sources: Number of the message that each of them is made of, the first if it is made of several.
    """

    text: str
    pictures: tuple[Picture, ...]
    generation_prompt: str
    starts: tuple[tuple[int, Role], ...] = ()
    sources: tuple[int, ...] = ()


class ChatTemplate:
    """Renders conversations with a model's own chat template.

    What a template does not know (tools, tool turns, tool calls, pictures of a tool, a system turn) is found once
    by rendering small probes and is then written in a form that it knows.

    Attributes:
        syntax: How the model writes calls: as its template does, if that is known here, else in Hermes form.

    Args:
        loaded: The model.

    Raises:
        PromptError: The model has no chat template.
    """

    def __init__(self, loaded: LoadedModel):
        template = loaded.chat_template
        if template is None:
            raise PromptError(
                f"model {loaded.name!r} has no chat template, so a conversation cannot be put to it; use the "
                "instruction-tuned form of the model, or set tokenizer.chat_template"
            )
        self._template = template
        self._loaded = loaded
        self._special, self._control = self._control_patterns()
        self._tool_role = self._probe_tool_role()
        self._tool_pictures = self._tool_role and self._probe_tool_pictures()
        known = call_syntax(self._probe_call(), _PROBE)
        self.syntax: Syntax = known or "hermes"
        self._native_tools = known is not None and self._probe_tools()
        self._tool_calls = "tool_calls" in template and (known is not None or not self._probe_tools())

    def render(
        self,
        turns: Sequence[Turn],
        own: Sequence[str | None],
        template_vars: dict[str, Any],
        sanitize: bool = True,
        tools: Sequence[Tool] = (),
        note: str = "",
    ) -> Rendered:
        """Render a conversation up to the place where the model answers.

        Args:
            turns: The conversation.
            own: Per turn the generation prompt under which this engine generated it, `None` for any other
                turn.
            template_vars: Extra variables for the template.
            sanitize: Encode control tokens in the turns' text as text. Picture placeholders always are.
            tools: Tools that stand in the prompt, where the template puts them or in the system turn.
            note: More text for the system turn.

        Raises:
            PromptError: The template refuses the conversation.
            ImageError: Pictures for a model that takes none.
        """
        if not turns:
            raise PromptError("the conversation is empty; give at least one message")
        if not self._loaded.takes_pictures and pictures_of(turns):
            raise ImageError(
                f"model {self._loaded.name!r} takes no pictures; use an image-text-to-text model or remove "
                "the image blocks"
            )
        marked = [replace(self._mark(turn, sanitize), source=at) for at, turn in enumerate(turns)]
        pattern = self._control if sanitize else self._image_pattern()
        marked_tools = [Tool(**_mark_value(vars(tool), pattern)) for tool in tools]
        notes = [_mark_text(note, pattern)] if note else []
        if tools and self._native_tools:
            template_vars = {**template_vars, "tools": [tool.as_function() for tool in marked_tools]}
        elif tools:
            notes.insert(0, announcement(marked_tools, self.syntax))
        refused: PromptError | None = None
        for form in self._forms(marked, own, "\n\n".join(notes)):
            try:
                return self._render(merge(form), own, template_vars)
            except PromptError as error:
                refused = refused or error
        raise refused or PromptError("the conversation has no form")

    def dated(self, when: datetime) -> dict[str, Any]:
        """Variables under which the template writes this date instead of today's, as far as it names its format.

        A date that changes breaks the prefix of everything, so a conversation keeps its own.
        """
        dated = _DATE.sub(lambda call: json.dumps(when.strftime(call[1] or call[2])), self._template)
        return {} if dated == self._template else {_DATED: dated}

    def _forms(self, marked: list[Turn], own: Sequence[str | None], note: str) -> Iterator[list[Turn]]:
        """Forms of a conversation, the best first, for templates that refuse some.

        An own turn is a hole for the ids that were generated. A template that counts calls wants to see those of an
        own turn; then they are written again.
        """
        invalid = {call["id"] for turn in marked for call in turn.tool_calls if isinstance(call["arguments"], str)}
        holes = [
            turn if own[at] is None else Turn("assistant", (f"{HOLE_OPEN}{at}{HOLE_CLOSE}",), source=at)
            for at, turn in enumerate(marked)
        ]
        written = [turn if turn.tool_calls else hole for turn, hole in zip(marked, holes, strict=True)]
        for turns in (holes, written) if written != holes else (holes,):
            known = with_note(self._known_forms(turns, invalid), note)
            yield known
            if any(turn.role == "system" for turn in known):
                yield without_system(known)

    def _render(self, turns: list[Turn], own: Sequence[str | None], template_vars: dict[str, Any]) -> Rendered:
        text = self._apply(turns, True, template_vars)
        closed = self._apply(turns, False, template_vars)
        generation_prompt = text[len(closed) :] if text.startswith(closed) else ""
        found = list(self._starts(text, turns, template_vars))
        places = [place for place, _ in found]
        for at, prompt in reversed(list(enumerate(own))):  # from the end, where nothing before has moved yet
            if prompt:
                restored = self._restore_generation_prompt(text, turns, at, prompt, template_vars)
                hole, longer = text.find(f"{HOLE_OPEN}{at}{HOLE_CLOSE}"), len(restored) - len(text)
                places = [place + longer if place > hole else place for place in places]
                text = restored
        begun = [turn for _, turn in found]
        starts = tuple((place, turn.role) for place, turn in zip(places, begun, strict=True))
        return Rendered(text, tuple(pictures_of(turns)), generation_prompt, starts, tuple(one.source for one in begun))

    def _starts(self, text: str, turns: Sequence[Turn], template_vars: dict[str, Any]) -> Iterator[tuple[int, Turn]]:
        """Find where turns begin: where the conversation up to them, rendered by itself, ends."""
        yield 0, turns[0]
        for number in range(1, len(turns)):
            try:
                before = self._apply(turns[:number], False, template_vars)
            except PromptError:  # no template has to take a part of a conversation
                continue
            if text.startswith(before):
                yield len(before), turns[number]

    def _restore_generation_prompt(
        self, text: str, turns: list[Turn], at: int, prompt: str, template_vars: dict[str, Any]
    ) -> str:
        """Put back what stood before an own turn when it was generated, if it is written differently now."""
        hole = f"{HOLE_OPEN}{at}{HOLE_CLOSE}"
        start = text.find(hole)
        if start < 0 or text[:start].endswith(prompt):
            return text
        index = next((i for i, turn in enumerate(turns) if turn.text == hole), 0)
        if index == 0:
            return text
        before = self._apply(turns[:index], False, template_vars)
        if not text[:start].startswith(before):
            return text
        return before + prompt + text[start:]

    def _apply(self, turns: Sequence[Turn], generation_prompt: bool, template_vars: dict[str, Any]) -> str:
        messages = [self._message(turn) for turn in turns]
        template = template_vars.get(_DATED, self._template)
        try:
            return self._loaded.tokenizer.apply_chat_template(
                messages,
                chat_template=template,
                tokenize=False,
                add_generation_prompt=generation_prompt,
                **{name: value for name, value in template_vars.items() if name != _DATED},
            )
        except Exception as error:  # a template is a program that comes with a model
            roles = ", ".join(turn.role for turn in turns)
            raise PromptError(
                f"the chat template of model {self._loaded.name!r} refuses a conversation of turns [{roles}]: {error}"
            ) from error

    def _message(self, turn: Turn) -> dict[str, Any]:
        content: Any = turn.text
        if self._loaded.takes_pictures:
            content = [
                {"type": "image"} if isinstance(part, Picture) else {"type": "text", "text": part}
                for part in turn.parts
            ]
        message: dict[str, Any] = {"role": turn.role, "content": content}
        if turn.reasoning:
            message["reasoning_content"] = turn.reasoning
        if turn.tool_calls:
            message["tool_calls"] = [
                {
                    "type": "function",
                    "id": prompt_id(call.get("id")),
                    "function": {"name": call["name"], "arguments": call["arguments"]},
                }
                for call in turn.tool_calls
            ]
        if turn.role == "tool":
            message |= {"name": turn.name or "tool", "tool_call_id": prompt_id(turn.tool_call_id)}
        return message

    def _known_forms(self, turns: list[Turn], invalid: set[str | None]) -> list[Turn]:
        """Tool turns and tool calls in a form that the template writes; calls that were no valid ones as text."""
        known: list[Turn] = []
        for turn in turns:
            as_text = [call for call in turn.tool_calls if not self._tool_calls or isinstance(call["arguments"], str)]
            if as_text:
                calls = "\n".join(call_text(self.syntax, call["name"], call["arguments"]) for call in as_text)
                text = f"{turn.text}\n{calls}" if turn.text else calls
                rest = tuple(call for call in turn.tool_calls if call not in as_text)
                known.append(replace(turn, parts=(text,), tool_calls=rest))
            elif turn.role == "tool" and (not self._tool_role or turn.tool_call_id in invalid):
                label = f"Result of {turn.name}:\n" if turn.name else "Result:\n"
                known.append(Turn("user", (label, *turn.parts), source=turn.source))
            elif turn.role == "tool" and turn.pictures and not self._tool_pictures:
                known.append(replace(turn, parts=(turn.text or "See the picture.",)))
                known.append(Turn("user", turn.pictures, source=turn.source))
            else:
                known.append(turn)
        return known

    def _mark(self, turn: Turn, sanitize: bool) -> Turn:
        if not sanitize:
            pattern = self._image_pattern()
        elif turn.role in ("system", "assistant"):
            pattern = self._special
        else:
            pattern = self._control
        arguments = self._control if sanitize else pattern  # they often quote a page, whoever wrote them
        return replace(
            turn,
            parts=_mark_parts(turn.parts, pattern),
            tool_calls=tuple(_mark_value(call, arguments) for call in turn.tool_calls),
            name=_mark_value(turn.name, pattern),
            tool_call_id=_mark_value(turn.tool_call_id, pattern),
            reasoning=_mark_value(turn.reasoning, pattern),
        )

    def _control_patterns(self) -> tuple[re.Pattern[str], re.Pattern[str]]:
        """Patterns of special tokens, and of every added token that is not white space."""
        added = self._loaded.tokenizer.added_tokens_decoder.values()
        special = [token.content for token in added if token.special]
        control = [token.content for token in added if not token.content.isspace()]
        image = self._image_token()
        return _any_of([*special, *image]), _any_of([*control, *image])

    def _image_pattern(self) -> re.Pattern[str]:
        return _any_of(self._image_token())

    def _image_token(self) -> list[str]:
        if self._loaded.image_token_id is None:
            return []
        return [self._loaded.tokenizer.convert_ids_to_tokens(self._loaded.image_token_id)]

    def _probe_tool_role(self) -> bool:
        return _PROBE in self._probe(Turn("tool", (_PROBE,), name="c", tool_call_id=_PROBE_ID), "c")

    def _probe_tool_pictures(self) -> bool:
        token = self._image_token()
        blank = Picture(None, b"")  # type: ignore[arg-type]
        answer = Turn("tool", (_PROBE, blank), name="c", tool_call_id=_PROBE_ID)
        return bool(token) and token[0] in self._probe(answer, "c")

    def _probe_call(self) -> str:
        """A conversation with a call of a tool named by the probe."""
        return self._probe(Turn("tool", ("b",), name="c", tool_call_id=_PROBE_ID), _PROBE)

    def _probe_tools(self) -> bool:
        """Whether the template puts tools into the prompt."""
        tools = [Tool(_PROBE, "a", {"type": "object", "properties": {}}).as_function()]
        try:
            return _PROBE in self._apply([Turn("user", ("a",))], True, {"tools": tools})
        except PromptError:
            return False

    def _probe(self, answer: Turn, name: str) -> str:
        """A rendering of a call and the turn that answers it; nothing if the template refuses it."""
        call = {"name": name, "arguments": {"d": "e"}, "id": _PROBE_ID}
        try:
            return self._apply([Turn("user", ("a",)), Turn("assistant", (), (call,)), answer], True, {})
        except PromptError:
            return ""


def _any_of(tokens: Sequence[str]) -> re.Pattern[str]:
    """A pattern of any of the tokens, longest first; one that never matches for none."""
    longest_first = sorted({token for token in tokens if token}, key=len, reverse=True)
    return re.compile("|".join(map(re.escape, longest_first)) or "(?!)")


def without_marks(text: str) -> str:
    """Text with U+FFFD in place of marks and of lone surrogates."""
    return _UNUSABLE.sub("\ufffd", text)


def _mark_text(text: str, pattern: re.Pattern[str]) -> str:
    return pattern.sub(lambda hit: f"{TEXT_OPEN}{hit.group()}{TEXT_CLOSE}", without_marks(text))


def _mark_parts(parts: Sequence[Part], pattern: re.Pattern[str]) -> tuple[Part, ...]:
    """Mark a turn's texts, and cut between those that pictures part.

    Some templates write a turn's texts one after the other, without the pictures: the empty mark at the end of
    each text but the last keeps two of them from spelling a control token together.
    """
    marked: list[Part] = []
    for is_text, group in itertools.groupby(parts, lambda part: isinstance(part, str)):
        run = list(group)
        marked += ["".join(map(str, run))] if is_text else run
    texts = [at for at, part in enumerate(marked) if isinstance(part, str)]
    for at in texts:
        cut = TEXT_OPEN + TEXT_CLOSE if at != texts[-1] else ""
        marked[at] = _mark_text(str(marked[at]), pattern) + cut
    return tuple(marked)


def _mark_value(value: Any, pattern: re.Pattern[str]) -> Any:
    if isinstance(value, str):
        return _mark_text(value, pattern)
    if isinstance(value, dict):
        return {_mark_value(key, pattern): _mark_value(item, pattern) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_mark_value(item, pattern) for item in value]
    return value
