"""`confkv-agent bench` on the command line."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from confkv_agents.cli import main


@pytest.mark.parametrize("command", ["needle", "perplexity", "latency"])
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


def test_listing_the_commands_imports_nothing_heavy() -> None:
    program = (
        "import sys; from confkv_agents.cli import main; main(['bench', '--help']); "
        "sys.exit(bool({'torch', 'transformers', 'numpy', 'matplotlib', 'rich.progress'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", program], capture_output=True, timeout=60).returncode == 0
