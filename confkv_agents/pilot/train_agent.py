"""Training the pilot's language model on demonstrations: LoRA, whole episodes, loss on the answers only.

Several processes of one thread each take their shares of every step's episodes: on processors this is faster than one
process of several threads, since most operations are too small to be shared.
"""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import distributed
from torch.nn.functional import cross_entropy

from confkv_agents.engine.loading import load_model
from confkv_agents.engine.weights import embedded_model
from confkv_agents.errors import ConfigError
from confkv_agents.pilot import causal
from confkv_agents.pilot.encoding import Encoded
from confkv_agents.pilot.lora import add_lora, load_lora, lora_parameters, lora_tensors, saved_lora
from confkv_agents.pilot.training import CHECKPOINT, Settings, batches, checkpoint_of, train
from confkv_agents.wheels import sha256_of

# glibc's: freed memory is kept, in large pages; activations come and go by gigabytes. Others do not read it.
_MEMORY = {
    "GLIBC_TUNABLES": "glibc.malloc.hugetlb=1",
    "MALLOC_MMAP_THRESHOLD_": "2000000000",
    "MALLOC_TRIM_THRESHOLD_": "8000000000",
    "MALLOC_TOP_PAD_": "100000000",
}
_SHORT = 400  # tokens of a conversation of which reading twice would save nothing
ADAPTERS, ABOUT = "adapters.safetensors", "training.json"
_DECISIVE = ("episodes", "tokens", "learned_tokens", "batch", "rank", "full_every", "start")
Pictures = Mapping[str, torch.Tensor]
Say = Callable[[str], None]


@dataclass(frozen=True)
class AgentData:
    """What is learned from.

    Attributes:
        episodes: To learn from.
        held_out: To take the held-out loss from; at most a few dozen.
        pictures: `[tokens, D]` by name: what the projector makes of each picture of the episodes.
    """

    episodes: Sequence[Encoded]
    held_out: Sequence[Encoded]
    pictures: Pictures


@dataclass(frozen=True)
class AgentPlan:
    """How it is learned.

    Attributes:
        settings: Of the loop.
        batch: Episodes a step; each is its own sequence, without padding.
        rank: Of the low-rank changes.
        start: Adapters to begin with.
        processes: That share each step.
        full_every: In one of so many steps gradients also flow through what was read, which is exact and costs more.
            In the others what was read is taken as it is, and only answers are computed with gradients, save in
            conversations of at most 400 tokens.
        compiled: Whether layers are compiled, which needs a C++ compiler and two minutes at the start.
    """

    settings: Settings
    batch: int = 8
    rank: int = 16
    start: Path | None = None
    processes: int = 1
    full_every: int = 1
    compiled: bool = False

    def __post_init__(self) -> None:
        for name in ("batch", "rank", "processes", "full_every"):
            if getattr(self, name) < 1:
                raise ConfigError(f"{name} is {getattr(self, name)}; pass a whole number from 1")
        if self.start is not None and not self.start.is_file():
            raise ConfigError(f"there are no adapters at {self.start}")


def answer_loss(model: Any, episode: Encoded, pictures: Pictures, full: bool = True) -> torch.Tensor:
    """Sum of the negative log-likelihood of an episode's learned tokens; logits are computed at those only.

    Args:
        model: A causal language model with `model` (the decoder) and `lm_head`.
        episode: One conversation.
        pictures: Embeddings by name, `[tokens, D]` each.
        full: Let gradients flow through all tokens; if not, through those whose next is learned, to which the others
            are what they are. That needs `causal.NAME` as the model's attention.
    """
    device = model.device
    embedded = model.get_input_embeddings()(episode.ids[:-1].to(device))
    for name, places in episode.pictures:
        embedded[list(places)] = pictures[name].to(embedded)
    answers = episode.learned[1:].nonzero()[:, 0]
    if full:
        hidden = model.model(inputs_embeds=embedded[None], use_cache=False).last_hidden_state[0][answers.to(device)]
    else:
        with causal.reading() as read:
            model.model(inputs_embeds=embedded[None], use_cache=False)
        with causal.answering(read, answers):
            given = {"inputs_embeds": embedded[answers][None], "position_ids": answers[None]}
            hidden = model.model(**given, use_cache=False).last_hidden_state[0]
    logits = model.lm_head(hidden).float()
    return cross_entropy(logits, episode.ids[1:][answers].to(device), reduction="sum")


