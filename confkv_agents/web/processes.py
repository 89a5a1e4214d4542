"""Finding, weighing and ending the processes that one browser started.

A browser is a tree: Playwright's driver (node), Chromium's main process, and its helpers, some of which leave
the tree when their parent dies. Every process of one browser carries the same mark in its environment, so it
is found whatever became of its parent.
"""

from __future__ import annotations

import contextlib
import logging
import time
from pathlib import Path

import psutil

logger = logging.getLogger(__name__)

MARK = "CONFKV_BROWSER_ID"
_GONE = (psutil.NoSuchProcess, psutil.AccessDenied, psutil.ZombieProcess)


def marked_processes(mark: str) -> list[psutil.Process]:
    """Live processes whose environment holds `mark` under `MARK`."""
    found = []
    for process in psutil.process_iter():
        with contextlib.suppress(*_GONE):
            if process.environ().get(MARK) == mark and is_live(process):
                found.append(process)
    return found


def descendants(process: psutil.Process | None) -> list[psutil.Process]:
    """`process` and everything below it; empty when it is gone."""
    if process is None:
        return []
    with contextlib.suppress(*_GONE):
        return [process, *process.children(recursive=True)]
    return []


def is_live(process: psutil.Process) -> bool:
    """False for a process that ended, also where nobody reaps it (a container without an init)."""
    with contextlib.suppress(*_GONE):
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    return False


def end(processes: list[psutil.Process], patience: float = 3.0) -> None:
    """Kill processes and wait until they are gone, for at most `patience` seconds."""
    for process in processes:
        with contextlib.suppress(*_GONE):
            process.kill()
    deadline = time.monotonic() + patience
    alive = [process for process in processes if is_live(process)]
    while alive and time.monotonic() < deadline:
        time.sleep(0.01)
        alive = [process for process in alive if is_live(process)]
    for process in alive:
        logger.warning("process %d did not end when killed", process.pid)


def memory_bytes(process: psutil.Process) -> int:
    """Proportional set size in bytes; where the system does not tell it, the unique or resident size.

    Shared pages are divided among their holders (PSS), so that a sum over a tree counts each page once.
    Source: `/proc/<pid>/smaps_rollup`, Linux 4.14 and later.
    """
    try:
        for line in Path(f"/proc/{process.pid}/smaps_rollup").read_text("ascii").splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1]) * 1024
    except (OSError, ValueError):
        pass
    with contextlib.suppress(*_GONE):
        full = process.memory_full_info()
        return int(getattr(full, "pss", 0) or getattr(full, "uss", 0) or full.rss)
    with contextlib.suppress(*_GONE):
        return int(process.memory_info().rss)
    return 0
