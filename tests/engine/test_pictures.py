"""Pictures in every turn, for every family that sees: what a session reads never depends on another one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import torch
from PIL import Image
from transformers.models.smolvlm.processing_smolvlm import get_image_prompt_string

from confkv_agents.cache import CacheConfig, ConfKVCache
from confkv_agents.engine.conversation import Picture, Turn
from confkv_agents.engine.encoding import PromptEncoder
from confkv_agents.engine.engine import Engine
from confkv_agents.engine.loading import LoadedModel, load_model
from confkv_agents.engine.request import Request, Result
from tests.engine.tiny import SEEING

FULL = CacheConfig(policy="full", chunk=32)
BOUNDED = CacheConfig(policy="confkv", budget=160, chunk=24)
PIXELS = ("pixel_values", "pixel_attention_mask", "image_sizes", "image_grid_thw", "batch_num_images")
COLORS = {"a": ("red", "blue", "green", "white"), "b": ("black", "yellow", "orange", "purple")}


@pytest.fixture(scope="module", params=SEEING)
def seeing(request: pytest.FixtureRequest) -> LoadedModel:
    return SEEING[request.param]()


@pytest.fixture
def engine(seeing: LoadedModel) -> Iterator[Engine]:
    with Engine(lambda: seeing) as made:
        yield made


def user(*parts: str | Picture) -> Turn:
    return Turn("user", parts)


def said(result: Result) -> Turn:
    return Turn("assistant", (result.text,))


def ask(turns: list[Turn], cache: CacheConfig, tokens: int = 5) -> Request:
    return Request(tuple(turns), cache, max_tokens=tokens, logprobs=True)


def picture(color: str, size: tuple[int, int] = (60, 40)) -> Picture:
    return Picture.of(Image.new("RGB", size, color))


def noise(width: int, height: int) -> Picture:
    return Picture.of(Image.effect_noise((width, height), 90).convert("RGB"))


def figures(result: Result) -> list[tuple[int, float]]:
    return [(entry.token_id, entry.logprob) for entry in result.logprobs]


def messages(who: str) -> list[Turn]:
    """What one user says: pictures in every turn but one, of several shapes, the first one a second time."""
    first, second, third, fourth = COLORS[who]
    return [
        user(f"{who} sees ", picture(first), " here"),
        user("then ", picture(second, (40, 60)), " and ", picture(first), " again"),
        user("only words this time"),
        user(picture(third, (33, 97))),
        user("last ", picture(fourth, (90, 30))),
    ]


def converse(engine: Engine, who: str, cache: CacheConfig) -> list[Result]:
    turns: list[Turn] = []
    results = []
    for message in messages(who):
        results.append(engine.run(ask([*turns, message], cache)))
        turns += [message, said(results[-1])]
    return results


@torch.inference_mode()
def test_a_prompt_embedded_in_pieces_equals_the_models_own_forward(seeing: LoadedModel) -> None:
    encoder = PromptEncoder(seeing)
    pictures = [noise(60, 40), noise(33, 97)]
    prompt = encoder.encode([user("see ", pictures[0], " and ", pictures[1], " now")], {})
    token = seeing.tokenizer.convert_ids_to_tokens(seeing.image_token_id)
    inputs = seeing.processor(images=[p.image for p in pictures], text=[token * 2], return_tensors="pt")
    own = {name: inputs[name] for name in PIXELS if name in inputs}
    ids = torch.tensor([prompt.ids])
    if seeing.has_mrope:
        own["mm_token_type_ids"] = (ids == seeing.image_token_id).int()
        expected, _ = seeing.model.base_model.get_rope_index(
            ids, own["mm_token_type_ids"], image_grid_thw=own["image_grid_thw"]
        )
        assert prompt.positions is not None and torch.equal(prompt.positions, expected[:, 0])
    reference = seeing.model(input_ids=ids, use_cache=False, **own).logits
    cache = ConfKVCache(seeing.model.config, FULL)
    features: dict[bytes, Any] = {}
    starts = range(0, len(prompt.ids), 7)  # most pieces end inside a picture
    pieces = [encoder.embed(prompt, start, min(start + 7, len(prompt.ids)), features) for start in starts]
    logits = torch.cat([seeing.model(**piece, cache=cache, use_cache=True).logits for piece in pieces], 1)
    assert (logits - reference).abs().max() < 1e-5


@pytest.mark.parametrize("cache", [FULL, BOUNDED], ids=["full", "bounded"])
def test_two_interleaved_sessions_equal_each_alone(seeing: LoadedModel, engine: Engine, cache: CacheConfig) -> None:
    alone = {}
    for who in ("a", "b"):
        with Engine(lambda: seeing) as single:
            alone[who] = converse(single, who, cache)
    turns: dict[str, list[Turn]] = {"a": [], "b": []}
    for number in range(5):
        streams = {}
        for who in ("a", "b"):  # both run at once, their tokens in one forward
            turns[who].append(messages(who)[number])
            streams[who] = engine.submit(ask(turns[who], cache))
        for who, stream in streams.items():
            result = list(stream)[-1]
            assert isinstance(result, Result)
            ours, expected = figures(result), figures(alone[who][number])
            assert [token for token, _ in ours] == [token for token, _ in expected]
            logprobs = [logprob for _, logprob in expected]  # two rows are multiplied in another order than one
            assert [logprob for _, logprob in ours] == pytest.approx(logprobs, abs=1e-5)
            assert (result.tokens_reused > 0) == (number > 0)
            turns[who].append(said(result))


def test_a_chunk_with_a_picture_and_the_prompts_end_behind_it_reads_like_both_apart(
    seeing: LoadedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    long = [user("of all ", picture("red"), " that there is, " * 12, picture("blue", (40, 60)), " what was the first?")]
    results = []
    for together in (True, False):
        monkeypatch.setattr(ConfKVCache, "reads_ahead", together)
        with Engine(lambda: seeing) as engine:
            results.append(engine.run(ask(long, BOUNDED)))
    joined, apart = results
    assert joined.tokens_probed == apart.tokens_probed > 0
    assert joined.token_ids == apart.token_ids
    assert [lp for _, lp in figures(joined)] == pytest.approx([lp for _, lp in figures(apart)], abs=1e-4)


def test_a_warm_session_says_what_a_cold_one_says(seeing: LoadedModel, engine: Engine) -> None:
    turns: list[Turn] = []
    for number, message in enumerate(messages("a")):
        turns.append(message)
        warm = engine.run(ask(turns, FULL))
        with Engine(lambda: seeing) as fresh:
            cold = fresh.run(ask(turns, FULL))
        assert warm.token_ids == cold.token_ids
        assert [lp for _, lp in figures(warm)] == pytest.approx([lp for _, lp in figures(cold)], abs=1e-4)
        assert (warm.tokens_reused > 0) == (number > 0) and cold.tokens_reused == 0
        turns.append(said(warm))


def branch(engine: Engine, paths: list[list[Turn]], cache: CacheConfig, between: list[Turn]) -> list[Result]:
    """Take several ways from the same first answer; a session of somebody else speaks before each of them."""
    start, others, out = messages("a")[:1], list[Turn](), []
    begun = engine.run(ask(start, cache))
    for number, path in enumerate(paths):
        if between:
            others.append(between[number])
            others.append(said(engine.run(ask(others, cache))))
        out.append(engine.run(ask([*start, said(begun), *path], cache)))
    return out


@pytest.mark.parametrize("cache", [FULL, BOUNDED], ids=["full", "bounded"])
def test_branches_and_retries_equal_those_of_a_session_alone(
    seeing: LoadedModel, engine: Engine, cache: CacheConfig
) -> None:
    """A turn, another turn in its place, the first again with an edited answer: forks and rollbacks with pictures."""
    left, right = [user("left ", picture("pink"))], [user(picture("brown", (40, 60)), " right")]
    edited = [*left, Turn("assistant", ("edited",)), user("and ", picture("gray"))]
    paths = [left, right, left, edited]
    among_others = branch(engine, paths, cache, messages("b"))
    with Engine(lambda: seeing) as single:
        alone = branch(single, paths, cache, [])
    assert [figures(result) for result in among_others] == [figures(result) for result in alone]
    assert all(result.tokens_reused > 0 for result in among_others)
    if cache is FULL:  # where nothing is evicted, no way there makes a difference
        for path, result in zip(paths, among_others, strict=True):
            with Engine(lambda: seeing) as single:
                (straight,) = branch(single, [path], cache, [])
            assert straight.token_ids == result.token_ids
            logprobs = [[logprob for _, logprob in figures(one)] for one in (straight, result)]
            assert logprobs[0] == pytest.approx(logprobs[1], abs=1e-4)


def test_pictures_of_equal_bytes_and_other_shape_are_not_confused(seeing: LoadedModel, engine: Engine) -> None:
    """Both may have equally many placeholders; what they show, and with M-RoPE where things lie, differs."""
    lying, standing = picture("red", (64, 32)), picture("red", (32, 64))
    first = engine.run(ask([user("see ", lying, " now")], FULL))
    second = engine.run(ask([user("see ", standing, " now")], FULL))
    assert second.session != first.session and second.tokens_reused < second.tokens_prompt // 2
    with Engine(lambda: seeing) as fresh:
        alone = fresh.run(ask([user("see ", standing, " now")], FULL))
    assert alone.token_ids == second.token_ids
    assert [lp for _, lp in figures(alone)] == pytest.approx([lp for _, lp in figures(second)], abs=1e-4)


def test_a_placeholder_that_the_model_itself_said_breaks_no_later_picture(seeing: LoadedModel, engine: Engine) -> None:
    encoder = PromptEncoder(seeing)
    turns = [user("hi"), Turn("assistant", ("x",)), user("see ", picture("red"))]
    encoder.remember(turns[:1], "x", [seeing.image_token_id or 0], encoder.encode(turns[:1], {}))
    prompt = encoder.encode(turns, {})
    with torch.inference_mode():
        output = seeing.model(**encoder.embed(prompt, 0, len(prompt.ids), {}), use_cache=False)
    assert torch.isfinite(output.logits).all()


def test_a_saved_model_that_sees_loads_without_torchvision(seeing: LoadedModel, tmp_path: Any) -> None:
    seeing.model.save_pretrained(tmp_path)
    seeing.processor.save_pretrained(tmp_path)
    loaded = load_model(str(tmp_path), device_map="cpu")
    turns = [user("see ", picture("red"), " now")]
    assert PromptEncoder(loaded).encode(turns, {}).ids == PromptEncoder(seeing).encode(turns, {}).ids
    assert loaded.has_mrope == ("qwen" in loaded.name or loaded.model.config.model_type.startswith("qwen"))


def test_smolvlm_pictures_are_written_as_its_own_processor_writes_them() -> None:
    processor = SEEING["smolvlm"]().processor
    for rows, columns in ((0, 0), (2, 3)):
        own = get_image_prompt_string(rows, columns, 4, "<fake_token_around_image>", "<image>", "<global-img>")
        assert processor.replace_image_token({"rows": [[rows]], "cols": [[columns]]}, 0) == own
