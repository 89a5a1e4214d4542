"""What every benchmark shares: loading, resuming item by item, progress, results on disk.

```
<out>/<bench>-<hash>/items.jsonl   one row per finished item
<out>/<bench>-<hash>/result.json   configuration, model, versions, bytes, summary
<out>/<bench>-<hash>/plot.png
```

The hash is over everything that an item's figures depend on, the source of the cache and of the measuring included, so
that the same command continues what was interrupted and never mixes figures of two versions.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import torch

import confkv_agents.cache
import confkv_agents.engine.reading
from confkv_agents.cache import CacheConfig
from confkv_agents.errors import ConfigError, RecordError
from confkv_agents.evaluation.bench.policies import parse_policies
from confkv_agents.evaluation.bench.texts import Text, load_texts
from confkv_agents.evaluation.files import append_json_line, sha256_of, to_json, write_json
from confkv_agents.evaluation.recording import require_writable
from confkv_agents.evaluation.records import read_rows, versions

if TYPE_CHECKING:
    from rich.table import Table

    from confkv_agents.engine.loading import LoadedModel
    from confkv_agents.evaluation.bench.progress import Reporter

SCHEMA = "confkv-bench/1"
_MEASURING = (
    "ablate.py",
    "asking.py",
    "decoding.py",
    "latency.py",
    "needle.py",
    "needles.py",
    "parts.py",
    "perplexity.py",
    "texts.py",
    "transcripts.py",
)
Row = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class Common:
    """What every benchmark is told.

    Attributes:
        model: "embedded", a folder, or a hub id.
        policies: See `policies.parse_policies`.
        budget: Slots per layer in full-precision equivalents.
        contexts: Tokens of the prompts.
        texts: File or folder of texts, or None for those that come with Python.
        out: Folder that result folders are made in.
        seed: Of everything drawn at random.
        threads: Of torch on the CPU; None leaves it as it is.
        limit: Most items (what one is, the benchmark says), or None.
        dtype: Number format of the model, "auto" as the engine decides.
        fresh: Measure again what was measured before.
    """

    model: str = "embedded"
    policies: str = "full,window,h2o,snapkv,confkv,confkv+recall"
    budget: int = 512
    contexts: tuple[int, ...] = (2000,)
    texts: Path | None = None
    out: Path = Path("benchmarks")
    seed: int = 0
    threads: int | None = None
    limit: int | None = None
    dtype: str = "auto"
    fresh: bool = False

    def __post_init__(self) -> None:
        if not self.contexts:
            raise ConfigError("--context names no length; write for example 1000,2000,4000")
        for name, value in (("--context", min(self.contexts)), ("--threads", self.threads), ("--limit", self.limit)):
            if value is not None and value < 1:
                raise ConfigError(f"{name} is {value}; it must be at least 1")


@dataclass
class Setup:
    """What items are measured with.

    Attributes:
        common: As asked for.
        configs: Cache configuration by policy label, in the order asked for.
        texts: What is read.
        loaded: The model.
        part: Told which part of a long item is being measured.
    """

    common: Common
    configs: dict[str, CacheConfig]
    texts: list[Text]
    loaded: LoadedModel
    part: Callable[[str], None] = lambda _: None

    @property
    def equal_bytes(self) -> int:
        """Bytes that `budget` full-precision slots take in every layer: what policies are compared at."""
        return self.common.budget * self.loaded.kv_bytes_per_token


@dataclass(frozen=True)
class Item:
    """One thing to measure.

    Attributes:
        key: Unique in the run.
        what: What the benchmark needs to know.
        after: Key of an earlier item whose row this one depends on.
        leader: That row, once it is there.
    """

    key: str
    what: dict[str, Any] = field(default_factory=dict)
    after: str | None = None
    leader: Row | None = None


class Bench(Protocol):
    """One benchmark."""

    name: str
    common: Common

    def settings(self) -> dict[str, Any]:
        """Return the options of its own that items depend on; JSON-safe, part of the hash."""

    def items(self, setup: Setup) -> list[Item]:
        """Return what to measure, in order; checks that it can be before anything is measured."""

    def measure(self, setup: Setup, item: Item) -> Row:
        """Measure one item; JSON-safe."""

    def summarize(self, setup: Setup, rows: Sequence[Row]) -> dict[str, Any]:
        """Sum up the rows measured so far; JSON-safe."""

    def tables(self, summary: Mapping[str, Any]) -> list[Table]:
        """Return the summary as tables for the terminal."""

    def plot(self, summary: Mapping[str, Any], path: Path) -> None:
        """Draw the summary as a PNG file."""


@runtime_checkable
class WritesFiles(Protocol):
    """A benchmark that leaves files of its own beside the plot."""

    def write(self, summary: Mapping[str, Any], folder: Path) -> None:
        """Write them into a folder."""


def run_bench(bench: Bench, reporter: Reporter, loaded: LoadedModel | None = None) -> Path:
    """Run a benchmark, or what is left of it, and write its results.

    Args:
        bench: Which, with its options.
        reporter: Where progress and tables go.
        loaded: A model that is loaded already; by default the one that the options name.

    Returns:
        The folder of the results.

    Raises:
        ConfigError: An option cannot be met; nothing is measured then.
        RecordError: The results cannot be written.
    """
    common = bench.common
    configs = parse_policies(common.policies, common.budget)
    require_writable(common.out)
    texts = load_texts(common.texts) if getattr(bench, "reads_texts", True) else []
    if common.threads is not None:
        torch.set_num_threads(common.threads)
    if loaded is None:
        loaded = _load(common, reporter)
    setup = Setup(common, configs, texts, loaded, reporter.part)
    identity = identity_of(bench, setup)
    digest = hash_of(identity)
    items = bench.items(setup)
    folder = common.out / f"{bench.name}-{digest[:8]}"
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise RecordError(f"cannot make the folder {folder}: {error.strerror or error}") from error
    ledger = folder / "items.jsonl"
    if common.fresh:
        ledger.unlink(missing_ok=True)
    done = {row["key"]: row for row in read_rows(ledger)}
    missing = [item for item in items if item.key not in done]
    reporter.begin(bench.name, _facts(setup, folder), len(items), len(items) - len(missing))
    head = {"schema": SCHEMA, "bench": bench.name, "configuration_hash": digest, "configuration": identity}
    started = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    status = "interrupted"
    try:
        with reporter, torch.inference_mode():
            for item in missing:
                reporter.at(item.key)
                given = item if item.after is None else replace(item, leader=done[item.after])
                row = {"key": item.key, **bench.measure(setup, given)}
                append_json_line(ledger, row)
                done[item.key] = row
                reporter.finished(item.key)
        status = "finished"
    finally:
        rows = [done[item.key] for item in items if item.key in done]
        summary = bench.summarize(setup, rows) if rows else {}
        write_json(
            folder / "result.json",
            {
                **head,
                "status": status,
                "started": started,
                "ended": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
                "options": options_of(bench),
                "model": describe(setup),
                "versions": {**versions(), "threads": str(torch.get_num_threads())},
                "policies": {label: asdict(config) for label, config in configs.items()},
                "items": {"asked": len(items), "measured": len(rows)},
                "summary": summary,
            },
        )
        if status == "interrupted" and missing:
            reporter.interrupted(len(rows), len(items))
    bench.plot(summary, folder / "plot.png")
    if isinstance(bench, WritesFiles):
        bench.write(summary, folder)
    reporter.results(bench.tables(summary), folder)
    return folder


def identity_of(bench: Bench, setup: Setup) -> dict[str, Any]:
    """Return all that an item's figures depend on; policies, contexts and limit only choose items, and are left out."""
    found = versions()
    cache = Path(confkv_agents.cache.__file__).parent
    sources = [Path(confkv_agents.engine.reading.__file__), *(Path(__file__).with_name(name) for name in _MEASURING)]
    return {
        "bench": bench.name,
        "settings": bench.settings(),
        "model": fingerprint(setup.loaded),
        "dtype": str(setup.loaded.dtype).removeprefix("torch."),
        "device": setup.loaded.device.type,
        "budget": setup.common.budget,
        "seed": setup.common.seed,
        "texts": {text.name: text.sha256 for text in setup.texts},
        "sources": {path.name: sha256_of(path)[:16] for path in (cache, *sources)},
        "versions": {name: found[name] for name in ("confkv-agents", "torch", "transformers")},
    }


