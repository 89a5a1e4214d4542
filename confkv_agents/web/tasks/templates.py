"""Task templates: a sentence with gaps and a way to fill them from the sites' seeded state.

A template is a file below `tasks/templates/` (or anywhere, by path) with a `TEMPLATE`. From a seed it makes one task
in VisualWebArena's format, with its checks, a scripted solution and a near miss: the same seed always gives the same
task. Seeds are split into those for training and those held out (`splits.py`); held-out tasks use wordings and, where
the template chooses with `Drawing.choose`, names that no training task uses.
"""

from __future__ import annotations

import logging
import random
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Literal, TypeVar

from pydantic import ValidationError

from confkv_agents import plugins
from confkv_agents.errors import PluginError, TaskError
from confkv_agents.paths import user_path
from confkv_agents.web.tasks.loader import explain
from confkv_agents.web.tasks.models import PUBLIC_SITES, Task
from confkv_agents.web.tasks.splits import Split, is_held_out, split_of
from confkv_agents.web.tasks.worlds import Row, World

logger = logging.getLogger(__name__)

Step = dict[str, Any]
"""One scripted action, as `x_confkv.oracle` holds it."""
Level = Literal["easy", "medium", "hard"]
T = TypeVar("T")

FEWEST_WORDINGS = 10
FEWEST_HELD_OUT = 2
_ATTEMPTS = 50
_SPARE_STEPS = 8  # allowed beyond the scripted solution, besides half of its length
_GAP = re.compile(r"\{(\w+)\}")
_CHOICE = re.compile(r"\(([^()]*\|[^()]*)\)")


class Unfit(Exception):
    """This drawing cannot become a task (nothing in stock, two answers); another one may."""


class NothingToAsk(TaskError):
    """No drawing of a seed worked out."""


class Drawing:
    """What a template draws from: the sites' state, a random source and the split.

    Attributes:
        world: The sites in the state of the seed.
        rng: Seeded by template, seed and attempt.
        split: `train` or `heldout`.
    """

    def __init__(self, world: World, rng: random.Random, split: Split) -> None:
        self.world = world
        self.rng = rng
        self.split = split

    def rows(self, site: str, sql: str, *values: Any) -> list[Row]:
        """Rows of a query, as `World.rows`."""
        return self.world.rows(site, sql, *values)

    def choose(self, items: Sequence[T], name: Callable[[T], str] | str = "name") -> T:
        """One of the items whose name belongs to the split.

        Args:
            items: Rows or anything else.
            name: Column of a row, or a function that gives an item's name.

        Raises:
            Unfit: None does.
        """
        return self.sample(items, 1, name)[0]

    def sample(self, items: Sequence[T], count: int, name: Callable[[T], str] | str = "name") -> list[T]:
        """Several different items whose names belong to the split; see `choose`.

        Raises:
            Unfit: There are not so many.
        """

        def fits(item: Any) -> bool:
            text = item[name] if isinstance(name, str) else name(item)
            return is_held_out(str(text)) == (self.split == "heldout")

        fitting = [item for item in items if fits(item)]
        if len(fitting) < count:
            raise Unfit(f"{len(fitting)} of {len(items)} names belong to the split {self.split!r}, {count} are needed")
        return self.rng.sample(fitting, count)


@dataclass(frozen=True)
class Draft:
    """What a template drew.

    Attributes:
        values: For the gaps of the wording.
        evaluation: The task's `eval`.
        oracle: The scripted solution; `note` of a step is what an actor would jot down before it.
        near_miss: A plausible wrong solution, which the evaluation must refuse.
        start: Pages opened as tabs; the sites' front pages where empty.
        login: Sign in as the sites' demo user first.
    """

    values: Mapping[str, str]
    evaluation: Mapping[str, Any]
    oracle: Sequence[Step]
    near_miss: Sequence[Step]
    start: Sequence[str] = ()
    login: bool = False


