"""The browser's thread, its deadlines and its processes."""

from __future__ import annotations

import contextlib
import logging
import os
import signal
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Iterator

import psutil
import pytest

from confkv_agents.errors import BrowserError, InfraError
from confkv_agents.web import processes
from confkv_agents.web.browser import Browser

pytestmark = pytest.mark.browser

SCRIPT = """
import os, sys, time
from confkv_agents.web.browser import Browser
browser = Browser()
context = browser.new_context()
page = browser.call(context.new_page)
browser.call(lambda: page.set_content("<h1>x</h1>"))
print(browser._worker.mark, browser._worker.driver.pid, flush=True)
{end}
"""


@pytest.fixture
def own() -> Iterator[Browser]:
    with Browser() as browser:
        yield browser


@pytest.mark.parametrize(
    ("error", "kept"), [("Connection closed while reading from the driver", False), ("something else", True)]
)
def test_calls_cut_off_by_a_kill_are_no_news_of_asyncio(
    caplog: pytest.LogCaptureFixture, error: str, kept: bool
) -> None:
    logging.getLogger("asyncio").error("never retrieved", exc_info=Exception(error))
    assert bool(caplog.records) is kept


def test_nothing_is_left_after_close(own: Browser) -> None:
    context = own.new_context()
    own.call(context.new_page)
    worker = own._worker
    assert worker is not None and worker.driver is not None
    tree = processes.descendants(worker.driver)
    assert len(tree) > 2
    own.close()
    own.close()
    assert [process for process in tree if processes.is_live(process)] == []
    with pytest.raises(BrowserError, match="was closed"):
        own.new_context()


def test_memory_counts_chromium_and_driver_apart(own: Browser) -> None:
    assert own.memory()["pss_bytes"] == 0
    context = own.new_context()
    own.call(context.new_page)
    memory = own.memory()
    assert memory["pss_bytes"] == memory["chromium_bytes"] + memory["driver_bytes"]
    assert memory["chromium_bytes"] > 50_000_000
    assert memory["driver_bytes"] > 20_000_000
    assert memory["processes"] > 3


def test_errors_and_results_come_back_from_the_thread(own: Browser) -> None:
    assert own.call(threading.current_thread).name == "confkv-browser"

    def fail() -> None:
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        own.call(fail)
    with pytest.raises(TimeoutError):
        own.call(lambda: (_ for _ in ()).throw(TimeoutError("its own")))
    assert own.alive


def test_passed_deadline_kills_the_browser_and_the_next_call_starts_another(own: Browser) -> None:
    own.new_context()
    first = own._worker
    assert first is not None
    release = threading.Event()
    with pytest.raises(InfraError, match=r"did not answer within 0\.5 s"):
        own.call(lambda: release.wait(30), timeout=0.5)
    release.set()
    assert processes.marked_processes(first.mark) == []
    own.new_context()
    assert own._worker is not first


def test_killed_chromium_is_an_infra_error_and_replaced(own: Browser) -> None:
    context = own.new_context()
    page = own.call(context.new_page)
    worker = own._worker
    assert worker is not None
    processes.end(processes.marked_processes(worker.mark))
    with pytest.raises(InfraError):
        own.call(lambda: page.evaluate("1"))
    assert own.new_context() is not None


def test_browser_is_recycled_after_many_contexts() -> None:
    with Browser(max_contexts=1) as own:
        context = own.new_context()
        first = own._worker
        own.new_context()
        assert own._worker is first, "contexts that are open are not pulled from under their users"
        own.call(lambda: [each.close() for each in context.browser.contexts])  # type: ignore[union-attr]
        own.new_context()
        assert own._worker is not first
        assert first is not None and processes.marked_processes(first.mark) == []


@pytest.mark.parametrize("seconds", [0.05, 0.3, 0.6, 0.9])
def test_ctrl_c_while_the_browser_starts_leaves_none(seconds: float) -> None:
    code = (
        "import os, signal, threading, time\n"
        "from confkv_agents.web.browser import Browser\n"
        "import playwright.sync_api\n"
        f"threading.Timer({seconds}, os.kill, (os.getpid(), signal.SIGINT)).start()\n"
        "with Browser() as browser:\n"
        "    browser.version()\n"
        "    time.sleep(5)\n"
    )
    mark = f"started by {uuid.uuid4().hex}"
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "WHO": mark},
        timeout=60,
    )
    assert done.returncode == -signal.SIGINT, done.stderr
    left = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            if process.environ().get("WHO") == mark and processes.is_live(process):
                left.append(process.name())
    assert left == []


def test_missing_executable_is_told() -> None:
    with Browser("/nowhere/chromium") as own, pytest.raises(BrowserError, match="/nowhere/chromium did not start"):
        own.new_context()


@pytest.mark.parametrize(
    ("end", "signal_sent"),
    [
        ("", None),
        ("raise RuntimeError('agent failed')", None),
        ("os._exit(3)", None),
        ("time.sleep(60)", signal.SIGINT),
        ("browser.call(lambda: time.sleep(60), 100)", signal.SIGINT),
        ("time.sleep(60)", signal.SIGTERM),
        ("time.sleep(60)", signal.SIGKILL),
    ],
)
def test_nothing_is_left_however_the_program_ends(end: str, signal_sent: int | None) -> None:
    program = subprocess.Popen(
        [sys.executable, "-c", SCRIPT.format(end=end)],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        start_new_session=True,
    )
    assert program.stdout is not None
    mark, driver_pid = program.stdout.readline().split()
    driver = processes.descendants(psutil.Process(int(driver_pid))) if psutil.pid_exists(int(driver_pid)) else []
    if signal_sent is not None:
        os.killpg(program.pid, signal_sent) if signal_sent == signal.SIGINT else program.send_signal(signal_sent)
    program.wait(30)
    deadline = time.monotonic() + 15
    left = True
    while left and time.monotonic() < deadline:
        left = bool(processes.marked_processes(mark)) or any(processes.is_live(process) for process in driver)
        threading.Event().wait(0.05)
    assert not left
