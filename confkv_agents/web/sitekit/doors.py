"""The doors for tests that every site has: `/__reset__`, `/__state__` and `/__health__`."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from confkv_agents.web.sitekit.database import Database

_LARGEST_ORDER = 4096


def door_routes(read_state: Callable[[sqlite3.Connection, int], dict[str, Any]]) -> list[Route]:
    """The three routes; the application's `state.database` is the site's `Database`.

    Args:
        read_state: Gives everything a check may ask, as JSON values, from the database and the present seed.
    """

    async def reset(request: Request) -> Response:
        body = b""
        async for chunk in request.stream():
            body += chunk
            if len(body) > _LARGEST_ORDER:
                return PlainTextResponse("That is too long.", 413)
        try:
            asked: Any = json.loads(body or b"{}")
        except (ValueError, RecursionError):
            return PlainTextResponse('The body must be JSON, such as {"seed": 7}.', 400)
        database: Database = request.app.state.database
        seed = asked.get("seed", database.seed) if isinstance(asked, dict) else None
        if not isinstance(seed, int) or isinstance(seed, bool):
            return PlainTextResponse("seed must be a whole number.", 400)
        database.reset(seed)
        return Response(status_code=204)

    async def state(request: Request) -> Response:
        database: Database = request.app.state.database
        with database.transaction() as db:
            return JSONResponse(read_state(db, database.seed))

    async def health(_: Request) -> Response:
        return PlainTextResponse("ok")

    return [
        Route("/__reset__", reset, methods=["POST"]),
        Route("/__state__", state),
        Route("/__health__", health),
    ]
