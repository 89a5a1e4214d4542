"""Reports: one HTML file per episode and one per run, made from the records alone.

A report opens from disk: styles, plots and screenshots are inside it, it runs no script and a content
security policy keeps it from loading anything. Whatever came from a page or a model is escaped.
"""

from __future__ import annotations

import functools
import io
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from confkv_agents import __version__
from confkv_agents.errors import RecordError
from confkv_agents.evaluation import plots, words
from confkv_agents.evaluation.files import write_text
from confkv_agents.evaluation.pages import both_shapes, data_url, facts, template, tile
from confkv_agents.evaluation.records import CACHE_TRACE, EPISODE_SCHEMA, RUN_SCHEMA, read_record, read_rows
from confkv_agents.paths import user_path

PICTURE_WIDTH = 1280


def write_reports(folder: Path, to: Path | None = None, width: int = PICTURE_WIDTH) -> list[Path]:
    """Write, or write again, the reports of a run's or an episode's folder.

    Args:
        folder: A run's folder (its report and those of all its episodes), an episode's, or a batch's.
        to: A folder for the pages alone, to be passed on without the records; None puts them beside the records.
        width: Pixels that a screenshot in a page is wide at most.

    Returns:
        The files written, the one to open first in front.

    Raises:
        RecordError: The folder holds neither kind of record, or a record is broken.
    """
    folder = user_path(folder)
    to = folder if to is None else user_path(to)

    def episodes(pattern: str) -> list[Path]:
        found = sorted(path.parent for path in folder.glob(pattern))
        return [write_episode_report(each, to / each.relative_to(folder), width) for each in found]

    if (folder / "batch.json").is_file():
        from confkv_agents.evaluation.batch.report import write_batch_report

        write_batch_report(folder, to)
        return [to / "report.html", *episodes("*/*/episode.json")]
    if (folder / "run.json").is_file():
        return [write_run_report(folder, to), *episodes("*/episode.json")]
    if (folder / "episode.json").is_file():
        return [write_episode_report(folder, to, width)]
    raise RecordError(
        f"{folder} is neither the folder of a run (run.json) nor of an episode (episode.json), nor of a batch "
        "(batch.json)"
    )


def write_episode_report(folder: Path, to: Path | None = None, width: int = PICTURE_WIDTH) -> Path:
    """Write an episode's `report.html` from its records; see `write_reports`."""
    record = read_record(folder / "episode.json", EPISODE_SCHEMA)
    steps = read_rows(folder / "steps.jsonl")
    trace = read_rows(folder / "trace.jsonl")
    run_file = folder.parent / "run.json"
    run = read_record(run_file, RUN_SCHEMA) if run_file.is_file() else {}
    result = record["result"] or {}
    configuration = record["configuration"]
    uses_model = bool(configuration.get("model"))
    batch = folder.parent.parent
    page = template("episode.html.j2").render(
        version=__version__,
        run=record["run"],
        batch=batch.resolve().name if (batch / "batch.json").is_file() else None,
        task=record["task"],
        verdict=words.verdict_of(record["status"], record["result"]),
        error=result.get("error"),
        remarks=run.get("details", {}).get("remarks", []),
        tiles=_episode_tiles(result, steps, uses_model),
        checks=[_check_in_words(check) for check in result.get("checks", [])],
        answer=result.get("answer"),
        uses_model=uses_model,
        memory_plot=both_shapes(functools.partial(plots.memory_plot, steps)),
        confidence_plot=both_shapes(functools.partial(plots.confidence_plot, steps, trace)),
        confidence_caption=(
            "The model's confidence and the budget it sets, at each decoded token"
            if trace
            else "The model's confidence and the budget it sets, at each step"
        ),
        cache_trace=CACHE_TRACE if to in (None, folder) and (folder / CACHE_TRACE).is_file() else None,
        steps=[_step_in_words(step, folder, uses_model, width) for step in steps],
        final_picture=_picture(folder / "final.png", width),
        facts=facts(
            {
                "Task": record["task"]["key"],
                "Task file": record["task"]["source"],
                "Task SHA-256": record["task"]["sha256"],
                "Dialect": record["task"]["dialect"],
                "Start": record["task"]["start_urls"],
                "Seed": record["seed"],
                "Started": record["started"],
                "Ended": record["ended"],
                "Peak process memory": words.size(result.get("peak_memory", {}).get("process_bytes")),
                "Peak browser memory": words.size(result.get("peak_memory", {}).get("browser_bytes")),
                "Configuration hash": record["configuration_hash"],
            },
            configuration,
            run.get("versions", {}),
        ),
        traceback=record["traceback"],
    )
    return _written(to or folder, page)


