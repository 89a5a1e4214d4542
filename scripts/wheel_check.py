"""Builds the wheel, installs it in an empty environment outside the checkout and runs a task from it.

    .venv/bin/python scripts/wheel_check.py [--task NAME]

Fails when agents, sites or tasks are missing from the wheel, when a top-level `agents` or `envs` module would
be installed, or when the task does not succeed with the oracle agent.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
NEEDED = (
    "confkv_agents/_data/agents/oracle.py",
    "confkv_agents/_data/agents/react.py",
    "confkv_agents/_data/envs/classifieds/site.py",
    "confkv_agents/_data/envs/shop/site.py",
    "confkv_agents/py.typed",
)


def run(*command: str | Path, cwd: Path) -> str:
    """Run a command, show what it prints when it fails, and return its output."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    started = time.monotonic()
    done = subprocess.run(
        [str(part) for part in command], cwd=cwd, env=environment, capture_output=True, text=True, check=False
    )
    print(f"wheel check: {time.monotonic() - started:5.1f} s  {' '.join(map(str, command[:4]))} ...", flush=True)
    if done.returncode != 0:
        sys.exit(f"wheel check failed: {command}\n{done.stdout}{done.stderr}")
    return done.stdout


def check_contents(wheel: Path) -> None:
    """Refuse a wheel without the data, with a top-level module of its own, or with leftovers."""
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    missing = [name for name in NEEDED if name not in names]
    if not any(name.startswith("confkv_agents/_data/tasks/") and name.endswith(".json") for name in names):
        missing.append("confkv_agents/_data/tasks/*.json")
    top = {name.split("/")[0] for name in names if not name.split("/")[0].endswith(".dist-info")}
    leftovers = [name for name in names if "__pycache__" in name or name.endswith((".pyc", ".sqlite"))]
    if missing or top != {"confkv_agents"} or leftovers:
        sys.exit(f"wheel check failed: missing {missing}, top level {sorted(top)}, leftovers {leftovers[:5]}")


def check_installed(python: Path, folder: Path) -> None:
    """Make sure that the package comes from the new environment and brings no `agents`, `envs` or `tasks`."""
    code = (
        "import importlib.util, json, confkv_agents;"
        "top = [n for n in ('agents', 'envs', 'tasks') if importlib.util.find_spec(n)];"
        "print(json.dumps([confkv_agents.__file__, top]))"
    )
    place, top = json.loads(run(python, "-c", code, cwd=folder))
    if not Path(place).is_relative_to(folder.parent) or top:
        sys.exit(f"wheel check failed: package at {place}, top-level modules {top}")


def main() -> None:
    """Build, install, look and run."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--task", default="shop/read_sku", help="name of the task to run with the oracle agent")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="confkv-wheel-") as temporary:
        base = Path(temporary).resolve()
        empty = base / "empty"
        empty.mkdir()
        quiet_pip = ("-m", "pip", "--disable-pip-version-check", "-q")
        run(sys.executable, *quiet_pip, "wheel", "--no-deps", "-w", base / "dist", ROOT, cwd=empty)
        (wheel,) = (base / "dist").glob("confkv_agents-*.whl")
        check_contents(wheel)
        run(sys.executable, "-m", "venv", base / "venv", cwd=empty)
        python = base / "venv" / "bin" / "python"
        run(python, *quiet_pip, "install", "--no-compile", "-c", ROOT / "constraints.txt", wheel, cwd=empty)
        run(python, *quiet_pip, "check", cwd=empty)
        check_installed(python, empty)
        command = base / "venv" / "bin" / "confkv-agent"
        run(command, "run", "--task", options.task, "--agent", "oracle", "--out", empty / "runs", cwd=empty)
        records = sorted((empty / "runs").rglob("episodes.jsonl"))
        episodes = [json.loads(line) for path in records for line in path.read_text().splitlines()]
        if len(episodes) != 1 or episodes[0].get("success") is not True:
            sys.exit(f"wheel check failed: the oracle's episode ended as {episodes}")
    print(f"wheel check: {wheel.name} runs {options.task} outside the checkout")


if __name__ == "__main__":
    main()
