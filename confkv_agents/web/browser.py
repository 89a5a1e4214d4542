"""A Chromium that one thread drives, and that every wait on can give up on.

Playwright's sync API belongs to the thread that started it and has calls without a timeout of their own
(`evaluate` on a busy page). So one thread owns it; whoever wants something submits a callable with a
deadline. When the deadline passes, the browser's processes are killed, which also frees the thread, and the
next call starts a fresh browser.
"""

from __future__ import annotations

import atexit
import contextlib
import logging
import os
import queue
import threading
import time
import uuid
import weakref
from collections.abc import Callable
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeout
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import psutil

from confkv_agents.errors import BrowserError, ConfKVError, InfraError
from confkv_agents.web import processes
from confkv_agents.web.clicks import ENGINE, FIND

if TYPE_CHECKING:
    from playwright.sync_api import Browser as PlaywrightBrowser
    from playwright.sync_api import BrowserContext

logger = logging.getLogger(__name__)
T = TypeVar("T")

START_DEADLINE = 60.0
CLOSE_DEADLINE = 5.0
_STEADY_PICTURES = ["--disable-partial-raster", "--disable-checker-imaging"]
"""Without these two, scaled pictures differ by a shade between two screenshots of one page."""
_NO_IMAGES = ["--blink-settings=imagesEnabled=false"]
_NO_UDP = [
    "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--webrtc-ip-handling-policy=disable_non_proxied_udp",  # the newer name
]
"""WebRTC sends by UDP, which no proxy holds back; `AllowList` relies on the proxy."""
_CUT_OFF = "Connection closed while reading from the driver"
_start_lock = threading.Lock()  # the driver is recognised as the child that appeared while the lock was held


def _says_news(record: logging.LogRecord) -> bool:
    """False for what asyncio has to say of Playwright's calls that were in flight when their driver was killed."""
    return not (record.exc_info and _CUT_OFF in str(record.exc_info[1]))


logging.getLogger("asyncio").addFilter(_says_news)


