"""A set's report: `report.html`, `summary.json` and `episodes.csv`, made from the records alone."""

from __future__ import annotations

import csv
import functools
import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from confkv_agents import __version__
from confkv_agents.evaluation import plots as episode_plots
from confkv_agents.evaluation import words
from confkv_agents.evaluation.batch import plots, tables
from confkv_agents.evaluation.batch.kinds import KINDS, LENGTHS
from confkv_agents.evaluation.batch.options import NO_POLICY
from confkv_agents.evaluation.batch.results import Results
from confkv_agents.evaluation.batch.store import asked_keys, read_set, row_key
from confkv_agents.evaluation.batch.summary import REFERENCE, summarize
from confkv_agents.evaluation.files import write_json, write_text
from confkv_agents.evaluation.pages import both_shapes, facts, template, tile
from confkv_agents.evaluation.records import read_rows
from confkv_agents.evaluation.report import write_run_report

_COLUMNS = (
    *("policy", "task", "seed", "success", "stop_reason", "steps", "parse_failures", "attempts", "sites", "kinds"),
    *("length", "tokens_read", "tokens_reused", "tokens_generated", "peak_kv_bytes", "full_kv_bytes"),
    *("seconds_total", "seconds_model", "seconds_environment", "answer", "error", "link"),
)
_NAMED_SEEDS = 8
_SETTLED = ("finished", "interrupted", "failed")
_LENGTH_WORDS = {
    name: f"solved in {low} actions or more" if high is None else f"solved in {low} to {high} actions"
    for name, (low, high) in LENGTHS.items()
}


def write_batch_report(folder: Path, to: Path | None = None) -> Results:
    """Write a set's report, and the pages of its runs; the pages of its episodes are left as they are.

    Args:
        folder: The set's folder.
        to: Where the pages are written, if elsewhere.

    Returns:
        What was found.

    Raises:
        RecordError: The folder holds no set, or a record is broken.
    """
    content, rows = read_set(folder)
    summary = summarize(content, rows)
    to = to or folder
    for policy in content["policies"].values():
        if (folder / policy["folder"] / "run.json").is_file():
            write_run_report(folder / policy["folder"], to / policy["folder"])
    to.mkdir(parents=True, exist_ok=True)
    write_json(to / "summary.json", summary)
    write_text(to / "episodes.csv", _csv(rows))
    write_text(to / "report.html", _page(folder, content, rows, summary))
    judged = {row_key(row) for row in rows if row["success"] is not None}
    return Results(folder, rows, summary, all(key in judged for key in asked_keys(content)))


def _page(folder: Path, content: Mapping[str, Any], rows: Sequence[Mapping[str, Any]], summary: dict[str, Any]) -> str:
    labels = list(summary["policies"])
    steps = {(row["policy"], row["link"]): _steps_of(folder, row) for row in rows}
    curves: dict[str, dict[int, list[dict[str, Any]]]] = {label: {} for label in labels}
    for (label, _), recorded in steps.items():
        for step in recorded:
            curves[label].setdefault(step["index"], []).append(step)
    shown = _most_telling(rows, steps)
    trace = read_rows(folder / Path(shown["link"]).with_name("trace.jsonl")) if shown else []
    shown_steps = steps[shown["policy"], shown["link"]] if shown else []
    page: str = template("batch.html.j2").render(
        version=__version__,
        name=folder.resolve().name,
        verdict=_state(content, summary),
        remarks=[*content["details"].get("remarks", []), *content["details"].get("left_out", [])],
        tiles=_tiles(content, rows, summary),
        uses_model=any(figures["peak_kv_bytes"] is not None for figures in summary["policies"].values()),
        reference=summary["reference"],
        policies=[
            {**_policy_row(label, figures), "link": f"{content['policies'][label]['folder']}/report.html"}
            for label, figures in summary["policies"].items()
        ],
        tradeoff_plot=both_shapes(functools.partial(plots.tradeoff_plot, summary["policies"])),
        steps_plot=both_shapes(functools.partial(plots.steps_plot, curves)),
        shown=shown,
        confidence_plot=both_shapes(functools.partial(episode_plots.confidence_plot, shown_steps, trace)),
        columns=[_column(label) for label in labels],
        sites=_by_site(_matrix(content, rows, labels)),
        breakdowns=[
            {"name": name, "rows": _breakdown(groups, labels)} for name, groups in summary["by"].items() if groups
        ],
        failures=summary["infra_errors"],
        facts=facts(
            {
                "Started": content["started"],
                "Ended": content["ended"],
                "Configuration hash": content["configuration_hash"],
                "Workers": content["details"].get("workers"),
            },
            content["configuration"],
            content["versions"],
        ),
    )
    return page


