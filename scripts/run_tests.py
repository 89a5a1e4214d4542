"""Runs the test suite as two processes side by side: python scripts/run_tests.py [pytest options].

What one group prints comes as it runs; what the other printed comes at its end. With options or paths given, or with
`TEST_GROUPS=1`, pytest runs once and as usual.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FIRST = ("cache", "engine", "evaluation")


def main() -> int:
    """Run pytest; 0 if every group passed."""
    python = ROOT / ".venv" / "bin" / "python"
    command = [str(python if python.is_file() else sys.executable), "-m", "pytest"]
    if sys.argv[1:] or os.environ.get("TEST_GROUPS") == "1":
        return subprocess.run([*command, *sys.argv[1:]], cwd=ROOT, check=False).returncode
    tests = ROOT / "tests"
    first = [f"tests/{name}" for name in FIRST]
    second = [f"--ignore=tests/{name}" for name in FIRST]
    report = os.environ.get("TEST_REPORTS")
    options = [[f"--junitxml={Path(report) / f'tests-{number}.xml'}"] if report else [] for number in (1, 2)]
    with tempfile.TemporaryFile() as log:
        beside = subprocess.Popen([*command, *options[0], *first], cwd=ROOT, stdout=log, stderr=subprocess.STDOUT)
        try:
            code = subprocess.run([*command, *options[1], *second, str(tests)], cwd=ROOT, check=False).returncode
            other = beside.wait()
        finally:
            beside.terminate()
        log.seek(0)
        sys.stdout.flush()
        sys.stdout.buffer.write(log.read())
    return code or other


if __name__ == "__main__":
    sys.exit(main())
