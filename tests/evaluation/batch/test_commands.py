"""`confkv-agent eval` as a process that is killed, and what continues it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from confkv_agents.cli import main
from confkv_agents.evaluation.files import read_json, read_json_lines

COMMAND = [sys.executable, "-c", "import sys; from confkv_agents.cli import main; sys.exit(main())"]


@pytest.mark.browser
def test_a_killed_batch_continues_with_what_is_left(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    arguments = ["eval", "--tasks", "shop/read_sku", "--agent", "oracle", "--seeds", "7,8", "--out", str(tmp_path)]
    process = subprocess.Popen(
        [*COMMAND, *arguments], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, start_new_session=True
    )
    try:
        deadline = time.monotonic() + 120
        while not list(tmp_path.glob("*/episodes/episodes.jsonl")):
            assert process.poll() is None and time.monotonic() < deadline, process.stderr
            time.sleep(0.05)
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
    (folder,) = tmp_path.iterdir()
    (before,) = read_json_lines(folder / "episodes" / "episodes.jsonl")
    assert before["seed"] == 7 and read_json(folder / "batch.json")["status"] == "running"

    assert main(arguments) == 0
    assert "1 played before" in capfd.readouterr().out
    assert list(tmp_path.iterdir()) == [folder]
    rows = read_json_lines(folder / "episodes" / "episodes.jsonl")
    assert rows[0] == before and [row["seed"] for row in rows] == [7, 8]
    assert rows[0]["success"] is True
    assert read_json(folder / "batch.json")["status"] == "finished"
    assert "Finished" in (folder / "report.html").read_text()