def _state(content: Mapping[str, Any], summary: Mapping[str, Any]) -> words.Verdict:
    missing = summary["missing"]
    if content["status"] == "running":
        return words.Verdict("Not finished", "it is running, or was killed; the same command continues", "note")
    if content["status"] not in _SETTLED or content["status"] == "failed":
        return words.Verdict("Failed to run", "an unexpected error ended it; the same command continues", "bad")
    if missing or content["status"] == "interrupted":
        return words.Verdict(
            "Interrupted",
            f"{missing} episode{'s are' if missing != 1 else ' is'} missing; the same command continues",
            "note",
        )
    if summary["infra_errors"]:
        return words.Verdict("Finished", "but the environment failed some; the same command tries them again", "note")
    return words.Verdict("Finished", f"{summary['asked']} episode{'s' if summary['asked'] != 1 else ''}", "good")


def _tiles(content: Mapping[str, Any], rows: Sequence[Any], summary: Mapping[str, Any]) -> list[dict[str, str]]:
    spent = sum(row["seconds"].get("total", 0) for row in rows)
    tasks = {row_key(row)[0] for row in rows}
    named = [label for label in summary["policies"] if label != NO_POLICY]
    found = [
        tile("Episodes", words.count(len(rows)), f"{summary['missing']} missing" if summary["missing"] else ""),
        tile("Tasks", words.count(len(tasks)), _seeds(sorted({row["seed"] for row in rows}))),
        tile("Without verdict", words.count(len(summary["infra_errors"])), "episodes that the environment failed"),
        tile("Time in episodes", words.seconds(spent)),
    ]
    if named:
        found.insert(2, tile("Policies", len(named), f"budget {content['configuration']['budget']} slots a layer"))
    else:
        figures = summary["policies"].get(NO_POLICY)
        if figures:
            success = f"{figures['succeeded']} of {figures['judged']}"
            found.insert(0, tile("Success", success, tables.interval(figures["success_interval"]) + ", 95 %"))
    return found


def _seeds(seeds: Sequence[int]) -> str:
    if len(seeds) <= _NAMED_SEEDS:
        return f"seed{'s' if len(seeds) != 1 else ''} {', '.join(map(str, seeds))}"
    return f"{len(seeds)} seeds from {seeds[0]} to {seeds[-1]}"


def _policy_row(label: str, figures: Mapping[str, Any]) -> dict[str, Any]:
    against = figures.get("against_full")
    return {
        "label": "no model" if label == NO_POLICY else label,
        "success": f"{figures['succeeded']} of {figures['judged']}",
        "share": tables.share(figures["success"]),
        "interval": tables.interval(figures["success_interval"]),
        "difference": tables.difference(against),
        "retention": tables.retained(against),
        "peak": words.size(figures["peak_kv_bytes"]),
        "of_full": tables.share(figures["of_full_kv"]),
        "read": words.count(figures["tokens_read"]),
        "reused": words.count(figures["tokens_reused"]),
        "steps": tables.number(figures["steps"]),
        "latency": words.seconds(figures["model_seconds_per_step"]),
        "seconds": words.seconds(figures["seconds"]),
        "infra_errors": figures["infra_errors"],
    }


