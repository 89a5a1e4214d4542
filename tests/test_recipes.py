"""The recipes of README.md, word for word: a task, an agent and a site of one's own, played by the command."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "README.md"
pytestmark = pytest.mark.browser
# A sentence that ends with a file's name in backquotes, then the file's content.
FILE = re.compile(r"`([\w./]+\.\w+)`:\n\n```\w+\n(.*?)```", re.DOTALL)
COMMAND = re.compile(r"`confkv-agent ([^`]+)`", re.DOTALL)


def sections() -> dict[str, str]:
    parts = re.split(r"^## ", PAGE.read_text("utf-8"), flags=re.MULTILINE)[1:]
    named = {part.partition("\n")[0]: part.partition("\n")[2] for part in parts}
    return {name: text for name, text in named.items() if name.startswith("Add a")}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with every file of the page, as a reader would have it in the end."""
    folder = tmp_path_factory.mktemp("mine")
    for text in sections().values():
        for name, content in FILE.findall(text):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(content, "utf-8")
    return folder


def command(line: str, folder: Path) -> str:
    words = [sys.executable, "-c", "import sys; from confkv_agents.cli import main; sys.exit(main())", *line.split()]
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, timeout=180, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def commands(section: str, start: str) -> list[str]:
    return [" ".join(line.split()) for line in COMMAND.findall(sections()[section]) if line.startswith(start)]


def test_every_recipe_is_short():
    assert set(sections()) == {"Add a task", "Add an agent", "Add a site", "Add an evaluator"}
    for name, text in sections().items():
        lines = [line for line in text.splitlines() if line and not line.startswith("```")]
        assert len(lines) < 15, name


def test_a_task_of_ones_own(folder: Path):
    check, run = commands("Add a task", "tasks check") + commands("Add a task", "run")
    assert "1 valid task, 1 can be run" in command(check, folder)
    assert "success" in command(run, folder).lower()
    (result,) = results(folder)
    assert result["success"] is True and result["task"] == "price"


def test_an_agent_of_ones_own(folder: Path):
    (run,) = commands("Add an agent", "run")
    command(run, folder)
    assert results(folder)[-1]["success"] is True


def test_a_site_of_ones_own(folder: Path):
    task = {
        "sites": ["mugs"],
        "task_id": 1,
        "start_url": "__MUGS__",
        "intent": "What colour is the mug?",
        "eval": {"eval_types": ["string_match"], "reference_answers": {"exact_match": "blue"}},
        "x_confkv": {"seed": 1, "oracle": [{"action": "stop", "answer": "blue"}]},
    }
    (folder / "mug.json").write_text(json.dumps(task))
    (run,) = commands("Add a site", "run")
    command(f"{run} --agent oracle", folder)
    last = results(folder)[-1]
    assert last["success"] is True
    seen = [json.loads(line)["observation"] for path in folder.glob("runs/*/*/steps.jsonl") for line in path.open()]
    assert any("A blue mug" in text for text in seen)


def results(folder: Path) -> list[dict]:
    files = sorted((folder / "runs").glob("*/episodes.jsonl"), key=lambda path: path.stat().st_mtime)
    return [json.loads(line) for file in files for line in file.open()]
