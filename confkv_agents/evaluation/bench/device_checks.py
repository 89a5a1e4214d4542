"""The cache's contracts, checked on a device: what the tests hold on the CPU must hold there too.

Each check is a function that takes a `Rig` and returns whether it held, and its figures. Models are tiny and random,
so that all of it takes seconds; `scripts/check_cuda.py` runs it. What is compared are figures of the device with
others of the same device, or with the stock cache.
"""

from __future__ import annotations

import gc
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import torch
from transformers import AutoModelForCausalLM, Gemma3TextConfig, LlamaConfig, Qwen2Config
from transformers.cache_utils import DynamicCache

from confkv_agents.cache import CacheConfig, ConfKVCache, attach
from confkv_agents.cache.budget import share_over_layers
from confkv_agents.cache.mass import fold_mass
from confkv_agents.cache.quantize import (
    decode_keys,
    decode_values,
    encode_keys,
    encode_values,
    pair_amplitude,
)
from confkv_agents.evaluation.bench.synchronization import synchronizations

Found = tuple[bool, str]
TEXT: dict[str, Any] = {
    "vocab_size": 97,
    "hidden_size": 64,
    "intermediate_size": 96,
    "num_hidden_layers": 4,
    "num_attention_heads": 8,
    "num_key_value_heads": 2,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": None,
}
WIDE = {"budget": 256, "window": 8, "int8_share": 0.0}
BOUNDED = ("window", "h2o", "snapkv", "confkv")
INT8_ERRORS: tuple[tuple[dict[int, float], float], ...] = (  # added to channels of keys; largest relative error
    ({}, 0.0125),
    ({5: 50.0}, 0.02),
    ({5: 100.0, 20: 200.0, 70: 300.0, 100: 150.0}, 0.045),
)


@dataclass
class Rig:
    """Models on a device.

    Args:
        device: Where.
    """

    device: torch.device
    _models: dict[tuple[str, bool], Any] = field(default_factory=dict)

    @property
    def close(self) -> float:
        """Largest difference of logits that counts as none: 1e-5, ten times that beside CUDA's own kernels."""
        return 1e-5 if self.device.type == "cpu" else 1e-4

    def model(self, family: str = "llama", *, stock: bool = False) -> Any:
        """Return a tiny model of a family (or "shallow", one layer), with the stock attention or with this cache's."""
        if (family, stock) not in self._models:
            torch.manual_seed(0)
            model: Any = AutoModelForCausalLM.from_config(_config(family)).eval()
            model = model.to(self.device)
            self._models[family, stock] = model if stock else attach(model)
        return self._models[family, stock]

    def ids(self, length: int, seed: int = 1) -> torch.Tensor:
        """Return `[1, length]` random ids."""
        chance = torch.Generator().manual_seed(seed)
        return torch.randint(2, 96, (1, length), generator=chance).to(self.device)

    def cache(self, model: Any, **config: Any) -> ConfKVCache:
        """Return a new cache for a model."""
        return ConfKVCache(model.config, CacheConfig(**config))

    def wait(self) -> None:
        """Let the device come to rest."""
        if self.device.type == "cuda":
            torch.cuda.synchronize(self.device)


def _config(family: str) -> Any:
    if family == "qwen2":
        return Qwen2Config(**TEXT)
    if family == "gemma3_text":
        kinds = ["sliding_attention", "full_attention"] * 2
        return Gemma3TextConfig(**TEXT, head_dim=8, sliding_window=16, layer_types=kinds, query_pre_attn_scalar=8)
    return LlamaConfig(**{**TEXT, "num_hidden_layers": 1 if family == "shallow" else 4})


def _padded(ids: torch.Tensor, length: int) -> tuple[torch.Tensor, torch.Tensor]:
    missing = length - ids.shape[1]
    zeros = ids.new_zeros(ids.shape[0], missing)
    return torch.cat([zeros, ids], 1), torch.cat([zeros, torch.ones_like(ids)], 1)


