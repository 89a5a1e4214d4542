"""One episode: reset, then observe, decide, act until something ends it, then evaluate.

Three kinds of trouble stay apart. What the agent does wrong costs it the task. What it cannot go on from
(its model's context is full, the element it was told to use is missing) ends the episode as `agent_error`.
What the environment does wrong (browser crash, site down, a bug) ends it as `infra_error`, without a verdict.
"""

from __future__ import annotations

import logging
import time
import traceback
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, is_dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from confkv_agents.errors import BrowserError, ConfKVError, InfraError, SiteError
from confkv_agents.evaluation.memory import process_memory_bytes
from confkv_agents.evaluation.recording import EpisodeRecorder
from confkv_agents.evaluation.records import EpisodeResult, StepRecord, StopReason
from confkv_agents.evaluation.usage import Usage, merge_usage

if TYPE_CHECKING:
    from confkv_agents.evaluation.agents import Agent, Decision
    from confkv_agents.web.tasks import Task

_T = TypeVar("_T")
_log = logging.getLogger(__name__)

DEFAULT_MAX_STEPS = 30
_NOT_THE_AGENT = (InfraError, BrowserError, SiteError)
_STEP_USAGE = (
    "model_calls",
    "tokens_read",
    "tokens_reused",
    "tokens_generated",
    "kv_bytes",
    "peak_kv_bytes",
    "full_kv_bytes",
    "budget",
    "confidence",
    "finish_reason",
    "miss_at",
)
_RESULT_USAGE = (
    "model_calls",
    "tokens_read",
    "tokens_reused",
    "tokens_generated",
    "peak_kv_bytes",
    "budget",
    "confidence",
)


class Environment(Protocol):
    """What an episode needs of an environment; `WebEnv` has it."""

    def reset(self, task: Any, seed: int | None = None, *, max_steps: int | None = None) -> Any:
        """Start the task and return the first observation."""

    def step(self, action: str) -> Any:
        """Carry out an action and return a step result."""

    def evaluate(self) -> list[Any]:
        """Check the final state and answer."""

    def memory(self) -> Mapping[str, int]:
        """Bytes that the browser holds, under `pss_bytes`."""


def run_episode(
    env: Environment,
    agent: Agent,
    task: Task,
    recorder: EpisodeRecorder | None = None,
    *,
    max_steps: int | None = None,
    seed: int | None = None,
    timeout: float = 900.0,
    on_step: Callable[[StepRecord], None] | None = None,
    on_phase: Callable[[int, str], None] | None = None,
    on_asked: Callable[[str], None] | None = None,
) -> EpisodeResult:
    """Play one task with one agent.

    Args:
        env: The environment; it stays open.
        agent: The agent; it is reset first.
        task: The task to play.
        recorder: Where steps and result are kept; None keeps nothing.
        max_steps: Steps after which the episode ends; None takes the task's own figure, or 30.
        seed: Seed of the environment; None takes the task's own, or 0.
        timeout: Seconds after which no further step is begun.
        on_step: Called with each finished step.
        on_phase: Called with the step's number and `"environment"`, `"model"` or `"evaluation"` as each
        begins.
        on_asked: Called with what is asked where the site says it, once its page has started.

    Returns:
        The result; what agent or environment do wrong is in it and raises nothing.

    Raises:
        KeyboardInterrupt: As it came, after the record was closed as interrupted.
    """
    episode = _Episode(
        env=env,
        agent=agent,
        task=task,
        recorder=recorder,
        max_steps=max_steps if max_steps is not None else (task.max_steps or DEFAULT_MAX_STEPS),
        seed=seed if seed is not None else (task.seed or 0),
        timeout=timeout,
        on_step=on_step or (lambda _step: None),
        on_phase=on_phase or (lambda _index, _phase: None),
        on_asked=on_asked or (lambda _goal: None),
    )
    try:
        return episode.run()
    except BaseException as interruption:
        if recorder is not None:
            failed = isinstance(interruption, Exception)
            recorder.abandon("failed" if failed else "interrupted", traceback.format_exc() if failed else None)
        raise


