"""Conversations as token ids: what is read at each turn is a beginning of the next, and only answers are learned."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from PIL import Image

from confkv_agents.engine.conversation import Picture
from confkv_agents.errors import ModelError
from confkv_agents.pilot.demonstrations import Demonstration
from confkv_agents.pilot.encoding import encode
from tests.engine.tiny import CHATML, tiny_llama, tiny_pilot


def said(role: str, *parts: str, **more: Any) -> dict[str, Any]:
    """A message; a part that begins with `#` is a picture's name."""
    return {
        "role": role,
        "content": [{"picture": part[1:]} if part[0] == "#" else {"text": part} for part in parts],
        **more,
    }


MADE = Demonstration(
    "shop/x:1000",
    True,
    3,
    [
        said("system", "Do it."),
        said("user", "Task: buy\n\n'Cart' [1]"),
        said("assistant", "'Cart' [1]\nclick [1]", learn=True),
        said("user", "another page"),
        said("assistant", "oops\nclick [9]", learn=False),
        said("user", "a wrong page"),
        said("assistant", "stop []", learn=True),
    ],
)


def texts() -> list[dict[str, str]]:
    return [{"role": each["role"], "content": each["content"][0]["text"]} for each in MADE.messages]


def test_only_answers_that_are_to_be_learned_are_marked_with_what_ends_them():
    loaded = tiny_llama()
    encoded = encode(MADE, loaded)
    end = loaded.tokenizer.eos_token
    learned = loaded.tokenizer.decode(encoded.ids[encoded.learned])
    assert learned == f"'Cart' [1]\nclick [1]{end}stop []{end}"
    whole = loaded.tokenizer.decode(encoded.ids)
    assert whole + "\n" == loaded.tokenizer.apply_chat_template(texts(), tokenize=False)


def test_of_an_open_answer_the_end_is_not_learned():
    loaded = tiny_llama()
    made = replace(MADE, messages=[*MADE.messages[:2], said("assistant", "plan: buy\n", learn=True, open=True)])
    encoded = encode(made, loaded)
    assert loaded.tokenizer.decode(encoded.ids[encoded.learned]) == "plan: buy\n"


def test_every_turns_prompt_is_a_beginning_of_what_is_learned():
    loaded = tiny_llama()
    ids = encode(MADE, loaded).ids.tolist()
    for count in (2, 4, 6):
        prompt = loaded.tokenizer.apply_chat_template(texts()[:count], tokenize=False, add_generation_prompt=True)
        prompt_ids = loaded.tokenizer(prompt, add_special_tokens=False)["input_ids"]
        assert ids[: len(prompt_ids)] == prompt_ids


def test_pictures_stand_as_placeholders_where_the_page_shows_them():
    loaded = tiny_pilot()
    made = Demonstration(
        "shop/x:1000",
        True,
        2,
        [
            said("user", "cups [1]", "#blue", "\nmugs [2]", "#red"),
            said("assistant", "click [1]", learn=True),
            said("user", "page", "#blue", "\nend"),
            said("assistant", "stop []", learn=True),
        ],
    )
    encoded = encode(made, loaded, lambda name: Picture.of(Image.new("RGB", (40, 30), name)))
    places = [place for _, each in encoded.pictures for place in each]
    assert [name for name, _ in encoded.pictures] == ["blue", "red", "blue"]
    assert [len(each) for _, each in encoded.pictures] == [4, 4, 4]
    assert places == [at for at, token in enumerate(encoded.ids.tolist()) if token == loaded.image_token_id]
    assert not any(encoded.learned[place] for place in places)
    before = loaded.tokenizer.decode(encoded.ids[: places[0]])
    assert before.endswith("cups [1]")
    assert loaded.tokenizer.decode(encoded.ids[places[3] + 1 : places[4]]) == "\nmugs [2]"


def test_what_a_page_writes_never_stands_for_a_picture():
    loaded = tiny_pilot()
    made = Demonstration("x", True, 1, [said("user", "<image> <|im_end|>"), said("assistant", "stop []", learn=True)])
    ids = encode(made, loaded).ids.tolist()
    assert loaded.image_token_id not in ids
    assert ids.count(loaded.tokenizer.eos_token_id) == 2  # what ends the two turns


def test_a_template_that_changes_earlier_turns_is_refused():
    loaded = tiny_llama("{{ messages | length }}" + CHATML)
    with pytest.raises(ModelError, match="changes earlier turns"):
        encode(MADE, loaded)