def _generate(model: Any, cache: Any, ids: torch.Tensor, mask: torch.Tensor | None = None, tokens: int = 12) -> Any:
    return model.generate(
        ids,
        attention_mask=torch.ones_like(ids) if mask is None else mask,
        cache=cache,
        max_new_tokens=tokens,
        do_sample=False,
        return_dict_in_generate=True,
        output_logits=True,
        logits_processor=cache.logits_processors() if isinstance(cache, ConfKVCache) else [],
    )


def _apart(ours: Any, reference: Any, row: int | None = None) -> float:
    pick = (lambda logits: logits) if row is None else (lambda logits: logits[row])
    pairs = zip(ours.logits, reference.logits, strict=True)
    return max(float((pick(a) - pick(b)).abs().max()) for a, b in pairs)


def _bank(cache: ConfKVCache) -> Any:
    return cache._banks[0][0]


def _positions(cache: ConfKVCache, region: str | None = None) -> torch.Tensor:
    """`[L, B, H, S]` positions of what is stored, -1 for empty slots."""
    table = _bank(cache).stores.table
    stored: torch.Tensor = table.position[..., : table.regions.total]
    return stored if region is None else table.position[..., table.regions.columns(region)]


# ---------------------------------------------------------------- contract 1


def equals_stock(rig: Rig) -> Found:
    """Nothing evicted: logits and beams are the stock cache's."""
    worst, beams = 0.0, True
    for family in ("llama", "qwen2", "gemma3_text"):
        stock, model, ids = rig.model(family, stock=True), rig.model(family), rig.ids(24)
        short, short_mask = _padded(ids[:, :15], 24)
        batch, mask = torch.cat([ids, short]), torch.cat([torch.ones_like(ids), short_mask])
        whole = stock(input_ids=ids, cache=DynamicCache(config=stock.config)).logits
        options = {"max_new_tokens": 8, "num_beams": 3, "do_sample": False, "attention_mask": torch.ones_like(ids)}
        best = stock.generate(ids, **options)
        padded = _generate(stock, DynamicCache(config=stock.config), batch, mask)
        for policy in ("full", *BOUNDED) if family == "llama" else ("full", "confkv"):
            new = partial(rig.cache, model, policy=policy, **WIDE)
            worst = max(worst, _apart(_generate(model, new(), batch, mask), padded))
            for chunk in (24, 5):
                cache = new()
                parts = [model(input_ids=part, cache=cache).logits for part in ids.split(chunk, 1)]
                worst = max(worst, float((torch.cat(parts, 1) - whole).abs().max()))
            beams = beams and torch.equal(model.generate(ids, cache=new(), **options), best)
    return worst < rig.close and beams, f"logits differ by {worst:.1e}, beams {'equal' if beams else 'DIFFER'}"


# ---------------------------------------------------------------- contract 2


def rows_are_independent(rig: Rig) -> Found:
    """Under eviction a row alone equals the row in a left-padded batch."""
    model, ids, worst = rig.model(), rig.ids(24), 0.0
    short, short_mask = _padded(ids[:, :15], 24)  # shorter than the budget: chunks must begin at the same tokens
    batch, mask = torch.cat([ids, short]), torch.cat([torch.ones_like(ids), short_mask])
    for policy in BOUNDED:
        tight = {"policy": policy, "budget": 20, "window": 4, "sinks": 2, "chunk": 8, "evict_every": 3}
        alone = _generate(model, rig.cache(model, **tight, int8_share=0.0), ids[:, :15], tokens=24)
        together = _generate(model, rig.cache(model, **tight, int8_share=0.0), batch, mask, tokens=24)
        pairs = zip(alone.logits, together.logits, strict=True)
        worst = max(worst, *(float((a[0] - b[1]).abs().max()) for a, b in pairs))
    return worst < rig.close, f"logits differ by {worst:.1e}"


