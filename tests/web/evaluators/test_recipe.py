"""The recipe "Add an evaluator" of README.md, followed as it stands there."""

from __future__ import annotations

import ast
import importlib.util
import json
import re
from pathlib import Path
from typing import Any

import pytest

from confkv_agents.errors import TaskError
from confkv_agents.web.evaluators import EVALUATORS
from confkv_agents.web.tasks import load_tasks
from tests.web.conftest import Driver

DOCS = Path(__file__).resolve().parents[3] / "README.md"


def recipe() -> tuple[str, str, dict[str, Any]]:
    """The file, the line and the task's `eval` that the recipe gives."""
    text = DOCS.read_text("utf-8").partition("## Add an evaluator")[2].partition("\n## ")[0]
    code = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    line = re.findall(r'`("\w+": \w+,)`', text)
    task = re.findall(r'`("eval": \{.*?\})`', text)
    assert (len(code), len(line), len(task)) == (1, 1, 1)
    return code[0], line[0], json.loads("{" + task[0] + "}")


def test_it_is_short() -> None:
    text = DOCS.read_text("utf-8").partition("## Add an evaluator")[2].partition("\n## ")[0]
    assert len([line for line in text.splitlines() if line.strip()]) < 15


@pytest.mark.browser
def test_it_works_as_it_stands(driver: Driver, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    code, line, evaluation = recipe()
    file = tmp_path / "title_match.py"
    file.write_text(code)
    spec = importlib.util.spec_from_file_location("title_match", file)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    entry = ast.parse("{" + line + "}", mode="eval").body
    assert isinstance(entry, ast.Dict)
    name, function = entry.keys[0], entry.values[0]
    assert isinstance(name, ast.Constant) and isinstance(function, ast.Name)

    task = tmp_path / "task.json"
    task.write_text(json.dumps({"sites": ["pages"], "intent": "x", "start_url": "__PAGES__/", **evaluation}))
    with pytest.raises(TaskError, match="unknown evaluator 'title_match'"):
        load_tasks(task, sites=["pages"])
    monkeypatch.setitem(EVALUATORS, name.value, getattr(module, function.id))
    (loaded,) = load_tasks(task, sites=["pages"])
    for title, ok in (("Thank you", True), ("Sorry", False)):
        driver.pages.pages["/"] = f"<title>{title}</title>"
        driver.env.reset(loaded)
        (check,) = driver.env.evaluate()
        assert (check.ok, check.why) == (ok, f"the page's title is {title!r}")
