"""One episode put to one policy: what is new of each prompt is read, then the recorded reply is fed token by token."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch

from confkv_agents.cache import CacheConfig
from confkv_agents.errors import PromptError
from confkv_agents.evaluation.bench.retelling import Asked, action_in
from confkv_agents.evaluation.bench.turn_reading import TurnReader

if TYPE_CHECKING:
    from confkv_agents.engine.loading import LoadedModel

GREEDY_TOKENS = 32
"""Most tokens that the model may write in place of an action, and as many more as the recorded text has."""


@dataclass
class Told:
    """What a policy had to say of one step.

    Attributes:
        index: Number of the step.
        action: As recorded.
        logprobs: `[n, V]` at each token of what is scored, float32, on the CPU.
        tokens: `[n]` ids of what is scored.
        greedy: What the model would have written in its place.
    """

    index: int
    action: str
    logprobs: torch.Tensor
    tokens: torch.Tensor
    greedy: str
    tokens_read: int
    kv_bytes: int
    peak_kv_bytes: int
    full_kv_bytes: int
    cold_bytes: int
    read_s: float
    token_s: float

    def figures(self, full: Told) -> dict[str, Any]:
        """Return JSON-safe figures, compared with full KV's of the same step."""
        own = self.logprobs.gather(1, self.tokens[:, None]).squeeze(1)
        divergence = (full.logprobs.exp() * (full.logprobs - self.logprobs)).sum(-1).clamp_min(0)
        said, theirs = action_in(self.greedy), action_in(full.greedy)
        return {
            "step": self.index,
            "tokens": len(self.tokens),
            "nats": -float(own.sum()),
            "recorded": self.action,
            "greedy": self.greedy,
            "agrees": said == self.action,
            "agrees_with_full": said == theirs if said is not None else self.greedy == full.greedy,
            "token_agreement": float((self.logprobs.argmax(-1) == self.tokens).float().mean()),
            "divergence": float(divergence.mean()),
            "tokens_read": self.tokens_read,
            "kv_bytes": self.kv_bytes,
            "peak_kv_bytes": self.peak_kv_bytes,
            "full_kv_bytes": self.full_kv_bytes,
            "cold_bytes": self.cold_bytes,
            "read_s": self.read_s,
            "token_s": self.token_s,
        }


def replay(loaded: LoadedModel, asked: Sequence[Asked], config: CacheConfig) -> list[Told]:
    """Put an episode to one policy; stops before a step that the model's positions do not hold.

    Args:
        loaded: The model.
        asked: The episode's steps as questions.
        config: Of the cache.

    Raises:
        PromptError: The model's chat template changes earlier turns when one is added.
    """
    reader = TurnReader(loaded, config)
    encoder, told = reader.encoder, []
    for question in asked:
        turns = question.turns
        prompt = encoder.encode(turns, {})
        lead, scored = encoder.text_ids(question.lead), encoder.text_ids(question.scored)
        if len(prompt.ids) + len(lead) + len(scored) + GREEDY_TOKENS > loaded.position_limit:
            break
        if prompt.keys[: len(reader.keys)] != reader.keys:
            raise PromptError(
                f"the chat template of model {loaded.name!r} changes earlier turns when one is added, so an episode "
                "cannot be replayed turn by turn"
            )
        began = time.perf_counter()
        count = reader.read(prompt)
        reader.cache.compact()
        read_s = time.perf_counter() - began
        for token in lead:
            reader.observe()
            reader.say(token)
        told.append(_scored(loaded, reader, question, scored, count, read_s))
        encoder.remember(turns, question.lead + question.scored, [*lead, *scored], prompt)
    reader.close()
    return told


def _scored(
    loaded: LoadedModel, reader: TurnReader, question: Asked, scored: list[int], count: int, read_s: float
) -> Told:
    """Feed what is scored; where the model would depart from it, a fork goes on as the model would."""
    whole = not question.lead and len(question.scored.splitlines()) > 1
    logprobs = []
    greedy: str | None = None
    greedy_s, began = 0.0, time.perf_counter()
    for place, token in enumerate(scored):
        logits = reader.observe()
        logprobs.append(logits[0].float().log_softmax(-1).cpu())
        if greedy is None and int(logits.argmax(-1)) != token:
            started = time.perf_counter()
            greedy = _greedy(loaded, reader, scored[:place], len(scored) - place + GREEDY_TOKENS, whole)
            greedy_s = time.perf_counter() - started
        reader.say(token)
    token_s = (time.perf_counter() - began - greedy_s) / max(1, len(scored))
    reader.observe()  # the end, which a run would have sampled here
    reader.cache.compact()
    usage = reader.cache.usage()
    return Told(
        index=question.step.index,
        action=question.step.action,
        logprobs=torch.stack(logprobs),
        tokens=torch.tensor(scored),
        greedy=question.scored if greedy is None else greedy,
        tokens_read=count,
        kv_bytes=int(usage.kv_bytes),
        peak_kv_bytes=int(usage.peak_kv_bytes),
        full_kv_bytes=int(usage.full_kv_bytes),
        cold_bytes=int(usage.cold_bytes),
        read_s=read_s,
        token_s=token_s,
    )


def _greedy(loaded: LoadedModel, reader: TurnReader, said: list[int], most: int, whole: bool) -> str:
    """What the model would write after what is said, from logits that the cache has seen: a line, or the whole."""
    ids = list(said)
    own = reader.fork()
    logits = own.logits
    for _ in range(most):
        token = int(logits.argmax(-1))
        if token in loaded.eos_ids:
            break
        ids.append(token)
        text = str(loaded.tokenizer.decode(ids))
        if "\n" in text.lstrip() and (not whole or action_in(text.rpartition("\n")[0]) is not None):
            break
        own.say(token)
        logits = own.observe()
    own.close()
    text = str(loaded.tokenizer.decode(ids)).strip()
    return text if whole else text.partition("\n")[0].strip()