@dataclass
class _Worker:
    """One thread, one driver, one Chromium. Never reused after it broke."""

    executable: str | None
    channel: str | None
    headless: bool
    images: bool = True
    mark: str = field(default_factory=lambda: uuid.uuid4().hex)
    requests: queue.SimpleQueue[tuple[Future[Any], Callable[[], Any]] | None] = field(default_factory=queue.SimpleQueue)
    browser: PlaywrightBrowser | None = None
    driver: psutil.Process | None = None
    broken: bool = False
    closed: bool = False

    def start(self) -> None:
        ready: Future[None] = Future()
        self.thread = threading.Thread(target=self._run, args=(ready,), name="confkv-browser", daemon=True)
        with _start_lock:
            before = {child.pid for child in psutil.Process().children()}
            self.thread.start()
            try:
                ready.result(START_DEADLINE)
            except FutureTimeout:
                self.driver = self._find_driver(before)
                self.kill()
                raise InfraError(f"the browser did not start within {START_DEADLINE:.0f} s") from None
            except BaseException:  # Ctrl-C and termination too
                self._abandon(before)
                raise
            self.driver = self._find_driver(before)

    def _abandon(self, before: set[int]) -> None:
        """End a browser that is still starting: its thread would go on alone and start it after all."""
        self.broken = True
        self.requests.put(None)
        deadline = time.monotonic() + 2 * CLOSE_DEADLINE
        while self.thread.is_alive() and time.monotonic() < deadline:
            processes.end(processes.marked_processes(self.mark))
            self.thread.join(0.2)
        self.driver = self._find_driver(before)
        processes.end(processes.marked_processes(self.mark) + processes.descendants(self.driver))

    def _find_driver(self, before: set[int]) -> psutil.Process | None:
        for child in psutil.Process().children():
            with contextlib.suppress(psutil.Error):
                if child.pid not in before and "run-driver" in child.cmdline():
                    return child
        return None

    def _run(self, ready: Future[None]) -> None:
        from playwright.sync_api import Error, sync_playwright

        try:
            playwright = sync_playwright().start()
        except Exception as error:  # noqa: BLE001 - handed to the caller
            ready.set_exception(BrowserError(f"Playwright's driver did not start: {error}"))
            return
        try:
            if self.broken:
                return
            try:
                self.browser = playwright.chromium.launch(
                    executable_path=self.executable,
                    channel=self.channel,
                    headless=self.headless,
                    args=[*_STEADY_PICTURES, *_NO_UDP, *([] if self.images else _NO_IMAGES)],
                    env={**os.environ, processes.MARK: self.mark},
                    handle_sigint=False,
                    handle_sigterm=False,
                    timeout=(START_DEADLINE - 5) * 1000,
                )
            except Error as error:
                where = self.executable or self.channel or "Playwright's own Chromium"
                ready.set_exception(BrowserError(f"{where} did not start: {error.message.splitlines()[0]}"))
                return
            playwright.selectors.register(ENGINE, FIND)
            ready.set_result(None)
            self._serve()
        finally:
            with contextlib.suppress(Exception):
                playwright.stop()

    def _serve(self) -> None:
        while (request := self.requests.get()) is not None:
            future, call = request
            if not future.set_running_or_notify_cancel():
                continue
            try:
                future.set_result(call())
            except BaseException as error:  # noqa: BLE001 - handed to the caller, whatever it is
                future.set_exception(error)
        if self.browser is not None and not self.broken:
            with contextlib.suppress(Exception):
                self.browser.close()

    @property
    def alive(self) -> bool:
        return not self.broken and self.thread.is_alive() and self.browser is not None and self.browser.is_connected()

    def kill(self) -> None:
        """End every process of this browser at once; calls in flight fail and the thread ends."""
        self.broken = True
        self.requests.put(None)
        tree = processes.marked_processes(self.mark) + processes.descendants(self.driver)[1:]
        processes.end(list({process.pid: process for process in tree}.values()))
        if threading.current_thread() is not self.thread:
            self.thread.join(CLOSE_DEADLINE / 2)  # with Chromium gone the calls in flight fail and the driver stops
        processes.end(processes.marked_processes(self.mark) + processes.descendants(self.driver))

    def close(self) -> None:
        """End the browser in good order, or by force after `CLOSE_DEADLINE` seconds."""
        self.closed = True
        if self.broken:
            return  # killed already; its thread may hang in a call of its own, which nothing can end
        self.requests.put(None)
        self.thread.join(CLOSE_DEADLINE)
        if self.thread.is_alive() or processes.marked_processes(self.mark):
            self.kill()
            self.thread.join(CLOSE_DEADLINE)


