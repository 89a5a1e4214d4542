from __future__ import annotations

from typing import Any

import pytest
from PIL import Image

from confkv_agents.cache import CacheConfig
from confkv_agents.engine.conversation import Picture, Turn
from confkv_agents.engine.engine import Engine
from confkv_agents.engine.job import kv_bytes_needed
from confkv_agents.engine.loading import LoadedModel
from confkv_agents.engine.request import Delta, Progress, Result
from confkv_agents.engine.sampling import SamplingConfig
from confkv_agents.errors import (
    ImageError,
    PromptError,
    PromptTooLongError,
)
from tests.engine.asking import BOUNDED, FULL, LONG, Gate, request, said, user
from tests.engine.tiny import script, tiny_llama


@pytest.mark.parametrize("cache", [FULL, BOUNDED])
def test_a_second_turn_reads_only_new_tokens(engine: Engine, cache: CacheConfig) -> None:
    first = engine.run(request(user(LONG), cache=cache))
    turns = (user(LONG), said(first), user("more"))
    second = engine.run(request(*turns, cache=cache))
    held = first.tokens_prompt + first.tokens_generated - 1  # the last token was sampled, not fed
    assert first.tokens_read == first.tokens_prompt
    assert second.tokens_reused == held
    assert second.tokens_read == second.tokens_prompt - held
    assert second.session == first.session and second.miss_at is None


