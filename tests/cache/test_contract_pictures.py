"""Contract 6: two interleaved sessions equal each alone, with new pictures at every turn."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest
import torch
from helpers import POLICIES, TIGHT, WIDE, generate, new_cache
from tiny import MROPE, SEEING, make_prompt
from transformers import DynamicCache

from confkv_agents.cache import PictureGrid, mrope_positions
from confkv_agents.errors import ConfigError

TURNS = 3
SMALL = {**TIGHT, "budget": 40}  # a few turns in, much has been evicted


@dataclass
class Turns:
    """A conversation in turns: what each one feeds, and where each picture lies in the whole of it."""

    family: str
    ids: list[torch.Tensor] = field(default_factory=list)
    extra: list[dict[str, torch.Tensor]] = field(default_factory=list)
    grids: list[PictureGrid] = field(default_factory=list)

    @property
    def length(self) -> int:
        return sum(ids.shape[1] for ids in self.ids)

    @property
    def whole(self) -> torch.Tensor:
        return torch.cat(self.ids, 1)

    def add(self, length: int, seed: int) -> None:
        prompt = make_prompt(self.family, length, seed)
        if self.family in MROPE:
            self.grids.append(PictureGrid(self.length + 2, (1, 2, 3)))
        self.ids.append(prompt.ids)
        self.extra.append(prompt.extra)

    def inputs(self, turn: int) -> dict[str, torch.Tensor]:
        """What one turn feeds to a cache that has read the ones before it."""
        start = sum(ids.shape[1] for ids in self.ids[:turn])
        return {"input_ids": self.ids[turn], **self.extra[turn]} | self.positions(start, self.ids[turn].shape[1])

    def positions(self, start: int, length: int) -> dict[str, torch.Tensor]:
        if self.family not in MROPE:
            return {}
        total = max(self.length, start + length)
        return {"position_ids": mrope_positions(total, self.grids)[:, None, start : start + length]}


def conversation(family: str, seed: int, turns: int = TURNS) -> Turns:
    made = Turns(family)
    for turn in range(turns):
        made.add(17 + 3 * turn + seed, seed=10 * seed + turn)
    return made


def speak(model, cache, turns: Turns, turn: int, tokens: int = 2) -> list[torch.Tensor]:
    """Feed a turn, decode a few tokens, take them back; returns the logits."""
    out = [model(cache=cache, **turns.inputs(turn)).logits[:, -1]]
    seen = cache.get_seq_length()
    for index in range(tokens):
        cache.observe(out[-1])
        token = out[-1].argmax(-1, keepdim=True)
        out.append(model(input_ids=token, cache=cache, **turns.positions(seen + index, 1)).logits[:, -1])
    return out


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("family", ["llama", *SEEING], indirect=True, scope="session")
def test_two_interleaved_sessions_equal_each_alone(policy, family, model):
    mine, theirs = conversation(family, 1), conversation(family, 2)

    def session(turns: Turns, others: Turns | None = None) -> list[torch.Tensor]:
        cache, out = new_cache(model, policy=policy, **SMALL), []
        other = new_cache(model, policy=policy, **SMALL)
        for turn in range(TURNS):
            fork = cache.fork()  # the answer is given on a copy: the session itself stays at the end of the turn
            out += speak(model, fork, turns, turn)
            if others is not None:
                speak(model, other, others, turn)
            model(cache=cache, **turns.inputs(turn))
        assert cache.get_seq_length() == turns.length
        return out

    alone, together = session(mine), session(mine, theirs)
    assert all(torch.equal(a, b) for a, b in zip(alone, together, strict=True))


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("family", SEEING, indirect=True, scope="session")
def test_a_picture_on_a_warm_cache_equals_reading_everything_at_once(policy, family, stock, model):
    turns = conversation(family, 1, turns=3)
    sides = {"mm_token_type_ids": 1}
    extra = {name: torch.cat([each[name] for each in turns.extra], sides.get(name, 0)) for name in turns.extra[0]}
    if family in ("smolvlm", "idefics3"):  # one sample, three pictures
        extra["pixel_values"] = extra["pixel_values"].flatten(0, 1)[None]
    reference = stock(input_ids=turns.whole, use_cache=False, **extra).logits
    cache = new_cache(model, policy=policy, **WIDE)
    logits = torch.cat([model(cache=cache, **turns.inputs(turn)).logits for turn in range(3)], 1)
    assert (logits - reference).abs().max() < 1e-5


@pytest.mark.parametrize("family", SEEING, indirect=True, scope="session")
def test_generate_takes_a_new_picture_on_a_warm_cache(family, stock, model):
    """What works in `generate`: the whole text, the new picture only, and for M-RoPE explicit positions."""
    turns = conversation(family, 1, turns=2)
    cache = new_cache(model, **WIDE)
    model(cache=cache, **turns.inputs(0))
    extra = turns.extra[1]
    if family in MROPE:  # as a session of somebody else leaves them
        model.base_model.rope_deltas = torch.tensor([[-7]])
        kinds = torch.cat([each["mm_token_type_ids"] for each in turns.extra], 1)
        rows = mrope_positions(turns.length, turns.grids)[:, None]
        extra = extra | {"position_ids": torch.cat([torch.arange(turns.length)[None, None], rows])}
        extra |= {"mm_token_type_ids": kinds}
    ours = generate(model, cache, turns.whole, **extra)
    warm = DynamicCache(config=stock.config)
    stock(cache=warm, **turns.inputs(0))
    logits = [stock(cache=warm, **turns.inputs(1)).logits[:, -1]]
    for index in range(11):
        token = logits[-1].argmax(-1, keepdim=True)
        logits.append(stock(input_ids=token, cache=warm, **turns.positions(turns.length + index, 1)).logits[:, -1])
    assert max((a - b).abs().max().item() for a, b in zip(ours.logits, logits, strict=True)) < 1e-5


def test_mrope_positions_by_hand():
    positions = mrope_positions(11, [PictureGrid(2, (1, 2, 3))])
    assert positions.tolist() == [
        [0, 1, 2, 2, 2, 2, 2, 2, 5, 6, 7],
        [0, 1, 2, 2, 2, 3, 3, 3, 5, 6, 7],
        [0, 1, 2, 3, 4, 2, 3, 4, 5, 6, 7],
    ]
    assert mrope_positions(3, []).tolist() == [[0, 1, 2]] * 3
    assert mrope_positions(0, []).shape == (3, 0)


@pytest.mark.parametrize("pictures", [[(6, (1, 2, 3))], [(2, (1, 2, 2)), (4, (1, 1, 1))], [(0, (1, 0, 2))]])
def test_pictures_that_do_not_fit_the_sequence_are_refused(pictures):
    with pytest.raises(ConfigError, match="does not lie behind"):
        mrope_positions(11, [PictureGrid(start, grid) for start, grid in pictures])
