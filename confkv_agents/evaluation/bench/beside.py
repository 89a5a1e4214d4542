"""A step of the environment beside one of BrowserGym's core: the same pages, the same acts, in turns.

Each runs in a process of its own with a browser of its own (the same program), is told over pipes what to do, and
answers how long it took: acting, waiting for the page, observing. The sites run in a third process. What
BrowserGym needs is not installed here; it has a Python of its own (`pip install browsergym-core` in a fresh venv).
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import statistics
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Self

import psutil

from confkv_agents.errors import ConfigError, ConfKVError
from confkv_agents.web.doors import VARIABLE

ACTS = ("scroll down", "scroll up", "click", "scroll down", "scroll up", "go back")
"""What is done from a site's first page on; `click` opens another link of it in every round."""
OWN = "confkv"
_CHILD = Path(__file__).with_name("beside_browsergym.py")


class BesideError(ConfKVError):
    """One of the compared environments does not start, fails an act, or lands on another page."""


@dataclass(frozen=True)
class Timed:
    """One act of one contender.

    Attributes:
        site: Name of the site.
        act: One of `ACTS`.
        seconds: Wall clock of the step.
        cpu: Processor time of the contender and everything below it, in seconds.
    """

    contender: str
    site: str
    act: str
    round: int
    seconds: float
    cpu: float


