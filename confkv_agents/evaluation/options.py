"""What one run and a batch of runs are told alike: who plays, on what, and within which limits."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from confkv_agents.engine.placement import check_device_map, parse_device_map
from confkv_agents.errors import ConfigError
from confkv_agents.paths import user_path

EMBEDDED, PILOT = "embedded", "pilot"
_SEEDS = 10**9  # as many as `--seeds` can name


@dataclass(frozen=True, kw_only=True)
class PlayOptions:
    """How episodes are played.

    Attributes:
        agent: Name or path of an agent file; empty is `pilot` for the pilot and `react` for any other model.
        model: `pilot`, `embedded`, a local path, or a hub id; not used by agents that need no model.
        budget: Slots a layer may hold.
        max_steps: Steps per episode; None takes the task's own figure.
        headed: Show the browser's window.
        out: Folder for runs.
        sites: URLs of sites that run elsewhere, by name; those that no task names are not used.
        dialect: Whose meaning of the task's fields holds, see `confkv_agents.web.tasks.dialects`.
        judge: Model that compares answers by meaning where a task asks for it; see `judge_model` for its names.
        visual_judge: Model that answers questions about pictures where a task asks for it.
        allow_hosts: Hosts beside the sites that pages, and checks, may load from.
        shop_token: Access to the administration of a Magento shop given by URL; kept in no record.
        timeout: Seconds after which no further step is begun.
        max_tokens: Tokens that the model may write per step.
        pictures: What a model that takes pictures is shown; see the agent.
        page_tokens: Tokens that a page's text may have; None shares the model's context among the steps.
        pages_of: For an agent that uses no model: show and record pages as this other agent and the model would have
            them, so that a replay can ask the two what a run would.
        trace: Keep what the cache did at each step, a file per episode.
        device_map: Where the model's weights go: a strategy, a device, or modules with devices (as JSON, or a mapping);
            None is the first CUDA device, else the CPU.
        offload_folder: Where weights that the map puts on disk may be written.
    """

    agent: str = ""
    model: str = PILOT
    budget: int = 512
    max_steps: int | None = None
    headed: bool = False
    out: Path = Path("runs")
    sites: Mapping[str, str] = field(default_factory=dict)
    dialect: str = "vwa"
    judge: str | None = None
    visual_judge: str | None = None
    allow_hosts: tuple[str, ...] = ()
    shop_token: str | None = field(default=None, repr=False)
    timeout: float = 900.0
    max_tokens: int = 128
    pictures: str = "auto"
    page_tokens: int | None = None
    pages_of: str | None = None
    trace: bool = False
    device_map: str | Mapping[str, str | int] | None = None
    offload_folder: str | None = None

    def __post_init__(self) -> None:
        """Refuse what cannot be meant, and name the agent that is left to the model."""
        object.__setattr__(self, "agent", self.agent or ("pilot" if self.model == PILOT else "react"))
        for name in ("budget", "max_steps", "max_tokens", "page_tokens", "timeout"):
            value = getattr(self, name)
            if value is not None and not 0 < value < math.inf:
                raise ConfigError(f"{name} is {value:g}; pass a number above 0")
        if not self.model.strip():
            raise ConfigError("the model's name is empty; give 'pilot', a folder or a hub id")
        for name in ("judge", "visual_judge"):
            if getattr(self, name) is not None and not getattr(self, name).strip():
                raise ConfigError(f"the name of the {name} is empty; leave it out, or give a model")
        for path in (self.model, self.out):
            user_path(path)
        check_device_map(parse_device_map(self.device_map), self.offload_folder)


def check_seeds(seeds: Iterable[int]) -> None:
    """Refuse seeds that `--seeds` could not name.

    Raises:
        ConfigError: One is negative, or very large.
    """
    for seed in seeds:
        if not 0 <= seed < _SEEDS:
            raise ConfigError(f"seed {seed}: pass a whole number from 0 to {_SEEDS - 1:,}")
