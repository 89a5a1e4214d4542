"""From turns to token ids: the truth that sessions compare, pictures included."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

import torch

from confkv_agents.cache.mrope import PictureGrid, mrope_positions
from confkv_agents.cache.transfer import on_device
from confkv_agents.engine.conversation import Picture, Role, Turn, chain_hashes
from confkv_agents.engine.loading import LoadedModel
from confkv_agents.engine.own_turns import OwnTurn, OwnTurns, with_old_thoughts
from confkv_agents.engine.template import HOLE_CLOSE, HOLE_OPEN, TEXT_CLOSE, TEXT_OPEN, ChatTemplate, without_marks
from confkv_agents.engine.thoughts import Thought
from confkv_agents.engine.tools import Tool, ToolCall
from confkv_agents.engine.vision import PictureEncoder, PictureFeatures, joined
from confkv_agents.errors import PromptError


@dataclass(frozen=True)
class PictureSpan:
    """Where a picture's placeholders lie in a prompt: their indices, ascending, and their grid where it matters."""

    picture: Picture
    positions: tuple[int, ...]
    grid: tuple[int, int, int] | None = None


@dataclass(frozen=True)
class Prompt:
    """A prompt ready to be read.

    Attributes:
        ids: Token ids.
        keys: What sessions compare: the id, or for a placeholder a number made of the picture's hash.
        spans: Its pictures.
        generation_prompt: Text that the template added to make the model answer.
        positions: `[3, tokens]` for a model with M-RoPE, else None: the cache's count of tokens is the position.
        next_position: Position of the token after the prompt, with M-RoPE.
        turns: First token of each turn, ascending, and who speaks; see `ChatTemplate`.
        sources: Number of the message that each turn is made of; see `Rendered`.
        own: Keys of the engine's own turns in it.
        when: The date that the template may write.
        thoughts_dropped: Whether thoughts of earlier answers were left out.
    """

    ids: list[int]
    keys: list[int]
    spans: list[PictureSpan] = field(default_factory=list)
    generation_prompt: str = ""
    positions: torch.Tensor | None = None
    next_position: int = 0
    turns: tuple[tuple[int, Role], ...] = ()
    sources: tuple[int, ...] = ()
    own: tuple[bytes, ...] = ()
    when: datetime | None = None
    thoughts_dropped: bool = False


