"""Every way through attention against one plain reference, each way forced, whatever the sizes would have chosen."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
import torch

from confkv_agents.cache import attention
from confkv_agents.cache.attention import Heads, attend
from confkv_agents.cache.own_bias import OwnBias
from confkv_agents.cache.quantize import decode_keys, decode_values, pair_amplitude
from confkv_agents.cache.tiers import MASKED, DenseTier, Int8Store, Int8Tier, Tier

ROWS, KV_HEADS, GROUPS, WIDTH = 2, 3, 2, 16
PATHS = ("fused", "tiled", "direct", "blocks")


@dataclass
class Case:
    """Tiers as attention gets them, and the same tokens laid out plainly."""

    query: torch.Tensor
    tiers: list[Tier]
    keys: torch.Tensor
    values: torch.Tensor
    visible: torch.Tensor  # [B, Hkv, 1 or Q, n]
    own: OwnBias | None


def dense(slots: int, empty: float, even: bool) -> tuple[DenseTier, torch.Tensor]:
    """Return a tier of random tokens and which slots hold one, `[B, Hkv, slots]`; `even`: every head has as many."""
    keys, values = torch.randn(ROWS, KV_HEADS, slots, WIDTH), torch.randn(ROWS, KV_HEADS, slots, WIDTH)
    chance = torch.rand(ROWS, KV_HEADS, slots)
    live = chance.argsort(-1).argsort(-1) >= int(slots * empty) if even else chance >= empty
    return DenseTier(keys, values, torch.where(live, 0.0, MASKED), step=8), live


def make_case(queries: int, *, own: bool, padded: bool, coded: bool, even: bool) -> Case:
    torch.manual_seed(queries)
    query = torch.randn(ROWS, queries, KV_HEADS * GROUPS, WIDTH).transpose(1, 2)
    full, live = dense(25, 0.3, even)
    tiers: list[Tier] = [full]
    keys, values, visible = [full.keys], [full.values], [live]
    if coded:
        source, live = dense(40, 0.4, even)
        store = Int8Store(source.keys, 40)
        store.amplitude.copy_(pair_amplitude(source.keys, live))
        store.write(torch.arange(40).expand(ROWS, KV_HEADS, -1), source.keys, source.values)
        tiers.append(Int8Tier(store, 40, torch.where(live, 0.0, MASKED), step=16))
        keys.append(decode_keys(store.key_codes, store.key_scale, store.key_zero, store.amplitude))
        values.append(decode_values(store.value_codes, store.value_scale))
        visible.append(live)
    bias = None
    seen = torch.cat(visible, -1)[:, :, None].expand(-1, -1, queries, -1)
    if own:
        real = torch.ones(ROWS, queries, dtype=torch.bool)
        if padded:
            real[0, : queries // 2] = False
        mine = DenseTier(torch.randn(ROWS, KV_HEADS, queries, WIDTH), torch.randn(ROWS, KV_HEADS, queries, WIDTH), None)
        tiers.append(mine)
        keys.append(mine.keys)
        values.append(mine.values)
        causal = torch.ones(queries, queries, dtype=torch.bool).tril() & real[:, None, :]
        seen = torch.cat([seen, causal[:, None].expand(-1, KV_HEADS, -1, -1)], -1)
        bias = OwnBias(queries, query.device, real if padded else None)
    return Case(query, tiers, torch.cat(keys, 2), torch.cat(values, 2), seen, bias)


def reference(case: Case, heads: Heads, weight: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Return output and mass by the definition."""
    query = case.query.unflatten(1, (KV_HEADS, GROUPS)).double()
    scores = torch.einsum("bhgqd,bhkd->bhgqk", query, case.keys.double()) * heads.scaling
    if heads.softcap is not None:
        scores = heads.softcap * (scores / heads.softcap).tanh()
    weights = scores.masked_fill(~case.visible[:, :, None], -torch.inf).softmax(-1)
    output = torch.einsum("bhgqk,bhkd->bhgqd", weights, case.values.double()).flatten(1, 2)
    by_head = (weights * weight[:, None, None, :, None]).sum(3)
    return output.float(), (by_head.amax(2) if heads.group == "max" else by_head.mean(2)).float()


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("softcap", [None, 2.0])
@pytest.mark.parametrize("even", [True, False], ids=["even heads", "uneven heads"])
@pytest.mark.parametrize("coded", [False, True], ids=["dense", "coded"])
@pytest.mark.parametrize(
    ("queries", "own", "padded"), [(1, False, False), (7, False, False), (7, True, False), (7, True, True)]
)
def test_every_path_equals_softmax_over_everything(path, softcap, even, coded, queries, own, padded, monkeypatch):
    monkeypatch.setattr(attention, "TILE", 3 * ROWS * KV_HEADS * GROUPS * 64)  # a few queries a tile
    monkeypatch.setattr(attention, "PIECE", 3)
    case = make_case(queries, own=own, padded=padded, coded=coded, even=even)
    heads = Heads(scaling=0.25, groups=GROUPS, softcap=softcap)
    weight = torch.rand(ROWS, queries)
    if path == "fused" and softcap is not None:
        with pytest.raises(ValueError, match="softcap"):
            attend(case.query, case.tiers, heads, own_bias=case.own, path=path)
        return
    asked = None if path == "fused" else weight
    result = attend(case.query, case.tiers, heads, own_bias=case.own, query_weight=asked, path=path)
    output, mass = reference(case, heads, weight)
    assert torch.allclose(result.output, output, atol=2e-6)
    if path == "fused":
        assert result.mass == []
        return
    assert [part.shape[-1] for part in result.mass] == [tier.slots for tier in case.tiers]
    assert torch.allclose(torch.cat(result.mass, -1), mass, atol=2e-6)


