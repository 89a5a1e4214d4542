"""Training the pilot's language model on demonstrations: LoRA, whole episodes, loss on the answers only."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch
from torch.nn.functional import cross_entropy

from confkv_agents.pilot.encoding import Encoded
from confkv_agents.pilot.lora import lora_parameters
from confkv_agents.pilot.training import Settings, batches, train


def answer_loss(model: Any, episode: Encoded) -> torch.Tensor:
    """Sum of the negative log-likelihood of an episode's learned tokens; logits are computed at those only.

    Args:
        model: A causal language model with `model` (the decoder) and `lm_head`.
        episode: One conversation.
    """
    hidden = model.model(input_ids=episode.ids[None, :-1], use_cache=False).last_hidden_state[0]
    wanted = episode.learned[1:]
    logits = model.lm_head(hidden[wanted]).float()
    return cross_entropy(logits, episode.ids[1:][wanted], reduction="sum")


def train_agent(
    model: Any,
    episodes: Sequence[Encoded],
    held_out: Sequence[Encoded],
    settings: Settings,
    folder: Path,
    batch: int = 4,
    say: Callable[[str], None] = lambda _: None,
) -> list[dict[str, Any]]:
    """Train the adapters of a model that has been through `add_lora`.

    Args:
        model: In training precision.
        episodes: To learn from.
        held_out: To take the held-out loss from; at most a few dozen.
        settings: Of the loop.
        folder: For checkpoints and the curve.
        batch: Episodes a step; each is its own sequence, without padding.
        say: Told each line of the curve.
    """

    def loss_of(step: int) -> torch.Tensor:
        chosen = [episodes[index] for index in batches(len(episodes), batch, step, settings.seed)]
        total = sum(int(each.learned.sum()) for each in chosen)
        mean = torch.zeros((), device=model.device)
        for each in chosen:  # one at a time, so that no more than one episode's activations are held
            loss = answer_loss(model, each) / total
            loss.backward()
            mean = mean + loss.detach()
        return mean.requires_grad_()

    def figures() -> dict[str, Any]:
        if not held_out:
            return {}
        with torch.no_grad():
            losses = [float(answer_loss(model, each)) for each in held_out]
        return {"held_out_loss": round(sum(losses) / sum(int(each.learned.sum()) for each in held_out), 5)}

    return train(lora_parameters(model), loss_of, settings, folder, figures, say)