def shares(lengths: Sequence[int], count: int) -> list[list[int]]:
    """Deal indices to `count` shares of about the same work, the longest first."""
    dealt: list[list[int]] = [[] for _ in range(count)]
    work = [0] * count
    for index in sorted(range(len(lengths)), key=lambda at: -lengths[at]):
        least = work.index(min(work))
        dealt[least].append(index)
        work[least] += lengths[index]
    return dealt


def _silent(_: str) -> None:
    """Say nothing."""


def text_model() -> Any:
    """Load the embedded text model, in the precision that it is trained in.

    Raises:
        WeightsMissingError: It was not fetched.
    """
    return load_model(str(embedded_model())).model


def train_agent(
    data: AgentData, plan: AgentPlan, folder: Path, say: Say = _silent, load: Callable[[], Any] = text_model
) -> Path:
    """Train low-rank changes of a text model.

    Args:
        data: Demonstrations.
        plan: How.
        folder: For checkpoints, the curve and, at the end, the adapters.
        say: Told each line of the curve. It and `load` are functions of a module where there are several processes.
        load: Loads the model.

    Returns:
        The file of adapters.

    Raises:
        ConfigError: The folder's checkpoint, or `plan.start`, is of other parameters, settings or conversations.
    """
    _require_the_same(folder, data, plan)
    if plan.processes == 1:
        _work(0, data, plan, folder, "", say, load)
    else:
        multiprocessing = torch.multiprocessing
        strategy = multiprocessing.get_sharing_strategy()
        multiprocessing.set_sharing_strategy("file_system")  # there are more tensors than files may be open
        try:
            with tempfile.TemporaryDirectory() as meeting:
                given = (data, plan, folder, f"file://{meeting}/store", say, load)
                with _environment(_MEMORY):
                    working = multiprocessing.spawn(_work, given, nprocs=plan.processes, join=False)
                _wait_for(working)
        finally:
            multiprocessing.set_sharing_strategy(strategy)
    return folder / ADAPTERS


def _wait_for(working: Any) -> None:
    """Wait for processes to end; they end with this one, however that is ended."""
    try:
        while not working.join():
            pass
    except torch.multiprocessing.ProcessRaisedException as error:
        kind, _, said = str(error).strip().rpartition("\n")[2].partition(": ")
        if kind.endswith("ConfigError"):
            raise ConfigError(said) from error
        raise
    finally:
        for process in working.processes:
            process.kill()
            process.join()


def _work(
    number: int, data: AgentData, plan: AgentPlan, folder: Path, meeting: str, say: Say, load: Callable[[], Any]
) -> None:
    if meeting:
        torch.set_num_threads(1)
        distributed.init_process_group("gloo", init_method=meeting, rank=number, world_size=plan.processes)
    model = load()
    if model.device.type != "cpu" and plan.full_every > 1:
        raise ConfigError(
            f"full_every {plan.full_every} needs a model on a processor, and this one is on {model.device}"
        )
    if model.device.type == "cpu":
        causal.register()
        model.config._attn_implementation = causal.NAME
    add_lora(model, plan.rank, seed=plan.settings.seed)
    if plan.start is not None:
        load_lora(model, load_file(plan.start))
    parameters = lora_parameters(model)
    if plan.compiled:
        for layer in model.model.layers:
            layer.compile(dynamic=True)

    started_by = os.getppid()

    def loss_of(step: int) -> torch.Tensor:
        if meeting and os.getppid() != started_by:
            raise SystemExit("the process that shared out the work is gone")
        chosen = [data.episodes[at] for at in batches(len(data.episodes), plan.batch, step, plan.settings.seed)]
        total = sum(int(each.learned.sum()) for each in chosen)
        mean = torch.zeros((), device=model.device)
        full = step % plan.full_every == 0
        for at in shares([len(each.ids) for each in chosen], plan.processes)[number]:
            # One at a time, so that no more than one episode's activations are held.
            exact = full or len(chosen[at].ids) <= _SHORT
            loss = answer_loss(model, chosen[at], data.pictures, exact) / total
            loss.backward()
            mean = mean + loss.detach()
        if meeting:
            _add_up([mean, *(_gradient(value) for value in parameters.values())])
        return mean.requires_grad_()

    def figures() -> dict[str, Any]:
        if not data.held_out:
            return {}
        mean = torch.zeros((), device=model.device)
        learned = sum(int(each.learned.sum()) for each in data.held_out)
        for at in shares([len(each.ids) for each in data.held_out], plan.processes)[number]:
            # With gradients on: without, compiled layers would be compiled once more.
            mean += answer_loss(model, data.held_out[at], data.pictures).detach() / learned
        if meeting:
            _add_up([mean])
        return {"held_out_loss": round(float(mean), 5)}

    said = _silent if number else say
    if not number:
        folder.mkdir(parents=True, exist_ok=True)
        _tell(folder, data, plan, None)
    curve = train(parameters, loss_of, plan.settings, folder, figures, said, writes=not number)
    if not number:
        save_file(lora_tensors(model), folder / ADAPTERS)
        _tell(folder, data, plan, curve[-1])
    if meeting:
        distributed.barrier()
        distributed.destroy_process_group()


