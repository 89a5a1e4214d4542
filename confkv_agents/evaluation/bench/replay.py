"""`confkv-agent replay`: recorded episodes put to every policy on identical inputs, teacher-forced.

At each step the conversation that an agent would have had is read into the policy's cache, evictions active, and the
recorded reply is fed token by token as a model's own would be. So two policies differ in nothing but what their caches
kept, and a model too weak to finish a task still tells them apart.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import InitVar, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from confkv_agents.cache import CacheConfig
from confkv_agents.evaluation.agents import open_agent
from confkv_agents.evaluation.bench.forcing import Told, replay
from confkv_agents.evaluation.bench.policies import REFERENCE
from confkv_agents.evaluation.bench.recorded import RecordedEpisode
from confkv_agents.evaluation.bench.replay_summary import summed
from confkv_agents.evaluation.bench.retelling import Asked, Scored, retell
from confkv_agents.evaluation.bench.suite import Common, Item, Row, Setup
from confkv_agents.evaluation.files import sha256_of

if TYPE_CHECKING:
    from rich.table import Table

AGENT = "react"
_SOURCES = ("forcing.py", "recorded.py", "retelling.py", "teacher.py", "turn_reading.py")


@dataclass
class ReplayBench:
    """Replays episodes under every policy.

    Args:
        common: What every benchmark is told; `limit` is the most episodes.
        episodes: What to replay.
        max_steps: Most steps of each, or None.
        agent: Whose conversations are held; by default those of who played where that is one agent with a model.
        pictures: What a model that sees is shown, see `retell`.
        scored: What of a reply is scored, see `retell`.
    """

    common: Common
    episodes: InitVar[Sequence[RecordedEpisode]]
    max_steps: int | None = None
    agent: str | None = None
    pictures: str | None = None
    scored: Scored | None = None
    name = "replay"
    reads_texts = False

    def __post_init__(self, episodes: Sequence[RecordedEpisode]) -> None:
        self._episodes = list(episodes)
        self._agent = open_agent(self.agent or _agent_of(self._episodes))
        self.agent = self._agent.name
        self._reference: tuple[str, list[Told]] = ("", [])

    def settings(self) -> dict[str, Any]:
        """Return what figures depend on: agent, code, steps."""
        path = self._agent.path
        files = {each.name: sha256_of(each)[:16] for each in {path, path.with_name("react.py")} if each.is_file()}
        folder = Path(__file__).parent
        return {
            "agent": files,
            "max_steps": self.max_steps,
            "pictures": self.pictures,
            "scored": self.scored,
            "code": {name: sha256_of(folder / name)[:16] for name in _SOURCES},
        }

    def items(self, setup: Setup) -> list[Item]:
        """Return every episode under every policy; one episode's policies follow each other."""
        chosen = self._episodes[: self.common.limit]
        for episode in chosen:
            self._asked(setup, episode)  # what does not fit the agent is refused before anything is measured
        return [
            Item(f"{episode.name}@{episode.sha256[:8]} {label}", {"place": place, "policy": label})
            for place, episode in enumerate(chosen)
            for label in setup.configs
        ]

    def measure(self, setup: Setup, item: Item) -> Row:
        """Replay one episode under one policy, and full KV's first if it is not known yet."""
        episode, label = self._episodes[item.what["place"]], item.what["policy"]
        if self._reference[0] != episode.sha256:  # of the latest episode only: distributions take room
            config = setup.configs.get(REFERENCE, CacheConfig(policy=REFERENCE))
            self._reference = (episode.sha256, replay(setup.loaded, self._asked(setup, episode), config))
        reference = self._reference[1]
        own = reference
        if label != REFERENCE:
            own = replay(setup.loaded, self._asked(setup, episode), setup.configs[label])
        return {
            "episode": episode.name,
            "policy": label,
            "steps": [mine.figures(full) for mine, full in zip(own, reference, strict=True)],
            "left_out": len(self._asked(setup, episode)) - len(own),
        }

    def _asked(self, setup: Setup, episode: RecordedEpisode) -> list[Asked]:
        sees = setup.loaded.takes_pictures
        asked = retell(episode, self._agent, sees=sees, pictures=self.pictures, scored=self.scored)
        return asked[: self.max_steps]

    def summarize(self, setup: Setup, rows: Sequence[Row]) -> dict[str, Any]:
        """Return figures by policy, and by policy and step."""
        labels = [label for label in setup.configs if any(row["policy"] == label for row in rows)]
        own = {label: [row for row in rows if row["policy"] == label] for label in labels}
        return {
            "agent": self.agent,
            "model": setup.loaded.name,
            "budget": setup.common.budget,
            "budget_bytes": setup.equal_bytes,
            "episodes": len({row["episode"] for row in rows}),
            "left_out": sum(row["left_out"] for row in own[labels[0]]),
            "policies": {label: summed(own[label], own.get(REFERENCE, [])) for label in labels},
        }

    def tables(self, summary: Mapping[str, Any]) -> list[Table]:
        """Return one table."""
        from confkv_agents.evaluation.bench.replay_views import replay_table

        return [replay_table(summary)]

    def plot(self, summary: Mapping[str, Any], path: Path) -> None:
        """Draw bytes and likelihood over the steps."""
        from confkv_agents.evaluation.bench.replay_views import replay_plot

        replay_plot(summary, path)

    def write(self, summary: Mapping[str, Any], folder: Path) -> None:
        """Write the table as `table.md` and `table.csv`."""
        from confkv_agents.evaluation.bench.replay_views import write_tables

        write_tables(summary, folder)


def _agent_of(episodes: Sequence[RecordedEpisode]) -> str:
    """Who played, if that is one agent of the package with a model; else the agent that pages were recorded for."""
    played = {episode.agent for episode in episodes if episode.configuration.get("model")}
    wanted = {episode.configuration.get("pages_of") for episode in episodes} - {None}
    named = played or wanted
    return str(named.pop()) if len(named) == 1 else AGENT