class _EndedError(Exception):
    """Something ended the episode before its time."""

    def __init__(self, stop_reason: StopReason, error: str, trace: str | None) -> None:
        super().__init__(error)
        self.stop_reason, self.error, self.trace = stop_reason, error, trace


@dataclass
class _Episode:
    """The state of one episode while it runs."""

    env: Environment
    agent: Agent
    task: Task
    recorder: EpisodeRecorder | None
    max_steps: int
    seed: int
    timeout: float
    on_step: Callable[[StepRecord], None]
    on_phase: Callable[[int, str], None]
    on_asked: Callable[[str], None]
    usages: list[Usage] = field(default_factory=list)
    full_kv_bytes: int | None = None
    steps: int = 0
    parse_failures: int = 0
    answer: str | None = None
    seconds: dict[str, float] = field(default_factory=lambda: {"model": 0.0, "environment": 0.0, "evaluation": 0.0})
    peak_memory: dict[str, int] = field(default_factory=dict)

    def run(self) -> EpisodeResult:
        """Play, evaluate, and record the result."""
        started = time.monotonic()
        error = trace = None
        checks: list[dict[str, Any]] = []
        try:
            stop_reason = self._play(started + self.timeout)
        except _EndedError as end:
            stop_reason, error, trace = end.stop_reason, end.error, end.trace
        if stop_reason != "infra_error":
            try:
                checks = [_as_object(check) for check in self._environment(self.env.evaluate, "evaluation")]
            except _EndedError as end:
                stop_reason, error, trace = end.stop_reason, end.error, end.trace
        usage = merge_usage(self.usages) if self.usages else {}
        result = EpisodeResult(
            task=self.task.key,
            seed=self.seed,
            success=None if stop_reason == "infra_error" else bool(checks) and all(c["ok"] for c in checks),
            stop_reason=stop_reason,
            checks=checks,
            answer=self.answer,
            error=error,
            steps=self.steps,
            parse_failures=self.parse_failures,
            full_kv_bytes=self.full_kv_bytes,
            seconds={**self.seconds, "total": time.monotonic() - started},
            peak_memory=self.peak_memory,
            **{key: usage.get(key) for key in _RESULT_USAGE},
        )
        if self.recorder is not None:
            self.recorder.finish(result, trace)
        return result

    def _play(self, deadline: float) -> StopReason:
        observation = self._environment(lambda: self.env.reset(self.task, self.seed, max_steps=self.max_steps))
        task = self._asked(observation)
        self._agent(lambda: self.agent.reset(task, observation))
        for _ in range(self.max_steps):
            if time.monotonic() >= deadline:
                return "timeout"
            result = self._step(observation)
            observation = result.observation
            if result.done:
                self.answer = result.answer
                self._picture("final.png", observation)
                if result.stop_reason == "infra_error":
                    raise _EndedError("infra_error", result.error or "the environment failed", None)
                return result.stop_reason or "stop"
        self._picture("final.png", observation)
        return "max_steps"

    def _asked(self, observation: Any) -> Task:
        """The task as the agent is given it: some sites say what is asked only once their page has started."""
        if not self.task.extension.from_site:
            return self.task
        if self.recorder is not None:
            self.recorder.asked(observation.goal)
        self.on_asked(observation.goal)
        return self.task.model_copy(update={"intent": observation.goal})

    def _step(self, observation: Any) -> Any:
        index = self.steps + 1
        before = dict(self.seconds)
        screenshot = self._picture(f"step-{index:03d}.png", observation)
        marked, pictures = self._shown(index, observation)
        decision: Decision = self._agent(lambda: self.agent.act(observation))
        usage = dict(decision.usage)
        self.usages.append(usage)
        if usage.get("full_kv_bytes") is not None:
            self.full_kv_bytes = max(self.full_kv_bytes or 0, usage["full_kv_bytes"])
        result = self._environment(lambda: self.env.step(decision.action))
        self.steps = index
        parsed = result.action is not None
        self.parse_failures += not parsed
        record = StepRecord(
            index=index,
            url=observation.url,
            action=decision.action,
            thought=decision.thought,
            raw=decision.raw,
            prompt=decision.prompt,
            observation=observation.text,
            target=_target(result.action, observation),
            refs=list(result.refs),
            outcome=getattr(result.observation, "outcome", "") or "",
            error=result.error,
            parsed=parsed,
            screenshot=screenshot,
            marked=marked,
            pictures=pictures,
            seconds={key: round(self.seconds[key] - before[key], 4) for key in ("model", "environment")},
            memory=self._memory(),
            **{key: usage.get(key) for key in _STEP_USAGE},
        )
        if self.recorder is not None:
            self.recorder.step(record, usage.get("trace"), usage.get("cache_trace"))
        self.on_step(record)
        return result

    def _environment(self, call: Callable[[], _T], phase: str = "environment") -> _T:
        """Call the environment, on its clock; whatever it raises is an infra error."""
        self.on_phase(self.steps + 1, phase)
        started = time.monotonic()
        try:
            return call()
        except Exception as error:
            _log.debug("the environment failed", exc_info=True)
            raise _EndedError("infra_error", _in_words(error), traceback.format_exc()) from error
        finally:
            self.seconds[phase] += time.monotonic() - started

    def _agent(self, call: Callable[[], _T]) -> _T:
        """Call the agent, on its clock; only errors of ours that speak of the agent are held against it."""
        self.on_phase(self.steps + 1, "model")
        started = time.monotonic()
        try:
            return call()
        except Exception as error:
            _log.debug("the agent failed", exc_info=True)
            own = isinstance(error, ConfKVError) and not isinstance(error, _NOT_THE_AGENT)
            reason: StopReason = "agent_error" if own else "infra_error"
            raise _EndedError(reason, _in_words(error), traceback.format_exc()) from error
        finally:
            self.seconds["model"] += time.monotonic() - started

    def _picture(self, name: str, observation: Any) -> str | None:
        png = getattr(observation, "screenshot", None)
        return self.recorder.picture(name, png) if self.recorder is not None and png else None

    def _shown(self, index: int, observation: Any) -> tuple[str | None, list[dict[str, Any]]]:
        """Keep the marked screenshot and the pictures of the page, where the observation has them."""
        if self.recorder is None:
            return None, []
        png = getattr(observation, "marked", None)
        marked = self.recorder.picture(f"step-{index:03d}-marked.png", png) if png else None
        found = []
        for number, picture in enumerate(getattr(observation, "pictures", ()), start=1):
            file = self.recorder.picture(f"step-{index:03d}-picture-{number}.png", picture.png)
            found.append({"file": file, "alt": picture.alt, "element": picture.element_id})
        return marked, found

    def _memory(self) -> dict[str, int]:
        found = {
            "process_bytes": process_memory_bytes(),
            "browser_bytes": int(self._environment(self.env.memory)["pss_bytes"]),
        }
        for key, value in found.items():
            self.peak_memory[key] = max(self.peak_memory.get(key, 0), value)
        return found


def _target(action: Any, observation: Any) -> dict[str, Any] | None:
    """The element an action names, for the report: role, name, and box in pixels of the screenshot."""
    identity = getattr(action, "element", None)
    for element in getattr(observation, "elements", ()):
        if identity is not None and element.id == identity:
            box = getattr(element, "box", None)
            return {"id": element.id, "role": element.role, "name": element.name, "box": _as_object(box)}
    return None


def _as_object(value: Any) -> Any:
    if is_dataclass(value) and not isinstance(value, type):
        return asdict(value)
    return list(value) if isinstance(value, tuple) else value


def _in_words(error: Exception) -> str:
    return str(error) if isinstance(error, ConfKVError) else f"{type(error).__name__}: {error}"
