"""The environment with gymnasium's API, registered as `confkv_agents/Web-v0`.

import gymnasium, confkv_agents.web.gym_env
env = gymnasium.make("confkv_agents/Web-v0", task="shop/past_order")
observation, info = env.reset(seed=7)
observation, reward, terminated, truncated, info = env.step("click [3]")
"""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import gymnasium
import numpy
from gymnasium import spaces
from numpy.typing import NDArray
from PIL import Image

from confkv_agents import plugins
from confkv_agents.errors import TaskError
from confkv_agents.web.env import WebEnv
from confkv_agents.web.evaluators.base import succeeded
from confkv_agents.web.observation import Observation
from confkv_agents.web.tasks import Dialect, Task, load_tasks
from confkv_agents.web.text import shorten

ENV_ID = "confkv_agents/Web-v0"

_MAX_TEXT = 200_000
_MAX_URL = 4_000
_MAX_ACTION = 4_000


class AnyText(spaces.Text):
    """A text space that holds every character, as pages do; samples are plain ASCII."""

    def contains(self, x: Any) -> bool:
        """Whether `x` is a text of a length in bounds."""
        return isinstance(x, str) and self.min_length <= len(x) <= self.max_length


class WebGymEnv(gymnasium.Env[dict[str, Any], str]):
    """One task as a gymnasium environment.

    Observations are a dict of `text`, `screenshot` (uint8 `[height, width, 3]`), `url`, `goal`; actions are
    texts in the grammar of `confkv_agents.web.actions`. The reward is 1 when the episode stops and all checks
    hold, else 0. `info` holds `observation` (the full one), `error`, `stop_reason` and, at the end, `checks`.

    Args:
        task: A task, or name or path of a file with one.
        dialect: Of the file.
        task_id: Which task of a file with several.
        env: Environment to use; by default an own one, closed by `close`.
        options: For that own one (see `WebEnv`).

    Raises:
        TaskError: The file holds no such task.
        PluginError: There is no such file.
    """

    metadata = {"render_modes": ["rgb_array"]}  # noqa: RUF012 - gymnasium's own declaration

    def __init__(
        self,
        task: Task | str | Path,
        *,
        dialect: Dialect = "vwa",
        task_id: int | str | None = None,
        env: WebEnv | None = None,
        render_mode: str | None = None,
        **options: Any,
    ) -> None:
        self.task = task if isinstance(task, Task) else _pick(plugins.find_task(task), dialect, task_id)
        self.render_mode = render_mode
        self._own = env is None
        self._env = env or WebEnv(**options)
        width = self.task.viewport.width or self._env.viewport[0]
        height = self.task.viewport.height or self._env.viewport[1]
        self._size = (width, height)
        self.observation_space = spaces.Dict(
            {
                "text": AnyText(max_length=_MAX_TEXT, min_length=0),
                "screenshot": spaces.Box(0, 255, (height, width, 3), numpy.uint8),
                "url": AnyText(max_length=_MAX_URL, min_length=0),
                "goal": AnyText(max_length=_MAX_TEXT, min_length=0),
            }
        )
        self.action_space = AnyText(max_length=_MAX_ACTION, min_length=0)
        self._frame: NDArray[numpy.uint8] | None = None

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Start the task anew. `options` may hold `max_steps`."""
        super().reset(seed=seed)
        observation = self._env.reset(self.task, seed, max_steps=(options or {}).get("max_steps"))
        return self._encode(observation), {"observation": observation}

    def step(self, action: str) -> tuple[dict[str, Any], float, bool, bool, dict[str, Any]]:
        """Carry out an action; `terminated` after `stop` and `fail`, `truncated` for every other end."""
        result = self._env.step(action)
        info: dict[str, Any] = {
            "observation": result.observation,
            "error": result.error,
            "stop_reason": result.stop_reason,
        }
        reward = 0.0
        if result.done:
            checks = self._env.evaluate()
            info["checks"] = [check.to_dict() for check in checks]
            reward = float(succeeded(checks) and result.stop_reason == "stop")
        terminated = result.stop_reason == "stop"
        return self._encode(result.observation), reward, terminated, result.done and not terminated, info

    def render(self) -> NDArray[numpy.uint8] | None:
        """The last screenshot."""
        return self._frame if self.render_mode == "rgb_array" else None

    def close(self) -> None:
        """Close the own environment with browser and sites."""
        if self._own:
            self._env.close()

    def _encode(self, observation: Observation) -> dict[str, Any]:
        picture = Image.open(io.BytesIO(observation.screenshot)).convert("RGB")
        if picture.size != self._size:
            picture = picture.resize(self._size)
        self._frame = numpy.asarray(picture, dtype=numpy.uint8)
        return {
            "text": shorten(observation.text, _MAX_TEXT),
            "screenshot": self._frame,
            "url": shorten(observation.url, _MAX_URL),
            "goal": shorten(observation.goal, _MAX_TEXT),
        }


def _pick(path: Path, dialect: Dialect, task_id: int | str | None) -> Task:
    tasks = load_tasks(path, dialect)
    if task_id is None:
        if len(tasks) > 1:
            raise TaskError(f"{path} holds {len(tasks)} tasks; say which by task_id")
        return tasks[0]
    for task in tasks:
        if str(task.task_id) == str(task_id):
            return task
    raise TaskError(f"{path} holds no task {task_id}")


if ENV_ID not in gymnasium.registry:
    gymnasium.register(ENV_ID, entry_point="confkv_agents.web.gym_env:WebGymEnv")
