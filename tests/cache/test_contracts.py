"""The contracts of the cache, against the stock cache or against itself, on tiny random models."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from safetensors.torch import save_file
from tiny import left_padded, make_prompt
from transformers import DynamicCache

from confkv_agents.cache import CacheConfig, ConfKVCache, load_cache, save_cache
from confkv_agents.errors import CacheStateError

WIDE = {"budget": 256, "window": 8, "int8_share": 0.0}
TIGHT = {"budget": 14, "window": 4, "sinks": 2, "chunk": 8, "evict_every": 3}
BOUNDED = ("window", "h2o", "snapkv", "confkv")
POLICIES = ("full", *BOUNDED)


def generate(model, cache, ids, mask=None, tokens=12, **kwargs):
    mask = torch.ones_like(ids) if mask is None else mask
    processors = cache.logits_processors() if isinstance(cache, ConfKVCache) else []
    return model.generate(
        ids,
        attention_mask=mask,
        cache=cache,
        max_new_tokens=tokens,
        do_sample=False,
        return_dict_in_generate=True,
        output_logits=True,
        logits_processor=processors,
        **kwargs,
    )


def difference(ours, reference) -> float:
    return max((a - b).abs().max().item() for a, b in zip(ours.logits, reference.logits, strict=True))


def stored_positions(cache: ConfKVCache) -> torch.Tensor:
    """`[L, B, H, S]` logical positions of what the bank stores, -1 for empty slots."""
    table = cache._banks[0][0].stores.table
    return table.position[..., : table.regions.total]


def new_cache(model, **config) -> ConfKVCache:
    return ConfKVCache(model.config, CacheConfig(**config))


# ---------------------------------------------------------------- contract 1: nothing evicted equals the stock cache


@pytest.mark.parametrize("policy", POLICIES)
def test_without_eviction_logits_equal_the_stock_cache(policy, family, stock, model):
    prompt = make_prompt(family, 24)
    reference = generate(stock, DynamicCache(config=stock.config), prompt.ids, **prompt.extra)
    ours = generate(model, new_cache(model, policy=policy, **WIDE), prompt.ids, **prompt.extra)
    assert difference(ours, reference) < 1e-5


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("chunk", [1, 5, 16])
def test_reading_in_chunks_equals_reading_at_once(policy, chunk, family, stock, model):
    prompt = make_prompt("llama", 24)  # text only: the engine's tests let a chunk end inside a picture
    reference = stock(input_ids=prompt.ids, cache=DynamicCache(config=stock.config)).logits
    cache = new_cache(model, policy=policy, **WIDE)
    parts = [model(input_ids=part, cache=cache).logits for part in prompt.ids.split(chunk, 1)]
    assert (torch.cat(parts, 1) - reference).abs().max() < 1e-5


@pytest.mark.parametrize("policy", POLICIES)
def test_left_padded_batch_equals_the_stock_cache(policy, family, stock, model):
    prompt = make_prompt("llama", 24)
    short, short_mask = left_padded(prompt.ids[:, :15], 24)
    ids = torch.cat([prompt.ids, short])
    mask = torch.cat([torch.ones_like(prompt.ids), short_mask])
    reference = generate(stock, DynamicCache(config=stock.config), ids, mask)
    ours = generate(model, new_cache(model, policy=policy, **WIDE), ids, mask)
    assert difference(ours, reference) < 1e-5


@pytest.mark.parametrize("policy", POLICIES)
def test_beam_search_equals_the_stock_cache(policy, family, stock, model):
    prompt = make_prompt(family, 24)
    options = {"max_new_tokens": 8, "num_beams": 3, "do_sample": False, **prompt.extra}
    mask = torch.ones_like(prompt.ids)
    reference = stock.generate(prompt.ids, attention_mask=mask, **options)
    cache = new_cache(model, policy=policy, **WIDE)
    assert torch.equal(model.generate(prompt.ids, attention_mask=mask, cache=cache, **options), reference)


def test_attached_model_without_our_cache_is_unchanged(family, stock, model):
    prompt = make_prompt(family, 24)
    short, mask = left_padded(make_prompt("llama", 15).ids, 24)
    for ids, attention, extra in ((prompt.ids, None, prompt.extra), (short, mask, {})):
        reference = generate(stock, DynamicCache(config=stock.config), ids, attention, **extra)
        assert difference(generate(model, DynamicCache(config=model.config), ids, attention, **extra), reference) < 1e-6
    reference = stock(input_ids=prompt.ids, use_cache=False, **prompt.extra).logits
    assert (model(input_ids=prompt.ids, use_cache=False, **prompt.extra).logits - reference).abs().max() < 1e-6


# ---------------------------------------------------------------- contract 2: a row does not know its neighbours


@pytest.mark.parametrize("policy", BOUNDED)
@pytest.mark.parametrize(("pyramid", "int8_share"), [(-0.5, 0.0), (0.5, 0.0), (0.0, 0.5)])
def test_row_alone_equals_row_in_padded_batch(policy, pyramid, int8_share, model):
    ids = make_prompt("llama", 24).ids
    short, short_mask = left_padded(ids[:, :15], 24)
    batch, mask = torch.cat([ids, short]), torch.cat([torch.ones_like(ids), short_mask])
    config = {
        **TIGHT,
        "budget": 20,
        "pyramid": pyramid,
        "int8_share": int8_share,
        "policy": policy,
        "window": 4,
    }
    caches = new_cache(model, **config), new_cache(model, **config)
    alone = generate(model, caches[0], ids[:, :15], tokens=24)
    together = generate(model, caches[1], batch, mask, tokens=24)
    steps = torch.stack([(a[0] - b[1]).abs().max() for a, b in zip(alone.logits, together.logits, strict=True)])
    if not int8_share:
        assert steps.max() < 1e-5
        return
    # The last bit of a sum can turn a code, and a code the rank of an eviction: alike, not equal.
    assert steps[:3].max() < 2e-3
    kept = [[set(heads) for layer in stored_positions(c)[:, -1].tolist() for heads in layer] for c in caches]
    shared = [len(a & {p - 9 for p in b}) / len(a) for a, b in zip(*kept, strict=True)]
    assert sum(shared) / len(shared) > 0.9


def test_rows_that_code_tokens_at_different_times_keep_their_own_codes(model):
    """Three rows of different lengths on two KV heads: nothing may mix rows with heads."""
    rows = [make_prompt("llama", length, seed=length).ids for length in (120, 70, 95)]
    padded, masks = zip(*(left_padded(row, 120) for row in rows), strict=True)

    def feed(ids, mask):
        cache = new_cache(model, policy="confkv", budget=48, window=16, min_budget=24, chunk=32)
        positions = (mask.cumsum(1) - 1).clamp_min(0)
        for start in range(0, ids.shape[1], 32):
            piece = slice(start, start + 32)
            output = model(
                input_ids=ids[:, piece],
                attention_mask=mask[:, : min(start + 32, ids.shape[1])],
                position_ids=positions[:, piece],
                cache=cache,
            )
        return output.logits[:, -1]

    together = feed(torch.cat(padded), torch.cat(masks))
    alone = feed(rows[0], torch.ones_like(rows[0]))
    assert (alone[0] - together[0]).abs().max() < 1e-5


# ---------------------------------------------------------------- contract 3: the bound holds, bytes are true


@pytest.mark.parametrize("policy", BOUNDED)
@pytest.mark.parametrize(("int8_share", "fed_in"), [(0.0, 8), (0.6, 8), (0.6, 1000), (0.0, 1)])
def test_stored_slots_never_exceed_budget_and_chunk(policy, int8_share, fed_in, family, model):
    if fed_in == 1 and family not in ("llama", "gemma3_text"):
        fed_in = 7  # one by one is slow, and the same code for every family
    config = CacheConfig(policy=policy, budget=32, window=8, sinks=2, chunk=16, pyramid=0.4, int8_share=int8_share)
    cache = ConfKVCache(model.config, config)
    prompt = make_prompt("llama", 160 if fed_in == 1 else 320).ids
    limits = cache._schedule._share(config.budget)
    for part in prompt.split(fed_in, 1):
        cache.observe(model(input_ids=part, cache=cache).logits[:, -1])
        for stored, limit in zip(cache.stored_slots(), limits, strict=True):
            assert stored[0] <= limit + config.chunk
    token = prompt[:, -1:]
    for _ in range(40):
        cache.observe(model(input_ids=token, cache=cache).logits[:, -1])
        allowed = cache._schedule.slots()[:, 0] + 1
        stored = [row[0] for row in cache.stored_slots()]
        live = (cache._banks[0][0].stores.table.position[..., :-1] >= 0).sum(-1).amax(-1)[:, 0]
        # A budget that shrinks takes effect when the next token comes, so the last one's limit counts too.
        assert all(s <= a + config.shrink for s, a in zip(stored, allowed, strict=True))
        if not int8_share:
            assert live.tolist() == stored
    assert cache.get_seq_length() == prompt.shape[1] + 40


@pytest.mark.parametrize("policy", POLICIES)
def test_reported_bytes_are_the_bytes_held(policy, model):
    import gc

    cache = new_cache(model, policy=policy, budget=64, window=8, chunk=32)
    ids = make_prompt("llama", 200).ids
    for part in ids.split(32, 1):
        model(input_ids=part, cache=cache)
    gc.collect()
    held, seen, queue = {}, set(), [*cache._banks, *cache._sliding_tensors()]
    while queue:  # walk everything the banks reach, whatever it is called
        thing = queue.pop()
        if id(thing) in seen:
            continue
        seen.add(id(thing))
        if isinstance(thing, torch.Tensor):
            held[thing.untyped_storage().data_ptr()] = thing.untyped_storage().nbytes()
        elif isinstance(thing, dict):
            queue += thing.values()
        elif isinstance(thing, list | tuple | set):
            queue += thing
        elif type(thing).__module__.startswith("confkv_agents"):
            queue += vars(thing).values()
    assert cache.nbytes == sum(held.values())
    assert cache.usage().kv_bytes <= cache.usage().peak_kv_bytes


def test_an_int8_token_costs_its_bytes(model):
    cache = new_cache(model, policy="confkv", budget=256, window=8, int8_share=0.5)
    model(input_ids=make_prompt("llama", 16).ids, cache=cache)
    bank = cache._banks[0][0]
    full, int8 = bank.split(cache._schedule.slots())
    store = bank.stores.int8[0]
    store = type(store)(bank.stores.full[0].keys, 64)
    per_token = sum(t.nbytes for t in store.tensors() if t.shape[2] == 64) / 64 / (bank.heads * bank.rows)
    full_token = 2 * bank.width * bank.dtype.itemsize
    assert per_token == full_token * bank.int8_cost
    spent = full * full_token + int8 * per_token
    assert (abs(spent - 256 * full_token) <= full_token).all()


# ---------------------------------------------------------------- contract 4: scores do not depend on the chunks


@pytest.mark.parametrize("policy", ["h2o", "confkv"])
def test_scores_do_not_depend_on_the_chunks(policy, model):
    ids = make_prompt("llama", 40).ids
    masses = []
    for chunk in (1, 7, 16, 40):
        cache = new_cache(model, policy=policy, **{**WIDE, "chunk": 16})
        for part in ids.split(chunk, 1):
            model(input_ids=part, cache=cache)
        cache.compact()
        bank = cache._banks[0][0]
        bank._fold_mass()
        table = bank.stores.table
        position, order = table.position[..., : table.regions.full].sort(-1)
        mass = table.mass[..., : table.regions.full].gather(-1, order)
        masses.append(mass[position >= 0].view(-1, 1, 2, 40))
    for mass in masses[1:]:
        assert torch.allclose(mass, masses[0], atol=1e-6)


def test_mass_is_the_column_sum_of_the_attention_weights(stock, family, model):
    ids = make_prompt("llama", 30).ids
    full = ConfKVCache(model.config)._full
    stock.set_attn_implementation("eager")
    weights = torch.stack(stock(input_ids=ids, output_attentions=True).attentions)  # [L, B, Hq, Q, K]
    stock.set_attn_implementation("sdpa")
    expected = weights[full].sum(3).unflatten(2, (2, 4)).mean(3)
    cache = new_cache(model, policy="h2o", budget=256, window=8, chunk=11)
    model(input_ids=ids, cache=cache)
    cache.compact()
    table = cache._banks[0][0].stores.table
    position, order = table.position[..., : table.regions.full].sort(-1)
    mass = table.mass[..., : table.regions.full].gather(-1, order)[position >= 0].view(-1, 1, 2, 30)
    assert torch.allclose(mass, expected, atol=1e-5)


# ---------------------------------------------------------------- contract 5: the protected survive


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("policy", BOUNDED)
def test_window_and_sinks_survive_ties_without_nan(dtype, policy, family):
    from tiny import make_model

    from confkv_agents.cache import attach

    model = attach(make_model(family)).to(dtype)
    for parameter in model.parameters():  # equal scores everywhere: every rank is a tie
        parameter.zero_()
    ids, mask = left_padded(torch.full((2, 50), 5), 60)
    mask[0, :10] = 1
    config = CacheConfig(policy=policy, budget=16, window=6, sinks=3, chunk=8, evict_every=4)
    cache = ConfKVCache(model.config, config)
    output = model(input_ids=ids, attention_mask=mask, cache=cache)
    assert torch.isfinite(output.logits).all()
    for step in range(20):
        mask = torch.cat([mask, torch.ones(2, 1, dtype=mask.dtype)], 1)
        output = model(input_ids=ids[:, -1:], attention_mask=mask, cache=cache)
        assert torch.isfinite(output.logits).all()
        cache.observe(output.logits[:, -1])
        table = cache._banks[0][0].stores.table
        position = table.position[..., : table.regions.total]
        for row, first in ((0, 0), (1, 10)):
            kept = [set(heads.tolist()) for layer in position[:, row] for heads in layer]
            must = {first, first + 1, first + 2, *range(60 + step - config.window + 1, 60 + step + 1)}
            assert all(must <= slots for slots in kept)
            assert all(min(slots - {-1}) >= first for slots in kept), "padding is never stored"


# ---------------------------------------------------------------- contract 10: decoding does not grow the cache


@pytest.mark.parametrize("int8_share", [0.0, 0.5])
def test_storage_after_ten_budgets_of_decoding_is_what_it_was_after_one(int8_share, model):
    cache = new_cache(model, policy="confkv", budget=40, min_budget=40, window=8, int8_share=int8_share)
    token = make_prompt("llama", 2).ids[:, :1]
    model(input_ids=token, cache=cache)
    sizes = {}
    for step in range(1, 401):
        cache.observe(model(input_ids=token, cache=cache).logits[:, -1])
        sizes[step] = cache.nbytes
    early, late = [[n for step, n in sizes.items() if test(step)] for test in (lambda s: s <= 80, lambda s: s > 80)]
    assert max(late) <= max(early)
    assert len(set(late)) == 1


# ---------------------------------------------------------------- looking ahead


@pytest.mark.parametrize("policy", ["snapkv", "confkv"])
def test_a_probe_is_the_tails_mean_attention_and_changes_nothing_else(policy, stock, family, model):
    ids = make_prompt("llama", 30).ids
    stock.set_attn_implementation("eager")
    weights = torch.stack(stock(input_ids=ids, output_attentions=True).attentions)  # [L, B, Hq, Q, K]
    stock.set_attn_implementation("sdpa")
    caches = [new_cache(model, policy=policy, **{**WIDE, "chunk": 11}) for _ in range(2)]
    for cache in caches:
        model(input_ids=ids[:, :20], cache=cache)
    with caches[0].looking_ahead():
        model(input_ids=ids[:, 20:], cache=caches[0])
    expected = weights[caches[0]._full][..., 20:, :20].mean(3).unflatten(2, (2, 4)).mean(3)
    table = caches[0]._banks[0][0].stores.table
    position, order = table.position[..., : table.regions.total].sort(-1)
    probe = table.probe[..., : table.regions.total].gather(-1, order)[position >= 0].view(-1, 1, 2, 20)
    assert torch.allclose(probe, expected, atol=1e-5)
    assert caches[0].get_seq_length() == 20
    after = [model(input_ids=ids[:, 20:25], cache=cache).logits for cache in caches]
    assert torch.equal(*after)


def test_looking_ahead_saves_what_the_tail_asks_for(model):
    """Tokens that the tail attends to most survive, though nothing read before them looked at them."""
    ids = make_prompt("llama", 120).ids
    cache = new_cache(model, policy="snapkv", budget=24, window=4, sinks=2, chunk=30, span=1, probe=6)
    for start in (0, 30, 60):
        model(input_ids=ids[:, start : start + 30], cache=cache)
        with cache.looking_ahead():
            model(input_ids=ids[:, -6:], cache=cache)
    table = cache._banks[0][0].stores.table
    position = table.position[..., : table.regions.total]
    unprotected = (position >= 2) & (position < 90 - 4)
    best = table.probe[..., : table.regions.total].masked_fill(~unprotected, -1.0).argmax(-1, keepdim=True)
    wanted = position.gather(-1, best)
    model(input_ids=ids[:, 90:92], cache=cache)  # the next tokens make room for themselves first
    assert (cache._banks[0][0].stores.table.position == wanted).any(-1).all()


@pytest.mark.parametrize("policy", ["full", "window"])
def test_looking_ahead_is_refused_where_it_has_no_use(policy, model):
    cache = new_cache(model, policy=policy, **WIDE)
    model(input_ids=make_prompt("llama", 8).ids, cache=cache)
    assert not cache.wants_probe
    with pytest.raises(CacheStateError, match="needs a policy with a probe"), cache.looking_ahead():
        pass


# ---------------------------------------------------------------- references and refusals


def test_memory_goes_with_the_last_reference(model):
    import gc
    import weakref

    gc.collect()
    gc.disable()
    try:
        cache = new_cache(model, policy="confkv", budget=128)
        model(input_ids=make_prompt("llama", 12).ids, cache=cache)
        gone = weakref.ref(cache._banks[0][0])
        del cache
        assert gone() is None
    finally:
        gc.enable()


@pytest.mark.parametrize("policy", POLICIES)
def test_a_refused_mask_leaves_the_cache_as_it_was(policy, family, model):
    ids = make_prompt("llama", 30).ids
    caches = [new_cache(model, policy=policy, **WIDE) for _ in range(2)]
    with pytest.raises(CacheStateError, match="attention_mask covers 5 tokens"):
        model(input_ids=ids[:, :9], attention_mask=torch.tensor([[0, 1, 1, 1, 1]]), cache=new_cache(model))
    for cache in caches:
        model(input_ids=ids[:, :20], cache=cache)
    for length in (1, 4):
        with pytest.raises(CacheStateError, match="attention_mask covers 7 tokens"):
            mask = torch.tensor([[0, 1, 1, 1, 1, 1, 1]])
            model(input_ids=ids[:, 20 : 20 + length], attention_mask=mask, cache=caches[0])
        if family == "gemma3_text":  # its stock sliding layers have taken the tokens already
            with pytest.raises(CacheStateError, match="reset"):
                model(input_ids=ids[:, 20:22], cache=caches[0])
            return
    a, b = (model(input_ids=ids[:, 20:25], cache=cache).logits for cache in caches)
    assert (a - b).abs().max() < 1e-6


# ---------------------------------------------------------------- rollback and forks


@pytest.mark.parametrize("policy", POLICIES)
def test_a_fork_goes_on_like_the_original(policy, model):
    ids = make_prompt("llama", 90).ids
    cache = new_cache(model, policy=policy, **{**TIGHT, "budget": 24})
    model(input_ids=ids, cache=cache)
    fork = cache.fork()
    model(input_ids=ids[:, :30], cache=fork)
    again = cache.fork()
    first = [model(input_ids=ids[:, i : i + 1], cache=cache).logits for i in range(30)]
    second = [model(input_ids=ids[:, i : i + 1], cache=again).logits for i in range(30)]
    assert all(torch.equal(a, b) for a, b in zip(first, second, strict=True))


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("decoded", [0, 5])
def test_a_saved_and_loaded_cache_goes_on_bit_for_bit(policy, decoded, model, tmp_path):
    ids = make_prompt("llama", 90).ids
    cache = new_cache(model, policy=policy, **{**TIGHT, "budget": 24})
    model(input_ids=ids, cache=cache)
    for index in range(decoded):
        cache.observe(model(input_ids=ids[:, index : index + 1], cache=cache).logits[:, -1])
    save_cache(cache, tmp_path / "cache.safetensors")
    loaded = load_cache(tmp_path / "cache.safetensors", model.config)
    alike = {"kv_bytes": 0, "full_kv_bytes": 0}  # spare room and views of stock layers are not saved
    assert replace(loaded.usage(), **alike) == replace(cache.usage(), **alike)
    assert loaded.nbytes <= cache.nbytes
    assert [path.name for path in tmp_path.iterdir()] == ["cache.safetensors"]
    for step in range(25):
        part = ids[:, step : step + 1] if step % 10 else ids[:, step : step + 9]
        a, b = (model(input_ids=part, cache=c).logits for c in (cache, loaded))
        assert torch.equal(a, b)
        assert cache.observe(a[:, -1]) == loaded.observe(b[:, -1])


def test_a_file_that_is_no_saved_cache_of_this_model_is_refused(model, tmp_path):
    from tiny import make_model

    cache = new_cache(model, policy="confkv", budget=128)
    model(input_ids=make_prompt("llama", 30).ids, cache=cache)
    good = tmp_path / "good"
    save_cache(cache, good)
    (tmp_path / "cut").write_bytes(good.read_bytes()[:500])
    (tmp_path / "text").write_text("not a cache")
    save_file({"x": torch.zeros(1)}, tmp_path / "other")
    for name in ("missing", "cut", "text", "other"):
        with pytest.raises(CacheStateError, match=name):
            load_cache(tmp_path / name, model.config)
    config = make_model("llama").config
    config.num_hidden_layers = 2
    with pytest.raises(CacheStateError, match="layers"):
        load_cache(good, config)


@pytest.mark.parametrize("policy", POLICIES)
def test_cropping_before_any_eviction_equals_never_having_read_on(policy, family, model):
    ids = make_prompt("llama", 60).ids
    cache = new_cache(model, policy=policy, **WIDE)
    model(input_ids=ids, cache=cache)
    if family == "gemma3_text":  # a sliding layer has forgotten what position 30 could see
        with pytest.raises(CacheStateError, match="cannot go back to 30 of 60"):
            cache.crop_to(30)
        return
    assert cache.can_crop_to(30)
    cache.crop_to(30)
    straight = new_cache(model, policy=policy, **WIDE)
    model(input_ids=ids[:, :30], cache=straight)
    a, b = (model(input_ids=ids[:, 5:9], cache=c).logits for c in (cache, straight))
    assert cache.get_seq_length() == 34
    assert (a - b).abs().max() < 1e-5
