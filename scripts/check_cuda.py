"""Check the cache on a GPU: contracts 1-5 and 8-10, the cold tier, and speed against the stock cache.

    .venv/bin/python scripts/check_cuda.py               # skips, with exit code 0, where there is no CUDA device
    .venv/bin/python scripts/check_cuda.py --device cpu  # the same checks here

Exit code 1 if a check fails. Models are random; nothing is downloaded. It takes a minute or two.
"""

from __future__ import annotations

import argparse
import sys
import time

import torch
from rich.console import Console
from rich.table import Table
from rich.text import Text
from transformers import AutoModelForCausalLM, LlamaConfig

from confkv_agents.cache import CacheConfig, attach
from confkv_agents.engine.loading import LoadedModel
from confkv_agents.evaluation.bench.device_checks import CHECKS, TEXT, Rig
from confkv_agents.evaluation.bench.latency import STOCK, run_round
from confkv_agents.evaluation.bench.statistics import median

# A model of about a billion weights, as laid out as Llama 3.2 1B.
_LARGE = {
    "vocab_size": 32000,
    "hidden_size": 2048,
    "intermediate_size": 8192,
    "num_hidden_layers": 16,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "max_position_embeddings": 16384,
}


def speed(device: torch.device) -> list[tuple[str, str]]:
    """Return, for each policy and context, how fast it reads and decodes in times of the stock cache's speed."""
    large = device.type == "cuda"
    torch.manual_seed(0)
    config = LlamaConfig(**(_LARGE if large else {**TEXT, "max_position_embeddings": 16384}))
    with device:
        model = AutoModelForCausalLM.from_config(config, dtype=torch.bfloat16 if large else torch.float32).eval()
    loaded = LoadedModel("random", attach(model), None)
    decode, turn = (64, 16) if large else (8, 4)
    names = ("full", "confkv", "confkv+recall")
    configs = {name: CacheConfig(policy=name, budget=512) for name in names}
    lines = []
    for context in (256, 7168) if large else (600,):
        ids = torch.randint(3, config.vocab_size, (context + decode + turn,)).tolist()
        for number in range(2 if large else 1):  # the first round warms up
            figures = run_round(loaded, configs, ids, context, decode, turn, 0, number)
        base = figures[STOCK]
        for name in names:
            own = figures[name]
            read = base["read_s"] / own["read_s"]
            step = median([theirs / ours for theirs, ours in zip(base["turns_s"], own["turns_s"], strict=True)])
            milliseconds = 1000 * median(own["turns_s"]) / turn
            work = own["observe_share"] + own["settle_share"]
            text = f"reading {read:.2f} x, decoding {step:.2f} x stock ({milliseconds:.1f} ms, own work {work:.0%})"
            lines.append((f"{name} at {context:,}", text))
    return lines


def main() -> int:
    """Run every check and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda")
    parser.add_argument("--only", help="contracts to check, with commas, such as 1,9,cold; default all, with speed")
    arguments = parser.parse_args()
    known = [contract for contract, _ in CHECKS] + ["speed"]
    chosen = [each.strip() for each in arguments.only.split(",")] if arguments.only else known
    if unknown := sorted(set(chosen) - set(known)):
        parser.error(f"--only {', '.join(unknown)}: choose from {', '.join(known)}")
    if arguments.device == "cuda" and not torch.cuda.is_available():
        print("skipped: torch finds no CUDA device (--device cpu runs the same checks on the CPU)")
        return 0
    device = torch.device(arguments.device)
    torch.set_num_threads(1)  # the CPU only starts kernels, or computes on tiny tensors
    name = torch.cuda.get_device_name(device) if device.type == "cuda" else "CPU"
    console = Console(highlight=False, width=None if sys.stdout.isatty() else 100)
    table = Table(title=f"Contracts on {name}, torch {torch.__version__}", title_justify="left", box=None)
    for column in ("contract", "check", "", "figures", "s"):
        table.add_column(column, overflow="fold")
    rig, failed, began = Rig(device), 0, time.perf_counter()
    for contract, check in CHECKS:
        if contract not in chosen:
            continue
        started = time.perf_counter()
        try:
            with torch.no_grad():
                ok, figures = check(rig)
        except Exception as error:  # noqa: BLE001 - one check that breaks must not hide the others
            ok, figures = False, f"{type(error).__name__}: {error}"
        failed += not ok
        word = Text("pass", style="green") if ok else Text("FAIL", style="bold red")
        title = check.__name__.replace("_", " ")
        table.add_row(contract, title, word, Text(figures), f"{time.perf_counter() - started:.1f}")
    console.print(table)
    if "speed" in chosen:
        with torch.no_grad():
            for line, text in speed(device):
                console.print(f"{line:>22}: {text}")
    total = time.perf_counter() - began
    console.print(f"{'all passed' if not failed else f'{failed} FAILED'} in {total:.0f} s")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
