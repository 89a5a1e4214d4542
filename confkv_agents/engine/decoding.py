"""One token for each of several answers, in one forward of the model: continuous batching.

Answers join when their prompts are read and leave when they end; who decodes together is settled anew at every token.
Rows of a forward have their own lengths, budgets and policies (`cache.together`), so an answer is what it would be if
its request ran alone, up to the rounding of matrix products of another height.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, TypeVar

import torch

from confkv_agents.cache.together import Together, rows_are_independent
from confkv_agents.engine.reading import feed
from confkv_agents.errors import ModelError

if TYPE_CHECKING:
    from confkv_agents.cache import ConfKVCache
    from confkv_agents.engine.job import Job

T = TypeVar("T")


def decode(jobs: Sequence[Job], model: Any, fail: Callable[[Job, BaseException], None]) -> list[Job]:
    """Give each answer its next token: choose it from the last forward's logits, then feed it, all in one forward.

    Steps that look at the cold tier again are computed together too, before. The device is asked once for all
    choices, and once more for those that were computed again.

    Args:
        jobs: Those whose prompts are read.
        model: The model of all.
        fail: Called for a job that cannot go on, with the error; the others do.

    Returns:
        Those that go on.
    """
    turn = _Turn(jobs, model, fail)
    turn.leave(turn.each(lambda job: job.ended()))
    choices = turn.choose(turn.jobs)
    unsure = turn.each(lambda job: job.unsure(choices[job][0]))
    again = [job for job, recalls in unsure.items() if recalls]
    if again:
        choices |= turn.choose(turn.recall(again))
    turn.leave(turn.each(lambda job: job.take(*choices[job])))
    turn.feed(turn.each(lambda job: job.next_inputs()), lambda job, logits: job.fed(logits))
    return turn.jobs


def feed_together(model: Any, rows: Sequence[tuple[ConfKVCache, Mapping[str, Any]]]) -> list[torch.Tensor | Exception]:
    """Feed one token to each of several caches in one forward.

    Args:
        model: Their model, one whose rows are independent.
        rows: Each cache with its inputs: `input_ids` `[1, 1]`, and with M-RoPE `position_ids` `[3, 1, 1]`.

    Returns:
        Raw logits of the next token, `[V]`, or what went wrong in that row alone.
    """
    together = Together([cache for cache, _ in rows])
    ids = torch.cat([inputs["input_ids"] for _, inputs in rows])
    positions = together.position_ids(ids.device)
    if "position_ids" in rows[0][1]:
        positions = torch.cat([inputs["position_ids"] for _, inputs in rows], 1)
    output = model(input_ids=ids, position_ids=positions, cache=together, use_cache=True, logits_to_keep=1)
    return [together.failures.get(row, output.logits[row, -1]) for row in range(len(rows))]


class _Turn:
    """The jobs that get a token, fewer as some end or fail."""

    def __init__(self, jobs: Sequence[Job], model: Any, fail: Callable[[Job, BaseException], None]) -> None:
        self.jobs = list(jobs)
        self._model, self._fail = model, fail

    def each(self, ask: Callable[[Job], T], jobs: Iterable[Job] | None = None) -> dict[Job, T]:
        """Ask every job, or those given; one that raises is out."""
        found = {}
        for job in list(self.jobs if jobs is None else jobs):
            try:
                found[job] = ask(job)
            except BaseException as error:  # noqa: BLE001 - it is this job's, and raised where its caller waits
                self._drop(job, error)
        return found

    def leave(self, over: Mapping[Job, bool]) -> None:
        """Let those go that are over."""
        self.jobs = [job for job in self.jobs if not over[job]]

    def choose(self, jobs: Sequence[Job]) -> dict[Job, tuple[float, int]]:
        """Choose the next token of each: raw confidence and id, all in one transfer from the device."""
        chosen = self.each(lambda job: job.choose(), jobs)
        try:
            pairs = torch.stack(list(chosen.values())).tolist() if chosen else []
        except BaseException as error:  # noqa: BLE001 - the device failed all of them
            for job in chosen:
                self._drop(job, _shared(error, len(chosen)) if len(chosen) > 1 else error)
            return {}
        return {job: (confidence, int(token)) for job, (confidence, token) in zip(chosen, pairs, strict=True)}

    def recall(self, jobs: Sequence[Job]) -> list[Job]:
        """Compute the last step of each again with its cold tier open; returns those for which it went well."""
        opened = self.each(lambda job: _entered(job.session.cache.recalling()), jobs)
        inputs = self.each(lambda job: job.last_inputs(), opened)
        self.feed(inputs, lambda job, logits: job.recalled(logits))
        self.each(lambda job: opened[job].__exit__(None, None, None), [job for job in inputs if job in self.jobs])
        return [job for job in inputs if job in self.jobs]

    def feed(self, inputs: Mapping[Job, Mapping[str, Any]], then: Callable[[Job, torch.Tensor], None]) -> None:
        """Feed each job's cache, as many as possible in one forward."""
        single = [job for job, given in inputs.items() if not given.keys() <= {"input_ids", "position_ids"}]
        if len(inputs) > 1 and not rows_are_independent(self._model.config):
            single = list(inputs)
        group = [job for job in inputs if job not in single]
        for jobs in ([group] if group else []) + [[job] for job in single]:
            rows = [(job.session.cache, inputs[job]) for job in jobs]
            try:
                results = feed_together(self._model, rows) if len(rows) > 1 else [feed(self._model, *rows[0])[0]]
            except BaseException as error:  # noqa: BLE001 - raised where the callers wait
                for job in jobs:  # each cache is somewhere between two tokens now
                    self._drop(job, _shared(error, len(jobs)) if len(jobs) > 1 else error)
                continue
            for job, result in zip(jobs, results, strict=True):
                if isinstance(result, Exception):
                    self._drop(job, result)
                else:
                    then(job, result)

    def _drop(self, job: Job, error: BaseException) -> None:
        self.jobs.remove(job)
        self._fail(job, error)


def _entered(context: AbstractContextManager[None]) -> AbstractContextManager[None]:
    context.__enter__()
    return context


def _shared(error: BaseException, jobs: int) -> BaseException:
    """An error of its own for each of those that were decoded together: callers raise it in threads of their own."""
    if not isinstance(error, Exception):
        return error
    each = ModelError(
        f"the model failed while it decoded {jobs} answers together ({type(error).__name__}: {error}); ask again"
    )
    each.__cause__ = error
    return each