@dataclass(frozen=True)
class Template:
    """A kind of task.

    Attributes:
        sites: As task files name them: `shopping`, `classifieds`, `reddit`.
        wordings: At least ten sentences with gaps, `Buy the {product}`. `(a|b)` stands for either, so one entry may
            be many wordings. All may be used in training.
        held_out: At least two further wordings, used for held-out seeds only.
        draw: Fills the gaps; raises `Unfit` when a drawing does not work out.
        plan: What is to be done, in few words and with the wordings' gaps; every wording means the same plan.
        reasoning: How hard it is to think out.
        visual: `easy` where the text says everything; `medium` or `hard` where a picture must be looked at.
        tags: As `x_confkv.tags`: `long-memory` where something read earlier is needed much later.
    """

    sites: tuple[str, ...]
    wordings: tuple[str, ...]
    held_out: tuple[str, ...]
    draw: Callable[[Drawing], Draft]
    plan: str = ""
    reasoning: Level = "medium"
    visual: Level = "easy"
    tags: tuple[str, ...] = ()
    name: str = field(default="", compare=False)

    def spelled(self, split: Split) -> list[str]:
        """Every wording of a split, alternatives written out."""
        return [text for each in (self.held_out if split == "heldout" else self.wordings) for text in spell(each)]

    def make(self, seed: int, world: World | None = None) -> dict[str, Any]:
        """Make the task of a seed, as an object ready for a task file.

        Args:
            seed: Of the sites' state, of the drawing and of the wording.
            world: The sites in the state of that seed, if at hand.

        Raises:
            NothingToAsk: Nothing fitting can be drawn from the seed.
            TaskError: What was drawn is no valid task.
        """
        draft, rng = self._drawn(seed, world)
        return self._task(draft, rng.choice(self.spelled(split_of(seed))), seed)

    def intents(self, seed: int, world: World | None = None) -> list[str]:
        """The task of a seed in every wording of the seed's split.

        Raises:
            NothingToAsk: Nothing fitting can be drawn from the seed.
            TaskError: What was drawn is no valid task.
        """
        draft, _ = self._drawn(seed, world)
        return [str(self._task(draft, wording, seed)["intent"]) for wording in self.spelled(split_of(seed))]

    def _drawn(self, seed: int, world: World | None) -> tuple[Draft, random.Random]:
        """What the seed draws, and the generator as it stands then."""
        world = world or World(seed)
        if world.seed != seed:
            raise TaskError(f"template {self.name!r}: the world has seed {world.seed}, the task {seed}")
        reason = ""
        for attempt in range(_ATTEMPTS):
            rng = random.Random(f"{self.name}:{seed}:{attempt}")
            try:
                return self.draw(Drawing(world, rng, split_of(seed))), rng
            except Unfit as error:
                reason = str(error)
        raise NothingToAsk(f"template {self.name!r} finds nothing to ask for in seed {seed}: {reason}")

    def _task(self, draft: Draft, wording: str, seed: int) -> dict[str, Any]:
        gaps, planned = set(_GAP.findall(wording)), set(_GAP.findall(self.plan))
        if not planned <= gaps:
            raise TaskError(
                f"template {self.name!r}: the plan tells {', '.join(sorted(planned - gaps))}, and {wording!r} does not"
            )
        if not gaps <= set(draft.values):
            missing = ", ".join(sorted(gaps - set(draft.values)))
            raise TaskError(f"template {self.name!r}: no value for {missing} in {wording!r}")
        pages = draft.start or [PUBLIC_SITES[site] for site in self.sites]
        used = {gap: draft.values[gap] for gap in sorted(gaps)}
        task = {
            "sites": list(self.sites),
            "task_id": seed,
            "require_login": draft.login,
            "storage_state": f"./.auth/{'.'.join(self.sites)}_state.json" if draft.login else None,
            "start_url": " |AND| ".join(pages),
            "geolocation": None,
            "intent_template": _GAP.sub(r"{{\1}}", wording),
            "intent": _GAP.sub(lambda gap: used[gap[1]], wording),
            "instantiation_dict": used,
            "image": None,
            "require_reset": False,
            "eval": {"reference_answers": None, "reference_url": "", "program_html": []} | dict(draft.evaluation),
            "intent_template_id": self.name,
            "reasoning_difficulty": self.reasoning,
            "visual_difficulty": self.visual,
            "overall_difficulty": max(self.reasoning, self.visual, key=["easy", "medium", "hard"].index),
            "x_confkv": {
                "template": self.name,
                "tags": list(self.tags),
                "seed": seed,
                "max_steps": len(draft.oracle) * 3 // 2 + _SPARE_STEPS,
                "plan": _GAP.sub(lambda gap: used[gap[1]], self.plan),
                "oracle": list(draft.oracle),
                "near_miss": list(draft.near_miss),
            },
        }
        try:
            Task.read(task)
        except ValidationError as error:
            raise TaskError(f"template {self.name!r}, seed {seed}: {explain(error)}") from None
        return task


