"""Makes a checkout ready: virtual environment, package, browser, weights, and for tests the benchmarks' pages.

Standard library only.

    python3 scripts/setup.py [--extra NAME]... [--no-browser] [--no-weights]

Every step looks first and does nothing when its result is there, so a second run neither downloads nor calls
pip. As root on Debian or Ubuntu, missing system packages (python3-venv, chromium) are installed with apt;
otherwise the message says what to install.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.util
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NoReturn

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
PYTHON = VENV / "bin" / "python"
STAMP = VENV / "confkv-setup.json"
OLDEST = (3, 11)
INCLUDES = {"dev": {"test", "guidance"}, "test": {"guidance"}}  # extras of pyproject.toml that name others

FIND_BROWSER = """
import sys
from confkv_agents.errors import BrowserError
from confkv_agents.web.chromium import find_chromium
from playwright.sync_api import Error, sync_playwright
try:
    options = find_chromium().as_kwargs()
    with sync_playwright() as playwright:
        playwright.chromium.launch(**options).close()
except (BrowserError, Error) as error:
    sys.exit(str(error))
print(options.get("executable_path") or options.get("channel") or "Playwright's own Chromium")
"""
FETCH_WEIGHTS = """
import sys
from confkv_agents.engine.pilot_weights import fetch_pilot
from confkv_agents.errors import ConfKVError
try:
    fetch_pilot(lambda text: print("setup:", text, flush=True))
except ConfKVError as error:
    sys.exit("setup: " + str(error))
"""
FETCH_BENCHMARKS = """
import sys
from confkv_agents.errors import ConfKVError
from confkv_agents.web.benchmarks import benchmarks
try:
    for benchmark in benchmarks():
        benchmark.fetch(lambda text: print("setup:", text, flush=True))
except ConfKVError as error:
    sys.exit("setup: " + str(error))
"""


def say(text: str) -> None:
    """Tell the user what happens now."""
    print(f"setup: {text}", flush=True)


def give_up(text: str) -> NoReturn:
    """End with a message and exit code 1."""
    sys.exit(f"setup: {text}")


def run(*command: str | Path, **environment: str) -> bool:
    """Run a command in the checkout and tell whether it succeeded."""
    done = subprocess.run([str(part) for part in command], cwd=ROOT, env={**os.environ, **environment}, check=False)
    return done.returncode == 0


def use_new_enough_python() -> None:
    """Start again under a newer interpreter when this one is too old."""
    if sys.version_info >= OLDEST:
        return
    for minor in (13, 12, 11):
        newer = shutil.which(f"python3.{minor}")
        if newer:
            os.execv(newer, [newer, *sys.argv])
    give_up("Python 3.11 or newer is needed; this is {}.{}".format(*sys.version_info[:2]))


def has_apt() -> bool:
    """Tell whether system packages may be installed here without asking."""
    return shutil.which("apt-get") is not None and hasattr(os, "geteuid") and os.geteuid() == 0


def apt_install(*packages: str) -> bool:
    """Install Debian packages if the archive has them as real packages; True when they are installed."""
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive", "LC_ALL": "C"}

    def apt(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            arguments,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )

    say(f"installing with apt: {' '.join(packages)}")
    wait = ("-o", "DPkg::Lock::Timeout=300")
    updated = apt("apt-get", "-q", *wait, "update")
    if updated.returncode != 0:
        say("apt-get update failed; going on with the package lists that are here\n" + updated.stdout[-1000:])
    policy = apt("apt-cache", "policy", packages[0]).stdout
    candidate = policy.partition("Candidate:")[2].partition("\n")[0].strip()
    if candidate in ("", "(none)") or "snap" in candidate:  # Ubuntu's chromium packages only ask for a snap
        return False
    done = apt("apt-get", "install", "-q", "-y", "--no-install-recommends", *wait, *packages)
    if done.returncode != 0:
        say("apt-get install failed\n" + done.stdout[-3000:])
    return done.returncode == 0


def make_venv() -> None:
    """Create `.venv` with pip, installing Python's venv support first where Debian left it out."""
    if (
        PYTHON.exists()
        and subprocess.run([str(PYTHON), "-c", "import pip"], capture_output=True, check=False).returncode == 0
    ):
        return
    if not all(importlib.util.find_spec(name) for name in ("ensurepip", "venv")):
        package = f"python3.{sys.version_info.minor}-venv"
        if not (has_apt() and apt_install(package)):
            give_up(f"this Python cannot make virtual environments: run `sudo apt-get install {package}`")
    say("making the virtual environment .venv")
    if not run(sys.executable, "-m", "venv", "--clear", VENV):
        give_up("making .venv failed; the reason stands above")


