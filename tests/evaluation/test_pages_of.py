"""An agent without a model plays on the pages that another agent and a model would be shown."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from confkv_agents.cache import CacheConfig
from confkv_agents.errors import ConfigError
from confkv_agents.evaluation import preparing
from confkv_agents.evaluation.agents import open_agent
from confkv_agents.evaluation.batch.options import BatchOptions
from confkv_agents.evaluation.bench import replay_command
from confkv_agents.evaluation.options import PlayOptions
from confkv_agents.plugins import find_task
from confkv_agents.web.surroundings import Surroundings
from confkv_agents.web.tasks import Task, load_tasks
from tests.engine.test_loading import saved
from tests.engine.tiny import tiny_llama, tiny_pilot


@pytest.fixture(scope="module")
def tasks() -> list[Task]:
    return load_tasks(find_task("shop/read_sku"))


@pytest.mark.parametrize("agent", ["pilot", "react"])
@pytest.mark.parametrize("make", [tiny_llama, tiny_pilot])
def test_pages_are_those_of_a_run_of_the_other_agent(make: Any, agent: str, tmp_path: Path, tasks: list[Task]) -> None:
    model = saved(make(), tmp_path)
    live = PlayOptions(agent=agent, model=model)
    chat = preparing.make_model(live, CacheConfig(policy="full"))
    expected = preparing.observation_config(live, tasks, chat, open_agent(agent))
    options = PlayOptions(agent="oracle", pages_of=agent, model=model)
    found = preparing.observation_config(options, tasks, None, open_agent("oracle"))
    for name in ("format", "max_tokens", "max_name", "max_options", "marks", "pictures", "min_picture", "screenshots"):
        assert getattr(found, name) == getattr(expected, name), name
    text = "link 'Red Canvas Backpack' [12]"
    assert found.count_tokens(text) == expected.count_tokens(text) == chat.get_num_tokens(text)
    known = preparing.configuration_of(options, open_agent("oracle"), found, None, None)
    assert (known["pages_of"], known["pages"]["format"]) == (agent, expected.format) and known["model"] is None
    chat.close()


def test_an_agent_with_a_model_has_pages_of_its_own(tasks: list[Task]) -> None:
    options = PlayOptions(agent="react", pages_of="pilot")
    with pytest.raises(ConfigError, match="for agents that use no model, such as oracle; 'react' has pages of its own"):
        preparing.check_agent(open_agent("react"), tasks, options, Surroundings(frozenset(), None))  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="works on this machine"):
        BatchOptions(tasks=("shop",), pages_of="pilot", backend="ray")


def test_a_suite_is_recorded_for_the_agent_and_the_model_that_are_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    suite = tmp_path / "some.toml"
    suite.write_text('tasks = ["shop/read_sku"]\n')
    given: list[BatchOptions] = []

    class Recorded:
        directory = tmp_path / "eval"
        summary: dict[str, Any] = {"infra_errors": []}  # noqa: RUF012

    def run(options: BatchOptions, **_: Any) -> type[Recorded]:
        given.append(options)
        return Recorded

    monkeypatch.setattr("confkv_agents.evaluation.batch.running.run_batch", run)
    assert replay_command._record(suite, "pilot", "tiny", tmp_path) == tmp_path / "eval"
    replay_command._record(suite, None, "embedded", tmp_path)
    assert [(each.agent, each.pages_of, each.model) for each in given] == [
        ("oracle", "pilot", "tiny"), ("oracle", "react", "embedded"),
    ]  # fmt: skip
    Recorded.summary = {"infra_errors": [{}]}
    with pytest.raises(ConfigError, match="could not be recorded"):
        replay_command._record(suite, "pilot", "tiny", tmp_path)