class Browser:
    """One headless Chromium, started when first needed and again after it broke.

    Use it as a context manager, or call `close`; an exit handler closes what is left open.

    Args:
        executable: Path of a Chromium. By default `confkv_agents.web.chromium.find_chromium` looks for one.
        headless: False shows the window.
        max_contexts: A fresh browser is started after this many contexts, since Chromium's memory creeps up; it
            waits for the moment when none is open.
        images: False loads no pictures, for those who look at none: pages come sooner and sites draw none.

    Raises:
        BrowserNotFoundError: No Chromium was found, on first use.
    """

    def __init__(
        self,
        executable: str | Path | None = None,
        *,
        headless: bool = True,
        max_contexts: int = 200,
        images: bool = True,
    ) -> None:
        self._images = images
        self._executable = str(executable) if executable is not None else None
        self._headless = headless
        self._max_contexts = max_contexts
        self._contexts = 0
        self._worker: _Worker | None = None
        self._closed = False
        _open_browsers.add(self)

    def __enter__(self) -> Browser:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def alive(self) -> bool:
        """True while a started browser answers."""
        return self._worker is not None and self._worker.alive

    def _ensure(self) -> _Worker:
        if self._closed:
            raise BrowserError("this browser was closed; make a new one")
        if self._worker is not None and not self._worker.alive:
            if not self._worker.closed:
                logger.warning("the browser is gone; starting a fresh one")
                self._worker.kill()
            self._worker = None
        if self._worker is None:
            executable, channel = self._executable, None
            if executable is None:
                from confkv_agents.web.chromium import find_chromium

                options = find_chromium(headless=self._headless)
                executable, channel = options.executable_path, options.channel
            worker = _Worker(str(executable) if executable else None, channel, self._headless, self._images)
            worker.start()
            self._worker = worker
            self._contexts = 0
        return self._worker

    def call(self, function: Callable[[], T], timeout: float = 30.0) -> T:
        """Run `function` in the thread that owns Playwright and return what it returns.

        Args:
            function: Called without arguments; may use any Playwright object of this browser.
            timeout: Seconds after which the browser is killed.

        Raises:
            InfraError: The deadline passed, or the browser or page is gone.
        """
        return self._submit(self._ensure(), function, timeout)

    def _submit(self, worker: _Worker, function: Callable[[], T], timeout: float) -> T:
        from playwright.sync_api import Error

        if threading.current_thread() is worker.thread:
            return function()
        future: Future[T] = Future()
        worker.requests.put((future, function))
        try:
            return future.result(timeout)
        except FutureTimeout:
            if future.done():  # the callable itself raised a timeout of its own
                raise
            worker.kill()
            raise InfraError(
                f"the browser did not answer within {timeout:g} s and was stopped; the next episode gets a fresh one"
            ) from None
        except KeyboardInterrupt:
            if not future.done():  # the user's, not the callable's: nothing may hold the way out
                worker.kill()
            raise
        except ConfKVError:
            raise
        except Error as error:
            if not worker.alive:
                worker.kill()
                raise InfraError(f"the browser is gone: {first_line(error)}") from error
            raise InfraError(f"the browser failed: {first_line(error)}") from error

    def new_context(self, **options: Any) -> BrowserContext:
        """A fresh, isolated context; `options` are Playwright's. Nothing is shared with earlier contexts."""
        worker = self._ensure()
        running = worker.browser
        assert running is not None
        if self._contexts >= self._max_contexts and not self._submit(worker, lambda: running.contexts, 30.0):
            worker.close()
            worker = self._ensure()
        assert worker.browser is not None
        browser = worker.browser
        self._contexts += 1
        return self._submit(worker, lambda: browser.new_context(**options), 30.0)

    def version(self) -> str:
        """Chromium's version, such as "156.0.8078.108"."""
        worker = self._ensure()
        assert worker.browser is not None
        return worker.browser.version

    def memory(self) -> dict[str, int]:
        """Memory of the process tree in bytes (PSS, so that shared pages count once).

        Returns:
            `pss_bytes` (all), `chromium_bytes`, `driver_bytes` (Playwright's node process), `processes`
            (count). All zero while no browser runs.
        """
        worker = self._worker
        if worker is None:
            return {"pss_bytes": 0, "chromium_bytes": 0, "driver_bytes": 0, "processes": 0}
        tree = {process.pid: process for process in processes.descendants(worker.driver)}
        tree |= {process.pid: process for process in processes.marked_processes(worker.mark)}
        driver_pid = worker.driver.pid if worker.driver is not None else -1
        sizes = {pid: processes.memory_bytes(process) for pid, process in tree.items()}
        driver = sizes.get(driver_pid, 0)
        total = sum(sizes.values())
        return {
            "pss_bytes": total,
            "chromium_bytes": total - driver,
            "driver_bytes": driver,
            "processes": len(sizes),
        }

    def kill(self) -> None:
        """Kill the browser's processes; the next call starts a fresh one."""
        if self._worker is not None:
            self._worker.kill()

    def close(self) -> None:
        """End the browser and its processes. Calling it again does nothing."""
        self._closed = True
        worker, self._worker = self._worker, None
        if worker is not None:
            worker.close()


def first_line(error: BaseException) -> str:
    """The first line of an error's message, without Playwright's call log."""
    lines = str(error).strip().splitlines()
    return lines[0] if lines else type(error).__name__


_open_browsers: weakref.WeakSet[Browser] = weakref.WeakSet()


@atexit.register
def _close_all() -> None:
    for browser in list(_open_browsers):
        with contextlib.suppress(Exception):
            browser.close()
