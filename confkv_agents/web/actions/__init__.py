"""What an agent can do: the grammar of actions, and carrying them out on the page."""

from confkv_agents.web.actions.grammar import (
    Action,
    ActionParseError,
    describe_actions,
    format_action,
    parse_action,
)

__all__ = ["Action", "ActionParseError", "describe_actions", "format_action", "parse_action"]
