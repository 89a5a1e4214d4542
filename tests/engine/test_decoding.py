"""Answers that get their tokens in one forward are what each would be alone, and none waits for another's prompt."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from PIL import Image

from confkv_agents.cache import CacheConfig, ConfKVCache
from confkv_agents.engine import decoding
from confkv_agents.engine.conversation import Picture, Turn
from confkv_agents.engine.engine import Engine
from confkv_agents.engine.loading import LoadedModel
from confkv_agents.engine.request import Request, Result, Stream
from confkv_agents.engine.sampling import SamplingConfig
from confkv_agents.errors import EngineTimeoutError, ModelError
from tests.engine.tiny import tiny_llama, tiny_qwen_vl

TIGHT: dict[str, Any] = {"budget": 64, "window": 16, "chunk": 32, "evict_every": 4}
FULL = CacheConfig(policy="full", chunk=32)
LINE = "the other thing on the line, in the inner one. "
OBJECT = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"], "additionalProperties": False}


def ask(text: str, cache: CacheConfig = FULL, max_tokens: int = 12, **options: Any) -> Request:
    return Request((Turn("user", (text,)),), cache, max_tokens=max_tokens, **options)


MIXED = (
    ask("1 " + LINE * 4, CacheConfig(policy="confkv", **TIGHT), 20),
    ask("2", stop=("Q", "z"), max_tokens=30, logprobs=True),
    ask("3 " + LINE * 5, CacheConfig(policy="confkv+recall", recall="gated", recall_share=1.0, **TIGHT), logprobs=True),
    ask("4 " + LINE, CacheConfig(policy="window", **TIGHT), 5, trace=True),
    ask("5 " + LINE * 3, CacheConfig(policy="h2o", **TIGHT), 12, sampling=SamplingConfig(temperature=0.8, seed=3)),
    ask("6 " + LINE * 2, CacheConfig(policy="snapkv", **TIGHT), 16, schema=OBJECT),
    ask("7 " + LINE, CacheConfig(policy="confkv", **{**TIGHT, "chunk": 16, "budget": 40}), 16),
)
OTHERS = (MIXED[0], MIXED[6])


class Forwards:
    """Notes the rows and tokens of every forward of a model; holds the first until all requests are there.

    Args:
        loaded: The model.
        before: Called before each forward with what was noted.
    """

    def __init__(self, loaded: LoadedModel, before: Callable[[list[tuple[int, int]]], None] = lambda noted: None):
        self.noted: list[tuple[int, int]] = []
        self.all_there = threading.Event()
        self._loaded, self._before, self._forward = loaded, before, loaded.model.forward
        loaded.model.forward = self

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        assert self.all_there.wait(60)
        given = kwargs.get("input_ids", kwargs.get("inputs_embeds"))
        self.noted.append((given.shape[0], given.shape[1]))
        self._before(self.noted)
        return self._forward(*args, **kwargs)

    def submit(self, engine: Engine, requests: Sequence[Request]) -> list[Stream]:
        """Queue all, then let the model go."""
        streams = [engine.submit(request) for request in requests]
        self.all_there.set()
        return streams

    def remove(self) -> None:
        self._loaded.model.forward = self._forward


def alone(loaded: LoadedModel, requests: Sequence[Request]) -> list[Result]:
    with Engine(lambda: loaded, "alone") as engine:
        return [engine.run(request) for request in requests]


def result(stream: Stream) -> Result:
    last = list(stream)[-1]
    assert isinstance(last, Result)
    return last


def test_answers_of_any_kind_decoded_together_equal_each_alone(loaded: LoadedModel) -> None:
    expected = alone(loaded, MIXED)
    forwards = Forwards(loaded)
    with Engine(lambda: loaded) as engine:
        results = [result(stream) for stream in forwards.submit(engine, MIXED)]
    for ours, reference in zip(results, expected, strict=True):
        assert (ours.text, ours.token_ids) == (reference.text, reference.token_ids)
        assert ours.finish_reason == reference.finish_reason
        assert [entry.logprob for entry in ours.logprobs] == pytest.approx(
            [entry.logprob for entry in reference.logprobs], abs=1e-4
        )
        assert [step[1] for step in ours.steps] == pytest.approx([step[1] for step in reference.steps], abs=0.01)
        assert (ours.kv_bytes, ours.peak_kv_bytes) == (reference.kv_bytes, reference.peak_kv_bytes)
    rows = Counter(rows for rows, tokens in forwards.noted if tokens == 1)
    assert max(rows) >= 4 and len(rows) >= 4, rows  # they joined and left


@pytest.mark.parametrize("family", ["qwen2_5_vl", "qwen3_vl"])
def test_conversations_with_pictures_decoded_together_equal_each_alone(family: str) -> None:
    loaded = tiny_qwen_vl(family)
    requests = []
    for number, (color, size) in enumerate((("red", (60, 40)), ("blue", (32, 64)), ("green", (48, 48)))):
        shown = Picture.of(Image.new("RGB", size, color))
        policy = CacheConfig(policy="confkv" if number else "full", budget=160, chunk=24)
        requests.append(Request((Turn("user", (f"see {number} " * (number + 1), shown)),), policy, max_tokens=8))
    expected = alone(loaded, requests)
    forwards = Forwards(loaded)
    with Engine(lambda: loaded) as engine:
        results = [result(stream) for stream in forwards.submit(engine, requests)]
    assert [each.token_ids for each in results] == [each.token_ids for each in expected]
    assert (3, 1) in forwards.noted


def test_one_forward_serves_all_answers_and_one_chunk_is_read_between_two_tokens(loaded: LoadedModel) -> None:
    forwards = Forwards(loaded)
    requests = [ask("a", max_tokens=9), ask("b", max_tokens=9), ask(LINE * 16, max_tokens=3)]
    with Engine(lambda: loaded) as engine:
        results = [result(stream) for stream in forwards.submit(engine, requests)]
    assert all(each.tokens_generated > 2 for each in results)
    both = [place for place, noted in enumerate(forwards.noted) if noted == (2, 1)]
    assert len(both) >= 7
    between = forwards.noted[both[0] : both[-1] + 1]
    assert between[::2] == [(2, 1)] * len(both)  # every other forward is a token for both
    assert between[1::2] == [(1, 32)] * (len(both) - 1)  # and every other one a chunk for the one that reads
    chunks = [tokens for rows, tokens in forwards.noted if tokens > 1]
    assert sum(chunks) == sum(each.tokens_prompt for each in results)


def test_prompts_are_read_in_turn(loaded: LoadedModel) -> None:
    with Engine(lambda: loaded) as engine:
        forwards = Forwards(loaded)
        first, second = forwards.submit(engine, [ask("1" + LINE * 8, max_tokens=1), ask("2" + LINE, max_tokens=1)])
        long, short = result(first), result(second)
    last = [each.tokens_prompt % 32 for each in (long, short)]
    assert len({0, *last}) == 3  # each prompt is known by its last chunk
    chunks = [tokens for _, tokens in forwards.noted if tokens > 1]
    assert chunks == [32, 32, 32, last[1], *[32] * (long.tokens_prompt // 32 - 2), last[0]]


def test_a_single_answer_is_fed_by_itself(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    def detour(*args: Any) -> Any:
        raise AssertionError("a detour")

    monkeypatch.setattr(decoding, "Together", detour)
    assert engine.run(ask("Hi")).tokens_generated == 12


def test_rows_that_depend_on_each_other_are_fed_one_by_one(loaded: LoadedModel) -> None:
    loaded.model.config.rope_parameters = {"rope_type": "dynamic", "rope_theta": 1e4, "factor": 2.0}
    forwards = Forwards(loaded)
    with Engine(lambda: loaded) as engine:
        results = [result(stream) for stream in forwards.submit(engine, [ask("a"), ask("b")])]
    assert all(each.tokens_generated == 12 for each in results)
    assert {rows for rows, _ in forwards.noted} == {1}


@pytest.mark.parametrize("how", ["left", "late"])
def test_an_answer_that_is_given_up_leaves_the_others_as_they_were(loaded: LoadedModel, how: str) -> None:
    requests = [OTHERS[0], ask("2 " + LINE, max_tokens=3000, timeout=3600), OTHERS[1]]
    expected = alone(loaded, OTHERS)
    streams: list[Stream] = []

    def give_up(noted: list[tuple[int, int]]) -> None:
        if noted.count((3, 1)) == 3 and how == "left":
            streams[1].close()
        elif noted.count((3, 1)) == 3:
            streams[1].submitted -= 7200

    forwards = Forwards(loaded, give_up)
    with Engine(lambda: loaded) as engine:
        streams += [engine.submit(request) for request in requests]
        forwards.all_there.set()
        results = [result(streams[0]), result(streams[2])]
        if how == "late":
            with pytest.raises(EngineTimeoutError):
                list(streams[1])
        else:
            assert result(streams[1]).finish_reason == "cancelled"
        assert forwards.noted.count((3, 1)) == 3  # within a token
        kept = {info.name: info.tokens for info in engine.sessions()}
        assert len(kept) == 3  # what was read and said so far can be taken up again
    assert [each.token_ids for each in results] == [each.token_ids for each in expected]


def test_a_row_that_fails_costs_its_own_session_only(loaded: LoadedModel, monkeypatch: pytest.MonkeyPatch) -> None:
    requests = [OTHERS[0], ask("2 " + LINE, max_tokens=40, session="bad"), OTHERS[1]]
    expected = alone(loaded, requests)
    forwards, attend = Forwards(loaded), ConfKVCache.attend
    with Engine(lambda: loaded) as engine:

        def failing(self: ConfKVCache, *args: Any) -> Any:
            bad = [session.cache for session in engine._store if session.name == "bad"]
            if forwards.noted.count((3, 1)) == 2 and bad and self is bad[0]:
                raise MemoryError("no room in this one")
            return attend(self, *args)

        monkeypatch.setattr(ConfKVCache, "attend", failing)
        streams = forwards.submit(engine, requests)
        with pytest.raises(MemoryError, match="no room in this one"):
            list(streams[1])
        assert result(streams[0]).token_ids == expected[0].token_ids
        assert result(streams[2]).token_ids == expected[2].token_ids
        assert len(engine.sessions()) == 2 and "bad" not in {info.name for info in engine.sessions()}
        monkeypatch.undo()
        assert engine.run(requests[1]).token_ids == expected[1].token_ids


def test_a_failure_of_the_model_reaches_everybody_it_decoded_for(loaded: LoadedModel) -> None:
    def fail_once(noted: list[tuple[int, int]]) -> None:
        if noted[-1] == (3, 1) and noted.count((3, 1)) == 2:
            raise RuntimeError("out of luck")

    forwards = Forwards(loaded, fail_once)
    with Engine(lambda: loaded) as engine:
        streams = forwards.submit(engine, [ask("a"), ask("b"), ask("c")])
        errors = []
        for stream in streams:
            with pytest.raises(ModelError, match=r"3 answers together.*out of luck") as caught:
                list(stream)
            errors.append(caught.value)
        assert len({id(error) for error in errors}) == 3  # each raises one of his own
        assert engine.sessions() == []
        assert engine.run(ask("a")).tokens_generated == 12


def test_two_hundred_sessions_never_exceed_sixty_four_mebibytes() -> None:
    bound = 64 * 2**20
    loaded = tiny_llama(width=2048)  # 64 KiB a token: a few sessions of these prompts fill the bound
    most: list[int] = []
    with Engine(lambda: loaded) as engine:
        forwards = Forwards(loaded, lambda noted: most.append(engine._store.nbytes))
        forwards.all_there.set()
        for first in range(0, 200, 20):
            requests = []
            for number in range(first, first + 20):
                policy = CacheConfig(policy="full" if number % 4 else "confkv", budget=64, window=16, chunk=64)
                text = f"{number} " + LINE[: 20 + number % 20]
                requests.append(ask(text, policy, 4, kv_memory=bound))
            streams = [engine.submit(request) for request in requests]
            assert all(result(stream).tokens_generated == 4 for stream in streams)
            most.append(engine._store.nbytes)
        assert max(rows for rows, _ in forwards.noted) > 1
    assert bound / 2 < max(most) <= bound
