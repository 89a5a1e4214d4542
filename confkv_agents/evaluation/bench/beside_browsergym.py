"""BrowserGym's core on pages it is told to open: run by a Python that has it, driven by `beside.py` over pipes.

    PYTHON beside_browsergym.py DELAY [BROWSER]

`DELAY` is `default` or the seconds it is to wait before it looks at a page. It stands alone: nothing of this package
can be imported where it runs.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import gymnasium


def main() -> None:
    """Answer one line of JSON for every line read; see `beside.py` for both."""
    answers = sys.stdout
    sys.stdout = sys.stderr  # what libraries print must not stand between the answers
    delay, browser = sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else ""
    with tempfile.TemporaryDirectory() as folder:
        if browser:
            _offer(browser, folder)
        env = _environment(delay, browser)
        try:
            answers.write(json.dumps({"ready": True}) + "\n")
            answers.flush()
            for line in sys.stdin:
                answers.write(json.dumps(_do(env, json.loads(line))) + "\n")
                answers.flush()
        finally:
            env.close()


def _environment(delay: str, browser: str) -> gymnasium.Env[Any, Any]:
    importlib.import_module("browsergym.core")  # registers the environments; no dependency of this package

    settings: dict[str, Any] = {} if delay == "default" else {"pre_observation_delay": float(delay)}
    if browser:
        settings["pw_chromium_kwargs"] = {"executable_path": browser}
    made: gymnasium.Env[Any, Any] = gymnasium.make(
        "browsergym/openended",
        disable_env_checker=True,
        task_kwargs={"start_url": "about:blank", "goal": "Look."},
        headless=True,
        **settings,
    )
    made.reset(seed=0)
    return made


def _offer(browser: str, folder: str) -> None:
    """Put a browser where this Playwright looks for its own: the window of the chat takes no other."""
    os.environ["PLAYWRIGHT_BROWSERS_PATH"] = folder
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        expected = Path(playwright.chromium.executable_path)
    expected.parent.mkdir(parents=True)
    expected.symlink_to(browser)


def _do(env: gymnasium.Env[Any, Any], told: dict[str, str]) -> dict[str, Any]:
    page: Any = env.unwrapped.page  # type: ignore[attr-defined]
    act = told["act"]
    if act == "open":
        page.goto(told["url"])
        env.step("noop(0)")
        return {"seconds": 0.0, "url": page.url}
    if act == "where":
        page.wait_for_timeout(300)
        return {"seconds": 0.0, "url": page.url}
    if act == "click":
        link = page.locator(f"a[href={json.dumps(told['url'])}]:visible").first
        action = f"click({link.get_attribute('bid')!r})"
    else:
        action = {"scroll down": "scroll(0, 600)", "scroll up": "scroll(0, -600)", "go back": "go_back()"}[act]
    began = time.perf_counter()
    error = env.step(action)[0]["last_action_error"]
    seconds = time.perf_counter() - began
    # It gives a click half a second, and looks at the page all the same.
    if error and not error.startswith("TimeoutError"):
        return {"error": f"{action}: {error}"}
    return {"seconds": seconds, "url": page.url}


if __name__ == "__main__":
    main()