@contextlib.contextmanager
def _environment(values: Mapping[str, str]) -> Iterator[None]:
    """For processes that are started within: variables that are not set already."""
    added = {name: value for name, value in values.items() if name not in os.environ}
    os.environ.update(added)
    try:
        yield
    finally:
        for name in added:
            os.environ.pop(name, None)


def adapters_of(folder: Path, unfinished: bool = False) -> tuple[dict[str, torch.Tensor], dict[str, Any]]:
    """Return what a training came to: adapters by the names of `lora_tensors`, and what is known of it.

    Args:
        folder: Where it was trained.
        unfinished: Take the last checkpoint, of a training that goes on or was stopped.

    Raises:
        ConfigError: There is none.
    """
    try:
        about = json.loads((folder / ABOUT).read_text())
        if not unfinished:
            return load_file(folder / ADAPTERS), about
        values, curve = checkpoint_of(folder)
    except (OSError, ValueError, SafetensorError) as error:
        what = "checkpoint" if unfinished else "finished training"
        raise ConfigError(f"{folder} holds no {what}: {error}") from error
    return saved_lora(values), about | {"end": curve[-1]}


def _require_the_same(folder: Path, data: AgentData, plan: AgentPlan) -> None:
    """Refuse to go on with other conversations, or from another start, than a folder's checkpoint came from.

    Raises:
        ConfigError: As told.
    """
    if not (folder / CHECKPOINT).is_file() or not (folder / ABOUT).is_file():
        return
    try:
        before = json.loads((folder / ABOUT).read_text())
        now = _about(data, plan)
        changed = [name for name in _DECISIVE if before[name] != now[name]]
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise ConfigError(f"{folder / ABOUT} does not tell what was trained: {error}") from error
    if changed:
        told = "; ".join(f"{name} was {before[name]} and is {now[name]}" for name in changed)
        raise ConfigError(f"the training in {folder} cannot go on so: {told}; train into another folder")


def _about(data: AgentData, plan: AgentPlan) -> dict[str, Any]:
    """What a person who reads of the weights wants to know of their training."""
    return {
        "episodes": len(data.episodes),
        "tokens": sum(len(each.ids) for each in data.episodes),
        "learned_tokens": sum(int(each.learned.sum()) for each in data.episodes),
        "pictures": len(data.pictures),
        "batch": plan.batch,
        "rank": plan.rank,
        "processes": plan.processes,
        "full_every": plan.full_every,
        **asdict(plan.settings),
        "start": None if plan.start is None else sha256_of(plan.start),
    }


def _tell(folder: Path, data: AgentData, plan: AgentPlan, end: Mapping[str, Any] | None) -> None:
    (folder / ABOUT).write_text(json.dumps(_about(data, plan) | {"end": end}, indent=2) + "\n")


def _gradient(value: torch.Tensor) -> torch.Tensor:
    if value.grad is None:
        value.grad = torch.zeros_like(value)
    return value.grad


def _add_up(tensors: list[torch.Tensor]) -> None:
    """Add tensors of all processes, in place, in one message."""
    flat = torch.cat([each.reshape(-1) for each in tensors])
    distributed.all_reduce(flat)
    for each, part in zip(tensors, flat.split([each.numel() for each in tensors]), strict=True):
        each.copy_(part.view_as(each))
