"""Teaches the text model's way of reading to eyes and projector: captions of drawn pictures, the text model frozen."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import nn

from confkv_agents.engine.eyes import Resampler
from confkv_agents.pilot.captions import Facts, agreement, caption, read_caption
from confkv_agents.pilot.features import Shards
from confkv_agents.pilot.heads import Heads
from confkv_agents.pilot.projecting import Words
from confkv_agents.pilot.training import Settings, batches, train, trained

_BATCH = 32
_PICTURE = "<picture>"
# What stands before a caption, and what ends it.
FORMS = (
    (f"{_PICTURE}:", "\n"),
    ("<|im_start|>user\nWhat does the picture show?" + _PICTURE + "<|im_end|>\n<|im_start|>assistant\n", "<|im_end|>"),
    ("<|im_start|>user\n" + _PICTURE + "Describe it in one line.<|im_end|>\n<|im_start|>assistant\n", "<|im_end|>"),
)
_SHORT = 0.6  # share of the first form, which costs least
_IGNORED = -100


@dataclass(frozen=True)
class Reader:
    """A frozen text model with its tokenizer.

    Attributes:
        model: A causal language model in any number format.
        tokenizer: Its tokenizer.
    """

    model: Any
    tokenizer: Any

    def pieces(self, form: tuple[str, str]) -> tuple[list[int], list[int], list[int]]:
        """Ids before the picture, between picture and caption, and after the caption."""
        before, _, between = form[0].partition(_PICTURE)
        first, second, third = (self.ids(text) for text in (before, between, form[1]))
        return first, second, third

    def ids(self, text: str) -> list[int]:
        """Ids of text, control tokens included."""
        return list(self.tokenizer.encode(text, add_special_tokens=False)) if text else []

    def embed(self, ids: Sequence[int]) -> torch.Tensor:
        """Embeddings `[n, D]` of ids."""
        embedded: torch.Tensor = self.model.get_input_embeddings()(torch.tensor(ids, dtype=torch.long))
        return embedded

    def line(self, facts: Facts, form: tuple[str, str]) -> list[int]:
        """Ids of a caption and its end; after a colon it begins with a space."""
        gap = " " if form[0].endswith(":") else ""
        return self.ids(gap + caption(facts)) + self.pieces(form)[2]


def caption_loss(
    reader: Reader, projected: torch.Tensor, facts: Sequence[Facts], forms: Sequence[tuple[str, str]]
) -> torch.Tensor:
    """Mean loss of the captions' tokens.

    Args:
        reader: The text model.
        projected: `[B, T, D]`, the pictures' tokens as embeddings.
        facts: What the pictures show.
        forms: What stands around each caption.
    """
    rows, labels = [], []
    for tokens, each, form in zip(projected, facts, forms, strict=True):
        before, between, _ = reader.pieces(form)
        line = reader.line(each, form)
        rows.append(torch.cat([reader.embed(before), tokens.to(reader.model.dtype), reader.embed([*between, *line])]))
        labels.append([_IGNORED] * (len(rows[-1]) - len(line)) + line)
    longest = max(map(len, rows))
    # Plain causal attention: what is padded at the end changes nothing before it.
    embeds = torch.stack([nn.functional.pad(row, (0, 0, 0, longest - len(row))) for row in rows])
    wanted = torch.tensor([row + [_IGNORED] * (longest - len(row)) for row in labels])[:, 1:]
    hidden = reader.model.base_model(inputs_embeds=embeds, use_cache=False).last_hidden_state[:, :-1]
    kept = wanted != _IGNORED
    logits = reader.model.get_output_embeddings()(hidden[kept])
    return nn.functional.cross_entropy(logits.float(), wanted[kept])


@torch.inference_mode()
def say_captions(
    reader: Reader, projected: torch.Tensor, form: tuple[str, str] = FORMS[0], most: int = 24
) -> list[str]:
    """Let the text model write a caption for each picture, greedily.

    Args:
        reader: The text model.
        projected: `[B, T, D]`, the pictures' tokens as embeddings.
        form: What stands around a caption.
        most: Tokens at most.
    """
    before, between, end = reader.pieces(form)
    first, last = reader.embed(before), reader.embed(between)
    count = len(projected)
    parts = (first.expand(count, -1, -1), projected.to(reader.model.dtype), last.expand(count, -1, -1))
    inputs: dict[str, torch.Tensor] = {"inputs_embeds": torch.cat(parts, 1)}
    written: list[list[int]] = [[] for _ in range(count)]
    cache = None
    for _ in range(most):
        out = reader.model(**inputs, cache=cache, use_cache=True, logits_to_keep=1)
        cache, ids = out.cache, out.logits[:, -1].argmax(-1)
        for line, token in zip(written, ids.tolist(), strict=True):
            line.append(token)
        if all(end[0] in line for line in written):
            break
        inputs = {"input_ids": ids[:, None]}
    lines = [line[: line.index(end[0])] if end[0] in line else line for line in written]
    return [str(reader.tokenizer.decode(line)).strip() for line in lines]


def caption_accuracies(said: Sequence[str], facts: Sequence[Facts]) -> dict[str, float]:
    """Share of captions that agree with what is shown, per fact, and in all facts at once (`all`)."""
    found: dict[str, list[bool]] = {"all": []}
    for line, each in zip(said, facts, strict=True):
        right = agreement(read_caption(line), each)
        found["all"].append(all(right.values()))
        for fact, yes in right.items():
            found.setdefault(fact, []).append(yes)
    return {fact: round(sum(answers) / len(answers), 4) for fact, answers in found.items()}


def train_captions(
    resampler: Resampler,
    heads: Heads,
    projector: nn.Module,
    reader: Reader,
    pictures: Shards,
    held: Shards,
    settings: Settings,
    folder: Path,
    *,
    words: float = 0.0,
    judged: int = 256,
    say: Callable[[str], None] = lambda _: None,
) -> list[dict[str, Any]]:
    """Train resampler, projector and heads in place on captions; the heads' own losses keep what was learnt before.

    Args:
        resampler: Trained.
        heads: Trained.
        projector: Trained.
        reader: Frozen.
        pictures: To train on.
        held: To take figures on.
        settings: See `train`.
        folder: Of checkpoint and curve.
        words: If above 0, train on words' embeddings instead of captions, with this weight: the text model is not run.
        judged: Held-out pictures that captions are written for, from the first on.
        say: Told the curve.

    Returns:
        The curve, with held-out accuracies per fact: of written captions, or of the words nearest to the tokens where
        these are trained on.
    """
    reader.model.requires_grad_(False)
    modules = {"resampler.": resampler, "heads.": heads, "projector.": projector}
    parameters = {name: value for prefix, module in modules.items() for name, value in trained(module, prefix)}
    aligned = Words(reader.tokenizer, reader.model.get_input_embeddings().weight, heads.kinds) if words else None

    def loss_of(step: int) -> torch.Tensor:
        rng = random.Random(f"{settings.seed}:{step}")
        at = batches(len(pictures), _BATCH, step, settings.seed)
        facts = [pictures.facts[each] for each in at]
        features = pictures.batch(at)
        if rng.random() < 0.5:  # mirrored
            features = (features[0].flip(-1), features[1].flip(-1), features[2].flip(-1))
        with torch.autocast("cpu", torch.bfloat16):
            tokens = resampler(*features)
        tokens = tokens.float()
        projected = projector(tokens)
        if aligned is not None:
            return heads.loss(tokens, facts) + words * aligned.loss(projected, facts)
        form = FORMS[0] if rng.random() < _SHORT else rng.choice(FORMS[1:])  # one a batch: rows of like length
        told = [place for place, each in enumerate(facts) if each.count]  # no caption tells how many there are not
        captions = caption_loss(reader, projected[told], [facts[place] for place in told], [form] * len(told))
        return captions + 0.1 * heads.loss(tokens, facts)

    def evaluate() -> Mapping[str, float]:
        at = [place for place, each in enumerate(held.facts) if each.count][:judged]
        facts = [held.facts[place] for place in at]
        with torch.inference_mode():
            parts = [projector(resampler(*held.batch(at[start : start + 64]))) for start in range(0, len(at), 64)]
            if aligned is None:
                return caption_accuracies([line for part in parts for line in say_captions(reader, part)], facts)
            nearest = aligned.right(torch.cat(parts), facts)
        return {fact: round(sum(right) / len(right), 4) for fact, right in nearest.items()}

    return train(parameters, loss_of, settings, folder, evaluate, say)