def options_of(bench: Bench) -> dict[str, Any]:
    """Return every option as given; the model's name may be a path, so it is no part of the hash."""
    return asdict(bench)  # type: ignore[call-overload]


def hash_of(identity: Mapping[str, Any]) -> str:
    """Return the hexadecimal SHA-256 of a configuration, whatever the order of its keys."""
    canonical = to_json({key: identity[key] for key in sorted(identity)})
    return hashlib.sha256(canonical.encode()).hexdigest()


def fingerprint(loaded: LoadedModel) -> str:
    """Return 16 hexadecimal digits that tell models apart by configuration and a sample of every weight."""
    digest = hashlib.sha256(type(loaded.model).__name__.encode())
    for name, weight in loaded.model.named_parameters():
        sample = weight.detach().flatten()[:16].float().cpu().tolist()
        digest.update(f"{name} {tuple(weight.shape)} {sample}".encode())
    return digest.hexdigest()[:16]


def describe(setup: Setup) -> dict[str, Any]:
    """Return what a reader of the results should know of the model."""
    text = setup.loaded.text_config
    return {
        "name": setup.loaded.name,
        "family": setup.loaded.model.config.model_type,
        "fingerprint": fingerprint(setup.loaded),
        "dtype": str(setup.loaded.dtype).removeprefix("torch."),
        "device": str(setup.loaded.device),
        "layers": text.num_hidden_layers,
        "kv_heads": getattr(text, "num_key_value_heads", None) or text.num_attention_heads,
        "kv_bytes_per_token": setup.loaded.kv_bytes_per_token,
        "position_limit": setup.loaded.position_limit,
        "budget_bytes": setup.equal_bytes,
    }


