"""The examples that show the cache alone do run, word for word."""

from __future__ import annotations

import doctest
import re
from pathlib import Path

import pytest
import torch
from tiny import MROPE, make_model, make_prompt

import confkv_agents.cache
from confkv_agents.cache import CacheConfig, ConfKVCache, attach

ROOT = Path(__file__).parents[2]


def run(text: str, **names) -> dict:
    """Run an example in the form of an interactive session; returns what it defined."""
    example = doctest.DocTestParser().get_doctest(text, names, "example", None, None)
    said: list[str] = []
    runner = doctest.DocTestRunner()
    runner.run(example, out=said.append, clear_globs=False)
    assert runner.tries > 1 and not runner.failures, "".join(said)
    return example.globs


def inputs() -> dict[str, torch.Tensor]:
    ids = make_prompt("llama", 12).ids
    return {"input_ids": ids, "attention_mask": torch.ones_like(ids), "max_new_tokens": 4}


@pytest.mark.parametrize("documented", [ConfKVCache, confkv_agents.cache])
def test_docstring_examples_run(documented):
    own = {"attach": attach, "CacheConfig": CacheConfig, "ConfKVCache": ConfKVCache}
    found = run(documented.__doc__, model=make_model("llama"), inputs=inputs(), **own)
    assert found["output"].shape == (1, 16)
    assert found["cache"].get_seq_length() == 15 and found["cache"].usage().confidence is not None


@pytest.mark.parametrize("page", ["README.md", "docs/cache.md"])
def test_the_first_example_of_the_cache_alone_runs_on_each_page(page):
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(), re.DOTALL)
    code = next(block for block in blocks if "ConfKVCache(" in block)
    session = re.sub(r"^(attach|model\.generate)", r"_ = \1", code, flags=re.MULTILINE)
    session = "".join(f">>> {line}\n" for line in session.splitlines() if line.strip())
    found = run(session, model=make_model("llama"), inputs=inputs())
    assert found["cache"].get_seq_length() == 15


@pytest.mark.parametrize("family", MROPE)
def test_the_example_for_pictures_in_a_later_turn_runs(family):
    text = (ROOT / "docs/cache.md").read_text()
    code = next(b for b in re.findall(r"```python\n(.*?)```", text, re.DOTALL) if "mrope_positions" in b)
    model = attach(make_model(family))
    prompt = make_prompt(family, 20)
    cache = ConfKVCache(model.config)
    model(input_ids=prompt.ids[:, :1], cache=cache)
    pixels = {name: prompt.extra[name] for name in ("pixel_values", "image_grid_thw")}
    names = {"tokens": 20, "start": 2, "height": 2, "width": 3, "new_ids": prompt.ids[:, 1:], "pixels": pixels}
    session = "".join(f">>> {line}\n" for line in code.replace("\nmodel(", "\noutput = model(").splitlines() if line)
    found = run(session, model=model, cache=cache, **names)
    reference = make_model(family)(input_ids=prompt.ids, use_cache=False, **prompt.extra).logits
    assert (found["output"].logits - reference[:, 1:]).abs().max() < 1e-5
