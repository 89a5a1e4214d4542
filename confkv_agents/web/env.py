"""The environment: reset to a task, step by actions in text, evaluate.

    with WebEnv() as env:
        observation = env.reset(task, seed=7)
        while not done:
            result = env.step(agent(observation))
            ...
        checks = env.evaluate()

Failures of the agent (an action that cannot be read or done) come back in the observation; failures of
browser and sites raise `InfraError` and are never counted against the agent.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable
from dataclasses import replace
from typing import Self

from confkv_agents.errors import ActionError, InfraError, SiteError, TaskError
from confkv_agents.web.actions.grammar import Action, ActionParseError, parse_action
from confkv_agents.web.actions.renumber import renumbered
from confkv_agents.web.browser import Browser
from confkv_agents.web.evaluators import Check, Means
from confkv_agents.web.from_site import asked, is_over
from confkv_agents.web.judgement import decides, judge
from confkv_agents.web.network import AllowList
from confkv_agents.web.observation import Observation, ObservationConfig
from confkv_agents.web.observer import Observer
from confkv_agents.web.repeats import Repeats
from confkv_agents.web.session import Session, context_options
from confkv_agents.web.settle import SettleLimits
from confkv_agents.web.sites import SiteSet
from confkv_agents.web.steps import StepResult as StepResult
from confkv_agents.web.steps import StopReason, whole_steps
from confkv_agents.web.surroundings import Surroundings, reset_foreign
from confkv_agents.web.tasks import Task

logger = logging.getLogger(__name__)

DEFAULT_MAX_STEPS = 30
PARSE_FAILURES = 3
REPEATS = 5
START_DEADLINE = 90.0


class WebEnv:
    """A browser and sites, reset for one task after the other.

    Args:
        browser: Shared with others; by default an own one, started when first needed and closed with the
            environment.
        sites: Running sites; by default those that a task names are started and stopped here.
        headless: For the own browser: False shows its window.
        viewport: Width and height in CSS pixels where a task names none.
        observation: How observations are made.
        allow_hosts: Hosts beside the sites that pages may talk to (see `AllowList`).
        means: Judges, and access to a shop's administration, for tasks that need them.
        max_steps: Actions an episode may take where neither `reset` nor the task says.
        episode_seconds: Wall clock after which an episode stops with `timeout`; None for no limit.
        step_seconds: Deadline of one step; when it passes the browser is killed and `InfraError` raised.
        limits: Bounds of waiting for pages.

    Raises:
        ConfigError: A host or a bound is no such thing.
    """

    def __init__(
        self,
        browser: Browser | None = None,
        sites: SiteSet | None = None,
        headless: bool = True,
        viewport: tuple[int, int] = (1280, 720),
        observation: ObservationConfig | None = None,
        allow_hosts: Iterable[str] = (),
        *,
        max_steps: int = DEFAULT_MAX_STEPS,
        episode_seconds: float | None = None,
        step_seconds: float = 60.0,
        limits: SettleLimits | None = None,
        means: Means | None = None,
    ) -> None:
        self._own_browser = browser is None
        self.browser = browser or Browser(headless=headless)
        self._own_sites = sites is None
        self.sites = sites or SiteSet()
        self.viewport = viewport
        self.config = observation or ObservationConfig()
        self._allow_hosts = tuple(allow_hosts)
        AllowList((), self._allow_hosts)  # refuses a bad host now
        self._default_steps = whole_steps(max_steps)
        self._episode_seconds = episode_seconds
        self._step_seconds = step_seconds
        self._limits = limits or SettleLimits()
        self.means = means or Means()
        self._session: Session | None = None
        self._task: Task | None = None
        self._observation: Observation | None = None
        self._done: StopReason | None = None
        self._answer: str | None = None
        self._closed = False
        self._forget_episode()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _forget_episode(self) -> None:
        self._observer: Observer | None = None
        self._steps = 0
        self._failures = 0
        self._repeats = Repeats()
        self._verdict: list[Check] | None = None
        self._started = time.monotonic()

    @property
    def task(self) -> Task | None:
        """The current task, with addresses in place of placeholders."""
        return self._task

    @property
    def observation(self) -> Observation | None:
        """What the agent saw last; None before the first episode."""
        return self._observation

    @property
    def steps(self) -> int:
        """Steps taken in this episode."""
        return self._steps

    @property
    def stop_reason(self) -> StopReason | None:
        """Why the episode is over; None while it goes on."""
        return self._done

    @property
    def answer(self) -> str | None:
        """Text of the final `stop`, "N/A" after `fail`; None otherwise."""
        return self._answer

    def reset(self, task: Task, seed: int | None = None, *, max_steps: int | None = None) -> Observation:
        """Start an episode: sites reset, a fresh context, signed in where the task asks, its pages opened.

        Args:
            task: From `load_tasks`.
            seed: Of the sites' state; default is the task's own, else 0.
            max_steps: Actions allowed; default is the task's own, else the environment's.

        Raises:
            ActionError: The environment was closed.
            ConfigError: `max_steps` is no whole number from 1.
            TaskError: This is no task, or what it needs to be scored is not there.
            SiteError: A site that the task needs is not known.
            InfraError: A site or the browser fails.
        """
        self._require_open()
        if not isinstance(task, Task):
            raise TaskError(f"reset takes a task from load_tasks, not {type(task).__name__}")
        allowed = next(bound for bound in (max_steps, task.max_steps, self._default_steps) if bound is not None)
        self._steps_allowed = whole_steps(allowed)
        task.require_supported()
        self._close_session()
        self._forget_episode()
        self._task = self._observation = None
        self._done = self._answer = None
        seed = seed if seed is not None else task.seed if task.seed is not None else 0
        self._provide_sites(task, seed)
        resolved = task.resolved(self.sites.placeholders)
        allow = AllowList(self.sites.addresses, self._allow_hosts)
        if unmet := Surroundings.running(self.sites, self.means, allow).unmet(task):
            raise TaskError(f"{task.source}: task {task.task_id} cannot be run: {'; '.join(unmet)}")
        try:
            self.sites.reset(seed)
            reset_foreign(task, self.sites, self.means)
        except SiteError as error:
            self._done = "infra_error"
            raise InfraError(f"resetting the sites failed: {error}") from error
        self._task = resolved
        try:
            context = self.browser.new_context(**context_options(resolved, self.viewport, allow))
            self._session = session = self.browser.call(
                lambda: Session(context, self.sites, allow, self._limits, self.config.screenshots), START_DEADLINE
            )
            glance = self.browser.call(lambda: session.start(resolved), START_DEADLINE)
            self._task = asked(resolved, self.sites)
        except InfraError:
            self._fail()
            raise
        self._started = time.monotonic()
        window = resolved.viewport.width or self.viewport[0], resolved.viewport.height or self.viewport[1]
        self._observer = Observer(self.config, self.sites, window, self._task.intent)
        self._observation = self._observer.observe(glance)
        return self._observation

    def _provide_sites(self, task: Task, seed: int) -> None:
        missing = [name for name in task.site_names if name not in self.sites]
        if not missing:
            return
        if not self._own_sites:
            raise SiteError(f"{task.source}: task {task.task_id} needs the sites {', '.join(missing)}; add them")
        self.sites.add_installed(missing, seed)

    def step(self, action: str | Action, seen: Observation | None = None) -> StepResult:
        """Carry out an action.

        Args:
            action: A model's output, any text that holds an action (see `confkv_agents.web.actions.parse_action` for
                which part counts), or an action that is read already.
            seen: The observation whose ids it uses, where that is not the latest one.

        Raises:
            ActionError: No episode is running, or the environment was closed.
            InfraError: Browser or site failed; the episode is over with `infra_error`.
        """
        now, observer = self._begin_step()
        try:
            parsed = parse_action(action) if isinstance(action, str) else action
        except ActionParseError as error:
            return self._refuse(now, observer, error)
        self._failures = 0
        if parsed.name in ("stop", "fail"):
            self._answer = self.sites.resolve(parsed.text) if parsed.name == "stop" else "N/A"
            words = "the episode ended" if parsed.name == "stop" else "the task was given up"
            self._observation = observer.again(now, words)
            return self._finish(parsed, None, "stop")
        if seen is not None and seen is not now:
            try:
                parsed = renumbered(parsed, seen, now)
            except ActionError as error:
                self._observation = observer.again(now, f"not possible: {error}")
                return self._finish(parsed, str(error), None)
        refs = tuple(
            element.ref
            for number in (parsed.element, parsed.target if parsed.name == "drag" else None)
            if number is not None and (element := now.element(number)) is not None
        )
        self._repeats.add(parsed, refs, now.url, now.scroll.top, observer.lines)
        session, task = self._session, self._task
        assert session is not None and task is not None
        try:
            glance = self.browser.call(lambda: session.act(parsed, now, task.source.parent), self._step_seconds)
            over = is_over(task, self.sites)
        except InfraError:
            self._fail()
            raise
        if over:
            glance = replace(glance, outcome=f"{glance.outcome}; the page ended the task")
        self._observation = observer.observe(glance)
        reason: StopReason | None = "stop" if over else "repeated_action" if self._repeats.count >= REPEATS else None
        return self._finish(parsed, glance.error, reason, refs)

    def refuse(self, error: ActionParseError) -> StepResult:
        """Count an answer that no action could be made of, as `step` does with text that holds none.

        Raises:
            ActionError: No episode is running.
        """
        return self._refuse(*self._begin_step(), error)

    def _require_open(self) -> None:
        if self._closed:
            raise ActionError("this environment was closed; make a new one")

    def _begin_step(self) -> tuple[Observation, Observer]:
        self._require_open()
        if self._observation is None or self._observer is None:
            raise ActionError("no episode is running; call reset(task) first")
        if self._done is not None:
            raise ActionError(f"the episode is over ({self._done}); call reset(task) for the next one")
        self._steps += 1
        return self._observation, self._observer

    def _refuse(self, now: Observation, observer: Observer, error: ActionParseError) -> StepResult:
        self._failures += 1
        self._repeats.forget()
        self._observation = observer.again(now, str(error))
        return self._finish(None, str(error), "parse_failures" if self._failures >= PARSE_FAILURES else None)

    def _finish(
        self, action: Action | None, error: str | None, reason: StopReason | None, refs: tuple[str, ...] = ()
    ) -> StepResult:
        if reason is None and self._judged_over():
            reason = "stop"
        if reason is None and self._steps >= self._steps_allowed:
            reason = "max_steps"
        seconds = time.monotonic() - self._started
        if reason is None and self._episode_seconds is not None and seconds >= self._episode_seconds:
            reason = "timeout"
        self._done = reason
        assert self._observation is not None
        return StepResult(self._observation, action, error, reason is not None, reason, self._answer, refs)

    def _judged_over(self) -> bool:
        """Whether the task's dialect judges every step, and this one decides the episode."""
        session, task = self._session, self._task
        if session is None or task is None or not task.manner.every_step:
            return False
        checks = self._judge(session, task)
        self._verdict = checks if decides(checks) else None
        return self._verdict is not None

    def evaluate(self) -> list[Check]:
        """Judge the episode as it stands, on a page of its own; may be called before it is over.

        Raises:
            ActionError: No episode was started, or the environment was closed.
            InfraError: Browser or site failed; nothing is known about the agent's success then.
        """
        self._require_open()
        session, task = self._session, self._task
        if session is None or task is None:
            raise ActionError("there is no episode to judge; call reset(task) first")
        return self._verdict if self._verdict is not None else self._judge(session, task)

    def _judge(self, session: Session, task: Task) -> list[Check]:
        try:
            return judge(self.browser, session, task, self._answer, self.means)
        except (InfraError, SiteError) as error:
            self._fail()
            raise error if isinstance(error, InfraError) else InfraError(str(error)) from error

    def memory(self) -> dict[str, int]:
        """Memory of the browser's processes in bytes; see `Browser.memory`."""
        return self.browser.memory()

    def _fail(self) -> None:
        self._done = "infra_error"
        self._close_session()

    def _close_session(self) -> None:
        session, self._session = self._session, None
        if session is None or not self.browser.alive:
            return
        try:
            self.browser.call(session.close, 10.0)
        except InfraError as error:
            logger.warning("the last episode's context did not close: %s", error)

    def close(self) -> None:
        """Close the context, and the browser and sites started here. Calling it again does nothing.

        What the last episode came to (`answer`, `stop_reason`, `observation`) can still be read.
        """
        self._closed = True
        self._close_session()
        if self._own_browser:
            self.browser.close()
        if self._own_sites:
            self.sites.close()
