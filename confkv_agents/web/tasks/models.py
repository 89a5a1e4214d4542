"""One task: what is asked, where it starts, and what makes it a success."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PrivateAttr,
    ValidationInfo,
    field_validator,
    model_validator,
)

from confkv_agents.errors import SiteError, TaskError
from confkv_agents.web.benchmarks import benchmark_at
from confkv_agents.web.tasks.dialects import DIALECTS, Manner, Rules
from confkv_agents.web.tasks.evaluation import Evaluation
from confkv_agents.web.tasks.files import beside, source_of
from confkv_agents.web.tasks.needs import Need, needs_of
from confkv_agents.web.tasks.oracle import OracleAction, parts_of

PUBLIC_SITES = {
    "shopping": "__SHOPPING__",
    "reddit": "__REDDIT__",
    "classifieds": "__CLASSIFIEDS__",
    "wikipedia": "__WIKIPEDIA__",
    "homepage": "__HOMEPAGE__",
    "shopping_admin": "__SHOPPING_ADMIN__",
    "gitlab": "__GITLAB__",
    "map": "__MAP__",
}
"""Sites of the public task files and the placeholders of their addresses."""

PLACEHOLDER = re.compile(r"__[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)*__")
_PAGE = re.compile(rf"(?:https?://[^/\s]|{PLACEHOLDER.pattern})", re.IGNORECASE)
_TYPOS = {"hrad": "hard", "mediun": "medium"}

Difficulty = Annotated[
    Literal["easy", "medium", "hard"] | None,
    BeforeValidator(lambda value: _TYPOS.get(value, value) or None if isinstance(value, str) else value),
]


class Viewport(BaseModel):
    """Window size in CSS pixels; what a task leaves out comes from the environment."""

    model_config = ConfigDict(extra="allow", frozen=True)

    width: int | None = Field(default=None, ge=100, le=8000)
    height: int | None = Field(default=None, ge=100, le=8000)


class Extension(BaseModel):
    """Own additions, under the key `x_confkv`. Unknown keys are refused here."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    seed: int | None = Field(default=None, ge=0, lt=10**9)
    max_steps: int | None = Field(default=None, ge=1)
    oracle: tuple[OracleAction, ...] = ()
    near_miss: tuple[OracleAction, ...] = ()
    """A plausible wrong solution, which the evaluation must refuse."""
    plan: str = Field(default="", pattern=r"^[^\n]{0,400}$")
    """What the actor would jot down first: what is to be done, in few words, however the goal is put."""
    tags: tuple[Literal["visual", "long-memory", "cross-site"], ...] = ()
    """What makes it hard, where other fields do not say; results are broken down by it."""
    template: str | None = None
    """The template that made it, where one did: the same template and seed make it again."""
    from_site: bool = False
    """The site says what is asked and when the episode is over; see `confkv_agents.web.from_site`."""
    clock: Literal["real", "steps"] = "real"
    """`steps`: the pages' clock stands still while the agent thinks; each action moves it on by a second."""

    @field_validator("oracle", "near_miss")
    @classmethod
    def _files_beside_the_task(cls, steps: tuple[OracleAction, ...], info: ValidationInfo) -> tuple[OracleAction, ...]:
        for step in steps:
            if step.action == "upload":
                beside(source_of(info), step.file)
        return steps

    @model_validator(mode="after")
    def _parts_of_the_plan(self) -> Self:
        count = len(parts_of(self.plan))
        for step in (*self.oracle, *self.near_miss):
            if step.part is not None and step.part >= count:
                raise ValueError(
                    f"an action begins part {step.part} of the plan, whose parts are 0 to {count - 1}"
                    if count
                    else f"an action begins part {step.part} of the plan, and there is none"
                )
        return self


def _split_pages(value: Any) -> Any:
    return tuple(value.split(" |AND| ")) if isinstance(value, str) else value


def _to_list(value: Any) -> Any:
    if value is None or value == "":
        return ()
    return (value,) if isinstance(value, str) else value