def write_run_report(folder: Path, to: Path | None = None) -> Path:
    """Write a run's `report.html`: its episodes, with links to theirs; see `write_reports`."""
    run = read_record(folder / "run.json", RUN_SCHEMA)
    records = [read_record(path, EPISODE_SCHEMA) for path in sorted(folder.glob("*/episode.json"))]
    order = {name: place for place, name in enumerate(run["episodes"])}
    records.sort(key=lambda record: order.get(record["episode"], len(order)))
    results = [record["result"] for record in records if record["result"]]
    judged = [result for result in results if result["success"] is not None]
    succeeded = sum(result["success"] for result in judged)
    state = {
        "finished": words.Verdict("Finished", "", "good"),
        "running": words.Verdict("Not finished", "it is running, or was killed", "note"),
        "interrupted": words.Verdict("Interrupted", "stopped from outside before it ended", "note"),
    }.get(run["status"], words.Verdict("Failed to run", "an unexpected error ended the run", "bad"))
    uses_model = bool(run["configuration"].get("model"))
    page = template("run.html.j2").render(
        version=__version__,
        run=run["run"],
        uses_model=uses_model,
        verdict=state,
        tiles=[
            tile("Success", f"{succeeded} of {len(judged)}", words.ratio(succeeded, len(judged))),
            tile("Without verdict", len(records) - len(judged), "infra errors, interrupted"),
            tile("Steps", words.count(sum(result["steps"] for result in results))),
            *(
                [
                    tile("Peak KV held", words.size(_most(results, "peak_kv_bytes"))),
                    tile("Full KV would hold", words.size(_most(results, "full_kv_bytes"))),
                ]
                if uses_model
                else []
            ),
            tile("Time", words.seconds(sum(result["seconds"].get("total", 0) for result in results))),
        ],
        episodes=[_episode_row(record) for record in records],
        comparison_plot=both_shapes(functools.partial(plots.comparison_plot, results)),
        facts=facts(
            {
                "Started": run["started"],
                "Ended": run["ended"],
                "Configuration hash": run["configuration_hash"],
            },
            run["configuration"],
            run["details"],
            {f"SHA-256 of {name}": value for name, value in run["files"].items()},
            run["versions"],
        ),
    )
    return _written(to or folder, page)


def _written(folder: Path, page: str) -> Path:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise RecordError(f"cannot make the folder {folder}: {error.strerror or error}") from error
    write_text(folder / "report.html", page)
    return folder / "report.html"


def _episode_tiles(result: dict[str, Any], steps: list[dict[str, Any]], uses_model: bool) -> list[dict[str, str]]:
    time = result.get("seconds", {})
    tiles = [tile("Steps", result.get("steps", len(steps)))]
    if time:
        parts = _spent(time, uses_model)
        tiles.append(tile("Time", words.seconds(time["total"]), parts))
    if result.get("tokens_read") is not None:
        tiles += [
            tile("Tokens read", words.count(result["tokens_read"])),
            tile("Tokens reused", words.count(result["tokens_reused"]), "from the cache of the step before"),
            tile("Tokens generated", words.count(result["tokens_generated"])),
        ]
    if result.get("peak_kv_bytes") is not None:
        peak, full = result["peak_kv_bytes"], result["full_kv_bytes"]
        tiles += [
            tile("Peak KV held", words.size(peak), f"{words.ratio(peak, full)} of full KV" if full else ""),
            tile("Full KV would hold", words.size(full)),
        ]
    for name, key, digits in (("Budget, slots", "budget", 0), ("Confidence", "confidence", 2)):
        values = result.get(key)
        if values:
            tiles.append(tile(name, words.span(values, digits), f"mean {values['mean']:,.{digits}f}"))
    return tiles


def _spent(time: dict[str, float], uses_model: bool) -> str:
    model = f"model {words.seconds(time['model'])}, " if uses_model else ""
    return f"{model}browser {words.seconds(time['environment'])}"