# ---------------------------------------------------------------- contract 3


def _alive(device: torch.device) -> dict[int, int]:
    """Return the bytes of every storage on the device that some tensor holds, by address."""
    gc.collect()
    found = {}
    for thing in gc.get_objects():
        if issubclass(type(thing), torch.Tensor) and thing.device.type == device.type:
            storage = thing.untyped_storage()
            found[storage.data_ptr()] = storage.nbytes()
    return found


def bounds_hold(rig: Rig) -> Found:
    """Slots stay within budget and chunk for a prompt ten times the budget; bytes reported are bytes held."""
    model, held_true, most = rig.model(), True, -math.inf
    ids = rig.ids(320)
    reported = held = 0
    for policy in BOUNDED:
        config = {"policy": policy, "budget": 32, "window": 8, "sinks": 2, "chunk": 16, "pyramid": 0.4}
        before = _alive(rig.device)
        cache = rig.cache(model, **config)
        limits = share_over_layers(32, cache.policy.floor, 4, 0.4)
        for part in ids.split(16, 1):
            cache.observe(model(input_ids=part, cache=cache).logits[:, -1])
            over = [stored[0] - limit - 16 for stored, limit in zip(cache.stored_slots(), limits, strict=True)]
            most = max(most, *over)
        rig.wait()
        after = _alive(rig.device)
        held = sum(size for place, size in after.items() if place not in before)
        reported = cache.nbytes
        held_true = held_true and held == reported
        del cache
    text = f"{most:+.0f} slots at most to the bound, {reported:,} bytes reported of {held:,} held"
    return most <= 0 and held_true, text


# ---------------------------------------------------------------- contract 4


def scores_ignore_chunks(rig: Rig) -> Found:
    """Attention mass does not depend on how the prompt was chunked."""
    model, ids, worst = rig.model(), rig.ids(40), 0.0
    for policy in ("h2o", "confkv"):
        masses = []
        for chunk in (1, 7, 16, 40):
            cache = rig.cache(model, policy=policy, **{**WIDE, "chunk": 16})
            for part in ids.split(chunk, 1):
                model(input_ids=part, cache=cache)
            cache.compact()
            bank = _bank(cache)
            fold_mass(bank)
            table = bank.stores.table
            position, order = table.position[..., : table.regions.full].sort(-1)
            mass = table.mass[..., : table.regions.full].gather(-1, order)
            masses.append(mass[position >= 0])
        worst = max(worst, *(float((mass - masses[0]).abs().max()) for mass in masses[1:]))
    return worst < rig.close, f"mass differs by {worst:.1e}"


# ---------------------------------------------------------------- contract 5


def protected_survive(rig: Rig) -> Found:
    """Window and sinks survive ties, free of NaN, in every precision; sinks are the first real tokens."""
    kept = finite = True
    for dtype in (torch.float32, torch.bfloat16, torch.float16):
        torch.manual_seed(0)
        model: Any = AutoModelForCausalLM.from_config(_config("llama")).eval()
        attach(model)
        model.to(rig.device, dtype)
        for parameter in model.parameters():
            parameter.data.zero_()  # equal scores everywhere: every rank is a tie
        ids, mask = _padded(torch.full((2, 50), 5, device=rig.device), 60)
        mask[0, :10] = 1
        for policy in BOUNDED:
            config = CacheConfig(policy=policy, budget=16, window=6, sinks=3, chunk=8, evict_every=4)
            cache = ConfKVCache(model.config, config)
            logits, seen = model(input_ids=ids, attention_mask=mask, cache=cache).logits, mask
            for step in range(10):
                seen = torch.cat([seen, torch.ones_like(seen[:, :1])], 1)
                logits = model(input_ids=ids[:, -1:], attention_mask=seen, cache=cache).logits
                finite = finite and bool(torch.isfinite(logits).all())
                cache.observe(logits[:, -1])
                stored = _positions(cache).tolist()
                for row, first in ((0, 0), (1, 10)):
                    must = {first, first + 1, first + 2, *range(60 + step - 5, 60 + step + 1)}
                    slots = [set(heads) - {-1} for layer in stored for heads in layer[row]]
                    kept = kept and all(must <= each and min(each) >= first for each in slots)
    return kept and finite, f"protected tokens {'kept' if kept else 'LOST'}, {'no NaN' if finite else 'NaN'}"