class Task(BaseModel):
    """A task, read from a file. Keys that are not known here are kept in `raw`.

    Attributes:
        start_urls: Pages opened as tabs, in order; the first is the active one.
        images: Pictures that belong to the goal: paths or addresses, as written in the file.
        source: The file it was read from.
        sha256: Of that file's bytes.
        raw: The object as it stands in the file.
        unsupported: Why it cannot be run, whatever is given; empty for most tasks.
    """

    model_config = ConfigDict(extra="ignore", frozen=True, populate_by_name=True)

    sites: tuple[str, ...] = Field(min_length=1)
    task_id: int | str = 0
    intent: str = Field(min_length=1)
    start_urls: Annotated[tuple[str, ...], BeforeValidator(_split_pages)] = Field(alias="start_url", min_length=1)
    images: Annotated[tuple[str, ...], BeforeValidator(_to_list)] = Field(default=(), alias="image")
    evaluation: Evaluation = Field(alias="eval")
    require_login: bool = False
    storage_state: str | None = None
    require_reset: bool = False
    geolocation: dict[str, float] | None = None
    viewport: Viewport = Field(default=Viewport(), alias="viewport_size")
    intent_template_id: int | str | None = None
    reasoning_difficulty: Difficulty = None
    visual_difficulty: Difficulty = None
    overall_difficulty: Difficulty = None
    extension: Extension = Field(default=Extension(), alias="x_confkv")

    dialect: str = "vwa"
    source: Path = Path("task.json")
    sha256: str = ""
    many: bool = False
    _raw: dict[str, Any] = PrivateAttr(default_factory=dict)
    _needs: tuple[Need, ...] | None = PrivateAttr(default=None)

    @field_validator("viewport", "extension", mode="before")
    @classmethod
    def _absent_means_default(cls, value: Any) -> Any:
        return {} if value is None else value

    @field_validator("sites")
    @classmethod
    def _known_sites(cls, sites: tuple[str, ...], info: ValidationInfo) -> tuple[str, ...]:
        known = (info.context or {}).get("sites")
        if known is not None:
            for site in sites:
                if site not in known:
                    raise ValueError(f"unknown site {site!r}; known: {', '.join(sorted(known))}")
        return sites

    @field_validator("start_urls")
    @classmethod
    def _pages_of_the_web(cls, pages: tuple[str, ...]) -> tuple[str, ...]:
        for page in pages:
            if not _PAGE.match(page):
                raise ValueError(
                    f"{page!r} is no page of the web: begin it with http://, https:// or a site's __NAME__"
                )
        return pages

    @field_validator("images", "storage_state")
    @classmethod
    def _files_beside_the_task(cls, value: Any, info: ValidationInfo) -> Any:
        for name in (value,) if isinstance(value, str) else value or ():
            if not name.lower().startswith(("http://", "https://")):
                beside(source_of(info), name)
        return value

    @property
    def oracle(self) -> tuple[OracleAction, ...]:
        """The scripted solution; empty when the file has none."""
        return self.extension.oracle

    @property
    def seed(self) -> int | None:
        """Seed of the sites' state, where the file fixes one."""
        return self.extension.seed

    @property
    def max_steps(self) -> int | None:
        """Actions allowed, where the file says."""
        return self.extension.max_steps

    @property
    def raw(self) -> Mapping[str, Any]:
        """The object as it stands in the file, unknown keys included."""
        return self._raw

    @property
    def key(self) -> str:
        """`stem` of a file with one task, `stem:id` in a file of several."""
        return f"{self.source.stem}:{self.task_id}" if self.many else self.source.stem

    @property
    def manner(self) -> Manner:
        """How the task's dialect has it."""
        return DIALECTS[self.dialect]

    @property
    def rules(self) -> Rules:
        """Whose evaluators judge: VisualWebArena's or WebArena's."""
        return self.manner.rules

    @property
    def needs(self) -> tuple[Need, ...]:
        """What must be there to run and score it: sites, judges, access; see `confkv_agents.web.tasks.needs`."""
        if self._needs is None:
            self._needs = needs_of(self)
        return self._needs

    @property
    def site_names(self) -> tuple[str, ...]:
        """Every site that must run: those of `sites`, and those that its addresses lead to."""
        return tuple(name for need in self.needs if need.kind == "site" for name in need.detail)

    @property
    def unsupported(self) -> tuple[str, ...]:
        """Why the task cannot be run, whatever is given; see `needs` for what it takes."""
        reasons = []
        benchmark = benchmark_at(self.source)
        if benchmark is not None and (missing := benchmark[0].missing()):
            reasons.append(missing)
        return tuple(dict.fromkeys(reasons))

    def beside(self, name: str) -> Path:
        """Return the path of a file that the task names, which must lie in the task file's folder or below.

        Raises:
            TaskError: The name leads elsewhere: task files are not trusted with the rest of the disk.
        """
        try:
            return beside(self.source, name)
        except ValueError as error:
            raise TaskError(f"{self.source}: {error}") from None

    def require_supported(self) -> None:
        """Raise TaskError, naming the reasons, when the task cannot be scored here."""
        if self.unsupported:
            raise TaskError(f"{self.source}: task {self.task_id} cannot be run: {'; '.join(self.unsupported)}")

    def resolved(self, placeholders: Mapping[str, str]) -> Self:
        """The same task with addresses in place of placeholders.

        Args:
            placeholders: Placeholder -> address without a slash at its end.

        Raises:
            SiteError: A placeholder has no address; the message names the site.
        """

        def replace(value: Any) -> Any:
            if isinstance(value, str):
                for placeholder, address in placeholders.items():
                    value = value.replace(placeholder, address)
                left = PLACEHOLDER.search(value)
                if left:
                    site = left[0].strip("_").lower()
                    where = f"{self.source}: task {self.task_id}"
                    raise SiteError(f"{where} needs the site {site!r}; start it, or give its address")
                return value
            if isinstance(value, list):
                return [replace(item) for item in value]
            if isinstance(value, dict):
                return {key: replace(item) for key, item in value.items()}
            return value

        task = self.read(replace(self._raw), self.dialect, self.source, self.sha256, self.many)
        task._needs = self.needs  # addresses in place of placeholders would look like pages elsewhere
        return task

    @classmethod
    def read(
        cls,
        raw: dict[str, Any],
        dialect: str = "vwa",
        source: Path = Path("task.json"),
        sha256: str = "",
        many: bool = False,
        sites: frozenset[str] | None = None,
    ) -> Self:
        """Build a task from a parsed object; raises pydantic's ValidationError, which the loader explains."""
        known = {key: value for key, value in raw.items() if key not in ("dialect", "source", "sha256", "many")}
        task = cls.model_validate(
            known | {"dialect": dialect, "source": source, "sha256": sha256, "many": many},
            context={"dialect": dialect, "sites": sites, "source": source},
        )
        task._raw = raw
        return task
