"""Plans: figures of real configurations by hand, what fits, and how it reads on the terminal."""

from __future__ import annotations

import json
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
import torch
from rich.console import Console

from confkv_agents.cache import CacheConfig
from confkv_agents.cache.sizes import CacheSizes
from confkv_agents.cli import main
from confkv_agents.engine.loading import load_config
from confkv_agents.errors import ConfigError, ModelError, ModelNotFoundError, UnsupportedModelError
from confkv_agents.evaluation.files import read_json
from confkv_agents.evaluation.plan import Plan, make_plan, parse_memory
from confkv_agents.evaluation.plan_view import show_plan

CONFIGS = Path(__file__).parent / "configs"
QWEN_7B, QWEN_32B, LLAMA_7B, GEMMA_1B = (
    str(CONFIGS / f"{name}.json") for name in ("qwen2.5-7b", "qwen2.5-32b", "llama-2-7b", "gemma-3-1b")
)
GIB = 2**30


def plan_of(model: str, **changes: Any) -> Plan:
    return make_plan(model, **{"memory": 24 * GIB, "context": 32768, "sessions": 4, "budget": 1024, **changes})


def config_file(folder: Path, **content: Any) -> str:
    path = folder / "config.json"
    path.write_text(json.dumps({**json.loads(Path(QWEN_7B).read_text()), **content}))
    return str(path)


@pytest.mark.parametrize(
    ("model", "parameters", "token_bytes"),
    [
        (QWEN_7B, 7_615_616_512, 2 * 28 * 4 * 128 * 2),
        (QWEN_32B, 32_763_876_352, 2 * 64 * 8 * 128 * 2),
        (LLAMA_7B, 6_738_415_616, 2 * 32 * 32 * 128 * 2),
        (GEMMA_1B, 999_885_952, 2 * 4 * 1 * 256 * 2),  # 4 of 26 layers keep every token; the embedding is tied
    ],
)
def test_weights_and_bytes_per_token_are_those_of_the_models(model: str, parameters: int, token_bytes: int):
    size = plan_of(model).model
    assert size.parameters == parameters
    assert size.weight_bytes == 2 * parameters
    assert size.token_bytes == token_bytes


def test_full_kv_of_32k_tokens_is_a_ninth_for_grouped_heads():
    """28 layers with 4 KV heads against 32 layers with 32: the sizes that the documentation quotes."""
    full = {model: plan_of(model, policies="full").policies[0] for model in (QWEN_7B, QWEN_32B, LLAMA_7B)}
    assert full[QWEN_7B].peak_bytes == 34304 * 57344  # 32,768 tokens, and what was reserved ahead
    assert [round(full[model].peak_bytes / GIB, 2) for model in full] == [1.83, 8.38, 16.75]


def test_where_the_sources_figure_lies():
    """15.8 GB of keys and values are about 30,000 tokens of Llama-2-7B, or 60,000 of Qwen2.5-32B, in 16 bits."""
    assert round(15.8e9 / plan_of(LLAMA_7B).model.token_bytes) == 30136
    assert round(15.8e9 / plan_of(QWEN_32B).model.token_bytes) == 60272


def test_every_figure_is_the_caches_own():
    plan = plan_of(QWEN_32B, memory=80 * GIB)
    for row in plan.policies:
        config = CacheConfig(policy=row.policy, budget=1024)
        sizes = CacheSizes(load_config(QWEN_32B), config, dtype=torch.bfloat16)
        assert (row.peak_bytes, row.held_bytes) == (sizes.peak(32768), sizes.held(32768))
        assert row.cold_bytes == sizes.cold(32768)
        assert row.total_bytes == plan.model.weight_bytes + 4 * row.peak_bytes
        assert row.bytes_per_token == row.peak_bytes / 32768


@pytest.mark.parametrize("model", [QWEN_7B, LLAMA_7B, GEMMA_1B])
def test_as_many_sessions_and_tokens_fit_as_it_says_and_not_one_more(model: str):
    plan = plan_of(model)
    room = plan.memory - plan.model.weight_bytes
    for row in plan.policies:
        assert row.sessions * row.peak_bytes <= room < (row.sessions + 1) * row.peak_bytes
        assert row.fits == (row.sessions >= 4)
        if row.longest_context is not None:
            sizes = CacheSizes(load_config(model), CacheConfig(policy=row.policy, budget=1024), dtype=torch.bfloat16)
            assert 4 * sizes.peak(row.longest_context) <= room < 4 * sizes.peak(row.longest_context + 1)
    assert [row.longest_context is None for row in plan.policies] == [False, True, True, True, True, True]


