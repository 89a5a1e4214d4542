"""`confkv-agent bench` on the command line."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from confkv_agents.cli import main


@pytest.mark.parametrize("command", ["needle", "perplexity", "latency", "ablate"])
def test_every_benchmark_takes_the_common_options(capfd: pytest.CaptureFixture[str], command: str) -> None:
    assert main(["bench", command, "--help"]) == 0
    shown = capfd.readouterr().out
    for option in ("model", "policies", "budget", "context", "texts", "out", "seed", "threads", "limit", "fresh"):
        assert f"--{option}" in shown


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["--policies", "nonsense"], "nonsense"),
        (["--context", "1000,many"], "1000,many"),
        (["--context", ""], "--context"),
        (["--budget", "10"], "budget"),
        (["--texts", "there-is-no-such-file"], "there-is-no-such-file"),
        (["--model", "./there-is-no-such-model"], "there-is-no-such-model"),
    ],
)
def test_bad_input_is_one_line_before_anything_is_measured(
    capfd: pytest.CaptureFixture[str], tmp_path: Path, arguments: list[str], named: str
) -> None:
    code = main(["bench", "needle", "--out", str(tmp_path / "out"), *arguments])
    error = capfd.readouterr().err
    assert code == 2
    assert error.startswith("error: ")
    assert error.count("\n") == 1
    assert named in error
    assert not (tmp_path / "out").exists()


def test_help_of_the_ablation_says_every_part_and_its_measures(capfd: pytest.CaptureFixture[str]) -> None:
    from confkv_agents.evaluation.bench.parts import PARTS

    assert main(["bench", "ablate", "--help"]) == 0
    lines = capfd.readouterr().out.splitlines()
    for name, (_, _, measures) in PARTS.items():
        (line,) = [line for line in lines if line.split()[:1] == [name]]
        assert line.endswith(f"({', '.join(measures)})")


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["--parts", "colour"], "colour"),
        (["--parts", ","], "--parts"),
        (["--measures", "beauty"], "beauty"),
        (["--policies", "confkv,h2o"], "varies one policy"),
        (["--policies", "h2o", "--parts", "recall"], "h2o"),
        (["--parts", "segments", "--depths", "2"], "--depths"),
    ],
)
def test_bad_ablations_are_one_line_before_the_model_is_loaded(
    capfd: pytest.CaptureFixture[str], tmp_path: Path, arguments: list[str], named: str
) -> None:
    code = main(["bench", "ablate", "--model", "./missing", "--out", str(tmp_path / "out"), *arguments])
    error = capfd.readouterr().err
    assert code == 2
    assert error.startswith("error: ") and error.count("\n") == 1
    assert named in error
    assert "missing" not in error
    assert not (tmp_path / "out").exists()


def test_listing_the_commands_imports_nothing_heavy() -> None:
    program = (
        "import sys; from confkv_agents.cli import main; main(['bench', '--help']); "
        "sys.exit(bool({'torch', 'transformers', 'numpy', 'matplotlib', 'rich.progress'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", program], capture_output=True, timeout=60).returncode == 0
