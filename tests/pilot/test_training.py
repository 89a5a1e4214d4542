"""Training is seeded and goes on where it was stopped; pictures' features are made once; weights are written whole."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from pathlib import Path

import pytest
import torch
from PIL import Image
from torch import nn

from confkv_agents.engine.eyes import EyesConfig, EyesModel
from confkv_agents.engine.pilot_weights import trained_weights
from confkv_agents.errors import ConfigError
from confkv_agents.pilot import features as features_module
from confkv_agents.pilot.captions import COLOURS as ALL_COLOURS
from confkv_agents.pilot.captions import Facts, caption
from confkv_agents.pilot.export import eyes_tensors, write_trained
from confkv_agents.pilot.eyes_run import EyesPlan, load_modules, start_from
from confkv_agents.pilot.features import Shards, load_shards, make_shards
from confkv_agents.pilot.heads import Heads
from confkv_agents.pilot.pictures import Shown
from confkv_agents.pilot.projecting import Words, make_projector
from confkv_agents.pilot.train_captions import (
    FORMS,
    Reader,
    caption_accuracies,
    caption_loss,
    say_captions,
    train_captions,
)
from confkv_agents.pilot.train_eyes import train_eyes
from confkv_agents.pilot.training import CHECKPOINT, CURVE, Settings, batches, train
from tests.engine.tiny import tiny_llama

SMALL = EyesConfig(image_size=64, patch_size=32, hidden_size=16, mixing_layers=1, num_hidden_layers=1)
KINDS = ("mug", "coat")
COLOURS = ("red", "blue", "green")


def fit(
    folder: Path, steps: int, until: int | None = None, decay: float = 1.0
) -> tuple[nn.Parameter, list[dict[str, float]]]:
    """Learn a vector by noisy targets; stop at a step if asked to."""
    value = nn.Parameter(torch.zeros(3))

    def loss_of(step: int) -> torch.Tensor:
        if step == until:
            raise KeyboardInterrupt
        noise = torch.randn(3, generator=torch.Generator().manual_seed(step))
        return (value - torch.tensor([1.0, -2.0, 3.0]) - 0.1 * noise).square().sum()

    settings = Settings(steps, rate=0.3, warmup=2, decay=decay, save_every=5)
    try:
        curve = train(
            {"value": value}, loss_of, settings, folder, lambda: {"first": round(float(value[0].detach()), 6)}
        )
    except KeyboardInterrupt:
        return value, []
    return value, curve


def test_training_learns_and_logs(tmp_path: Path) -> None:
    value, curve = fit(tmp_path, 60)
    assert (value - torch.tensor([1.0, -2.0, 3.0])).abs().max() < 0.1
    assert [line["step"] for line in curve] == list(range(5, 61, 5)) and curve[-1]["loss"] < curve[0]["loss"] / 10
    assert [json.loads(line) for line in (tmp_path / CURVE).read_text().splitlines()] == curve


def test_a_run_that_was_stopped_ends_as_one_that_was_not(tmp_path: Path) -> None:
    straight, expected = fit(tmp_path / "straight", 20)
    fit(tmp_path / "stopped", 20, until=13)  # between two checkpoints
    resumed, curve = fit(tmp_path / "stopped", 20)
    assert torch.equal(straight, resumed)
    for line in [*expected, *curve]:
        del line["seconds"]
    assert curve == expected
    again, _ = fit(tmp_path / "straight", 20)  # finished: nothing is done
    assert torch.equal(again, straight)


def test_how_long_it_goes_on_may_be_changed_until_the_rate_falls(tmp_path: Path) -> None:
    straight, _ = fit(tmp_path / "straight", 20, decay=0.5)
    fit(tmp_path / "other", 40, until=12, decay=0.5)
    shortened, _ = fit(tmp_path / "other", 20, decay=0.5)
    assert torch.equal(straight, shortened)
    fit(tmp_path / "falling", 20, until=16, decay=0.5)
    with pytest.raises(ConfigError, match="was made with"):
        fit(tmp_path / "falling", 40, decay=0.5)


def test_a_checkpoint_of_something_else_is_refused(tmp_path: Path) -> None:
    fit(tmp_path, 10)
    with pytest.raises(ConfigError, match="was made with"):
        fit(tmp_path, 20)
    with pytest.raises(ConfigError, match="lacks other"):
        train({"other": nn.Parameter(torch.zeros(1))}, lambda _: torch.zeros(1), Settings(10), tmp_path)
    with pytest.raises(ConfigError, match="the loss is nan"):
        bad = nn.Parameter(torch.zeros(1))
        train({"bad": bad}, lambda _: (bad * float("nan")).sum(), Settings(10), tmp_path / "nan")
    with pytest.raises(ConfigError, match="steps"):
        Settings(0)


def test_rate_rises_stays_and_falls() -> None:
    settings = Settings(100, rate=1.0, warmup=10, decay=0.5)
    assert [settings.rate_at(step) for step in (0, 4, 9, 10, 49)] == [0.1, 0.5, 1.0, 1.0, 1.0]
    assert settings.rate_at(75) == pytest.approx(0.5) and settings.rate_at(99) < 0.01


def test_every_epoch_takes_each_item_once_in_another_order() -> None:
    drawn = [at for step in range(6) for at in batches(7, 3, step, seed=0)]
    assert sorted(drawn[:7]) == sorted(drawn[7:14]) == list(range(7)) and drawn[:7] != drawn[7:14]
    assert batches(7, 3, 4, seed=0) == drawn[12:15] and batches(7, 3, 4, seed=1) != drawn[12:15]


def plain_pictures(rng: random.Random) -> list[Shown]:
    colour, count = rng.choice(COLOURS), rng.randint(1, 2)
    kind = rng.choice(KINDS)
    image = Image.new("RGB", (40, 40), "white")
    for number in range(count):
        image.paste(colour, (4 + 20 * number, 6, 14 + 20 * number, 16 if kind == "mug" else 34))
    return [Shown(image, Facts(kind, colour, count), "plain")]


@pytest.fixture(scope="module")
def eyes() -> EyesModel:
    torch.manual_seed(0)
    return EyesModel(SMALL).eval()


@pytest.fixture(scope="module")
def shards(tmp_path_factory: pytest.TempPathFactory, eyes: EyesModel) -> Shards:
    """96 pictures of coloured patches."""
    folder = tmp_path_factory.mktemp("shards")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(features_module, "SHARD", 48)
        patch.setattr(features_module.EyesImageProcessor, "size", {"height": 64, "width": 64})
        make_shards(folder, "train", 60, eyes, plain_pictures)
        made = {path: path.stat().st_mtime_ns for path in folder.rglob("*.npy")}
        make_shards(folder, "train", 60, eyes, plain_pictures)
        assert {path: path.stat().st_mtime_ns for path in folder.rglob("*.npy")} == made and len(made) == 6
        with pytest.raises(ConfigError, match="no pictures of the split 'held'"):
            load_shards(folder, "held")
        loaded = load_shards(folder, "train")
        loaded.batch([0, 95])  # its size is that of the shards
    return loaded


@pytest.fixture(autouse=True)
def small_shards(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(features_module, "SHARD", 48)


def test_shards_hold_what_the_frozen_network_sees(shards: Shards, eyes: EyesModel) -> None:
    assert len(shards) == 96 and set(shards.views) == {"plain"}
    rng = random.Random("train:1")
    shown = [plain_pictures(rng)[0] for _ in range(48)]
    assert shards.facts[48:] == tuple(each.facts for each in shown)
    processor = features_module.EyesImageProcessor(size={"height": 64, "width": 64})
    with torch.inference_mode():
        fine, coarse, colours = eyes.features(processor([shown[5].image], return_tensors="pt")["pixel_values"])
    kept = shards.batch([2, 53])
    for ours, theirs in zip(kept, (fine, coarse, colours), strict=True):
        assert torch.allclose(ours[1], theirs[0], atol=2e-2)


def test_eyes_learn_facts_from_heads(shards: Shards, tmp_path: Path) -> None:
    torch.manual_seed(1)
    resampler, heads = EyesModel(SMALL).resampler, Heads(4 * 16, KINDS)
    curve = train_eyes(resampler, heads, shards, shards, Settings(60, 3e-3, warmup=5, save_every=30), tmp_path)
    assert curve[-1]["colour"] > 0.9 and curve[-1]["count"] > 0.8 and curve[-1]["loss"] < curve[0]["loss"]
    again = {"resampler": EyesModel(SMALL).resampler, "heads": Heads(4 * 16, KINDS)}
    load_modules(again, tmp_path)
    for ours, theirs in zip(resampler.parameters(), again["resampler"].parameters(), strict=True):
        assert torch.equal(ours, theirs)
    with pytest.raises(ConfigError, match="holds no projector"):
        load_modules({"projector": make_projector(SMALL, 64)}, tmp_path)
    with pytest.raises(ConfigError, match="no checkpoint"):
        load_modules(again, tmp_path / "nowhere")


def test_heads_leave_out_what_a_picture_does_not_tell() -> None:
    heads = Heads(8, KINDS)
    facts = [Facts("mug", "", 0, mark="torn"), Facts("coat", "blue", 3)]
    targets = heads.targets(facts)
    assert targets["kind"].tolist() == [0, 1] and targets["count"].tolist() == [-100, 2]
    assert targets["colour"].tolist()[0] == -100 and targets["mark"].tolist()[1] == 0
    right = heads.right(torch.zeros(2, 1, 8), facts)
    assert len(right["kind"]) == 2 and len(right["count"]) == 1 and len(right["mark*"]) == 1
    assert torch.isfinite(heads.loss(torch.zeros(1, 1, 8), [Facts("mug", "", 0)]))


@pytest.fixture(scope="module")
def reader() -> Reader:
    loaded = tiny_llama()
    return Reader(loaded.model, loaded.tokenizer)


def test_caption_loss_is_the_models_own_on_each_row_alone(reader: Reader) -> None:
    facts = [Facts("mug", "red", 3), Facts("coat")]
    projected = torch.randn(2, 4, 64, generator=torch.Generator().manual_seed(0))
    total, tokens = torch.zeros(()), 0
    for row, form in ((0, FORMS[0]), (1, FORMS[1])):
        before, between, _ = reader.pieces(form)
        line = reader.line(facts[row], form)
        embeds = torch.cat([reader.embed(before), projected[row], reader.embed([*between, *line])])[None]
        labels = torch.full(embeds.shape[:2], -100)
        labels[0, -len(line) :] = torch.tensor(line)
        total = total + reader.model(inputs_embeds=embeds, labels=labels).loss * len(line)
        tokens += len(line)
    ours = caption_loss(reader, projected, facts, [FORMS[0], FORMS[1]])
    assert torch.allclose(ours, total / tokens, atol=1e-5)
    assert reader.tokenizer.decode(reader.line(facts[0], FORMS[0])) == f" {caption(facts[0])}\n"


def test_written_captions_are_what_generate_writes(reader: Reader) -> None:
    projected = torch.randn(2, 4, 64, generator=torch.Generator().manual_seed(3))
    before, between, _ = reader.pieces(FORMS[0])
    for row, said in enumerate(say_captions(reader, projected, most=5)):
        embeds = torch.cat([reader.embed(before), projected[row], reader.embed(between)])[None]
        own = reader.model.generate(inputs_embeds=embeds, max_new_tokens=5, do_sample=False, eos_token_id=-1)
        assert said == reader.tokenizer.decode(own[0]).strip()
    shares = caption_accuracies(["red mug", "2 coats"], [Facts("mug", "blue"), Facts("coat", count=2)])
    assert shares == {"all": 0.5, "kind": 1.0, "colour": 0.0, "count": 1.0, "mark": 1.0, "scene": 1.0}


def test_words_pull_tokens_to_the_embeddings_of_what_is_seen(reader: Reader) -> None:
    embeddings = reader.model.get_input_embeddings().weight.detach()
    words = Words(reader.tokenizer, embeddings, ("mug", "coat"))
    scale = embeddings.square().sum(-1).mean()

    def mean(text: str) -> torch.Tensor:
        return embeddings[reader.ids(" " + text)].mean(0)

    def chosen(token: torch.Tensor, names: Sequence[str], right: str) -> float:
        distances = torch.stack([(token - mean(name)).square().sum() for name in names]) / scale
        return -torch.log_softmax(-20 * distances, 0)[list(names).index(right)].item()

    tokens = torch.stack([mean("two"), mean("red"), mean("mugs"), mean("crack table")])[None]
    facts = Facts("mug", "red", 2, mark="cracked", scene="table")
    numbers = ["some", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"]
    slots = [(numbers, "two"), (["plain", *ALL_COLOURS], "red"), (["mug", "mugs", "coat", "coats"], "mugs")]
    for moved in (0.0, 1.0):
        tokens[0, 1] += moved
        choice = sum(chosen(token, *slot) for token, slot in zip(tokens[0], slots, strict=False)) / 3
        expected = choice + 64 * moved**2 / 4 / scale.item()
        assert words.loss(tokens, [facts]).item() == pytest.approx(expected, rel=1e-4)
    nothing = torch.stack([mean("one"), mean("plain"), mean("coat"), mean("plain")])[None]
    assert words.right(nothing, [Facts("coat")]) == {"count": [True], "colour": [True], "thing": [True]}
    assert words.right(nothing, [facts]) == {"count": [False], "colour": [False], "thing": [False]}


@pytest.mark.parametrize("words", [1.0, 0.0], ids=["words", "captions"])
def test_the_projector_learns_while_the_text_model_stays(
    shards: Shards, reader: Reader, tmp_path: Path, words: float
) -> None:
    torch.manual_seed(2)
    resampler, heads, projector = EyesModel(SMALL).resampler, Heads(4 * 16, KINDS), make_projector(SMALL, 64)
    before = {name: value.clone() for name, value in reader.model.state_dict().items()}
    settings = Settings(8, rate=3e-3, warmup=1, save_every=4)
    curve = train_captions(
        resampler, heads, projector, reader, shards, shards, settings, tmp_path, words=words, judged=4
    )
    assert curve[-1]["loss"] < curve[0]["loss"]
    assert curve[-1].keys() >= ({"count", "colour", "thing"} if words else {"all", "kind"})
    assert all(torch.equal(value, before[name]) for name, value in reader.model.state_dict().items())
    assert (tmp_path / CHECKPOINT).is_file()


def test_written_weights_are_found_and_other_parts_stay(tmp_path: Path) -> None:
    projector, resampler = make_projector(SMALL, 64), EyesModel(SMALL).resampler
    write_trained(tmp_path, {"lora.model.layers.0.x.a": torch.ones(1)}, SMALL, {"lora": {"episodes": 3}})
    write_trained(tmp_path, eyes_tensors(resampler, projector), SMALL, {"eyes": {"pictures": 5}})
    trained = trained_weights(tmp_path)
    assert trained.facts["training"] == {"lora": {"episodes": 3}, "eyes": {"pictures": 5}}
    assert trained.facts["eyes"]["image_size"] == 64
    from safetensors.torch import load_file

    tensors = load_file(trained.weights)
    assert "lora.model.layers.0.x.a" in tensors and "projector.linear_2.bias" in tensors
    assert torch.equal(tensors["eyes.queries"], resampler.queries.detach().to(torch.bfloat16))
    with pytest.raises(ConfigError, match="not 'other'"):
        write_trained(tmp_path, {"other": torch.ones(1)}, SMALL, {})


def test_a_plan_names_its_stages_and_leaves_out_empty_ones() -> None:
    assert list(EyesPlan().stages()) == ["eyes", "words", "captions"]
    assert list(EyesPlan(word_steps=0, caption_steps=0).stages()) == ["eyes"]
    assert list(EyesPlan(steps=0).stages()) == ["words", "captions"]
    with pytest.raises(ConfigError, match="no stage has steps"):
        EyesPlan(steps=0, word_steps=0, caption_steps=0)


def test_eyes_can_begin_with_trained_weights(tmp_path: Path) -> None:
    old, new = EyesModel(SMALL).resampler, EyesModel(SMALL).resampler
    projector, fresh = make_projector(SMALL, 64), make_projector(SMALL, 64, seed=1)
    write_trained(tmp_path, eyes_tensors(old, projector), SMALL, {"eyes": {}})
    start_from(tmp_path, new, fresh)
    for before, after in ((old, new), (projector, fresh)):
        for one, other in zip(before.parameters(), after.parameters(), strict=True):
            assert torch.equal(one.bfloat16().float(), other)
    with pytest.raises(ConfigError, match="do not fit projector"):
        start_from(tmp_path, new, make_projector(SMALL, 32))
