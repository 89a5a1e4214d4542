"""Which addresses pages may talk to."""

from __future__ import annotations

import pytest

from confkv_agents.errors import ConfigError
from confkv_agents.web.network import AllowList, host_of


@pytest.mark.parametrize(
    ("url", "allowed"),
    [
        ("http://127.0.0.1:4000/", True),
        ("http://127.0.0.1:4000", True),
        ("http://127.0.0.1:4000?x", True),
        ("ws://127.0.0.1:4000/socket", True),
        ("http://localhost:4000/x", True),
        ("http://127.0.0.1:40000/", False),
        ("http://127.0.0.1:4000@evil.org/", False),
        ("http://evil.org/?http://127.0.0.1:4000/", False),
        ("http://127.0.0.1/", False),
        ("https://example.org/", True),
        ("https://example.org:8443/", True),
        ("https://www.example.org/", False),
        ("https://a.b.wild.org/", True),
        ("https://wild.org/", False),
        ("https://notwild.org/", False),
        ("data:text/html,x", True),
        ("about:blank", True),
        ("file:///etc/passwd", False),
        ("chrome://version", False),
        ("javascript:alert(1)", False),
        ("ftp://example.org/", False),
    ],
)
def test_allowed_addresses(url: str, allowed: bool) -> None:
    assert AllowList(["http://127.0.0.1:4000"], ["example.org", "*.wild.org"]).allows(url) is allowed


def test_no_limit_still_refuses_files() -> None:
    everything = AllowList((), ["*"])
    assert everything.allows("https://anything.org/")
    assert not everything.allows("file:///etc/passwd")
    assert "proxy" not in everything.context_options()


def test_nothing_is_allowed_by_default_and_the_dead_proxy_stands_in_front() -> None:
    nothing = AllowList()
    assert not nothing.allows("http://127.0.0.1/")
    assert nothing.context_options()["proxy"]["bypass"] == ""


@pytest.mark.parametrize("host", ["http://example.org", "example.org/path", "", "a b"])
def test_hosts_of_another_form_are_refused(host: str) -> None:
    with pytest.raises(ConfigError, match="is not a host"):
        AllowList((), [host])


def test_hosts_in_messages_hold_no_credentials() -> None:
    assert host_of("http://user:secret@example.org:80/x") == "example.org:80"
    assert host_of("file:///etc/passwd") == "file:"
