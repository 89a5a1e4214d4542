"""The package imports fast, agrees with its metadata, and declares and pins what it uses."""

from __future__ import annotations

import ast
import importlib
import importlib.metadata
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

import confkv_agents

ROOT = Path(__file__).resolve().parent.parent
HEAVY = {"torch", "transformers", "playwright", "langchain", "langchain_core", "matplotlib", "numpy", "PIL"}
CODE = ("confkv_agents", "agents", "envs")


def modules_after(code: str) -> set[str]:
    """Top-level modules loaded in a fresh interpreter after running some code."""
    report = "import sys; print('\\n'.join(sorted({name.partition('.')[0] for name in sys.modules})))"
    done = subprocess.run(
        [sys.executable, "-c", f"{code}\n{report}"], capture_output=True, text=True, check=True, timeout=120
    )
    return set(done.stdout.split())


def pyproject() -> dict[str, object]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def normalized(requirement: str) -> str:
    name = re.split(r"[^A-Za-z0-9._-]", requirement, maxsplit=1)[0]
    return re.sub(r"[-_.]+", "-", name).lower()


def sources() -> Iterator[Path]:
    for folder in CODE:
        yield from sorted((ROOT / folder).rglob("*.py"))


def imported_names(path: Path) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            names.add(node.module)
    return names


def test_importing_the_package_loads_nothing_heavy() -> None:
    assert modules_after("import confkv_agents") & (HEAVY | {"pydantic", "rich", "typer"}) == set()


def test_help_of_the_command_loads_nothing_heavy() -> None:
    code = """
import contextlib, io, sys
sys.argv = ["confkv-agent", "--help"]
from confkv_agents.cli import main
with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.suppress(SystemExit):
    main()
assert "run" in out.getvalue()
"""
    assert modules_after(code) & HEAVY == set()


def test_version_is_the_installed_one() -> None:
    assert importlib.metadata.version("confkv-agents") == confkv_agents.__version__


@pytest.mark.parametrize("name", sorted(set(confkv_agents.__all__) - {"__version__"}))
def test_every_public_name_exists_and_is_listed(name: str) -> None:
    assert getattr(confkv_agents, name).__name__ == name
    assert name in dir(confkv_agents)


def test_lazy_names_and_public_names_agree() -> None:
    assert set(confkv_agents._LAZY) | {"__version__"} == set(confkv_agents.__all__)
    with pytest.raises(AttributeError, match="no_such_name"):
        _ = confkv_agents.no_such_name


def test_constraints_pin_every_dependency_exactly() -> None:
    lines = [line for line in (ROOT / "constraints.txt").read_text().splitlines() if not line.startswith("#")]
    assert all(re.fullmatch(r"[A-Za-z0-9._-]+==[0-9][A-Za-z0-9.]*", line) for line in lines), lines
    pinned = {normalized(line) for line in lines}
    project = pyproject()
    extras = project["optional-dependencies"]
    assert isinstance(project["dependencies"], list) and isinstance(extras, dict)
    wanted = [*project["dependencies"], *(entry for extra in extras.values() for entry in extra)]
    assert {normalized(entry) for entry in wanted} - {"confkv-agents"} <= pinned


def test_every_imported_package_is_a_declared_dependency() -> None:
    providers = importlib.metadata.packages_distributions()
    project = pyproject()
    dependencies, extras = project["dependencies"], project["optional-dependencies"]
    assert isinstance(dependencies, list) and isinstance(extras, dict)
    optional = [entry for name, entries in extras.items() if name not in ("test", "dev") for entry in entries]
    declared = {normalized(entry) for entry in [*dependencies, *optional]}
    own = {"confkv_agents", *CODE}
    undeclared = {
        f"{path.relative_to(ROOT)}: {name}"
        for path in sources()
        for name in {full.partition(".")[0] for full in imported_names(path)}
        if name not in own
        and name not in sys.stdlib_module_names
        and not declared
        & {normalized(provider) for provider in providers.get(name, [name])}  # an extra may not be installed
    }
    assert undeclared == set()


def test_every_declared_dependency_is_imported_or_explained() -> None:
    # transformers needs accelerate for GGUF, Starlette jinja2 and python-multipart; agents are built with
    # langchain, whose create_agent is what users pair ChatConfKV with.
    explained = {"accelerate", "python-multipart", "jinja2", "langchain"}
    providers = importlib.metadata.packages_distributions()
    imported = {full.partition(".")[0] for path in sources() for full in imported_names(path)}
    used = {
        normalized(provider) for name in imported for provider in providers.get(name, [name])
    }  # an extra may not be installed
    dependencies = pyproject()["dependencies"]
    assert isinstance(dependencies, list)
    assert {normalized(entry) for entry in dependencies} - explained - used == set()