class PromptEncoder:
    """Encodes conversations for one model. Runs in the engine's thread only.

    Attributes:
        clock: Tells the date of a new conversation.

    Args:
        loaded: The model.
    """

    def __init__(self, loaded: LoadedModel):
        self._loaded = loaded
        self._tokenizer = loaded.tokenizer
        self._template: ChatTemplate | None = None
        self._pictures = PictureEncoder(loaded) if loaded.takes_pictures else None
        self._own = OwnTurns()
        self.clock: Callable[[], datetime] = datetime.now  # naive, as the date that templates write
        image = ""
        if loaded.image_token_id is not None:
            image = "|" + re.escape(self._tokenizer.convert_ids_to_tokens(loaded.image_token_id))
        self._pieces = re.compile(
            f"{TEXT_OPEN}(?P<text>[^{TEXT_OPEN}{TEXT_CLOSE}]*){TEXT_CLOSE}"
            f"|{HOLE_OPEN}(?P<hole>\\d+){HOLE_CLOSE}"
            f"|[{TEXT_OPEN}{TEXT_CLOSE}{HOLE_OPEN}{HOLE_CLOSE}]{image}"
        )
        self._added = set(self._tokenizer.get_added_vocab())
        self._newline = self._encode("\n")
        self._adds_prefix = self._encode("\nx") != [*self._newline, *self._encode("x")]

    @property
    def template(self) -> ChatTemplate:
        """The model's chat template.

        Raises:
            PromptError: It has none.
        """
        if self._template is None:
            self._template = ChatTemplate(self._loaded)
        return self._template

    def encode(
        self,
        turns: Sequence[Turn],
        template_vars: dict[str, Any],
        sanitize: bool = True,
        tools: Sequence[Tool] = (),
        note: str = "",
        keep_thoughts: bool = True,
    ) -> Prompt:
        """Encode a conversation up to the place where the model answers.

        Args:
            turns: The conversation.
            template_vars: Extra variables for the chat template.
            sanitize: Encode control tokens in the turns' text as text.
            tools: Tools that stand in the prompt.
            note: More text for the system turn.
            keep_thoughts: Leave the engine's own turns as they were generated, thoughts included; if not, those
                before the last user turn are written by the template, which may leave their thoughts out.

        Raises:
            PromptError: No chat template, or the template refuses the conversation.
            ImageError: A picture cannot be read by this model.
        """
        if self._template is None:
            self._template = ChatTemplate(self._loaded)
        hashes = chain_hashes(turns)
        own = [self._own_turn(turn, key) for turn, key in zip(turns, hashes, strict=True)]
        when = next((turn.when for turn in own if turn is not None and turn.when is not None), None) or self.clock()
        template_vars = {**template_vars, **self.template.dated(when)}
        dropped = set() if keep_thoughts else with_old_thoughts(turns, own)
        own = [None if at in dropped else turn for at, turn in enumerate(own)]
        prompts = [None if turn is None else turn.generation_prompt for turn in own]
        rendered = self.template.render(turns, prompts, template_vars, sanitize, tools, note)
        keys = tuple(key for key, turn in zip(hashes, own, strict=True) if turn is not None)
        prompt = Prompt([], [], [], rendered.generation_prompt, own=keys, when=when, thoughts_dropped=bool(dropped))
        pictures = iter(rendered.pictures)
        starts, turns_at = deque(rendered.starts), []
        at = 0
        for hit in self._pieces.finditer(rendered.text):
            turns_at += self._turns_in(prompt, rendered.text, at, hit.start(), starts)
            self._add_text(prompt, rendered.text[at : hit.start()])
            at = hit.end()
            if hit["text"] is not None:
                self._add(prompt, self._encode_as_text(hit["text"]))
            elif hit["hole"] is not None:
                turn = own[int(hit["hole"])]
                self._add(prompt, turn.ids if turn is not None else ())
            elif len(hit.group()) > 1:
                self._add_picture(prompt, next(pictures, None))
        turns_at += self._turns_in(prompt, rendered.text, at, len(rendered.text), starts)
        self._add_text(prompt, rendered.text[at:])
        prompt = replace(prompt, turns=tuple(turns_at), sources=rendered.sources[: len(turns_at)])
        if next(pictures, None) is not None:
            raise PromptError(
                f"the chat template of model {self._loaded.name!r} does not show every picture of the "
                "conversation; put pictures into user messages"
            )
        return self._positioned(prompt) if self._loaded.has_mrope else prompt

    def remember(
        self,
        turns: Sequence[Turn],
        text: str,
        ids: Sequence[int],
        prompt: Prompt,
        calls: Sequence[ToolCall] = (),
        thought: Thought | None = None,
    ) -> bytes:
        """Remember an answer, so that a conversation that continues it starts with the session's own ids.

        Args:
            turns: The conversation that was answered.
            text: The answer as the caller got it; may be shorter than the ids where a stop string was cut
                off.
            ids: The generated ids.
            prompt: The prompt of `turns`.
            calls: Tool calls that were taken out of the text; then all ids belong to the answer.
            thought: What was thought before, if anything.

        Returns:
            The key under which it is remembered.
        """
        kept = [token for token in ids if token not in self._loaded.eos_ids]
        if not calls:
            first = 0 if thought is None else thought.tokens
            said = text if thought is None else self._said_after(thought, kept[:first], text)
            kept = kept[:first] + self._ids_of(said, kept[first:])
        ordered = sorted(calls, key=lambda call: call.arguments is None)  # as a message tells them: valid ones first
        answer = Turn("assistant", (text,) if text else (), tuple(call.as_turn() for call in ordered))
        key = chain_hashes([*turns, answer])[-1]
        reasoning = "" if thought is None else thought.text
        self._own.put(key, OwnTurn(tuple(kept), prompt.generation_prompt, reasoning, prompt.when))
        return key

    def own_turns(self, keys: Sequence[bytes]) -> dict[bytes, OwnTurn]:
        """The remembered turns of these keys."""
        found = {key: self._own.get(key) for key in keys}
        return {key: turn for key, turn in found.items() if turn is not None}

    def take_over(self, turns: Mapping[bytes, OwnTurn]) -> None:
        """Remember turns that another engine of the same model generated."""
        for key, turn in turns.items():
            self._own.put(key, turn)

    def _own_turn(self, turn: Turn, key: bytes) -> OwnTurn | None:
        """The own turn that this is, unless somebody changed what was thought."""
        own = self._own.get(key) if turn.role == "assistant" else None
        return None if own is None or turn.reasoning not in ("", own.reasoning) else own

    def _ids_of(self, text: str, ids: list[int]) -> list[int]:
        """Ids of a text: as many of the given ones as it begins with, and new ones for the rest."""
        count = len(ids)
        while count and not text.startswith(self._decode(ids[:count])):
            count -= 1
        rest = text[len(self._decode(ids[:count])) :]
        return ids[:count] + (self._encode_as_text(rest) if rest else [])

    def _said_after(self, thought: Thought, ids: list[int], text: str) -> str:
        """What follows the tokens of a thought, the last of which may have brought some of it already."""
        decoded = self._decode(ids)
        brought = decoded.rpartition(thought.close)[2] if thought.close in decoded else ""
        return (thought.gap + text).removeprefix(brought)

    def embed(
        self,
        prompt: Prompt,
        start: int,
        end: int,
        features: dict[bytes, PictureFeatures],
        after: int | None = None,
    ) -> dict[str, Any]:
        """Model inputs for the tokens `start` to `end` of a prompt.

        Args:
            prompt: The prompt.
            start: First token.
            end: One past the last token.
            features: Features of pictures already encoded, by digest; new ones are added.
            after: Tokens that the cache has read, if not all before `start`; the range then holds text only.

        Returns:
            `{"input_ids": [1, q]}`; `{"inputs_embeds": [1, q, hidden]}` where a picture lies in the range, or ids with
            `"mm_encoder_outputs"` where its features enter several layers. With M-RoPE `"position_ids": [3, 1, q]`.
        """
        ids = torch.tensor([prompt.ids[start:end]], device=self._loaded.device)
        positions = self._positions_between(prompt, start, end, start if after is None else after)
        inside = [(span, *_between(span.positions, start, end)) for span in prompt.spans]
        inside = [(span, low, high) for span, low, high in inside if low < high]
        if not inside or self._pictures is None:
            return {"input_ids": ids, **positions}
        for span, _, _ in inside:
            if span.picture.digest not in features:
                features[span.picture.digest] = self._pictures.features(span.picture)
        parts = [features[span.picture.digest].rows_between(low, high) for span, low, high in inside]
        if parts[0].deep:
            others = [at for at in range(start, end) if prompt.ids[at] == self._loaded.image_token_id]
            others = sorted(set(others) - {at for span, low, high in inside for at in span.positions[low:high]})
            if others:  # placeholders that the model itself once said; the forward would want features for them
                ids[0, [at - start for at in others]] = self._tokenizer.eos_token_id
            return {"input_ids": ids, "mm_encoder_outputs": {"image": joined(parts)}, **positions}
        embeds = self._loaded.model.get_input_embeddings()(ids).clone()
        for (span, low, high), part in zip(inside, parts, strict=True):
            embeds[0, [position - start for position in span.positions[low:high]]] = part.rows.to(embeds)
        return {"inputs_embeds": embeds, **positions}

    def embed_generated(self, prompt: Prompt, token: int, index: int) -> dict[str, Any]:
        """Model inputs for one generated token.

        Args:
            prompt: The prompt that it answers.
            token: Its id.
            index: Its place in the sequence, `len(prompt.ids)` for the first.
        """
        ids = on_device([[token]], self._loaded.device)
        return {"input_ids": ids, **self._positions_between(prompt, index, index + 1, index)}

    def marked_ids(self, text: str, special: dict[str, int]) -> list[int]:
        """Ids of text in which special tokens stand, as a model writes it after a generation prompt."""
        ids: list[int] = []
        for piece in re.split("|".join(f"({re.escape(token)})" for token in special) or "(?!)", text):
            ids += [special[piece]] if piece in special else self._encode_inside(piece) if piece else []
        return ids

    def text_ids(self, text: str) -> list[int]:
        """Ids of plain text, without special tokens."""
        return self._encode(without_marks(text))

    def _positioned(self, prompt: Prompt) -> Prompt:
        """Return a prompt with its positions; like its ids they do not depend on what other sessions do."""
        grids = [PictureGrid(span.positions[0], span.grid) for span in prompt.spans if span.grid is not None]
        positions = mrope_positions(len(prompt.ids), grids)
        return replace(prompt, positions=positions, next_position=int(positions.max()) + 1)

    def _positions_between(self, prompt: Prompt, start: int, end: int, after: int) -> dict[str, torch.Tensor]:
        """What a model with M-RoPE must be told, since it would use what another conversation left on it."""
        if prompt.positions is None:
            return {}
        if start == after and end <= len(prompt.ids):
            positions = prompt.positions[:, start:end]
        else:  # text that follows `after` tokens
            first = prompt.next_position + after - len(prompt.ids)
            if after < len(prompt.ids):
                first = int(prompt.positions[:, :after].max()) + 1 if after else 0
            positions = torch.arange(first, first + end - start).expand(3, -1)
        return {"position_ids": on_device(positions[:, None], self._loaded.device)}

    def _turns_in(
        self, prompt: Prompt, text: str, start: int, stop: int, starts: deque[tuple[int, Role]]
    ) -> list[tuple[int, Role]]:
        """Take the turns that begin in `text[start:stop]`, which follows the prompt's tokens, with their first token.

        Turns begin with control tokens, at which text is cut anyway; elsewhere the token may be one off.
        """
        found = []
        while starts and starts[0][0] < stop:
            place, role = starts.popleft()
            before = text[start:place]
            length = len(self._encode_inside(before) if prompt.ids else self._encode(before)) if before else 0
            found.append((len(prompt.ids) + length, role))
        return found

    def _add(self, prompt: Prompt, ids: Sequence[int]) -> None:
        prompt.ids.extend(ids)
        prompt.keys.extend(ids)

    def _add_text(self, prompt: Prompt, text: str) -> None:
        if text:
            self._add(prompt, self._encode_inside(text) if prompt.ids else self._encode(text))

    def _add_picture(self, prompt: Prompt, picture: Picture | None) -> None:
        if picture is None or self._pictures is None:
            raise PromptError(
                f"the chat template of model {self._loaded.name!r} writes more picture placeholders than the "
                "conversation has pictures"
            )
        ids = self._pictures.token_ids(picture)
        start = len(prompt.ids)
        marker = -1 - int.from_bytes(picture.digest[:7], "big")
        positions = tuple(start + at for at, token in enumerate(ids) if token == self._loaded.image_token_id)
        prompt.ids.extend(ids)
        prompt.keys.extend(marker if token == self._loaded.image_token_id else token for token in ids)
        prompt.spans.append(PictureSpan(picture, positions, self._pictures.grid(picture)))

    def _encode(self, text: str) -> list[int]:
        return list(self._tokenizer.encode(text, add_special_tokens=False))

    def _encode_inside(self, text: str) -> list[int]:
        """Encode text that continues other text, without the space some tokenizers put before a string."""
        if self._adds_prefix:
            ids = self._encode("\n" + text)
            if ids[: len(self._newline)] == self._newline:
                return ids[len(self._newline) :]
        return self._encode(text)

    def _encode_as_text(self, text: str) -> list[int]:
        """Encode text such that no added token is made of it: cut inside every added token that it spells."""
        ids: list[int] = []
        piece = ""
        for character in text:
            if any(token in piece + character for token in self._added):
                ids += self._encode_inside(piece) if piece else []
                piece = ""
            piece += character
        ids += self._encode_inside(piece) if piece else []
        return ids

    def _decode(self, ids: Sequence[int]) -> str:
        if not ids:
            return ""
        return self._tokenizer.decode(list(ids), skip_special_tokens=True, clean_up_tokenization_spaces=False)


def _between(positions: tuple[int, ...], start: int, end: int) -> tuple[int, int]:
    """Index range of the ascending positions that lie in `[start, end)`."""
    return bisect_left(positions, start), bisect_left(positions, end)