def spell(wording: str) -> list[str]:
    """Write out the alternatives `(a|b)` of a wording; one of them may be empty, and they do not nest."""
    choice = _CHOICE.search(wording)
    if choice is None:
        return [" ".join(wording.split())]
    before, after = wording[: choice.start()], wording[choice.end() :]
    return [text for option in choice[1].split("|") for text in spell(before + option + after)]


def available_templates() -> list[str]:
    """The names of the templates that come with the package, such as `shop/coupon_order`."""
    root = _root()
    files = (path.relative_to(root).with_suffix("") for path in root.rglob("*.py"))
    return sorted(name.as_posix() for name in files if not any(part.startswith("_") for part in name.parts))


def find_templates(name_or_pattern: str) -> list[str]:
    """Names that a name, a pattern (`shop/*`) or a path stands for.

    Raises:
        PluginError: None.
    """
    names = available_templates()
    found = [name for name in names if fnmatchcase(name, name_or_pattern)]
    if found:
        return found
    if name_or_pattern.endswith(".py") and user_path(name_or_pattern).is_file():
        return [name_or_pattern]
    raise PluginError(
        f"no template {name_or_pattern!r}: give a .py file, a pattern such as 'shop/*', or one of {', '.join(names)}"
    )


def load_template(name_or_path: str | Path) -> Template:
    """Load a template by its name or the path of its file.

    Raises:
        PluginError: There is no such template, or its file has no `TEMPLATE`, too few wordings, or unlike gaps.
    """
    text = str(name_or_path)
    if text in available_templates():
        path, name = _root() / f"{text}.py", text
    else:
        path = user_path(text)
        name = path.stem
    module = plugins.load_module(path, f"tasks.templates.{'.'.join(Path(name).parts)}")
    template = getattr(module, "TEMPLATE", None)
    if not isinstance(template, Template):
        raise PluginError(f"{path} has no TEMPLATE that is a confkv_agents.web.tasks.Template")
    _check_wordings(template, path)
    return Template(**{**template.__dict__, "name": name})


def make_tasks(template: Template, seeds: Iterable[int]) -> Iterable[dict[str, Any]]:
    """The tasks of several seeds, one after the other; a seed that holds nothing to ask for is left out."""
    for seed in seeds:
        with closing(World(seed)) as world:
            try:
                yield template.make(seed, world)
            except NothingToAsk as error:
                logger.warning("%s", error)


def _check_wordings(template: Template, path: Path) -> None:
    training, held_out = template.spelled("train"), template.spelled("heldout")
    for what, found, fewest in (
        ("wordings", training, FEWEST_WORDINGS),
        ("held-out wordings", held_out, FEWEST_HELD_OUT),
    ):
        if len(set(found)) < fewest:
            raise PluginError(f"{path}: {len(set(found))} {what}; at least {fewest} are needed")
    shared = set(training) & set(held_out)
    if shared:
        raise PluginError(f"{path}: a held-out wording is one for training too: {min(shared)!r}")


def _root() -> Path:
    return plugins.data_dir("tasks") / "templates"
