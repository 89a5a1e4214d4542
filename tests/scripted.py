"""A scripted engine: real sessions, tokens, grammars and caches of a tiny model, and answers given by a function."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import torch

from confkv_agents.engine.job import Job
from confkv_agents.engine.request import Request
from confkv_agents.engine.tools import MARKERS, Tool, call_text

Reply = Callable[[Request], str]


class ScriptedJob(Job):
    """A job whose logits point at the scripted tokens; install it with `install`."""

    reply: Reply

    def choose(self) -> torch.Tensor:
        if not hasattr(self, "_script"):
            special = {
                token.content: number
                for number, token in self._loaded.tokenizer.added_tokens_decoder.items()
                if token.special and token.content in MARKERS
            }
            text = self.reply(self.stream.request)
            self._script = [*self._encoder.marked_ids(text, special), self._loaded.tokenizer.eos_token_id]
        said = torch.full_like(self.logits, -20.0)
        said[self._script[min(len(self._ids), len(self._script) - 1)]] = 20.0
        self._logits = said
        return super().choose()


def install(monkeypatch: Any, reply: Reply) -> None:
    """Make every engine answer by a function while the test runs."""
    scripted = type("ScriptedJob", (ScriptedJob,), {"reply": staticmethod(reply)})
    monkeypatch.setattr("confkv_agents.engine.engine.Job", scripted)


def obliging(request: Request) -> str:
    """A model that does what it is asked: calls the tool, fills in the schema, or says hello."""
    last = request.turns[-1]
    use = request.tools
    if request.schema is not None:
        return as_json(request.schema, last.text)
    if use is not None and use.callable and (use.choice == "any" or "weather" in last.text) and last.role != "tool":
        tool = use.callable[0]
        return call_text("hermes", tool.name, arguments(tool, last.text))
    return "Hello, you and I are well."


def arguments(tool: Tool, text: str) -> dict[str, Any]:
    """Arguments for a tool: names in quotes are copied from the text."""
    return instance(tool.parameters, text) or {}


def as_json(schema: dict[str, Any], text: str) -> str:
    """JSON text of an object that fits a schema."""
    return json.dumps(instance(schema, text), ensure_ascii=False)


def instance(schema: dict[str, Any], text: str) -> Any:
    """A value that fits a simple schema."""
    if "anyOf" in schema:
        return instance(schema["anyOf"][0], text)
    if "enum" in schema:
        return schema["enum"][0]
    kind = schema.get("type", "string")
    if kind == "object":
        return {name: instance(part, text) for name, part in (schema.get("properties") or {}).items()}
    if kind == "array":
        return [instance(schema["items"], text)]
    if kind == "string":
        quoted = re.search(r"'([^']+)'", text)
        return quoted[1] if quoted else "a cat"
    return {"integer": 3, "number": 3, "boolean": True, "null": None}[kind]
