"""The example of docs/environment.md for gymnasium runs, word for word, and prints what it should."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import pytest

from confkv_agents.web.benchmarks import find_benchmark

ROOT = Path(__file__).parents[2]


@pytest.mark.browser
@pytest.mark.filterwarnings("ignore")  # gymnasium's remarks about spaces without a flat form
def test_the_documented_example_runs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    find_benchmark("miniwob").fetch()
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "docs/environment.md").read_text(), re.DOTALL)
    example = tmp_path / "example.py"
    example.write_text(next(block for block in blocks if "gymnasium.make" in block))
    runpy.run_path(str(example))
    assert capsys.readouterr().out.splitlines() == [
        "Click button ONE.",
        "1.0 True stop ['the page gave the full reward']",
    ]
