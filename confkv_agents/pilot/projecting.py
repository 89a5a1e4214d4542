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
from confkv_agents.pilot.captions import MARKS, SCENES, Facts, several

_NUMBERS = ("", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")


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
    """

    def __init__(self, tokenizer: Any, embeddings: torch.Tensor):
        self._tokenizer = tokenizer
        self._embeddings = embeddings.detach().float()
        self._scale = self._embeddings.square().sum(-1).mean()
        self._known: dict[str, torch.Tensor] = {}

    def loss(self, projected: torch.Tensor, facts: Sequence[Facts]) -> torch.Tensor:
        """Squared distance from the words' mean embeddings, in units of a usual embedding's square.

        Args:
            projected: `[B, 4, D]`: how many, the colour, the thing, the rest; where there is no word, nothing is
                asked of a token.
            facts: What each picture shows.
        """
        wanted = [self._slots(each) for each in facts]
        places = [(row, slot) for row, words in enumerate(wanted) for slot, word in enumerate(words) if word]
        targets = torch.stack([self._embedding(wanted[row][slot]) for row, slot in places])
        rows, slots = zip(*places, strict=True)
        distance = (projected[list(rows), list(slots)] - targets).square().sum(-1)
        return distance.mean() / self._scale

    @staticmethod
    def _slots(facts: Facts) -> tuple[str, str, str, str]:
        rest = [MARKS.get(facts.mark, ""), facts.motif, SCENES.get(facts.scene, "")]
        if facts.other:
            rest.append(f"{_NUMBERS[facts.others]} {facts.other if facts.others == 1 else several(facts.other)}")
        thing = facts.kind if facts.count == 1 else several(facts.kind)
        return _NUMBERS[facts.count], facts.colour, thing, " ".join(word for word in rest if word)

    def _embedding(self, words: str) -> torch.Tensor:
        if words not in self._known:
            ids = self._tokenizer.encode(" " + words, add_special_tokens=False)
            self._known[words] = self._embeddings[ids].mean(0)
        return self._known[words]
