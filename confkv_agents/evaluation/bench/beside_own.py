"""The environment on pages it is told to open, in a process of its own; see `beside.py`.

python -m confkv_agents.evaluation.bench.beside_own full|bare SITE...
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

from confkv_agents.web.browser import Browser
from confkv_agents.web.env import WebEnv
from confkv_agents.web.observation import ObservationConfig
from confkv_agents.web.sites import SiteSet
from confkv_agents.web.tasks import Task

_ACTIONS = {"scroll down": "scroll [down]", "scroll up": "scroll [up]", "go back": "go_back"}


def main() -> None:
    """Answer one line of JSON for every line read."""
    answers = sys.stdout
    sys.stdout = sys.stderr  # nothing may stand between the answers
    shape, *places = sys.argv[1:]
    shown = ObservationConfig() if shape == "full" else ObservationConfig(marks=False, pictures=0, screenshots=False)
    sites = SiteSet({f"pages_{number}": place for number, place in enumerate(places)})
    with Browser() as browser, WebEnv(browser, sites, observation=shown) as env:
        answers.write(json.dumps({"ready": True}) + "\n")
        answers.flush()
        for line in sys.stdin:
            answers.write(json.dumps(_do(env, json.loads(line))) + "\n")
            answers.flush()


def _do(env: WebEnv, told: dict[str, str]) -> dict[str, Any]:
    act = told["act"]
    if act == "open":
        shown = env.reset(_task(told["url"]))
        links = [each.url for each in shown.elements if each.role == "link" and each.url[:1] == "/" != each.url]
        return {"seconds": 0.0, "url": shown.url, "links": list(dict.fromkeys(links))}
    if act == "where":
        assert env.observation is not None
        return {"seconds": 0.0, "url": env.observation.url}
    if act == "click":
        assert env.observation is not None
        action = next(f"click [{each.id}]" for each in env.observation.elements if each.url == told["url"])
    else:
        action = _ACTIONS[act]
    began = time.perf_counter()
    result = env.step(action)
    seconds = time.perf_counter() - began
    if result.error is not None and not act.startswith("scroll"):  # a short page stays, and is read
        return {"error": f"{action}: {result.error}"}
    return {"seconds": seconds, "url": result.observation.url}


def _task(url: str) -> Task:
    judged = {"eval_types": ["string_match"], "reference_answers": {"exact_match": "done"}}
    raw = {"sites": ["pages_0"], "task_id": 0, "intent": "Look.", "start_url": url, "eval": judged}
    return Task.read(raw, source=Path(__file__))


if __name__ == "__main__":
    main()
