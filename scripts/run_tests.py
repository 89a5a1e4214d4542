"""Runs the test suite as three processes side by side: python scripts/run_tests.py [pytest options].

What one group prints comes as it runs; what the others printed comes at its end. With options or paths given, or with
`TEST_GROUPS=1`, pytest runs once and as usual.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BESIDE = (
    ("tests/cache", "tests/engine", "tests/evaluation"),
    (
        "tests/test_oracle_tasks.py",
        "tests/envs/miniwob",
        "tests/test_chat_models_standard_embedded.py",
        "tests/test_check_cuda.py",
    ),
)
"""What runs beside the rest: what computes, and what mostly waits for a browser; all three take about as long."""


def main() -> int:
    """Run pytest; 0 if every group passed."""
    python = ROOT / ".venv" / "bin" / "python"
    command = [str(python if python.is_file() else sys.executable), "-m", "pytest"]
    if sys.argv[1:] or os.environ.get("TEST_GROUPS") == "1":
        return subprocess.run([*command, *sys.argv[1:]], cwd=ROOT, check=False).returncode
    report = os.environ.get("TEST_REPORTS")
    groups = [list(paths) for paths in BESIDE]
    groups.append([*(f"--ignore={path}" for paths in BESIDE for path in paths), "tests"])
    for number, group in enumerate(groups, start=1):
        group[:0] = [f"--junitxml={Path(report) / f'tests-{number}.xml'}"] if report else []
    *beside, rest = groups
    # More threads of torch than free cores wait for each other.
    environment = {"OMP_NUM_THREADS": "1", **os.environ}
    with contextlib.ExitStack() as stack:
        logs = [stack.enter_context(tempfile.TemporaryFile()) for _ in beside]
        running = [
            subprocess.Popen([*command, *group], cwd=ROOT, env=environment, stdout=log, stderr=subprocess.STDOUT)
            for group, log in zip(beside, logs, strict=True)
        ]
        try:
            codes = [subprocess.run([*command, *rest], cwd=ROOT, env=environment, check=False).returncode]
            codes += [process.wait() for process in running]
        finally:
            for process in running:
                process.terminate()
        for log in logs:
            log.seek(0)
            sys.stdout.flush()
            sys.stdout.buffer.write(log.read())
    return next((code for code in codes if code), 0)


if __name__ == "__main__":
    sys.exit(main())