def _breakdown(groups: Mapping[str, Mapping[str, Any]], labels: Sequence[str]) -> list[dict[str, Any]]:
    return [
        {
            "name": name,
            "why": KINDS.get(name) or _LENGTH_WORDS.get(name, ""),
            "cells": [
                {
                    "label": _column(label),
                    "success": f"{figures[label]['succeeded']} of {figures[label]['judged']}",
                    "share": tables.share(figures[label]["success"]),
                }
                for label in labels
            ],
        }
        for name, figures in groups.items()
    ]


def _matrix(content: Mapping[str, Any], rows: Sequence[Mapping[str, Any]], labels: Sequence[str]) -> list[Any]:
    """A row per task and seed, a cell per policy; what was asked for and is not there has an empty cell.

    What a task asks is what its first episode was asked, since some sites say it only once their page has started.
    """
    by_key = {row_key(row): row for row in rows}
    cases = dict.fromkeys(key[:2] for key in [*by_key, *asked_keys(content)])
    order = {task: place for place, task in enumerate(content["tasks"])}
    found = []
    for task, seed in sorted(cases, key=lambda case: (order.get(case[0], len(order)), case[1])):
        known = content["tasks"].get(task, {})
        cells = []
        intent = known.get("intent", "")
        for label in reversed(labels):
            row = by_key.get((task, seed, label))
            intent = (row or {}).get("intent") or intent
            cells.append(
                {
                    "label": _column(label),
                    "verdict": words.verdict_of("finished", row) if row else None,
                    "mark": _mark(row) if row else words.MISSING,
                    "steps": row["steps"] if row else None,
                    "link": row["link"] if row else None,
                }
            )
        site = "+".join(sorted(set(known.get("sites", [])))) or "no site"
        name = known.get("key", task)
        found.append({"site": site, "task": name, "seed": seed, "intent": intent, "cells": cells[::-1]})
    return found


def _by_site(matrix: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The rows of each site together, in their order."""
    sites: dict[str, list[dict[str, Any]]] = {}
    for case in matrix:
        sites.setdefault(case["site"], []).append(case)
    return [{"name": name, "cases": cases} for name, cases in sites.items()]


def _mark(row: Mapping[str, Any]) -> str:
    return "no verdict" if row["success"] is None else "yes" if row["success"] else "no"


def _most_telling(
    rows: Sequence[Mapping[str, Any]], steps: Mapping[tuple[str, str], Sequence[Mapping[str, Any]]]
) -> Mapping[str, Any] | None:
    """The episode whose confidence is shown: most steps, of a policy whose budget moves if there is one."""

    def moves(row: Mapping[str, Any]) -> bool:
        budget = row["budget"]  # of full KV it is what is stored, which only grows
        return row["policy"] != REFERENCE and bool(budget) and budget["min"] != budget["max"]

    known = [row for row in rows if row["confidence"] and steps[row["policy"], row["link"]]]
    return max(known, key=lambda row: (moves(row), row["steps"]), default=None)


def _steps_of(folder: Path, row: Mapping[str, Any]) -> list[dict[str, Any]]:
    return read_rows(folder / Path(row["link"]).with_name("steps.jsonl"))


def _column(label: str) -> str:
    return "result" if label == NO_POLICY else label


def _csv(rows: Sequence[Mapping[str, Any]]) -> str:
    stream = io.StringIO()
    writer = csv.DictWriter(stream, _COLUMNS, extrasaction="ignore", lineterminator="\n")
    writer.writeheader()
    for row in rows:
        flat = {**row, "sites": "+".join(row["sites"]), "kinds": "+".join(row["kinds"])}
        flat |= {f"seconds_{part}": row["seconds"].get(part) for part in ("total", "model", "environment")}
        writer.writerow({name: "" if flat[name] is None else flat[name] for name in _COLUMNS})
    return stream.getvalue()