def install_package(extras: set[str]) -> None:
    """Install the package, editable, with the tested versions, unless that was done and nothing changed."""
    sources = b"".join((ROOT / name).read_bytes() for name in ("pyproject.toml", "constraints.txt"))
    digest = hashlib.sha256(sources + repr(sys.version_info[:2]).encode()).hexdigest()
    try:
        done = json.loads(STAMP.read_text())
    except (OSError, ValueError):
        done = {}
    had = set(done.get("extras", [])) if done.get("digest") == digest else None
    if had is not None and extras <= had.union(*(INCLUDES.get(extra, set()) for extra in had)):
        return
    extras = extras | (had or set())
    target = "." + (f"[{','.join(sorted(extras))}]" if extras else "")
    say(f"installing {target} with the versions of constraints.txt")
    options = ("-q", "--disable-pip-version-check", "--no-compile", "-c", "constraints.txt")
    if not run(PYTHON, "-m", "pip", "install", *options, "-e", target):
        give_up("pip could not install the package; the reason stands above")
    STAMP.write_text(json.dumps({"digest": digest, "extras": sorted(extras)}))


def browser() -> tuple[str | None, str]:
    """Return the browser that starts here, or None and why not."""
    done = subprocess.run([str(PYTHON), "-c", FIND_BROWSER], cwd=ROOT, capture_output=True, text=True, check=False)
    return (done.stdout.strip(), "") if done.returncode == 0 else (None, done.stderr.strip())


def make_sure_of_driver() -> None:
    """Playwright's driver needs a library that minimal systems leave out."""
    done = subprocess.run([str(PYTHON), "-m", "playwright", "--version"], capture_output=True, text=True, check=False)
    if done.returncode == 0:
        return
    if "libatomic" not in done.stderr:
        give_up(f"Playwright does not start: {done.stderr.strip()}")
    if not (has_apt() and apt_install("libatomic1")):
        give_up("Playwright needs the library libatomic: run `sudo apt-get install libatomic1`")


def make_sure_of_browser(lean: bool = False) -> None:
    """Use a browser that is here; else Debian's package as root; else Playwright's download.

    `lean` asks for Debian's headless shell too, which does half of the whole browser's work per page.
    """
    make_sure_of_driver()
    found, problem = browser()
    if found is None and os.environ.get("CONFKV_CHROMIUM"):
        give_up(f"CONFKV_CHROMIUM is set, so no other browser is tried: {problem}")
    if found is None and has_apt():
        say("no Chromium found")
        if apt_install("chromium", "fonts-liberation"):
            found, problem = browser()
    if found is None:
        say("trying `playwright install chromium`")
        libraries = ("--with-deps",) if has_apt() else ()
        run(
            PYTHON,
            "-m",
            "playwright",
            "install",
            *libraries,
            "chromium",
            PLAYWRIGHT_DOWNLOAD_CONNECTION_TIMEOUT="10000",
        )
        found, problem = browser()
    if found is None:
        give_up(f"no browser: {problem}")
    if lean and "chromium-headless-shell" not in found and not os.environ.get("CONFKV_CHROMIUM") and has_apt():
        apt_install("chromium-headless-shell")  # where there is none, the tests take longer
        found = browser()[0] or found
    say(f"browser: {found}")


def main() -> None:
    """Do every step that is still to do."""
    use_new_enough_python()
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--extra", action="append", default=[], help="an extra of pyproject.toml, such as test")
    parser.add_argument("--no-browser", action="store_true")
    parser.add_argument("--no-weights", action="store_true")
    options = parser.parse_args()
    make_venv()
    install_package(set(options.extra))
    if not options.no_browser:
        make_sure_of_browser(lean=bool({"test", "dev"} & set(options.extra)))
    if not options.no_weights and not run(PYTHON, "-c", FETCH_WEIGHTS, TQDM_DISABLE="1"):
        give_up("the weights of the embedded models are not ready; the reason stands above")
    if not options.no_weights and {"test", "dev"} & set(options.extra) and not run(PYTHON, "-c", FETCH_BENCHMARKS):
        give_up("the benchmarks' pages are not ready; the reason stands above")


if __name__ == "__main__":
    main()