@pytest.mark.parametrize("path", [path for path in PATHS if path != "fused"])
@pytest.mark.parametrize(("queries", "own"), [(1, False), (7, True)])
def test_the_largest_of_a_query_group_is_taken_where_asked_for(path, queries, own, monkeypatch):
    monkeypatch.setattr(attention, "TILE", 3 * ROWS * KV_HEADS * GROUPS * 64)
    case = make_case(queries, own=own, padded=False, coded=True, even=True)
    heads = Heads(scaling=0.25, groups=GROUPS, group="max")
    weight = torch.rand(ROWS, queries)
    result = attend(case.query, case.tiers, heads, own_bias=case.own, query_weight=weight, path=path)
    assert torch.allclose(torch.cat(result.mass, -1), reference(case, heads, weight)[1], atol=2e-6)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("queries", [1, 7])
def test_half_precision_is_close_and_a_query_that_sees_nothing_is_finite(path, dtype, queries):
    case = make_case(queries, own=queries > 1, padded=queries > 1, coded=True, even=True)
    heads = Heads(scaling=0.25, groups=GROUPS)
    weight = torch.rand(ROWS, queries)
    output, mass = reference(case, heads, weight)
    full, coded, *own = case.tiers
    store = coded.store
    tiers = [DenseTier(tier.keys.to(dtype), tier.values.to(dtype), tier.bias, step=8) for tier in (full, *own)]
    tiers.insert(1, Int8Tier(store, store.slots, coded.bias))
    asked = None if path == "fused" else weight
    result = attend(case.query.to(dtype), tiers, heads, own_bias=case.own, query_weight=asked, path=path)
    assert result.output.dtype == dtype
    assert torch.allclose(result.output.float(), output, atol=0.06)
    if asked is not None:
        assert torch.allclose(torch.cat(result.mass, -1), mass, atol=0.02)
    for tier in tiers:
        if tier.bias is not None:
            tier.bias.fill_(MASKED)
    nothing = attend(case.query.to(dtype), tiers, heads, own_bias=case.own, query_weight=asked, path=path)
    assert torch.isfinite(nothing.output).all()
    assert all(torch.isfinite(part).all() for part in nothing.mass)


@pytest.mark.parametrize("queries", [5, 300])
def test_new_tokens_alone_and_after_others_are_fused_alike(queries):
    """Without stored tokens the fused way is causal attention; else, and for many queries, it takes masks."""
    heads, count = Heads(scaling=0.25, groups=GROUPS), queries + 9
    query = torch.randn(1, KV_HEADS * GROUPS, count, WIDTH)
    keys, values = torch.randn(2, 1, KV_HEADS, count, WIDTH)
    whole = attend(query, [DenseTier(keys, values, None)], heads, own_bias=OwnBias(count, query.device), path="fused")
    later = attend(
        query[:, :, 9:],
        [DenseTier(keys[:, :, :9], values[:, :, :9], None), DenseTier(keys[:, :, 9:], values[:, :, 9:], None)],
        heads,
        own_bias=OwnBias(queries, query.device),
        path="fused",
    )
    one_tier = attend(
        query[:, :, 9:], [DenseTier(keys, values, None)], heads, own_bias=OwnBias(queries, query.device), path="fused"
    )
    assert torch.allclose(later.output, whole.output[:, :, 9:], atol=2e-6)
    assert torch.allclose(one_tier.output, whole.output[:, :, 9:], atol=2e-6)


def test_the_fastest_path_can_do_what_is_asked():
    """Softcap or mass rule out the fused way, many coded slots the ways that decode all at once."""
    case = make_case(7, own=True, padded=False, coded=True, even=True)

    def chosen(tiers, mass=False, softcap=None, queries=7, own=case.own):
        query = torch.zeros(ROWS, KV_HEADS, GROUPS, queries, WIDTH)
        return attention._Work(query, tiers, Heads(0.25, GROUPS, softcap), own).fastest(mass)

    full, coded, own = case.tiers
    assert chosen([full, own]) == "fused"
    assert chosen([full, coded, own]) == "fused"
    assert chosen([full, own], softcap=2.0) == "tiled"
    assert chosen([full, coded, own], mass=True) == "tiled"
    assert chosen([full, coded], mass=True, queries=1, own=None) == "direct"
    many = Int8Tier(coded.store, 1 << 22, coded.bias)
    assert chosen([full, many, own], mass=True) == "blocks"
    assert chosen([full, many], queries=1, own=None) == "blocks"


@pytest.mark.parametrize("path", ["tiled", "fused"])
def test_gradients_do_not_break_attention(path):
    """Outside `no_grad` nothing may be written into tensors that autograd still needs."""
    case = make_case(7, own=True, padded=False, coded=False, even=True)
    heads, weight = Heads(scaling=0.25, groups=GROUPS), torch.rand(ROWS, 7)
    with torch.enable_grad():
        query = case.query.clone().requires_grad_()
        asked = None if path == "fused" else weight
        result = attend(query, case.tiers, heads, own_bias=case.own, query_weight=asked, path=path)
    assert torch.allclose(result.output.detach(), reference(case, heads, weight)[0], atol=2e-6)
