"""A small environment and agent that keep their contracts without a browser or a model."""

from __future__ import annotations

import io
from dataclasses import dataclass, field, replace
from typing import Any

from PIL import Image, ImageDraw

from confkv_agents.evaluation.agents import Decision


@dataclass(frozen=True)
class FakeElement:
    id: int
    role: str
    name: str
    box: tuple[float, float, float, float] = (40, 60, 200, 40)


@dataclass(frozen=True)
class FakeObservation:
    text: str
    elements: tuple[FakeElement, ...] = ()
    screenshot: bytes = b""
    marked: bytes | None = None
    url: str = "http://127.0.0.1/"
    outcome: str = ""
    pictures: tuple[Any, ...] = ()
    goal: str = ""


@dataclass(frozen=True)
class FakeAction:
    element: int | None = None


@dataclass(frozen=True)
class FakeStepResult:
    observation: FakeObservation
    action: FakeAction | None
    error: str | None = None
    done: bool = False
    stop_reason: str | None = None
    answer: str | None = None
    refs: tuple[str, ...] = ()


@dataclass(frozen=True)
class FakeCheck:
    name: str
    expected: Any
    got: Any
    ok: bool
    why: str = ""


@dataclass(frozen=True)
class FakeExtension:
    tags: tuple[str, ...] = ()
    from_site: bool = False


@dataclass
class FakeTask:
    key: str = "fake:1"
    intent: str = "Find the red canvas backpack and tell its price"
    sites: tuple[str, ...] = ("shop",)
    start_urls: tuple[str, ...] = ("http://127.0.0.1/",)
    images: tuple[str, ...] = ()
    source: str = "fake.json"
    sha256: str = "0" * 64
    dialect: str = "vwa"
    seed: int | None = 7
    max_steps: int | None = 5
    oracle: tuple[dict[str, Any], ...] = ()
    visual_difficulty: str | None = None
    extension: FakeExtension = FakeExtension()

    def model_copy(self, update: dict[str, Any]) -> FakeTask:
        return replace(self, **update)


def screenshot(text: str = "page", size: tuple[int, int] = (320, 180)) -> bytes:
    image = Image.new("RGB", size, "white")
    ImageDraw.Draw(image).text((20, 20), text, fill="black")
    stream = io.BytesIO()
    image.save(stream, "PNG")
    return stream.getvalue()


@dataclass
class FakeEnv:
    """Answers `stop [x]` by stopping; anything that does not end in a bracket is no action."""

    checks: list[FakeCheck] = field(default_factory=lambda: [FakeCheck("answer", "$34", "$34", ok=True)])
    fail_at: int | None = None
    fail_reset: bool = False
    fail_evaluate: bool = False
    error: Exception = field(default_factory=lambda: RuntimeError("the browser is gone"))
    actions: list[str] = field(default_factory=list)

    def reset(self, task: Any, seed: int | None = None, *, max_steps: int | None = None) -> FakeObservation:
        if self.fail_reset:
            raise self.error
        self.actions.clear()
        return self._observe()

    def step(self, action: str) -> FakeStepResult:
        self.actions.append(action)
        if self.fail_at == len(self.actions):
            raise self.error
        if action.startswith("stop ["):
            return FakeStepResult(self._observe(), FakeAction(), done=True, stop_reason="stop", answer=action[6:-1])
        if not action.endswith("]"):
            return FakeStepResult(self._observe(), None, error="not an action")
        return FakeStepResult(self._observe(f"did {action}"), FakeAction(4))

    def evaluate(self) -> list[FakeCheck]:
        if self.fail_evaluate:
            raise self.error
        return self.checks

    def memory(self) -> dict[str, int]:
        return {"pss_bytes": 400_000_000}

    def _observe(self, outcome: str = "") -> FakeObservation:
        number = len(self.actions) + 1
        return FakeObservation(
            text=f"Page {number}: link 'Red Canvas Backpack' [4]",
            elements=(FakeElement(4, "link", "Red Canvas Backpack"),),
            screenshot=screenshot(f"page {number}"),
            url=f"http://127.0.0.1/{number}",
            outcome=outcome,
        )


def usage(number: int, trace: bool = True) -> dict[str, Any]:
    """What a ChatConfKV decision of this number might cost."""
    low, high = 0.3 + 0.02 * number, 0.9
    return {
        "model_calls": 1,
        "tokens_read": 120,
        "tokens_reused": 120 * (number - 1),
        "tokens_generated": 4,
        "kv_bytes": min(number, 4) * 3_000_000,
        "peak_kv_bytes": min(number, 4) * 3_000_000 + 500_000,
        "full_kv_bytes": number * 3_100_000,
        "budget": {"min": 128, "mean": 300.0, "max": 512},
        "confidence": {"min": low, "mean": 0.6, "max": high},
        "finish_reason": "stop",
        "trace": [[low, 512, 1], [0.6, 300, 1], [high, 128, 1], [None, 128, 1]] if trace else [],
    }


def cache_trace(number: int) -> list[dict[str, Any]]:
    """What the cache of a decision of this number might have done."""
    return [
        {"position": 130 * number, "tokens": 120, "kind": "read", "budget": 512, "kv_bytes": 3_000_000},
        {"position": 130 * number + 120, "tokens": 1, "kind": "decode", "confidence": 0.5, "budget": 300},
    ]


@dataclass
class FakeAgent:
    """Plays a list of action strings; an exception in the list is raised."""

    script: list[str | BaseException]
    with_usage: bool = True
    with_cache_trace: bool = False
    played: int = 0

    def reset(self, task: Any, observation: Any) -> None:
        self.played = 0

    def act(self, observation: Any) -> Decision:
        self.played += 1
        entry = self.script[min(self.played, len(self.script)) - 1]
        if isinstance(entry, BaseException):
            raise entry
        return Decision(
            entry,
            thought=f"thought {self.played}",
            raw=f"thought {self.played}\n{entry}",
            prompt=observation.text,
            usage=self._usage(),
        )

    def _usage(self) -> dict[str, Any]:
        costs = usage(self.played) if self.with_usage else {}
        return costs | ({"cache_trace": cache_trace(self.played)} if self.with_cache_trace else {})