def test_a_number_format_of_twice_the_width_takes_twice_the_bytes():
    narrow, wide = plan_of(QWEN_7B).model, plan_of(QWEN_7B, dtype="fp32").model
    assert (wide.dtype, wide.weight_bytes, wide.token_bytes) == (
        "float32",
        2 * narrow.weight_bytes,
        2 * narrow.token_bytes,
    )


def test_settings_of_a_policy_count(tmp_path: Path):
    plan = plan_of(QWEN_7B, policies="confkv,confkv:budget=512,confkv:chunk=64,confkv:int8_share=0", chunk=512)
    base, small, short, plain = plan.policies
    assert small.held_bytes < 0.6 * base.held_bytes
    assert (short.held_bytes, short.peak_bytes < base.peak_bytes) == (base.held_bytes, True)
    assert plain.held_bytes != base.held_bytes


def test_of_a_model_that_sees_the_text_part_is_counted(tmp_path: Path):
    vision = {"hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2, "num_attention_heads": 4}
    text = {"model_type": "llama", "num_hidden_layers": 3, "num_attention_heads": 8, "num_key_value_heads": 2}
    text |= {"hidden_size": 64, "intermediate_size": 96, "vocab_size": 97, "head_dim": 16, "pad_token_id": 0}
    content = {"model_type": "smolvlm", "text_config": text, "vision_config": vision, "dtype": "float32"}
    (tmp_path / "config.json").write_text(json.dumps(content))
    size = plan_of(str(tmp_path), context=100).model
    assert (size.family, size.layers, size.kv_heads, size.head_width) == ("smolvlm", 3, 2, 16)
    assert size.token_bytes == 2 * 3 * 2 * 16 * 4


def test_remarks_say_what_a_reader_has_to_know(tmp_path: Path):
    assert not any("positions: it" in remark for remark in plan_of(QWEN_7B).remarks)
    assert "32,769 tokens is above the model's 32,768 positions" in plan_of(QWEN_7B, context=32769).remarks[0]
    assert "weights alone do not fit" in plan_of(QWEN_32B).remarks[0]
    quantized = config_file(tmp_path, quantization_config={"quant_method": "gptq", "bits": 4, "group_size": 128})
    assert any("quantized" in remark for remark in plan_of(quantized).remarks)


def test_weights_that_do_not_fit_leave_room_for_nothing():
    row = plan_of(QWEN_32B, policies="confkv").policies[0]
    assert (row.fits, row.sessions, row.longest_context) == (False, 0, 0)


@pytest.mark.parametrize(
    ("text", "amount"),
    [("24GiB", 24 * GIB), ("24GB", 24 * 10**9), ("1.5TiB", 3 * 2**39), (" 80 gb ", 80 * 10**9), ("512MiB", 2**29)],
)
def test_memory_is_read_with_its_unit(text: str, amount: int):
    assert parse_memory(text) == amount


@pytest.mark.parametrize("text", ["24", "1.5", "", "-3GiB", "0GiB", "GiB", "nan", "24 GiB more", "24Gib/s", "1e3GB"])
def test_memory_without_unit_or_sense_is_refused(text: str):
    with pytest.raises(ConfigError, match="--memory"):
        parse_memory(text)


@pytest.mark.parametrize(
    ("content", "error", "words"),
    [
        ({"model_type": "deepseek_v3"}, UnsupportedModelError, ["deepseek_v3", "MLA"]),
        ({"model_type": "mamba2"}, UnsupportedModelError, ["mamba2"]),
        ({"model_type": "no-such-family"}, UnsupportedModelError, ["configuration"]),
        ({"model_type": "qwen2", "num_attention_heads": 0}, UnsupportedModelError, ["num_attention_heads is 0"]),
        ({"model_type": "bert"}, UnsupportedModelError, ["bert", "supported"]),
        (None, ModelError, ["config.json", "cannot be read"]),
    ],
)
def test_a_configuration_that_cannot_be_served_is_refused(
    tmp_path: Path, content: dict | None, error: type[Exception], words: list[str]
):
    (tmp_path / "config.json").write_text("{broken" if content is None else json.dumps(content))
    with pytest.raises(error) as caught:
        plan_of(str(tmp_path / "config.json"))
    for word in words:
        assert word in str(caught.value)


def test_a_model_that_is_not_there_is_said(tmp_path: Path):
    with pytest.raises(ModelNotFoundError, match=r"no config\.json"):
        plan_of(str(tmp_path))


@pytest.mark.parametrize("width", [80, 100, 200])
@pytest.mark.parametrize("model", [QWEN_7B, LLAMA_7B, GEMMA_1B])
def test_the_table_fits_the_terminal_and_cuts_nothing(model: str, width: int):
    stream = StringIO()
    plan = plan_of(model, sessions=17)
    show_plan(plan, Console(file=stream, width=width, highlight=False))
    lines = stream.getvalue().splitlines()
    assert max(map(len, lines)) <= min(width, 100)
    for row in plan.policies:
        (cells,) = (line.split() for line in lines if line.split()[:1] == [row.policy])
        assert f"{row.sessions:,}" in cells
        assert ("yes" if row.fits else "no") in cells
        assert cells[-1] == "any" if row.longest_context is None else cells[-1] in ("M", f"{row.longest_context:,}")


@pytest.mark.parametrize("width", [60, 80, 100])
@pytest.mark.parametrize("label", ["confkv:int8_share=0", "confkv:int8_share=0:pyramid=0.5:half_life=4096"])
def test_long_names_of_policies_crop_no_figure(width: int, label: str):
    stream = StringIO()
    plan = plan_of(QWEN_7B, policies=f"confkv,{label}")
    show_plan(plan, Console(file=stream, width=width, highlight=False))
    shown = stream.getvalue()
    assert "longest" in shown and "context" in shown
    line, *_ = (line.split() for line in shown.splitlines() if line.split()[:1] == ["confkv"])
    assert line[-3:] == ["yes", f"{plan.policies[0].sessions:,}", "any"]
    assert "int8_share=0" in shown
    if width == 80 and label.count(":") == 1:
        assert max(map(len, shown.splitlines())) <= 80


@pytest.mark.parametrize(("model", "memory"), [(QWEN_7B, 24), (QWEN_32B, 80), (LLAMA_7B, 24)])
def test_the_documentation_shows_what_the_command_prints(model: str, memory: int):
    documented = (Path(__file__).parents[2] / "docs" / "plan.md").read_text()
    stream = StringIO()
    show_plan(plan_of(model, memory=memory * GIB), Console(file=stream, width=100, highlight=False))
    policies = ("full", "window", "h2o", "snapkv", "confkv", "weights", "one token")
    rows = [line.rstrip() for line in stream.getvalue().splitlines() if line.startswith(policies)]
    assert len(rows) == 8
    for row in rows:
        assert row in documented


def test_the_command_prints_the_table_and_writes_the_numbers(capsys: pytest.CaptureFixture[str], tmp_path: Path):
    out = tmp_path / "plan.json"
    code = main(
        ["plan", "--model", QWEN_7B, "--memory", "24GiB", "--context", "65536", "--sessions", "4", "--json", str(out)]
    )
    shown = capsys.readouterr().out
    assert code == 0
    for word in ("7,615,616,512 parameters", "confkv+recall", "above the model's 32,768 positions"):
        assert word in " ".join(shown.split())
    plan = read_json(out)
    assert (plan["memory"], plan["context"], plan["model"]["kv_heads"]) == (24 * GIB, 65536, 4)
    assert [row["policy"] for row in plan["policies"]][-1] == "confkv+recall"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--memory", "24"], ["--memory '24'", "unit"]),
        (["--memory", "-1GiB"], ["--memory '-1GiB'"]),
        (["--memory", "1GiB", "--context", "0"], ["--context is 0"]),
        (["--memory", "1GiB", "--sessions", "-1"], ["--sessions is -1"]),
        (["--memory", "1GiB", "--budget", "10"], ["budget", "floor"]),
        (["--memory", "1GiB", "--chunk", "0"], ["chunk is 0"]),
        (["--memory", "1GiB", "--dtype", "int8"], ["--dtype 'int8'", "bf16"]),
        (["--memory", "1GiB", "--policies", "magic"], ["'magic'"]),
        (["--memory", "1GiB", "--policies", "confkv:colour=red"], ["colour=red"]),
        (["--memory", "1GiB", "--model", "./none"], ["no folder"]),
        (["--memory", "1GiB", "--json", "/none/x.json"], ["/none/x.json"]),
        (["--memory", "1GiB", "--policies", "confkv:span=x"], ["span is 'x'"]),
        (["--memory", "1GiB", "--context", "9" * 20], ["--context is 9999"]),
        (["--memory", "1GiB", "--budget", "9" * 20], ["--budget is 9999"]),
        (["--memory", "9" * 400 + "GiB"], ["--memory '999"]),
        (["--memory", "1GiB", "--model", "none.json"], ["no file 'none.json'"]),
        (["--memory", "1GiB", "--model="], ["after --model is empty"]),
        (["--memory", "1GiB", "--json", ""], ["after --json is empty"]),
        ([], ["--memory"]),
    ],
)
def test_bad_input_is_one_clear_line(capsys: pytest.CaptureFixture[str], arguments: list[str], words: list[str]):
    model = [] if any(each.startswith("--model") for each in arguments) else ["--model", QWEN_7B]
    code = main(["plan", *model, *arguments])
    error = capsys.readouterr().err
    assert (code, error.count("\n")) == (2, 1)
    for word in ["error: ", *words]:
        assert word in error
