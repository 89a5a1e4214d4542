"""Agents are files, loaded by name or path."""

from __future__ import annotations

from pathlib import Path

import pytest

from confkv_agents.errors import ConfKVError, PluginError
from confkv_agents.evaluation.agents import load_agent, open_agent
from tests.evaluation.fakes import FakeTask

SOURCE = """
NEEDS_MODEL = {needs}

class Agent:
    def __init__(self, model, loud):
        self.model, self.loud = model, loud

def create_agent(model, *, loud=False):
    return Agent(model, loud)
"""


@pytest.fixture
def agent_file(tmp_path: Path) -> Path:
    path = tmp_path / "shouter.py"
    path.write_text(SOURCE.format(needs=True))
    return path


def test_the_packages_agents_are_found_by_name():
    assert open_agent("react").needs_model is True
    assert open_agent("oracle").needs_model is False


def test_an_agent_is_made_from_a_path_with_options(agent_file: Path):
    agent = load_agent(str(agent_file), model="m", loud=True)
    assert (agent.model, agent.loud) == ("m", True)  # type: ignore[attr-defined]


def test_an_agent_that_needs_a_model_is_refused_without(agent_file: Path):
    with pytest.raises(PluginError, match="needs a chat model"):
        load_agent(str(agent_file))


def test_an_unknown_option_is_named_with_those_there_are(agent_file: Path):
    with pytest.raises(PluginError, match=r"no option 'quiet'; it has: loud"):
        load_agent(str(agent_file), model="m", quiet=True)


@pytest.mark.parametrize("source", ["x = 1", "create_agent = 3", "def broken(:", "import no_such_module_here"])
def test_a_file_that_is_no_agent_is_refused(tmp_path: Path, source: str):
    path = tmp_path / "odd.py"
    path.write_text(source)
    with pytest.raises(PluginError, match=r"odd\.py"):
        open_agent(str(path))


def test_an_unknown_name_lists_those_there_are():
    with pytest.raises(PluginError, match=r"oracle, pilot, react"):
        open_agent("nobody")


def test_an_agent_may_refuse_a_task_before_anything_starts():
    with pytest.raises(ConfKVError, match="oracle"):
        load_agent("oracle", task=FakeTask())  # type: ignore[arg-type]