def test_a_prompt_longer_than_the_budget_is_probed_after_each_chunk_but_the_last(engine: Engine) -> None:
    long = user(LONG * 2)
    probed = engine.run(request(long, cache=BOUNDED))
    chunks = -(-probed.tokens_prompt // BOUNDED.chunk)
    last = probed.tokens_prompt - (chunks - 1) * BOUNDED.chunk
    probe = 32  # the policy's default: as long as a chunk here, so the last probe is what is left of the prompt
    assert probed.tokens_prompt > BOUNDED.budget
    assert probed.tokens_probed == (chunks - 2) * probe + min(probe, last)
    assert probed.tokens_read == probed.tokens_prompt
    assert engine.run(request(user("short"), cache=BOUNDED)).tokens_probed == 0
    off = CacheConfig(policy="confkv", budget=160, chunk=32, probe=0)
    assert engine.run(request(long, cache=off)).tokens_probed == 0


def test_a_warm_answer_equals_a_cold_one(loaded: LoadedModel, engine: Engine) -> None:
    turns = [user(LONG)]
    for _ in range(3):
        warm = engine.run(request(*turns))
        with Engine(lambda: loaded, "cold") as cold_engine:
            cold = cold_engine.run(request(*turns))
        assert warm.token_ids == cold.token_ids
        turns += [said(warm), user("more of the same")]
    assert warm.tokens_reused > 0 and cold.tokens_reused == 0


def test_a_retry_gives_the_same_answer_and_reads_nothing_again(engine: Engine) -> None:
    first = engine.run(request(user(LONG), cache=BOUNDED))
    retry = engine.run(request(user(LONG), cache=BOUNDED))
    assert retry.token_ids == first.token_ids
    assert (retry.tokens_read, retry.tokens_reused) == (0, first.tokens_prompt)


def test_an_answer_after_a_rollback_equals_a_cold_one(loaded: LoadedModel, engine: Engine) -> None:
    engine.run(request(user(LONG), cache=BOUNDED))
    edited = (user(LONG), Turn("assistant", ("something else",)), user("more"))
    warm = engine.run(request(*edited, cache=BOUNDED))
    again = engine.run(request(*edited, cache=BOUNDED))
    assert warm.tokens_reused > 0 and warm.token_ids == again.token_ids


def test_reading_goes_in_chunks_and_says_how_far_it_is(engine: Engine) -> None:
    events = list(engine.submit(request(user(LONG))))
    progress = [event for event in events if isinstance(event, Progress)]
    total = events[-1].tokens_prompt
    assert [event.done for event in progress] == [*range(32, total, 32), total]
    assert all(event.total == total for event in progress)


def test_the_deltas_add_up_to_the_result(engine: Engine) -> None:
    events = list(engine.submit(request(user("Hi"), max_tokens=30)))
    text = "".join(event.text for event in events if isinstance(event, Delta))
    assert isinstance(events[-1], Result) and text == events[-1].text


def test_the_bounded_cache_stays_within_budget_and_chunk(engine: Engine) -> None:
    result = engine.run(request(user(LONG * 4), cache=BOUNDED, trace=True))
    assert result.tokens_prompt > 5 * BOUNDED.budget
    assert result.peak_kv_bytes < result.full_kv_bytes / 2
    assert len(result.steps) == result.tokens_generated
    assert 0 <= result.confidence.min <= result.confidence.mean <= result.confidence.max <= 1


def test_a_trace_of_the_cache_goes_on_where_the_last_one_of_the_session_ended(engine: Engine) -> None:
    first = engine.run(request(user(LONG * 4), cache=BOUNDED, trace=True, trace_cache=True))
    turns = (user(LONG * 4), said(first), user("and now?"))
    second = engine.run(request(*turns, cache=BOUNDED, trace=True, trace_cache=True))
    plain = engine.run(request(*turns, said(second), user("Bye"), cache=BOUNDED))
    assert (plain.trace, next(iter(engine._store)).cache.trace) == ((), None)
    for result in (first, second):
        fed = [record for record in result.trace if record.kind != "probe"]
        assert fed[0].position == result.tokens_reused
        assert sum(record.tokens for record in fed if record.kind == "read") == result.tokens_read
        decoded = [record for record in fed if record.kind == "decode"]
        assert len(decoded) == result.tokens_generated - 1
        known = [record.confidence for record in fed if record.confidence is not None]
        assert len(known) == result.tokens_generated
        assert [record.smoothed for record in fed if record.smoothed is not None] == [step[0] for step in result.steps]
        assert fed[-1].kv_bytes == result.kv_bytes
    assert sum(record.evicted for record in first.trace) > 0


def test_the_end_of_turn_token_ends_an_answer_and_is_not_shown(loaded: LoadedModel) -> None:
    script(loaded, ["Yes, the."])
    with Engine(lambda: loaded) as engine:
        result = engine.run(request(user("Hi"), max_tokens=50))
    assert (result.text, result.finish_reason) == ("Yes, the.", "stop")
    assert result.token_ids[-1] == loaded.tokenizer.eos_token_id


def test_max_tokens_and_stop_strings_end_an_answer(loaded: LoadedModel) -> None:
    script(loaded, ["abcdef"])
    with Engine(lambda: loaded) as engine:
        cut = engine.run(request(user("Hi"), max_tokens=3))
        stopped = engine.run(request(user("Go"), max_tokens=20, stop=("cd", "zz")))
    assert (cut.text, cut.finish_reason, cut.tokens_generated) == ("abc", "length", 3)
    assert (stopped.text, stopped.finish_reason) == ("ab", "stop")


def test_a_conversation_goes_on_after_a_stop_string(loaded: LoadedModel) -> None:
    script(loaded, ["go Observation: x", "done"])
    with Engine(lambda: loaded) as engine:
        for cache in (FULL, BOUNDED):
            first = engine.run(request(user("Hi"), max_tokens=40, stop=("Observation",), cache=cache))
            second = engine.run(request(user("Hi"), said(first), user("on"), max_tokens=40, cache=cache))
            assert (first.text, second.text) == ("go ", "done")
            assert second.tokens_reused >= first.tokens_prompt and second.miss_at is None


def test_the_same_seed_gives_the_same_answer(engine: Engine) -> None:
    def sample(seed: int) -> tuple[int, ...]:
        sampling = SamplingConfig(temperature=1.0, seed=seed)
        return engine.run(request(user("Hi"), sampling=sampling, max_tokens=12)).token_ids

    assert sample(7) == sample(7) != sample(8)


def test_a_prompt_longer_than_the_models_positions_is_refused() -> None:
    loaded = tiny_llama(positions=64)
    with Engine(lambda: loaded) as engine:
        with pytest.raises(PromptTooLongError) as caught:
            engine.run(request(user(LONG)))
        assert caught.value.n_limit == 63 and (caught.value.n_prompt or 0) > 64
        short = engine.run(request(user("Hi"), max_tokens=None))
        assert short.tokens_prompt + short.tokens_generated <= 64


def test_two_sessions_in_turn_equal_each_alone(loaded: LoadedModel, engine: Engine) -> None:
    def converse(engine: Engine, first: str, other: str | None) -> list[tuple[int, ...]]:
        answers, turns, side = [], [user(first)], [user(other)] if other else []
        for _ in range(2):
            result = engine.run(request(*turns, cache=BOUNDED))
            answers.append(result.token_ids)
            turns += [said(result), user("more")]
            if side:
                reply = engine.run(request(*side, cache=BOUNDED))
                side += [said(reply), user("less")]
        return answers

    with Engine(lambda: loaded) as alone:
        expected = converse(alone, LONG, None)
    assert converse(engine, LONG, "something quite different " * 6) == expected


def test_requests_that_run_together_equal_each_alone(loaded: LoadedModel, engine: Engine) -> None:
    prompts = [f"{number} {LONG}" for number in range(5)]
    with Engine(lambda: loaded) as alone:
        expected = [alone.run(request(user(prompt), cache=BOUNDED)).token_ids for prompt in prompts]
    streams = [engine.submit(request(user(prompt), cache=BOUNDED)) for prompt in prompts]
    assert [list(stream)[-1].token_ids for stream in streams] == expected


def test_requests_of_one_session_run_one_after_the_other(loaded: LoadedModel) -> None:
    gate = Gate(loaded, stop_at=1)
    with Engine(lambda: loaded) as engine:
        first = engine.submit(request(user("one"), session="s"))
        assert gate.reached.wait(60)
        second = engine.submit(request(user("two"), session="s"))
        gate.open.set()
        list(first), list(second)
        assert {info.name for info in engine.sessions()} == {"s"}


def test_many_sessions_never_exceed_the_memory_bound(engine: Engine) -> None:
    bound = 400_000
    for number in range(40):
        cache = BOUNDED if number % 2 else FULL
        engine.run(request(user(f"{number} {LONG[: 40 * (number % 7)]}"), cache=cache, kv_memory=bound))
        assert engine.kv_bytes <= bound
    assert len(engine.sessions()) >= 2


def test_a_request_that_can_never_fit_the_memory_bound_is_refused_before_it_is_read(engine: Engine) -> None:
    with pytest.raises(PromptTooLongError, match="kv_memory"):
        engine.run(request(user(LONG * 3), kv_memory=100_000))
    assert engine.sessions() == []
    assert engine.run(request(user("Hi"), kv_memory=100_000)).tokens_generated > 0


def test_requests_wait_for_memory_that_others_hold(engine: Engine) -> None:
    streams = [engine.submit(request(user(f"{number} {LONG}"), max_tokens=8, kv_memory=600_000)) for number in range(5)]
    assert all(list(stream)[-1].tokens_generated == 8 for stream in streams)


def test_logprobs_of_a_greedy_answer_are_the_largest(engine: Engine) -> None:
    result = engine.run(request(user("Hi"), logprobs=True, top_logprobs=3))
    assert len(result.logprobs) == result.tokens_generated
    for token, entry in zip(result.token_ids, result.logprobs, strict=True):
        assert entry.token_id == token == entry.top[0].token_id
        assert entry.logprob == pytest.approx(entry.top[0].logprob)


def test_counting_tokens_equals_what_a_request_reads(engine: Engine) -> None:
    turns = (Turn("system", ("Be brief.",)), user("Hi"))
    assert engine.count_tokens(turns) == engine.run(request(*turns)).tokens_prompt


def test_looking_at_the_sessions_of_an_unused_engine_loads_nothing() -> None:
    def load() -> LoadedModel:
        raise AssertionError("loaded")

    with Engine(load) as engine:
        assert engine.sessions() == [] and engine.kv_bytes == 0 and engine.drop_session() == 0


def picture(color: str) -> Picture:
    return Picture.of(Image.new("RGB", (60, 40), color))


@pytest.mark.parametrize("cache", [FULL, CacheConfig(policy="confkv", budget=400, chunk=16)])
def test_a_picture_per_turn_is_read_once_and_answers_equal_cold_ones(vlm_engine: Engine, cache: CacheConfig) -> None:
    loaded = vlm_engine.load()
    encoded = 0
    features = loaded.model.get_image_features

    def counting(**inputs: Any) -> Any:
        nonlocal encoded
        encoded += 1
        return features(**inputs)

    turns = [user("first ", picture("red"))]
    for number, color in enumerate(("blue", "green", "blue")):
        loaded.model.get_image_features = counting
        warm = vlm_engine.run(request(*turns, cache=cache))
        loaded.model.get_image_features = features
        assert encoded == number + 1
        with Engine(lambda: loaded) as cold_engine:
            cold = cold_engine.run(request(*turns, cache=cache))
        assert warm.token_ids == cold.token_ids
        turns += [said(warm), user("next ", picture(color))]


def test_pictures_of_the_same_size_are_not_confused(vlm_engine: Engine) -> None:
    first = vlm_engine.run(request(user("see ", picture("red")), logprobs=True))
    second = vlm_engine.run(request(user("see ", picture("blue")), logprobs=True))
    assert second.tokens_read > 0 and second.session != first.session
    assert second.logprobs[0].logprob != first.logprobs[0].logprob


def test_a_picture_for_a_text_model_is_refused_before_any_work(engine: Engine) -> None:
    with pytest.raises(ImageError, match="takes no pictures"):
        engine.run(request(user("see", picture("red"))))
    assert engine.sessions() == []


def test_a_model_without_a_chat_template_is_refused_at_the_first_chat() -> None:
    loaded = tiny_llama(None)
    with Engine(lambda: loaded) as engine, pytest.raises(PromptError, match="no chat template"):
        engine.run(request(user("Hi")))


def test_conversations_beyond_the_last_eight_are_forgotten(engine: Engine) -> None:
    names = [engine.run(request(user(letter * 30), session=letter)).session for letter in "abcdefghijkl"]
    assert [info.name for info in engine.sessions()] == names[:-9:-1]


def test_a_stream_carries_every_tokens_log_probability(engine: Engine, loaded: LoadedModel) -> None:
    script(loaded, ["hi"])
    *events, result = engine.submit(request(user("x"), logprobs=True))
    streamed = [entry for event in events if isinstance(event, Delta) for entry in event.logprobs]
    assert tuple(streamed) == result.logprobs
    assert [entry.token_id for entry in streamed] == list(result.token_ids)
    assert result.token_ids[-1] == loaded.tokenizer.eos_token_id


def test_forgetting_a_session_frees_its_memory_at_once(engine: Engine) -> None:
    engine.run(request(user(LONG), cache=BOUNDED, session="a"))
    session = next(iter(engine._store))
    held = [session.cache, *(snapshot.cache for snapshot in session.snapshots)]
    assert len(held) == 2 and all(cache.nbytes > 0 for cache in held)
    assert engine.drop_session("a") == 1
    assert [cache.nbytes for cache in held] == [0, 0]


def test_a_full_cache_that_grows_stays_within_what_was_reserved(loaded: LoadedModel) -> None:
    slot = loaded.kv_bytes_per_token
    for tokens in range(100, 4000, 37):
        grown = -(-(tokens + tokens // 8) // 64) * 64  # the most slots that a cache of so many tokens has made
        assert kv_bytes_needed(loaded, FULL, tokens) >= grown * slot
