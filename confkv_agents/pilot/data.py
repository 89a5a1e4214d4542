"""Demonstrations in bulk: templates x seeds, played in a browser, one JSON line each, continued where it ended."""

from __future__ import annotations

import contextlib
import functools
import json
import random
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, fields
from pathlib import Path

from confkv_agents.errors import ConfigError
from confkv_agents.evaluation.agents import open_agent
from confkv_agents.pilot.demonstrations import Demonstration, demonstrations
from confkv_agents.web.browser import Browser
from confkv_agents.web.env import WebEnv
from confkv_agents.web.observation import ObservationConfig
from confkv_agents.web.settle import SettleLimits
from confkv_agents.web.sites import SiteSet
from confkv_agents.web.tasks import Task, Template, World, split_of
from confkv_agents.web.tasks.templates import NothingToAsk
from confkv_agents.web.text import TokenCounter

_WORLDS = 16  # kept at once; tasks come in any order
_QUIET_S = 0.04  # the sites of the package come to rest faster than pages in general


@dataclass(frozen=True)
class DataOptions:
    """What to play.

    Attributes:
        templates: Of which tasks are made.
        seeds: All of the training split.
        out: The file of JSON lines; lines that it has already are kept and not played again.
        slip: Share of episodes with a wrong link and the way back.
        seed: Of slips and of the order.
    """

    templates: Sequence[Template]
    seeds: Sequence[int]
    out: Path
    slip: float = 0.1
    seed: int = 0

    def __post_init__(self) -> None:
        require_training_seeds(self.seeds)
        if not 0 <= self.slip <= 1:
            raise ConfigError(f"slip is {self.slip:g}; it is a share from 0 to 1")


def require_training_seeds(seeds: Sequence[int]) -> None:
    """Refuse seeds that tasks are evaluated on.

    Raises:
        ConfigError: One of them is.
    """
    held_out = next((seed for seed in seeds if split_of(seed) == "heldout"), None)
    if held_out is not None:
        raise ConfigError(f"seed {held_out} is held out for evaluation; train on seeds from 1000 on")


def make_data(
    options: DataOptions, count_tokens: TokenCounter, told: Callable[[Demonstration, int, int], None]
) -> tuple[int, int]:
    """Play everything that the file does not have yet.

    Args:
        options: What.
        count_tokens: Of the pilot's tokenizer.
        told: Called after each episode with it, the number played and the number wanted.

    Returns:
        Episodes in the file that succeeded, and those that did not.

    Raises:
        ConfKVError: The file cannot be read or written, or browser or site failed.
    """
    have = {each.task: each.success for each in read_data(options.out, successes_only=False)}
    wanted = [(template, seed) for seed in options.seeds for template in options.templates]
    random.Random(options.seed).shuffle(wanted)
    names = sorted({site for template in options.templates for site in template.sites})
    shown = ObservationConfig(**dict(open_agent("pilot").observation) | {"count_tokens": count_tokens})
    with (
        appending(options.out) as keep,
        Browser() as browser,
        SiteSet.start(names) as sites,
        WebEnv(browser, sites, observation=shown, limits=SettleLimits(quiet=_QUIET_S)) as env,
    ):
        left = [(template, seed) for template, seed in wanted if f"{template.name}:{seed}" not in have]
        for made in demonstrations(env, _tasks(left), options.seed, options.slip):
            keep(made)
            have[made.task] = made.success
            told(made, len(have), len(wanted))
    return sum(have.values()), len(have) - sum(have.values())


def pictures_of(path: Path) -> Path:
    """Return the folder of a file's pictures."""
    return path.with_suffix(".pictures")


def link_pictures(made: Demonstration, here: Path, there: Path) -> None:
    """Give a file of demonstrations the pictures of another file's episode, without a copy where that is possible."""
    names = {part["picture"] for message in made.messages for part in message["content"] if "picture" in part}
    for name in names:
        old, new = (pictures_of(path) / f"{name}.png" for path in (here, there))
        new.parent.mkdir(parents=True, exist_ok=True)
        if not new.exists():
            try:
                new.hardlink_to(old)
            except OSError:  # another disk, or none that has links
                shutil.copyfile(old, new)


def read_data(path: Path, successes_only: bool = True) -> list[Demonstration]:
    """Read demonstrations; a last line that was cut off is left out.

    Raises:
        ConfigError: Another line is none.
    """
    if not path.exists():
        return []
    lines = path.read_text("utf-8").split("\n")
    found = []
    for number, line in enumerate(lines, start=1):
        if not line:
            continue
        try:
            made = Demonstration(**json.loads(line))
        except (ValueError, TypeError) as error:
            if number == len(lines):
                break
            wanted = ", ".join(each.name for each in fields(Demonstration) if each.name != "pictures")
            raise ConfigError(f"{path}:{number} is no demonstration: an object of {wanted} is one") from error
        if made.success or not successes_only:
            found.append(made)
    return found


@contextlib.contextmanager
def appending(path: Path) -> Iterator[Callable[[Demonstration], None]]:
    """Continue a file of demonstrations, whose last line may have been cut off.

    Yields:
        Adds one, whole: its pictures first, each once, in `pictures_of(path)`.
    """
    pictures = pictures_of(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.exists():
        data = path.read_bytes()
        path.write_bytes(data[: data.rfind(b"\n") + 1])  # or the next line would stick to what was cut off
    with path.open("a", encoding="utf-8") as file:

        def keep(made: Demonstration) -> None:
            for name, png in made.pictures.items():
                pictures.mkdir(exist_ok=True)
                if not (pictures / f"{name}.png").exists():
                    (pictures / f"{name}.png").write_bytes(png)
            file.write(made.to_line() + "\n")
            file.flush()

        yield keep


def _tasks(wanted: Iterable[tuple[Template, int]]) -> Iterable[Task]:
    worlds = functools.lru_cache(_WORLDS)(World)
    for template, seed in wanted:
        try:
            yield Task.read(template.make(seed, worlds(seed)))
        except NothingToAsk:
            continue
