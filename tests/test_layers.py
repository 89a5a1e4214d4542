"""Imports point down only: cli -> pilot -> evaluation -> (chat_models, web) -> engine -> cache; design in docs/."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import confkv_agents

PACKAGE = Path(confkv_agents.__file__).resolve().parent
LEAVES = {"errors", "plugins", "paths", "amounts", "turnstile", "wheels", "_version"}
# What each part may import besides itself and the leaves. A part that is missing here fails the test.
MAY_IMPORT: dict[str, set[str]] = {
    "errors": set(),
    "plugins": set(),
    "paths": set(),
    "amounts": set(),
    "turnstile": set(),
    "wheels": set(),
    "_version": set(),
    "__init__": set(),  # its public names are loaded on first use
    "cache": set(),
    "engine": {"cache"},
    "messages": {"cache", "engine"},
    "chat_errors": {"cache", "engine"},
    "chat_results": {"cache", "engine", "messages"},
    "chat_fields": {"engine"},
    "chat_profile": {"engine"},
    "chat_tools": {"engine", "chat_fields"},
    "chat_structured": {"chat_errors", "chat_tools"},
    "chat_options": {"cache", "engine", "chat_fields", "chat_tools"},
    "chat_sessions": {"engine", "chat_options"},
    "chat_engine": {"cache", "engine", "messages", "chat_errors", "chat_fields", "chat_options", "chat_tools"},
    "chat_models": {
        *("messages", "engine", "cache", "chat_engine", "chat_errors", "chat_fields", "chat_options"),
        *("chat_profile", "chat_results", "chat_sessions", "chat_structured", "chat_tools"),
    },
    "web": set(),
    "web_tools": {"web"},
    "screenshots": set(),
    "evaluation": {"chat_models", "messages", "engine", "cache", "web"},
    "pilot": {"evaluation", "web", "engine"},
    "cli": {"pilot", "evaluation", "chat_models", "messages", "engine", "cache", "web"},
}
FOREIGN = {  # third-party packages that a part must not know
    "web_tools": {"torch", "transformers", "playwright"},
    "screenshots": {"torch", "transformers", "playwright", "PIL"},
    "cache": {"langchain", "langchain_core", "playwright"},
    "engine": {"langchain", "langchain_core", "playwright"},
    "web": {"torch", "transformers", "langchain", "langchain_core"},
}


def part_of(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imports(path: Path) -> set[str]:
    """Absolute names of the modules a file imports, those for type checkers left out."""
    package = ["confkv_agents", *path.relative_to(PACKAGE).parts[:-1]]
    tree = ast.parse(path.read_text())
    skipped = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
        for statement in node.body
        for inner in ast.walk(statement)
    }
    found: set[str] = set()
    for node in ast.walk(tree):
        if id(node) in skipped:
            continue
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            module = ".".join([*base, *(node.module or "").split(".")]).strip(".")
            found |= {f"{module}.{alias.name}" for alias in node.names}
    return found


FILES = [path for path in sorted(PACKAGE.rglob("*.py")) if "_data" not in path.parts]


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_point_down_only(path: Path) -> None:
    part = part_of(path)
    used = {name.split(".")[1] for name in imports(path) if name.startswith("confkv_agents.")}
    assert used - {part, "__version__"} - LEAVES <= MAY_IMPORT[part]
    foreign = {name.partition(".")[0] for name in imports(path)}
    assert foreign & FOREIGN.get(part, set()) == set()
