"""The projector: from the eyes' tokens to the text model's embeddings, and words to begin with.

Before any language model is asked, the projector learns to put embeddings of words that say what is seen into a
picture's tokens: how many, the colour, the thing, and the rest. This costs next to nothing, and a text model that is
shown such tokens reads nearly what it knows already.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import nn
from transformers import LlamaConfig, LlavaConfig
from transformers.models.llava.modeling_llava import LlavaMultiModalProjector

from confkv_agents.engine.eyes import EyesConfig
from confkv_agents.pilot.captions import COLOURS, MARKS, SCENES, Facts, several

_NUMBERS = ("some", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_PLAIN = "plain"  # of the colour and of the rest, where there is nothing to say
_JOINING = ("a", "an", "in", "on", "at")
_SHARPNESS = 20.0  # of the choice among words, per usual embedding's square: words lie 0.5 to 0.7 of it apart


def make_projector(eyes: EyesConfig, width: int, seed: int = 0) -> nn.Module:
    """Return a new projector, fp32, as `LlavaForConditionalGeneration` has it.

    Args:
        eyes: Sizes of the eyes.
        width: Of the text model's embeddings.
        seed: Of its parameters.
    """
    config = LlavaConfig(
        vision_config=eyes,
        text_config=LlamaConfig(hidden_size=width, num_attention_heads=1, head_dim=width),
        vision_feature_layer=-1,
        vision_feature_select_strategy="full",
    )
    state = torch.get_rng_state()
    torch.manual_seed(seed)
    projector: nn.Module = LlavaMultiModalProjector(config)
    torch.set_rng_state(state)
    return projector


class Words:
    """Embeddings of the words that say what a picture shows.

    Args:
        tokenizer: The text model's.
        embeddings: `[V, D]`, the text model's.
        kinds: Every kind of thing.
    """

    def __init__(self, tokenizer: Any, embeddings: torch.Tensor, kinds: Sequence[str]):
        self._tokenizer = tokenizer
        self._embeddings = embeddings.detach().float()
        self._scale = self._embeddings.square().sum(-1).mean()
        self._known: dict[str, torch.Tensor] = {}
        things = dict.fromkeys(name for kind in kinds for name in (kind, several(kind)))
        self._choices = {"count": _NUMBERS, "colour": (_PLAIN, *COLOURS), "thing": tuple(things)}

    def loss(self, projected: torch.Tensor, facts: Sequence[Facts]) -> torch.Tensor:
        """How far tokens are from the words: distance, and for all but the rest the choice among all such words.

        A token halfway between two words is near to both and says neither, so nearness alone does not do.

        Args:
            projected: `[B, 4, D]`: how many, the colour, the thing, the rest.
            facts: What each picture shows.

        Returns:
            Mean squared distance, in units of a usual embedding's square, plus the mean cross entropy of choosing the
            word by its squared distance.
        """
        wanted = [_slots(each) for each in facts]
        targets = torch.stack([self._embedding(word) for words in wanted for word in words]).view_as(projected)
        distance = (projected - targets).square().sum(-1).mean() / self._scale
        choices = [
            nn.functional.cross_entropy(
                -_SHARPNESS * self._distances(projected[:, slot], words),
                torch.tensor([words.index(each[slot]) for each in wanted]),
            )
            for slot, words in enumerate(self._choices.values())
        ]
        return distance + torch.stack(choices).mean()

    @torch.no_grad()
    def right(self, projected: torch.Tensor, facts: Sequence[Facts]) -> dict[str, list[bool]]:
        """Whether the word nearest to each token is the one that says what is seen; the rest is not judged."""
        wanted = [_slots(each) for each in facts]
        found: dict[str, list[bool]] = {}
        for slot, (name, words) in enumerate(self._choices.items()):
            nearest = self._distances(projected[:, slot], words).argmin(-1).tolist()
            found[name] = [words[at] == each[slot] for at, each in zip(nearest, wanted, strict=True)]
        return found

    def _distances(self, tokens: torch.Tensor, words: Sequence[str]) -> torch.Tensor:
        embedded = torch.stack([self._embedding(word) for word in words])
        crossed = tokens @ embedded.T
        return (tokens.square().sum(-1)[:, None] - 2 * crossed + embedded.square().sum(-1)) / self._scale

    def _embedding(self, words: str) -> torch.Tensor:
        if words not in self._known:
            ids = self._tokenizer.encode(" " + words, add_special_tokens=False)
            self._known[words] = self._embeddings[ids].mean(0)
        return self._known[words]


def _slots(facts: Facts) -> tuple[str, str, str, str]:
    """Words for how many, the colour, the thing and the rest, without those that only join them."""
    rest = [MARKS.get(facts.mark, ""), facts.motif, SCENES.get(facts.scene, "")]
    if facts.other:
        rest.append(f"{_NUMBERS[facts.others]} {facts.other if facts.others == 1 else several(facts.other)}")
    thing = facts.kind if facts.count == 1 else several(facts.kind)
    said = [word for words in rest for word in words.split() if word not in _JOINING]
    return _NUMBERS[facts.count], facts.colour or _PLAIN, thing, " ".join(said) or _PLAIN
