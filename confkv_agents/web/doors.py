"""The doors of a site that only evaluators may use, `/__state__` and `/__reset__`: locked, and opened by a key.

A site's server makes a key when it starts and answers 404 at both doors to whoever does not send it, so no page and no
agent can read the state through its browser: the key never is in one. The key of a site that another process serves
is taken from `CONFKV_SITE_KEY`. What a check opens at a door (`"url": "__SHOPPING__/__state__"` in a task's file) is
fetched with the key and shown to the evaluators' own page alone.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from confkv_agents.errors import ConfigError, SiteError
from confkv_agents.web.http import fetch_json

VARIABLE = "CONFKV_SITE_KEY"
HEADER = "X-Confkv-Key"
STATE, RESET = "/__state__", "/__reset__"
ANSWER_DEADLINE = 10.0
_LOCKED = frozenset(door.strip("/") for door in (STATE, RESET))

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]


def new_key() -> str:
    """A key that nobody can guess."""
    return secrets.token_urlsafe(24)


def given_key() -> str:
    """The key in `CONFKV_SITE_KEY`; empty where there is none.

    Raises:
        ConfigError: It is shorter than 8 characters, or has others than visible ASCII.
    """
    key = os.environ.get(VARIABLE, "")
    if key and (len(key) < 8 or not all("!" <= character <= "~" for character in key)):
        raise ConfigError(f"{VARIABLE} must be 8 visible ASCII characters or more")
    return key


class Locked:
    """An application (ASGI) whose doors answer 404 to requests that do not send the key.

    Args:
        app: What to serve.
        key: As `new_key` makes one.
    """

    def __init__(self, app: Application, key: str) -> None:
        self._app = app
        self._key = key.encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] == "lifespan" or _first_part(str(scope.get("path", ""))) not in _LOCKED:
            await self._app(scope, receive, send)
            return
        sent = [value for name, value in scope.get("headers", ()) if name.lower() == HEADER.lower().encode()]
        if len(sent) == 1 and secrets.compare_digest(sent[0], self._key):
            await self._app(scope, receive, send)
        elif scope["type"] == "http":
            await send({"type": "http.response.start", "status": 404, "headers": [(b"content-type", b"text/plain")]})
            await send({"type": "http.response.body", "body": b"Not Found"})
        else:
            await send({"type": "websocket.close"})


def _first_part(path: str) -> str:
    return path.strip("/").partition("/")[0].lower()


def reset_site(url: str, seed: int, key: str = "") -> None:
    """`POST /__reset__`. Raises SiteError when the site does not answer or refuses."""
    _ask(url + RESET, key, {"seed": seed})


def site_state(url: str, key: str = "") -> dict[str, Any]:
    """`GET /__state__`. Raises SiteError when the site does not answer, or not with an object."""
    state = _ask(url + STATE, key)
    if not isinstance(state, dict):
        raise SiteError(f"{url}{STATE} did not answer with a JSON object")
    return state


def _ask(door: str, key: str, body: Any = None) -> Any:
    try:
        return fetch_json(door, body, deadline=ANSWER_DEADLINE, headers={HEADER: key} if key else None)
    except SiteError as error:
        if " answered 404 " not in str(error):
            raise
        hint = f"a site that another process serves told its key when it started; set {VARIABLE} to it"
        raise SiteError(f"{error}: {hint}") from error
