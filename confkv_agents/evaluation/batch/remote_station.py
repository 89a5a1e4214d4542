"""A station in another process: what is sent there, and how it is made of it."""

from __future__ import annotations

import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from confkv_agents.errors import ConfigError, ConfKVError
from confkv_agents.evaluation import preparing
from confkv_agents.evaluation.agents import AgentFile, open_agent
from confkv_agents.evaluation.batch.backends import Station
from confkv_agents.evaluation.batch.identity import sources_of
from confkv_agents.evaluation.batch.options import BatchOptions
from confkv_agents.evaluation.means import load_judges, make_means

if TYPE_CHECKING:
    from confkv_agents.cache import CacheConfig
    from confkv_agents.web.evaluators import Means
    from confkv_agents.web.tasks import Task


@dataclass(frozen=True)
class RemoteStation:
    """Plain values that make the same station anywhere; calling it opens the station there.

    Attributes:
        options: What to run.
        tasks: All tasks, for their sites and for what judges they need.
        configs: Cache configuration by policy's label; None for an agent that uses no model.
        observation: How pages are shown, without a model's way to count.
        access: Fields of `Means` that variables of this machine gave.
        sources: Hashes of the files here, see `identity.sources_of`.
    """

    options: BatchOptions
    tasks: Sequence[Task]
    configs: Mapping[str, CacheConfig | None]
    observation: Any
    access: Mapping[str, Any] = field(repr=False)
    sources: Mapping[str, Any]

    @classmethod
    def of(
        cls,
        options: BatchOptions,
        agent_file: AgentFile,
        tasks: Sequence[Task],
        configs: Mapping[str, CacheConfig | None],
        observation: Any,
        means: Means,
    ) -> RemoteStation:
        """Take what can be sent out of what was checked here."""
        from confkv_agents.web.observation import ObservationConfig

        return cls(
            options,
            tuple(tasks),
            dict(configs),
            replace(observation, count_tokens=ObservationConfig().count_tokens),
            {"shop_access": means.shop_access, "reset_token": means.reset_token},
            sources_of(options, agent_file, tasks),
        )

    def __call__(self) -> Station:
        """Load the model, start browser and sites.

        Raises:
            ConfigError: This machine has other files than the one that began the batch.
            ConfKVError: Something does not start.
        """
        from confkv_agents.evaluation.batch.station import BrowserStation

        options = self.options
        agent_file = open_agent(options.agent)
        self._require_same_files(agent_file)
        means = replace(make_means(options), **self.access)
        observation = self.observation
        models = self._models()
        model = next(iter(models.values()))
        if model is not None:
            observation = replace(observation, count_tokens=model.get_num_tokens)
        load_judges(means, self.tasks, options)
        return BrowserStation(
            preparing.wanted_sites(self.tasks, options.sites),
            observation,
            lambda label: preparing.make_agent(agent_file, models[label], options),
            allow_hosts=options.allow_hosts,
            means=means,
        )

    def _models(self) -> dict[str, Any]:
        """A chat model per policy, on one engine whose weights are loaded."""
        for config in self.configs.values():
            if config is not None:
                preparing.load_weights(preparing.make_model(self.options, config), self.options.model)
                break
        return {
            label: None if config is None else preparing.make_model(self.options, config)
            for label, config in self.configs.items()
        }

    def _require_same_files(self, agent_file: AgentFile) -> None:
        here = platform.node()
        try:
            own = sources_of(self.options, agent_file, self.tasks)
        except (OSError, ConfKVError) as error:
            raise ConfigError(f"the worker on {here} lacks a file of this batch: {error}") from error
        differing = [name for name in self.sources if self.sources[name] != own.get(name)]
        if differing:
            raise ConfigError(
                f"the worker on {here} has other files than the machine that began this batch "
                f"({', '.join(differing)}); install the same version, agent, tasks and model on every machine"
            )
