import pytest
import torch

from confkv_agents.engine.sampling import Sampler, SamplingConfig, logprob_of
from confkv_agents.errors import ConfigError

LOGITS = torch.tensor([0.0, 3.0, 2.0, 1.0, -1.0])


def draws(count: int = 300, **options: object) -> set[int]:
    sampler = Sampler(SamplingConfig(temperature=1.0, seed=1, **options))  # type: ignore[arg-type]
    return {int(sampler.choose(LOGITS)) for _ in range(count)}


def test_temperature_zero_is_the_likeliest_token() -> None:
    assert Sampler(SamplingConfig()).choose(LOGITS) == 1


def test_top_k_samples_among_the_k_likeliest() -> None:
    assert draws(top_k=2) == {1, 2}


def test_top_p_samples_among_the_fewest_that_reach_p() -> None:
    # probabilities of 1, 2, 3: 0.64, 0.24, 0.09
    assert draws(top_p=0.5) == {1}
    assert draws(top_p=0.8) == {1, 2}


def test_top_p_counts_within_top_k() -> None:
    # within the two likeliest: 0.73, 0.27
    assert draws(top_k=2, top_p=0.7) == {1}


def test_low_temperature_approaches_greedy() -> None:
    sampler = Sampler(SamplingConfig(temperature=0.01, seed=3))
    assert {int(sampler.choose(LOGITS)) for _ in range(50)} == {1}


def test_the_same_seed_gives_the_same_tokens_and_leaves_the_global_generator_alone() -> None:
    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    runs = []
    for _ in range(2):
        sampler = Sampler(SamplingConfig(temperature=1.0, seed=11))
        runs.append([int(sampler.choose(LOGITS)) for _ in range(20)])
    assert runs[0] == runs[1]
    assert torch.equal(torch.rand(3), expected)


def test_logprobs_are_of_the_raw_distribution() -> None:
    entry = logprob_of(LOGITS, 2, top=2, decode=str)
    expected = LOGITS.log_softmax(-1)
    assert entry.logprob == pytest.approx(expected[2].item())
    assert [other.token_id for other in entry.top] == [1, 2]
    assert [entry.text, *(other.text for other in entry.top)] == ["[2]", "[1]", "[2]"]
    assert entry.top[0].logprob == pytest.approx(expected[1].item())


@pytest.mark.parametrize("bad", [{"temperature": -1.0}, {"top_p": 0.0}, {"top_p": 1.5}, {"top_k": -1}])
def test_impossible_settings_are_refused(bad: dict[str, float]) -> None:
    with pytest.raises(ConfigError):
        SamplingConfig(**bad)  # type: ignore[arg-type]


def test_the_least_temperature_chooses_the_likeliest_token() -> None:
    logits = torch.tensor([1.0, 30.0, -5.0])
    assert int(Sampler(SamplingConfig(temperature=1e-40, seed=1)).choose(logits)) == 1