# ---------------------------------------------------------------- contract 8


def int8_is_close(rig: Rig) -> Found:
    """Attention over codes is close to attention over keys with outliers; a stored token's codes never change."""
    errors = [_int8_error(rig, bias) for bias, _ in INT8_ERRORS]
    close = all(error < most for error, (_, most) in zip(errors, INT8_ERRORS, strict=True))
    model, same = rig.model(), True
    known: dict[tuple[int, int], list[int]] = {}
    cache = rig.cache(model, policy="confkv", budget=64, min_budget=64, window=8, chunk=16, int8_share=0.6)
    ids = rig.ids(260)
    for part in [*ids[:, :160].split(16, 1), *ids[:, 160:].split(1, 1)]:
        model(input_ids=part, cache=cache)
        store, positions = _bank(cache).stores.int8[0], _positions(cache, "int8")[0, 0].tolist()
        codes = store.key_codes[0].tolist()
        for head, row in enumerate(positions):
            for slot, position in enumerate(row):
                if position >= 0 and slot < len(codes[head]):
                    same = same and known.setdefault((head, position), codes[head][slot]) == codes[head][slot]
    text = f"errors {', '.join(f'{error:.1%}' for error in errors)}, codes {'unchanged' if same else 'CHANGED'}"
    return close and same and bool(known), text


def _int8_error(rig: Rig, bias: dict[int, float]) -> float:
    """Return the relative error of attention over codes; some channels have outliers, then positions turn pairs."""
    chance = torch.Generator().manual_seed(0)
    keys = torch.randn(1, 4, 512, 128, generator=chance) * (0.5 + 1.5 * torch.rand(1, 4, 1, 128, generator=chance))
    for channel, value in bias.items():
        keys[..., channel] += value
    angle = torch.arange(512)[:, None] * 10000 ** (-torch.arange(64) / 64)
    first, second, cos, sin = keys[..., :64], keys[..., 64:], angle.cos(), angle.sin()
    keys = torch.cat([first * cos - second * sin, second * cos + first * sin], -1).to(rig.device)
    values, query = (torch.randn(1, 4, n, 128, generator=chance).to(rig.device) for n in (512, 32))
    amplitude = pair_amplitude(keys[:, :, :256], torch.ones(1, 4, 256, dtype=torch.bool, device=rig.device))
    coded = decode_keys(*encode_keys(keys, amplitude), amplitude), decode_values(*encode_values(values))
    outputs = [(query @ k.mT / math.sqrt(128)).softmax(-1) @ v for k, v in (coded, (keys, values))]
    return float((outputs[0] - outputs[1]).norm() / outputs[1].norm())


# ---------------------------------------------------------------- contract 9


def one_synchronization(rig: Rig) -> Found:
    """A decoding step makes at most one transfer to the host beyond the stock cache's, evictions included."""
    counts: dict[str, int] = {}
    for policy in ("stock", "full", "window", "h2o", "confkv"):
        model = rig.model(stock=policy == "stock")
        cache: Any = DynamicCache(config=model.config)
        if policy != "stock":
            cache = rig.cache(model, policy=policy, budget=64, window=8, chunk=32)
        logits = model(input_ids=rig.ids(100), cache=cache).logits[:, -1]
        token, most = rig.ids(1), 0
        for _ in range(24):
            with synchronizations(rig.device) as found:
                if policy != "stock":
                    cache.observe(logits)
                logits = model(input_ids=token, cache=cache, use_cache=True, logits_to_keep=1).logits[:, -1]
            most = max(most, found[0])
        counts[policy] = most
    over = max(count - counts["stock"] for policy, count in counts.items() if policy != "stock")
    text = ", ".join(f"{policy} {count}" for policy, count in counts.items())
    return over <= 1, f"most in one step: {text}"