@dataclass
class Contender:
    """A child that does what it is told, a line of JSON each way.

    Told: `{"act": "open", "url": ...}`, `{"act": "click", "url": <the link's href>}`, another act, or "where".
    Answered: `{"seconds": ..., "url": <the page's address>}`, with `"links"` after opening where it knows them, or
    `{"error": ...}`.
    """

    name: str
    command: Sequence[str]
    variables: Mapping[str, str] = field(default_factory=dict, repr=False)
    _process: subprocess.Popen[str] = field(init=False, repr=False)
    _ended: dict[int, float] = field(default_factory=dict, init=False, repr=False)

    def __enter__(self) -> Self:
        try:
            self._process = subprocess.Popen(
                self.command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
                bufsize=1,
                env=os.environ | dict(self.variables),
            )
        except OSError as error:
            raise BesideError(f"{self.name} does not start: {error}") from error
        try:
            self._answer()
        except BesideError:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        with contextlib.suppress(OSError):
            assert self._process.stdin is not None
            self._process.stdin.close()
        try:
            self._process.wait(20)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def tell(self, act: str, url: str = "") -> dict[str, Any]:
        """Have an act done.

        Raises:
            BesideError: It failed, or the child is gone.
        """
        assert self._process.stdin is not None
        with contextlib.suppress(OSError):  # it is gone; `_answer` says so
            self._process.stdin.write(json.dumps({"act": act, "url": url}) + "\n")
        return self._answer()

    def _answer(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        try:
            answer = json.loads(line)
        except ValueError:
            answer = {"error": f"it ended, or answered {line[:80]!r}; the lines above may say why"}
        if "error" in answer:
            raise BesideError(f"{self.name}: {answer['error']}")
        return dict(answer)

    def cpu(self) -> float:
        """Processor time of the child and everything below it so far, in seconds."""
        try:
            processes = [(child := psutil.Process(self._process.pid)), *child.children(recursive=True)]
        except psutil.Error:
            return math.fsum(self._ended.values())
        for process in processes:
            with contextlib.suppress(psutil.Error):  # it ended; what it used by then counts
                times = process.cpu_times()
                self._ended[process.pid] = times.user + times.system
        return math.fsum(self._ended.values())


def contenders(python: str, sites: Sequence[str], key: str, *, bare: bool, browser: str | None) -> list[Contender]:
    """The environment, BrowserGym as it comes, and BrowserGym without its pause before it looks at a page.

    Args:
        python: A Python that has browsergym-core.
        sites: Addresses.
        key: Opens the sites' doors to ours.
        bare: Our observations without screenshots; BrowserGym always takes one.
        browser: The program that both drive; None where Playwright has its own.

    Raises:
        ConfigError: `python` names no file.
    """
    if not Path(python).is_file():
        raise ConfigError(f"{python} is no Python; name that of an environment with browsergym-core")
    own = [sys.executable, "-m", "confkv_agents.evaluation.bench.beside_own", "bare" if bare else "full", *sites]
    foreign = [python, str(_CHILD)]
    path = [browser] if browser else []
    return [
        Contender(OWN, own, {VARIABLE: key}),
        Contender("browsergym", [*foreign, "default", *path]),
        Contender("browsergym, no pause", [*foreign, "0", *path]),
    ]


def compare_sites(
    python: str, names: Sequence[str], rounds: int, *, bare: bool, told: Callable[[str], None] = lambda _: None
) -> list[Timed]:
    """Start the sites and all contenders, and compare them.

    Args:
        python: A Python that has browsergym-core.
        names: Installed sites.
        rounds: See `compare`.
        bare: See `contenders`.
        told: See `compare`.

    Raises:
        ConfigError: `python` names no file.
        BesideError: A contender does not start or fails.
    """
    from confkv_agents.web.chromium import find_chromium
    from confkv_agents.web.doors import new_key
    from confkv_agents.web.sites import SiteServer

    key = new_key()
    with contextlib.ExitStack() as running:
        places = {name: running.enter_context(SiteServer(name, key=key)).url for name in names}
        browser = find_chromium().executable_path
        made = contenders(python, list(places.values()), key, bare=bare, browser=browser)
        started = [running.enter_context(contender) for contender in made]
        return compare(started, {name: f"{url}/" for name, url in places.items()}, rounds, told)


def compare(
    named: Sequence[Contender],
    sites: Mapping[str, str],
    rounds: int,
    told: Callable[[str], None] = lambda _: None,
) -> list[Timed]:
    """Do every act with every contender before the next; who begins changes from act to act.

    Args:
        named: Started; the first one names the links.
        sites: Name -> address of its first page.
        rounds: Times that every site is gone through.
        told: Called after every round of a site.

    Raises:
        BesideError: A contender fails, or they do not see the same page.
    """
    found: list[Timed] = []
    for number in range(rounds):
        for site, address in sites.items():
            opened = [contender.tell("open", address) for contender in named]
            links = opened[0].get("links")
            if not links:
                raise BesideError(f"{site}: no link to click on its first page")
            for index, act in enumerate(ACTS):
                url = links[number % len(links)] if act == "click" else ""
                seen = {}
                turn = (number + index) % len(named)
                for contender in [*named[turn:], *named[:turn]]:
                    before = contender.cpu()
                    answer = contender.tell(act, url)
                    cpu = contender.cpu() - before
                    found.append(Timed(contender.name, site, act, number, float(answer["seconds"]), cpu))
                    seen[contender.name] = answer["url"]
                if len(set(seen.values())) > 1:  # one may look before it has arrived
                    seen = {contender.name: contender.tell("where")["url"] for contender in named}
                if len(set(seen.values())) > 1:
                    raise BesideError(f"{site}: after {act!r} they are on different pages: {seen}")
            told(site)
    return found


def summarize(timed: Sequence[Timed]) -> dict[str, dict[str, dict[str, float]]]:
    """Site -> contender -> `steps`, `ms` and `cpu_ms` (medians), and how many times ours they are.

    `ms_x` and `cpu_x` are the median over acts of the contender's figure over ours for the same act of the same round.
    """
    table: dict[str, dict[str, dict[str, float]]] = {}
    for site in dict.fromkeys(each.site for each in timed):
        here = [each for each in timed if each.site == site]
        names = list(dict.fromkeys(each.contender for each in here))
        ours = [each for each in here if each.contender == OWN]
        table[site] = {}
        for name in sorted(names, key=lambda name: (name != OWN, name)):
            rows = [each for each in here if each.contender == name]
            pairs = list(zip(rows, ours, strict=True))
            table[site][name] = {
                "steps": len(rows),
                "ms": 1000 * statistics.median(each.seconds for each in rows),
                "cpu_ms": 1000 * statistics.median(each.cpu for each in rows),
                "ms_x": statistics.median(theirs.seconds / own.seconds for theirs, own in pairs),
                "cpu_x": statistics.median(theirs.cpu / max(own.cpu, 0.01) for theirs, own in pairs),
            }
    return table


def write(folder: Path, timed: Sequence[Timed], summary: Mapping[str, Any]) -> None:
    """Keep one line per act and the summary."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "steps.jsonl").write_text("".join(json.dumps(asdict(each)) + "\n" for each in timed), "utf-8")
    (folder / "result.json").write_text(json.dumps(summary, indent=2) + "\n", "utf-8")