def _episode_row(record: dict[str, Any]) -> dict[str, Any]:
    result = record["result"] or {}
    return {
        "task": record["task"]["key"],
        "seed": record["seed"],
        "link": f"{record['episode']}/report.html",
        "verdict": words.verdict_of(record["status"], record["result"]),
        "stop_reason": result.get("stop_reason", words.MISSING),
        "steps": words.count(result.get("steps")),
        "read": words.count(result.get("tokens_read")),
        "reused": words.count(result.get("tokens_reused")),
        "peak": words.size(result.get("peak_kv_bytes")),
        "full": words.size(result.get("full_kv_bytes")),
        "seconds": f"{result['seconds']['total']:.1f}" if result.get("seconds") else words.MISSING,
    }


def _step_in_words(step: dict[str, Any], folder: Path, uses_model: bool, width: int) -> dict[str, Any]:
    picture = _picture(folder / step["screenshot"], width) if step["screenshot"] else None
    cost = []
    if step["tokens_read"] is not None:
        read, reused = words.count(step["tokens_read"]), words.count(step["tokens_reused"])
        cost.append(f"read {read}, reused {reused} tokens")
    if step["kv_bytes"] is not None:
        cost.append(f"KV {words.size(step['kv_bytes'])} of {words.size(step['full_kv_bytes'])}")
    if step["budget"]:
        cost.append(f"budget {words.span(step['budget'])}")
    if step["confidence"]:
        cost.append(f"confidence {words.span(step['confidence'], 2)}")
    time = step["seconds"]
    if time:
        cost.append(_spent(time, uses_model))
    return {
        **step,
        "shown": [
            {"alt": f"{each['alt']}{'' if each['element'] is None else ' [' + str(each['element']) + ']'}", **found}
            for each in step["pictures"]
            if (found := _picture(folder / each["file"], width))
        ],
        "picture": picture["data"] if picture else None,
        "width": picture["width"] if picture else None,
        "height": picture["height"] if picture else None,
        "box": _share_of(step["target"], picture),
        "cost": cost,
    }


def _share_of(target: dict[str, Any] | None, picture: dict[str, Any] | None) -> dict[str, str] | None:
    """The target's box in percent of the screenshot, cut to it; None if it lies outside."""
    box = (target or {}).get("box")
    if not box or not picture:
        return None
    x, y, width, height = box
    left, top = max(0.0, x), max(0.0, y)
    right, bottom = min(picture["pixels"][0], x + width), min(picture["pixels"][1], y + height)
    if right <= left or bottom <= top:
        return None
    shares = {
        "left": left / picture["pixels"][0],
        "top": top / picture["pixels"][1],
        "width": (right - left) / picture["pixels"][0],
        "height": (bottom - top) / picture["pixels"][1],
    }
    return {key: f"{100 * share:.2f}" for key, share in shares.items()}


def _check_in_words(check: dict[str, Any]) -> dict[str, Any]:
    return {
        **check,
        "expected": _value_in_words(check.get("expected")),
        "got": _value_in_words(check.get("got")),
        "why": check.get("why") or "",
    }


def _value_in_words(value: Any) -> str:
    if value is None:
        return words.MISSING
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    if not text.strip():
        return "(empty)"
    return text if len(text) <= 600 else text[:600] + f"… ({len(text):,} characters)"


def _most(rows: Iterable[dict[str, Any]], key: str) -> int | None:
    return max((row[key] for row in rows if row[key] is not None), default=None)


def _picture(path: Path, width: int) -> dict[str, Any] | None:
    """A screenshot as WebP, a tenth of the PNG's size, to be put into the page; None if there is none."""
    from PIL import Image

    if not path.is_file():
        return None
    try:
        with Image.open(path) as image:
            pixels = image.size
            shown = image.convert("RGB")
    except OSError as error:
        raise RecordError(f"{path} is not a picture: {error}") from error
    if shown.width > width:
        shown = shown.resize((width, round(shown.height * width / shown.width)))
    stream = io.BytesIO()
    shown.save(stream, "WEBP", quality=80, method=4)
    data = data_url("image/webp", stream.getvalue())
    return {"data": data, "pixels": pixels, "width": shown.width, "height": shown.height}
