"""The few requests that go to a site outside the browser: JSON in, JSON out, always under a deadline."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from collections.abc import Mapping
from http.cookiejar import CookieJar
from typing import Any
from urllib.parse import urlencode

from confkv_agents.errors import SiteError

# Sites are local or named by the user: an http_proxy variable must not send their traffic elsewhere.
_opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))


def fetch_json(url: str, body: Any = None, *, deadline: float = 10.0, headers: Mapping[str, str] | None = None) -> Any:
    """GET `url`, or POST `body` as JSON; returns the answer's JSON, or None for an empty one.

    Args:
        url: Where.
        body: What to post; None asks.
        deadline: Seconds.
        headers: More headers, such as an authorization; no message repeats them.

    Raises:
        SiteError: No answer within `deadline` seconds, a status other than 2xx, or no JSON.
    """
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, data=data, headers={"Content-Type": "application/json", **(headers or {})})
    try:
        with _opener.open(request, timeout=deadline) as answer:
            text = answer.read()
    except urllib.error.HTTPError as error:
        raise SiteError(f"{url} answered {error.code} {error.reason}") from error
    except (OSError, ValueError) as error:
        raise SiteError(f"{url} did not answer: {error}") from error
    if not text:
        return None
    try:
        return json.loads(text)
    except ValueError as error:
        raise SiteError(f"{url} did not answer with JSON: {error}") from error


def post_form(url: str, fields: Mapping[str, str], *, deadline: float = 10.0) -> None:
    """Post a form.

    Raises:
        SiteError: No answer within `deadline` seconds, or an error status.
    """
    try:
        _opener.open(url, data=urlencode(fields).encode(), timeout=deadline).close()
    except urllib.error.HTTPError as error:
        raise SiteError(f"{url} answered {error.code} {error.reason}") from error
    except (OSError, ValueError) as error:
        raise SiteError(f"{url} did not answer: {error}") from error


def is_healthy(url: str, deadline: float) -> bool:
    """Whether `<url>/__health__` answers 200 within `deadline` seconds."""
    try:
        with _opener.open(f"{url}/__health__", timeout=deadline) as answer:
            return bool(answer.status == 200)
    except (OSError, ValueError):
        return False


def sign_in(url: str, path: str, fields: Mapping[str, str], deadline: float = 10.0) -> list[dict[str, Any]]:
    """Post a login form and return the cookies it sets, in the form Playwright's `add_cookies` takes.

    Raises:
        SiteError: No answer in time, an error status, or no cookie.
    """
    jar = CookieJar()
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}), urllib.request.HTTPCookieProcessor(jar))
    try:
        opener.open(url + path, data=urlencode(fields).encode(), timeout=deadline).close()
    except urllib.error.HTTPError as error:
        raise SiteError(f"signing in at {url}{path} failed: it answered {error.code}") from error
    except (OSError, ValueError) as error:
        raise SiteError(f"signing in at {url}{path} failed: {error}") from error
    if not len(jar):
        raise SiteError(f"signing in at {url}{path} set no cookie")
    return [{"name": cookie.name, "value": cookie.value or "", "url": url + cookie.path} for cookie in jar]