# ---------------------------------------------------------------- contract 10


def decoding_does_not_grow(rig: Rig) -> Found:
    """After ten budgets of decoding the cache holds what it held after one."""
    model, texts, steady = rig.model(), [], True
    for share in (0.0, 0.5):
        cache = rig.cache(model, policy="confkv", budget=24, min_budget=24, window=8, int8_share=share)
        token = rig.ids(2)[:, :1]
        model(input_ids=token, cache=cache)
        sizes = []
        for _ in range(240):
            cache.observe(model(input_ids=token, cache=cache).logits[:, -1])
            sizes.append(cache.nbytes)
        steady = steady and max(sizes[48:]) <= max(sizes[:48]) and len(set(sizes[48:])) == 1
        texts.append(f"{max(sizes[:48]):,} then {max(sizes[48:]):,} bytes")
    return steady, "; ".join(texts)


# ---------------------------------------------------------------- the cold tier


def cold_tier_recalls(rig: Rig) -> Found:
    """A recalled step sees what full KV sees; codes lie in host memory, pinned beside CUDA; copies do not race."""
    model, ids = rig.model("shallow"), rig.ids(160)
    reference = model(input_ids=ids, use_cache=False).logits[0]

    def run(*, patient: bool) -> tuple[torch.Tensor, float, float, ConfKVCache]:
        tight = {"budget": 24, "window": 6, "sinks": 2, "chunk": 16, "evict_every": 3, "promote": 4, "span": 3}
        cache = rig.cache(model, policy="confkv+recall", recall="gated", recall_share=1.0, **tight)
        for part in ids[:, :120].split(16, 1):
            model(input_ids=part, cache=cache)
        found, without, recalled = [], 0.0, 0.0
        for place in range(120, 160):
            token = ids[:, place : place + 1]
            plain = model(input_ids=token, cache=cache).logits[0, -1]
            if not cache.should_recall([0.0]):
                raise RuntimeError("an unsure step did not recall")
            with cache.recalling():
                again = model(input_ids=token, cache=cache).logits[0, -1]
            cache.observe_confidence([0.5])
            if patient:
                rig.wait()
            found.append(again)
            without = max(without, float((plain - reference[place]).abs().max()))
            recalled = max(recalled, float((again - reference[place]).abs().max()))
        return torch.stack(found), without, recalled, cache

    first, without, recalled, cache = run(patient=False)
    second = run(patient=True)[0]
    stored = _bank(cache).cold.tensors()
    hosted = all(tensor.device.type == "cpu" for tensor in stored)
    pinned = rig.device.type != "cuda" or all(tensor.is_pinned() for tensor in stored)
    equal = torch.equal(first, second)
    text = f"off by {recalled:.4f} ({without:.3f} without), {'in' if hosted else 'NOT in'} host memory"
    text += "" if rig.device.type != "cuda" else ", pinned" if pinned else ", NOT pinned"
    text += "" if equal else ", DIFFERS when waited for"
    return recalled < 0.01 and without > 2 * recalled and hosted and pinned and equal, text


CHECKS: tuple[tuple[str, Callable[[Rig], Found]], ...] = (
    ("1", equals_stock),
    ("2", rows_are_independent),
    ("3", bounds_hold),
    ("4", scores_ignore_chunks),
    ("5", protected_survive),
    ("8", int8_is_close),
    ("9", one_synchronization),
    ("10", decoding_does_not_grow),
    ("cold", cold_tier_recalls),
)
