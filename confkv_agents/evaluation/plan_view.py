"""A plan on the terminal: the model's facts, a table by policy, remarks; within 100 columns."""

from __future__ import annotations

from rich import box
from rich.console import Console, Group
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from confkv_agents.evaluation import words
from confkv_agents.evaluation.plan import ModelSize, Plan, PolicyPlan

WIDTH = 100
_WIDEST_LABEL = 24
_TONES = {"yes": "green", "no": "red"}


def show_plan(plan: Plan, console: Console | None = None) -> None:
    """Print a plan.

    Args:
        plan: What to print.
        console: Where to; standard output by default.
    """
    console = console or Console(highlight=False)
    width = min(WIDTH, console.width)
    tables = [_table(plan, padding=1 if width == WIDTH else 0, folded=folded) for folded in (False, True)]
    unbounded = console.options.update(width=10**6)
    needed = [Measurement.get(console, unbounded, table).minimum for table in tables]
    table = tables[needed[0] > width]
    # Where even that is too wide for the terminal its lines wrap; cropped figures would be lost.
    wide = Console(
        file=console.file, width=max(width, min(needed)), force_terminal=console.is_terminal, highlight=False
    )
    console.print(Group(_facts(plan), Text()), width=width)
    wide.print(table)
    console.print(Group(Text(), _remarks(plan)), width=width)


def _facts(plan: Plan) -> Table:
    model = plan.model
    sessions = f"{plan.sessions:,} session{'s' if plan.sessions > 1 else ''}"
    rows = [
        ("model", f"{model.name} ({model.family}): {_layers(model)}"),
        (
            "weights",
            f"{words.size(model.weight_bytes)}: {model.parameters:,} parameters, {model.dtype}",
        ),
        (
            "one token",
            f"{words.size(model.token_bytes)} of keys and values, {words.size(model.int8_token_bytes)} as int8 codes",
        ),
        (
            "asked for",
            f"{sessions} of {plan.context:,} tokens in {words.size(plan.memory)}; budget {plan.budget:,} slots, "
            f"read {plan.chunk:,} tokens at a time",
        ),
    ]
    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="dim", no_wrap=True)
    grid.add_column(overflow="fold")
    for name, value in rows:
        grid.add_row(name, Text(value))
    return grid


def _layers(model: ModelSize) -> str:
    layers = f"{model.layers} layers"
    if model.sliding_layers:
        layers += f", {model.sliding_layers} of them with a sliding window"
    positions = "" if model.positions is None else f", {model.positions:,} positions"
    heads = f"{model.query_heads} query and {model.kv_heads} KV heads of {model.head_width}"
    return f"{layers}, {heads}{positions}"


def _table(plan: Plan, padding: int, *, folded: bool) -> Table:
    """A row per policy; folded, a policy's settings lie one below the other."""
    heads = ["policy", "KV per\ntoken", "peak per\nsession", "held per\nsession", "host per\nsession"]
    heads += ["all with\nweights", "fits", "sessions\nat most", "longest\ncontext"]
    rows = [_cells(row) for row in plan.policies]
    if folded:
        rows = [[row[0].replace(":", "\n "), *row[1:]] for row in rows]
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, padding, 0, 0))
    for number, head in enumerate(heads):
        lines = [*head.split("\n"), *(line for row in rows for line in row[number].split("\n"))]
        words_ = head in ("policy", "fits")
        width = min(max(map(len, lines)), _WIDEST_LABEL)
        table.add_column(head, justify="left" if words_ else "right", overflow="fold", min_width=width)
    for row in rows:
        table.add_row(*(Text(cell, style=_TONES.get(cell, "")) for cell in row))
    return table


def _cells(row: PolicyPlan) -> list[str]:
    return [
        row.policy,
        _size(row.bytes_per_token),
        _size(row.peak_bytes),
        _size(row.held_bytes),
        _size(row.cold_bytes) if row.cold_bytes else words.MISSING,
        _size(row.total_bytes),
        "yes" if row.fits else "no",
        f"{row.sessions:,}",
        _tokens(row.longest_context),
    ]


def _size(value: float) -> str:
    """Bytes with three digits: `1.83 GiB`, `703 MiB`."""
    for unit in ("B", "KiB", "MiB", "GiB"):
        if value < 999.5 or unit == "GiB":
            digits = 0 if value >= 99.95 or unit == "B" else 1 if value >= 9.995 else 2
            return f"{value:,.{digits}f} {unit}"
        value /= 1024
    raise AssertionError("unreachable")


def _tokens(longest: int | None) -> str:
    if longest is None:
        return "any"
    if longest >= 10**6:
        return f"{longest / 1e6:,.1f} M"
    return f"{longest:,}" if longest else "none"


def _remarks(plan: Plan) -> Group:
    return Group(
        *(
            Text(remark, style="yellow" if remark.startswith(("A context", "The weights")) else "dim")
            for remark in plan.remarks
        )
    )
