"""What an agent can do: the grammar of actions, and carrying them out on the page."""

from confkv_agents.web.actions.arguments import action_of, action_schema
from confkv_agents.web.actions.grammar import (
    Action,
    ActionParseError,
    describe_actions,
    format_action,
    parse_action,
)
from confkv_agents.web.actions.verbs import VERBS

__all__ = [
    "VERBS",
    "Action",
    "ActionParseError",
    "action_of",
    "action_schema",
    "describe_actions",
    "format_action",
    "parse_action",
]
