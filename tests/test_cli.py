"""The command line: exit codes, messages, and what it leaves behind."""

from __future__ import annotations

import inspect
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from confkv_agents import cli
from confkv_agents.cli import main
from confkv_agents.evaluation.options import PlayOptions
from confkv_agents.plugins import data_dir

COMMAND = [sys.executable, "-c", "import sys; from confkv_agents.cli import main; sys.exit(main())"]
TASK = data_dir("tasks") / "shop" / "read_sku.json"


def run(capfd: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = main(list(arguments))
    out, err = capfd.readouterr()
    return code, out, err


def task_file(folder: Path, **changes: Any) -> str:
    content = json.loads(TASK.read_text())
    path = folder / "task.json"
    path.write_text(json.dumps({**content, **changes}))
    return str(path)


@pytest.fixture(autouse=True)
def no_start(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Bad input must be found before a browser or a model starts."""
    if "browser" in request.keywords:
        return

    def refuse(*_: object, **__: object) -> None:
        raise RuntimeError("a browser or a model was started")

    monkeypatch.setattr("confkv_agents.web.browser.Browser._ensure", refuse)
    monkeypatch.setattr("confkv_agents.engine.loading.load_model", refuse)


Evaluation = dict[str, Any]
TEXT_CHECK: Evaluation = {"eval_types": ["string_match"], "reference_answers": {"must_include": ["x"]}}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"sites": ["moon"]}, ["sites", "moon", "shopping"]),
        ({"start_url": "__MOON__/"}, ["start_url", "__MOON__"]),
        ({"eval": {**TEXT_CHECK, "eval_types": ["guess"]}}, ["eval.eval_types", "string_match"]),
        (
            {
                "eval": {
                    "eval_types": ["program_html"],
                    "program_html": [{"url": "last", "locator": "//div", "required_contents": {"must_include": ["x"]}}],
                }
            },
            ["program_html[0].locator", "unknown locator form", "//div"],
        ),
        ({"x_confkv": {"oracle": [{"action": "fly"}]}}, ["x_confkv.oracle[0]", "fly"]),
        ({"intent": ""}, ["intent"]),
    ],
)
def test_a_wrong_task_is_refused_in_one_line_that_names_file_and_field(
    capfd: pytest.CaptureFixture[str], tmp_path: Path, change: dict, words: list[str]
):
    code, out, err = run(capfd, "run", "--task", task_file(tmp_path, **change), "--out", str(tmp_path / "runs"))
    assert (code, out) == (2, "")
    assert err.startswith("error: ")
    assert err.count("\n") == 1
    for word in ["task.json", *words]:
        assert word in err
    assert not (tmp_path / "runs").exists()


def test_broken_json_is_named_with_line_and_column(capfd: pytest.CaptureFixture[str], tmp_path: Path):
    (tmp_path / "broken.json").write_text('{"sites": ["shopping"],\n  "task_id": }')
    code, _, err = run(capfd, "run", "--task", str(tmp_path / "broken.json"))
    assert code == 2
    assert "broken.json: line 2, column 14" in err
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--task", "shop/read_skew"], ["shop/read_skew", "shop/read_sku", "tasks list"]),
        (["--task", "shop/read_sku", "--agent", "nobody"], ["no agent 'nobody'", "oracle", "react"]),
        (["--task", "shop/read_sku", "--policy", "magic"], ["'magic'", "confkv", "full", "h2o", "window"]),
        (["--task", "shop/read_sku", "--budget", "10"], ["budget", "floor"]),
        (["--task", "shop/read_sku", "--budget", "0"], ["budget is 0"]),
        (["--task", "shop/read_sku", "--budget", "many"], ["--budget"]),
        (["--task", "shop/read_sku", "--max-steps", "-1"], ["max_steps is -1"]),
        (["--task", "shop/read_sku", "--timeout", "nan"], ["timeout"]),
        (["--task", "shop/read_sku", "--seed", "-1"], ["seed -1", "from 0"]),
        (["--task", "shop/read_sku", "--seed", "1" * 12], ["seed 1111", "999,999,999"]),
        (["--task", "shop/read_sku", "--site", "shop"], ["--site 'shop'", "name=url"]),
        (["--task", "shop/read_sku", "--site", "shop=ftp://x"], ["--site", "name=url"]),
        (["--task", "shop/read_sku", "--site", "shop=http://"], ["--site", "name=url"]),
        (["--task", "shop/read_sku", "--site", "shop=http://x:many"], ["--site", "name=url"]),
        (["--task", "shop/read_sku", "--site", "shop=http://[x"], ["--site", "name=url"]),
        (["--task", "shop/read_sku", "--dialect", "klingon"], ["klingon", "vwa", "webarena"]),
        (["--task", "shop/read_sku", "--pictures", "all"], ["pictures", "marked"]),
        (["--task", "a" * 5000], ["path 'aaa", "File name too long"]),
        (["--task", "~no-such-user/task.json"], ["'~no-such-user/task.json'", "home directory"]),
        (["--task", "shop/read_sku", "--agent", "a/" * 4000], ["path 'a/a", "File name too long"]),
        (["--task", "shop/read_sku", "--model", "a" * 5000], ["path 'aaa", "File name too long"]),
        (["--task", "shop/read_sku", "--model", "~no-such-user/x"], ["'~no-such-user/x'", "home directory"]),
        (["--task", "shop/read_sku", "--model", " "], ["model", "empty", "pilot"]),
        (["--task", "shop/read_sku", "--agent", "oracle", "--trace"], ["--trace", "oracle", "no model"]),
        ([], ["--task"]),
        (["--tusk", "x"], ["--tusk"]),
    ],
)
def test_bad_input_is_one_clear_line(
    capfd: pytest.CaptureFixture[str], tmp_path: Path, arguments: list[str], words: list[str]
):
    code, out, err = run(capfd, "run", "--out", str(tmp_path / "runs"), *arguments)
    assert (code, out) == (2, "")
    assert err.startswith("error: ")
    assert err.count("\n") == 1
    for word in words:
        assert word in err
    assert not (tmp_path / "runs").exists()


def test_a_full_disk_is_one_line_and_no_bad_input():
    if not Path("/dev/full").exists():
        pytest.skip("only Linux has /dev/full")
    with Path("/dev/full").open("w") as full:
        done = subprocess.run([*COMMAND, "tasks", "list"], stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr == "error: [Errno 28] No space left on device\n"


def test_a_current_folder_that_is_gone_is_one_line(
    capfd: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    code, out, err = run(capfd, "run", "--task", str(TASK))
    assert (code, out) == (2, "")
    assert err == "error: cannot make the folder runs: the current folder is gone\n"


@pytest.mark.parametrize("below", ["", "sub", "sub/deeper"])
def test_a_file_where_the_runs_should_go_is_refused_before_anything_starts(
    capfd: pytest.CaptureFixture[str], tmp_path: Path, below: str
):
    (tmp_path / "file").write_text("mine")
    code, out, err = run(capfd, "run", "--task", str(TASK), "--out", str(tmp_path / "file" / below))
    assert (code, out) == (2, "")
    assert str(tmp_path / "file") in err
    assert "not a folder" in err
    assert err.count("\n") == 1
    assert (tmp_path / "file").read_text() == "mine"


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("def (", ["SyntaxError"]),
        ("import sys; sys.exit(3)", ["SystemExit"]),
        ("VALUE = 1", ["create_agent"]),
        ("NEEDS_MODEL = False\ndef create_agent(model):\n    raise RuntimeError('boom')", ["RuntimeError: boom"]),
    ],
)
def test_an_agent_file_that_cannot_be_used_is_one_line(
    capfd: pytest.CaptureFixture[str], tmp_path: Path, code: str, words: list[str]
):
    (tmp_path / "mine.py").write_text(code)
    arguments = ["--task", str(TASK), "--agent", str(tmp_path / "mine.py"), "--out", str(tmp_path / "runs")]
    returned, out, err = run(capfd, "run", *arguments)
    assert (returned, out) == (2, "")
    for word in ["mine.py", *words]:
        assert word in err
    assert err.count("\n") == 1
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize("text", ["9" * 5000, "[" * 100_000, "\0", "", '{"intent": "a'])
def test_content_that_no_reader_takes_is_one_line(capfd: pytest.CaptureFixture[str], tmp_path: Path, text: str):
    (tmp_path / "odd.json").write_text(text)
    code, out, err = run(capfd, "run", "--task", str(tmp_path / "odd.json"))
    assert (code, out) == (2, "")
    assert err.startswith(f"error: {tmp_path / 'odd.json'}: ")
    assert err.count("\n") == 1


@pytest.mark.parametrize("command", [["report"], ["tasks", "check"], ["site"]])
@pytest.mark.parametrize("path", ["nothing", "a" * 5000, "~no-such-user/x"])
def test_a_path_that_cannot_be_is_one_line_in_every_command(
    capfd: pytest.CaptureFixture[str], command: list[str], path: str
):
    code, out, err = run(capfd, *command, path)
    assert (code, out) == (2, "")
    assert path[:20] in err
    assert err.count("\n") == 1


def test_a_folder_for_files_that_cannot_be_one_is_named(
    capfd: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    (tmp_path / "file").touch()
    monkeypatch.setenv("CONFKV_HOME", str(tmp_path / "file"))
    code, _, err = run(capfd, "weights", "fetch")
    assert code == 2
    assert "CONFKV_HOME" in err
    assert err.count("\n") == 1


def test_a_missing_model_is_named(capfd: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.undo()
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    code, _, err = run(
        capfd, "run", "--task", str(TASK), "--model", str(tmp_path / "nothing"), "--out", str(tmp_path / "runs")
    )
    assert code == 2
    assert "nothing" in err
    assert err.count("\n") == 1
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize(
    ("template", "spoil", "words"),
    [
        (None, False, ["no chat template"]),
        ("{% for %}", False, ["chat template", "refuses"]),
        ("{{ messages }}", True, ["cannot be loaded", "SafetensorError"]),
    ],
    ids=["no template", "broken template", "broken weights"],
)
def test_a_model_that_cannot_chat_is_one_line_before_a_browser_starts(
    capfd: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    template: str | None,
    spoil: bool,
    words: list[str],
):
    from tests.engine.tiny import tiny_llama

    loaded = tiny_llama(template)
    loaded.model.save_pretrained(tmp_path / "model")
    loaded.tokenizer.save_pretrained(tmp_path / "model")
    if spoil:
        (tmp_path / "model" / "model.safetensors").write_bytes(b"garbage" * 100)
    capfd.readouterr()
    monkeypatch.undo()
    monkeypatch.setattr("confkv_agents.web.browser.Browser._ensure", None)
    arguments = ["--task", str(TASK), "--model", str(tmp_path / "model"), "--out", str(tmp_path / "runs")]
    code, out, err = run(capfd, "run", *arguments)
    assert (code, out) == (2, "")
    for word in words:
        assert word in err
    assert err.count("\n") == 1
    assert not (tmp_path / "runs").exists()


def test_missing_weights_say_how_to_fetch_them(
    capfd: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("CONFKV_HOME", str(tmp_path / "empty"))
    code, _, err = run(capfd, "weights", "path")
    assert code == 2
    assert "confkv-agent weights fetch" in err


def test_a_window_without_a_display_is_refused(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch):
    if not sys.platform.startswith("linux"):
        pytest.skip("only Linux needs a display")
    monkeypatch.delenv("DISPLAY", raising=False)
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    code, _, err = run(capfd, "run", "--task", str(TASK), "--agent", "oracle", "--headed")
    assert code == 2
    assert "display" in err


def test_a_task_without_a_script_is_not_for_the_oracle(capfd: pytest.CaptureFixture[str], tmp_path: Path):
    code, _, err = run(capfd, "run", "--task", task_file(tmp_path, x_confkv={}), "--agent", "oracle")
    assert code == 2
    assert "no x_confkv.oracle" in err


def test_a_missing_browser_is_one_line_with_both_remedies(
    capfd: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    from confkv_agents.web import chromium

    monkeypatch.setenv(chromium.VARIABLE, str(tmp_path / "no-browser"))
    code, _, err = run(capfd, "run", "--task", str(TASK), "--agent", "oracle", "--out", str(tmp_path / "runs"))
    assert code == 2
    assert "playwright install chromium" in err
    assert "apt-get install chromium" in err
    assert err.count("\n") == 1


def test_tasks_can_be_listed_and_checked(capfd: pytest.CaptureFixture[str], tmp_path: Path):
    code, out, _ = run(capfd, "tasks", "list")
    assert code == 0
    assert any(line.startswith("shop/read_sku  ") for line in out.splitlines())
    code, out, _ = run(capfd, "tasks", "check", str(data_dir("tasks")))
    assert code == 0
    number = len(list(data_dir("tasks").rglob("*.json")))
    assert f"{number} valid tasks, {number} can be run, {number} with a scripted solution" in out
    code, _, err = run(capfd, "tasks", "check", task_file(tmp_path, sites=["moon"]))
    assert code == 2
    assert "moon" in err


def test_help_is_instant_and_loads_nothing_heavy():
    code = (
        "import sys; from confkv_agents.cli import main; code = main(['--help'])\n"
        "heavy = {'torch', 'transformers', 'playwright', 'langchain_core', 'matplotlib', 'starlette'}\n"
        "assert not heavy & set(sys.modules), heavy & set(sys.modules)\n"
        "sys.exit(code)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    for command in ("run", "report", "weights", "browser", "tasks", "site"):
        assert command in done.stdout


def test_ctrl_c_while_the_command_is_still_being_loaded_shows_no_traceback(tmp_path: Path):
    (tmp_path / "typer.py").write_text("raise KeyboardInterrupt")
    done = subprocess.run(
        [*COMMAND, "--help"],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
    )
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "stopped\n")


def test_the_version_and_no_arguments(capfd: pytest.CaptureFixture[str]):
    code, out, _ = run(capfd, "--version")
    assert (code, out.split()[0]) == (0, "confkv-agent")
    code, out, _ = run(capfd)
    assert code == 2
    assert "Commands" in out


def test_a_run_and_a_batch_let_the_model_write_as_much():
    assert inspect.signature(cli.run).parameters["max_tokens"].default == PlayOptions.max_tokens == 128
