"""Finds a Chromium that Playwright can drive: its own download, Debian's package, or an installed Chrome.

Order: the argument or `CONFKV_CHROMIUM` (final, no fallback), what `playwright install chromium` downloaded
(the headless shell or the whole browser), browsers on `PATH` (Debian's headless shell first, unless a window is
wanted), macOS applications, Chrome and Edge in the places Playwright knows. Files are checked where we know them; only
Playwright knows its downloads and those places, so these are tried by a launch, which costs about 10 ms when nothing is
there.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from confkv_agents.errors import BrowserError, BrowserNotFoundError
from confkv_agents.paths import user_path

VARIABLE = "CONFKV_CHROMIUM"
_HEADLESS_SHELL = "chromium-headless-shell"
_ON_PATH = (
    _HEADLESS_SHELL,  # opens no window behind the scenes: half of the whole browser's work per page
    "chromium",
    "chromium-browser",
    "google-chrome-stable",
    "google-chrome",
    "chrome",
    "microsoft-edge",
    "msedge",
)
_MACOS = (
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
    "/Applications/Microsoft Edge.app/Contents/MacOS/Microsoft Edge",
)
_REMEDIES = (
    "Run `playwright install chromium`, or on Debian `sudo apt-get install chromium`; "
    f"or set {VARIABLE} to the path of a Chromium, Chrome or Edge you have"
)


@dataclass(frozen=True)
class LaunchOptions:
    """Which browser `playwright.chromium.launch` is to start; both None means Playwright's own."""

    executable_path: str | None = None
    channel: str | None = None

    def as_kwargs(self) -> dict[str, Any]:
        """The options as keyword arguments: `playwright.chromium.launch(**options.as_kwargs())`."""
        return {key: value for key, value in vars(self).items() if value is not None}


Launch = Callable[[LaunchOptions], None]
"""Starts and ends the browser once, raising Playwright's error when it cannot."""


def find_chromium(
    executable: str | Path | None = None, *, headless: bool = True, launch: Launch | None = None
) -> LaunchOptions:
    """Find a browser to drive.

    Args:
        executable: Path of a browser; then nothing else is tried.
        headless: False leaves out browsers that cannot show a window.
        launch: Replaces the trial launch, for callers that already run Playwright.

    Returns:
        Options for `playwright.chromium.launch`.

    Raises:
        BrowserNotFoundError: There is none, or the one named is missing; the message holds the remedies.
        BrowserError: Playwright's own download is there but does not start.
    """
    named = str(executable) if executable is not None else os.environ.get(VARIABLE)
    if named:
        return _named(named, VARIABLE if executable is None else "the given path")
    launch = launch or (lambda options: _launch_once(options, headless))
    own = (LaunchOptions(), LaunchOptions(channel="chromium")) if headless else (LaunchOptions(),)
    if _has_downloads(_downloads_folder()):
        for options in own:
            if _starts(options, launch):
                return options
    if (path := _installed(headless)) is not None:
        return LaunchOptions(executable_path=path)
    if sys.platform in ("darwin", "win32"):
        for options in (LaunchOptions(channel="chrome"), LaunchOptions(channel="msedge")):
            if _starts(options, launch):
                return options
    raise BrowserNotFoundError(f"no Chromium was found. {_REMEDIES}")


def _named(path: str, origin: str) -> LaunchOptions:
    found = shutil.which(str(user_path(path)))
    if found is None:
        raise BrowserNotFoundError(f"{origin} names no program that can be run: {path!r}. {_REMEDIES}")
    return LaunchOptions(executable_path=found)


def _installed(headless: bool) -> str | None:
    for name in _ON_PATH:
        path = shutil.which(name)
        if path is not None and (headless or name != _HEADLESS_SHELL) and not _is_empty_stub(path):
            return path
    if sys.platform == "darwin":
        return next((path for path in _MACOS if os.access(path, os.X_OK)), None)
    return None


def _is_empty_stub(path: str) -> bool:
    """Tell whether this is Ubuntu's script that only asks to install the snap (which is not installed)."""
    with Path(path).open("rb") as file:
        start = file.read(4096)
    return start.startswith(b"#!") and b"snap install chromium" in start and shutil.which("/snap/bin/chromium") is None


def _downloads_folder() -> Path:
    """Where `playwright install` puts browsers, by Playwright's documentation."""
    own = os.environ.get("PLAYWRIGHT_BROWSERS_PATH")
    if own == "0":
        spec = importlib.util.find_spec("playwright")
        package = Path(spec.origin).parent if spec is not None and spec.origin else Path()
        return package / "driver" / "package" / ".local-browsers"
    if own:
        return Path(own)
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "ms-playwright"
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local") / "ms-playwright"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "ms-playwright"


def _has_downloads(folder: Path) -> bool:
    return any(folder.glob("chromium*"))


def _starts(options: LaunchOptions, launch: Launch) -> bool:
    """Try a browser; False means it is not installed, anything else that goes wrong is raised."""
    from playwright.sync_api import Error

    try:
        launch(options)
    except Error as error:
        text = str(error)
        if "xecutable doesn't exist" in text or "is not found at" in text:
            return False
        what = f"channel {options.channel!r}" if options.channel else "Playwright's own Chromium"
        raise BrowserError(
            f"{what} is installed but does not start: {text.strip()[:800]}\nIf system libraries are missing "
            f"run `sudo playwright install-deps chromium`; or set {VARIABLE} to another browser"
        ) from error
    return True


def _launch_once(options: LaunchOptions, headless: bool) -> None:
    from playwright.sync_api import sync_playwright

    def start_and_end() -> None:
        with sync_playwright() as playwright:
            playwright.chromium.launch(headless=headless, **options.as_kwargs()).close()

    # In a thread of its own: Playwright's sync API refuses a thread that runs an event loop.
    with ThreadPoolExecutor(max_workers=1) as pool:
        pool.submit(start_and_end).result()
