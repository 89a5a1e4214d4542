"""The commands about task templates: `confkv-agent tasks templates` and `tasks make`."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Annotated

import typer

from confkv_agents.errors import ConfigError, RecordError
from confkv_agents.evaluation.words import printable

_MOST = 100_000


def templates() -> None:
    """List the templates that tasks can be made from."""
    from confkv_agents.web.tasks import available_templates, load_template

    for name in available_templates():
        template = load_template(name)
        marks = [*template.tags, *(["visual"] if template.visual != "easy" else [])]
        wordings = f"{len(template.spelled('train'))}+{len(template.spelled('heldout'))} wordings"
        typer.echo(printable("  ".join([name, wordings, *marks, template.wordings[0]])))


def make(
    template: Annotated[str, typer.Option(help="Name (shop/coupon_order), pattern ('shop/*') or .py file.")],
    seeds: Annotated[str, typer.Option(help="Seeds, such as 3, 0-9 or 0-9,1000-1999; below 1000 is held out.")],
    out: Annotated[Path, typer.Option(help="Folder for the task files.")] = Path("tasks/made"),
) -> None:
    """Make task files from templates, one per seed; the same template and seed give the same task."""
    from confkv_agents.web.tasks import find_templates

    written = len(write_tasks(find_templates(template), parse_seeds(seeds), out))
    typer.echo(f"{written} task{'s' if written != 1 else ''} in {out}")


def write_tasks(names: Iterable[str], seeds: Sequence[int], out: Path) -> list[Path]:
    """Write the tasks that templates make of seeds.

    Args:
        names: Of templates.
        seeds: Any; one that a template cannot use is left out.
        out: Folder for `site/template_seed.json`.

    Returns:
        The files.

    Raises:
        TaskError: A template cannot be loaded.
        RecordError: A file cannot be written.
    """
    from confkv_agents.web.tasks import load_template, make_tasks

    written = []
    for template in [load_template(name) for name in names]:
        for task in make_tasks(template, seeds):
            path = out / f"{template.name}_{task['task_id']}.json"
            try:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(task_text(task), "utf-8")
            except OSError as error:
                raise RecordError(f"{path} cannot be written: {error.strerror or error}") from error
            written.append(path)
    return written


def task_text(task: dict[str, object]) -> str:
    """A task as it stands in a file."""
    return json.dumps(task, indent=2, ensure_ascii=False) + "\n"


def parse_seeds(text: str) -> list[int]:
    """Read `3`, `0-9` or `0-9,1000-1999`; a seed given twice counts once.

    Raises:
        ConfigError: It is nothing of the kind, or very many.
    """
    found: dict[int, None] = {}
    for part in text.split(","):
        match = re.fullmatch(r"\s*(\d{1,9})(?:-(\d{1,9}))?\s*", part)
        if match is None or int(match[2] or match[1]) < int(match[1]):
            raise ConfigError(f"seeds {text!r}: write numbers and ranges such as 3, 0-9 or 0-9,1000-1999")
        first, last = int(match[1]), int(match[2] or match[1])
        if last - first >= _MOST:
            raise ConfigError(f"seeds {text!r}: at most {_MOST:,} at a time")
        found |= dict.fromkeys(range(first, last + 1))
    return list(found)
