"""The `func:` form of task files: one call of a known helper, read with `ast` and never evaluated."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from enum import Enum

from confkv_agents.web.evaluators.signatures import SIGNATURES


class CallError(ValueError):
    """A `func:` text is not one call of a known helper with texts and `__page__` as arguments."""


class PageArgument(Enum):
    """Stands for the evaluator's page among a call's arguments."""

    PAGE = "__page__"


@dataclass(frozen=True)
class HelperCall:
    """A parsed call. Arguments are texts (which may hold `__last_url__`) or the page."""

    name: str
    arguments: tuple[str | PageArgument, ...]


def parse_call(text: str, *, allow_page: bool = True) -> HelperCall:
    """Parse `name(__page__, 'text')`.

    Args:
        text: The part after `func:`.
        allow_page: False where no page exists yet (the `url` field).

    Raises:
        CallError: It is anything else, names an unknown helper, or passes other arguments than it takes.
    """
    try:
        node = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise CallError(f"func: {text[:80]!r} is not a call ({error})") from None
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
        raise CallError(f"func: {text[:80]!r} is not one call of a helper")
    name = node.func.id
    signature = SIGNATURES.get(name)
    if signature is None:
        raise CallError(f"func: unknown helper {name!r}; known: {', '.join(sorted(SIGNATURES))}")
    if node.keywords:
        raise CallError(f"func: {name} takes no keyword arguments")
    arguments: list[str | PageArgument] = []
    for argument in node.args:
        if isinstance(argument, ast.Constant) and isinstance(argument.value, str):
            arguments.append(argument.value)
        elif isinstance(argument, ast.Name) and argument.id == PageArgument.PAGE.value and allow_page:
            arguments.append(PageArgument.PAGE)
        else:
            raise CallError(f"func: arguments of {name} are texts in quotes{' or __page__' if allow_page else ''}")
    given = tuple("page" if argument is PageArgument.PAGE else "text" for argument in arguments)
    if given != signature.arguments:
        raise CallError(f"func: {name} takes ({', '.join(signature.arguments)}), not ({', '.join(given)})")
    return HelperCall(name, tuple(arguments))
