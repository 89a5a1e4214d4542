"""Recorded episodes: what was shown at each step, what was said then, and what was done."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from confkv_agents.errors import RecordError
from confkv_agents.evaluation.records import EPISODE_SCHEMA, read_record, read_rows
from confkv_agents.paths import user_path


@dataclass(frozen=True)
class RecordedStep:
    """One step of a recorded episode.

    Attributes:
        index: Its number.
        observation: The page as it was shown, in text.
        action: In canonical form, or what was said where that held no action.
        parsed: Whether there was an action.
        thought: What the agent said before its action: a note in one line, before which its plan may stand in another.
        target: Name and id of the element acted on, or None.
        raw: What a model said, repair turns included; empty where none was asked.
        calls: How often the model was asked, where that is known.
        screenshot: File of the screenshot, or None; so for `marked`, with the elements' numbers.
        pictures: Pictures of the page: file, alternative text, id of the element.
    """

    index: int
    observation: str
    action: str
    parsed: bool = True
    thought: str = ""
    target: tuple[str, int] | None = None
    raw: str = ""
    calls: int | None = None
    screenshot: Path | None = None
    marked: Path | None = None
    pictures: tuple[tuple[Path, str, int | None], ...] = ()


@dataclass(frozen=True)
class RecordedEpisode:
    """A recorded episode with an action at least.

    Attributes:
        name: For people; unique in the run.
        intent: The task's goal.
        steps: In order.
        sha256: Of goal and steps, pictures included.
        images: The task's own pictures.
        configuration: Of the run.
    """

    name: str
    intent: str
    steps: tuple[RecordedStep, ...]
    sha256: str
    images: tuple[Path, ...] = ()
    configuration: Mapping[str, Any] = field(default_factory=dict)

    @property
    def agent(self) -> str | None:
        """Who played."""
        return self.configuration.get("agent")

    @property
    def pages(self) -> Mapping[str, Any]:
        """How pages were shown, as far as the record says: fields of `ObservationConfig`."""
        known = {"format": self.configuration.get("observation"), "max_tokens": self.configuration.get("page_tokens")}
        return {name: value for name, value in known.items() if value} | dict(self.configuration.get("pages") or {})


def read_recorded(folder: Path) -> list[RecordedEpisode]:
    """Read the episodes of a run, a batch or one episode's folder, those without any action left out.

    Episodes that are the same in every step, as an agent without a model records under several policies, come once.

    Raises:
        RecordError: There is none, or a record is broken.
    """
    folder = user_path(folder)
    if not folder.exists():
        raise RecordError(f"{folder} does not exist; give the folder of a run, a batch or an episode")
    paths = sorted(path for depth in ("", "*/", "*/*/") for path in folder.glob(f"{depth}episode.json"))
    found: dict[str, RecordedEpisode] = {}
    for path in paths:
        record = read_record(path, EPISODE_SCHEMA)
        steps = tuple(_step(row, path.parent) for row in read_rows(path.with_name("steps.jsonl")))
        if not any(step.parsed for step in steps):
            continue
        intent = record["task"]["intent"]
        images = tuple(path.parent / name for name in record["task"].get("images", []))
        digest = _digest(intent, steps, images)
        name = path.parent.relative_to(folder).as_posix()
        name = path.parent.name if name == "." else name
        found.setdefault(digest, RecordedEpisode(name, intent, steps, digest, images, record["configuration"]))
    if not found:
        raise RecordError(f"{folder}: no recorded step with an action; give the folder of a run, a batch or an episode")
    return list(found.values())


def _step(row: Mapping[str, Any], folder: Path) -> RecordedStep:
    target = row["target"]
    return RecordedStep(
        index=row["index"],
        observation=row["observation"],
        action=row["action"],
        parsed=row["parsed"] and bool(row["action"].strip()),
        thought="\n".join(" ".join(line.split()) for line in row["thought"].split("\n")),
        target=(target["name"], target["id"]) if target and target.get("id") is not None else None,
        raw=row["raw"],
        calls=row["model_calls"],
        screenshot=folder / row["screenshot"] if row["screenshot"] else None,
        marked=folder / row["marked"] if row["marked"] else None,
        pictures=tuple((folder / each["file"], each["alt"], each["element"]) for each in row["pictures"]),
    )


def _digest(intent: str, steps: Sequence[RecordedStep], images: Sequence[Path]) -> str:
    """Of everything that a model might be asked or told; files by what they hold, wherever they lie."""
    digest = hashlib.sha256(repr((intent, len(images))).encode())
    files = list(images)
    for step in steps:
        said = (step.index, step.observation, step.thought, step.action, step.raw, step.target)
        digest.update(repr((said, [each[1:] for each in step.pictures])).encode())
        files += [path for path in (step.marked, *(each[0] for each in step.pictures)) if path is not None]
    for path in files:
        if path.is_file():
            digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()


def names_of(episodes: Sequence[RecordedEpisode]) -> str:
    """The first names, for a line of facts."""
    return ", ".join(episode.name for episode in episodes[:3]) + (" ..." if len(episodes) > 3 else "")