def check_context(setup: Setup, tokens: int) -> None:
    """Refuse a length that the model's positions do not hold.

    Raises:
        ConfigError: It does not fit.
    """
    limit = setup.loaded.position_limit
    if tokens > limit:
        raise ConfigError(
            f"{tokens:,} tokens are asked for, prompt and answer together, but model {setup.loaded.name!r} has "
            f"{limit:,} positions; make --context smaller"
        )


def _load(common: Common, reporter: Reporter) -> LoadedModel:
    from confkv_agents.engine.loading import load_model

    with reporter.waiting(f"loading {common.model}"):
        return load_model(common.model, dtype=common.dtype)


def _facts(setup: Setup, folder: Path) -> list[tuple[str, str]]:
    loaded, common = setup.loaded, setup.common
    dtype = str(loaded.dtype).removeprefix("torch.")
    names = ", ".join(text.name for text in setup.texts[:3]) + (" ..." if len(setup.texts) > 3 else "")
    return [
        ("model", f"{loaded.name} ({dtype}, {loaded.device.type}, {torch.get_num_threads()} threads)"),
        ("policies", ", ".join(setup.configs)),
        ("budget", f"{common.budget} full-precision slots a layer = {setup.equal_bytes / 2**20:.1f} MiB"),
        *([("texts", f"{len(setup.texts)} ({names})")] if setup.texts else []),
        ("seed", str(common.seed)),
        ("results", str(folder)),
    ]
