"""A browser is found in the documented order, and a missing one is reported with both remedies."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from playwright.sync_api import Error

from confkv_agents.errors import BrowserError, BrowserNotFoundError
from confkv_agents.web import chromium
from confkv_agents.web.chromium import LaunchOptions, find_chromium


class Launches:
    """A trial launch that succeeds for the given options only and remembers what was tried."""

    def __init__(self, *working: LaunchOptions, message: str = "Executable doesn't exist at /x") -> None:
        self.working, self.message = working, message
        self.tried: list[LaunchOptions] = []

    def __call__(self, options: LaunchOptions) -> None:
        self.tried.append(options)
        if options not in self.working:
            raise Error(self.message)


def program(folder: Path, name: str, text: str = "\x7fELF") -> Path:
    path = folder / name
    path.write_text(text)
    path.chmod(0o755)
    return path


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty Linux machine whose PATH is the folder returned; `downloads` beside it is Playwright's."""
    bin_folder = tmp_path / "bin"
    bin_folder.mkdir()
    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.setenv("PATH", str(bin_folder))
    monkeypatch.setenv("PLAYWRIGHT_BROWSERS_PATH", str(tmp_path / "downloads"))
    monkeypatch.delenv(chromium.VARIABLE, raising=False)
    return bin_folder


def download(machine: Path, name: str) -> None:
    (machine.parent / "downloads" / name).mkdir(parents=True)


def test_argument_wins_over_variable_and_everything_else(machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own, other = program(machine.parent, "own"), program(machine.parent, "other")
    program(machine, "chromium")
    monkeypatch.setenv(chromium.VARIABLE, str(other))
    launches = Launches()
    assert find_chromium(own, launch=launches) == LaunchOptions(executable_path=str(own))
    assert find_chromium(launch=launches) == LaunchOptions(executable_path=str(other))
    assert launches.tried == []


@pytest.mark.parametrize("content", [None, "not executable"])
def test_variable_is_final_even_when_another_browser_exists(
    machine: Path, monkeypatch: pytest.MonkeyPatch, content: str | None
) -> None:
    program(machine, "chromium")
    broken = machine.parent / "broken"
    if content is not None:
        broken.write_text(content)
    monkeypatch.setenv(chromium.VARIABLE, str(broken))
    with pytest.raises(BrowserNotFoundError, match=r"CONFKV_CHROMIUM names no program .*broken"):
        find_chromium()


def test_variable_may_name_a_program_on_path(machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = program(machine, "my-browser")
    monkeypatch.setenv(chromium.VARIABLE, "my-browser")
    assert find_chromium() == LaunchOptions(executable_path=str(path))


def test_playwrights_headless_shell_comes_first(machine: Path) -> None:
    download(machine, "chromium_headless_shell-1")
    program(machine, "chromium")
    assert find_chromium(launch=Launches(LaunchOptions())).as_kwargs() == {}


def test_playwrights_whole_browser_comes_second(machine: Path) -> None:
    download(machine, "chromium-1")
    program(machine, "chromium")
    launches = Launches(LaunchOptions(channel="chromium"))
    assert find_chromium(launch=launches).as_kwargs() == {"channel": "chromium"}
    assert launches.tried == [LaunchOptions(), LaunchOptions(channel="chromium")]


def test_download_of_another_version_falls_through_to_path(machine: Path) -> None:
    download(machine, "chromium-1")
    path = program(machine, "chromium")
    assert find_chromium(launch=Launches()).as_kwargs() == {"executable_path": str(path)}


def test_without_downloads_nothing_is_launched(machine: Path) -> None:
    program(machine, "google-chrome")
    path = program(machine, "chromium-browser")
    launches = Launches()
    assert find_chromium(launch=launches) == LaunchOptions(executable_path=str(path))
    assert launches.tried == []


def test_headless_shell_is_left_out_when_a_window_is_wanted(machine: Path) -> None:
    shell = program(machine, "chromium-headless-shell")
    assert find_chromium() == LaunchOptions(executable_path=str(shell))
    with pytest.raises(BrowserNotFoundError):
        find_chromium(headless=False)
    chrome = program(machine, "chrome")
    assert find_chromium(headless=False) == LaunchOptions(executable_path=str(chrome))


def test_stub_that_only_asks_for_a_snap_is_left_out(machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program(machine, "chromium-browser", "#!/bin/sh\necho 'Please run: snap install chromium'\n")
    with pytest.raises(BrowserNotFoundError):
        find_chromium()


def test_chrome_in_its_standard_place_is_the_last_resort_off_linux(
    machine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.platform", "win32")
    message = "Chromium distribution 'chrome' is not found at /opt/google/chrome/chrome"
    launches = Launches(LaunchOptions(channel="msedge"), message=message)
    assert find_chromium(launch=launches) == LaunchOptions(channel="msedge")


def test_missing_browser_is_reported_with_both_remedies(machine: Path) -> None:
    with pytest.raises(BrowserNotFoundError) as caught:
        find_chromium()
    assert "playwright install chromium" in str(caught.value)
    assert "apt-get install chromium" in str(caught.value)


def test_browser_that_is_there_but_does_not_start_is_not_skipped(machine: Path) -> None:
    download(machine, "chromium-1")
    program(machine, "chromium")
    with pytest.raises(BrowserError, match="missing dependencies") as caught:
        find_chromium(launch=Launches(message="Host system is missing dependencies to run browsers"))
    assert not isinstance(caught.value, BrowserNotFoundError)


def test_trial_launch_reports_a_missing_download_as_absent(machine: Path) -> None:
    download(machine, "chromium-1")
    path = program(machine, "chromium")

    async def inside_an_event_loop() -> LaunchOptions:
        return find_chromium()

    assert asyncio.run(inside_an_event_loop()) == LaunchOptions(executable_path=str(path))


@pytest.mark.browser
def test_found_browser_starts_and_shows_a_page() -> None:
    from playwright.sync_api import sync_playwright

    options = find_chromium()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(**options.as_kwargs())
        page = browser.new_page()
        page.goto("data:text/html,<title>It works</title>")
        assert page.title() == "It works"
        browser.close()
