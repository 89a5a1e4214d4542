"""Calls of one answer pass in its order, whatever thread comes first."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

import pytest

from confkv_agents.turnstile import Turnstile

ORDER = ["a", "b", "c", "d"]


def in_threads(calls: list[str], visit: Callable[[str], None]) -> None:
    """Start a thread per call in this order, and wait for all."""
    threads = [threading.Thread(target=visit, args=(call,), daemon=True) for call in calls]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
        assert not thread.is_alive()


@pytest.mark.parametrize("arriving", [ORDER, ORDER[::-1], ["c", "a", "d", "b"]])
def test_they_pass_in_the_answers_order_one_at_a_time(arriving: list[str]) -> None:
    turnstile, passed, inside = Turnstile(), [], []

    def visit(call: str) -> None:
        with turnstile.passing(ORDER, call) as first:
            inside.append(call)
            passed.append((call, first))
            assert len(inside) == 1
            inside.remove(call)

    in_threads(arriving, visit)
    assert passed == [("a", True), ("b", False), ("c", False), ("d", False)]


def test_one_that_never_arrives_is_given_up_and_said(caplog: pytest.LogCaptureFixture) -> None:
    turnstile = Turnstile(patience=0.01)
    with caplog.at_level(logging.WARNING), turnstile.passing(ORDER, "b") as first:
        assert first
    assert "without 1 of an answer's calls" in caplog.text


def test_an_error_inside_lets_the_next_one_pass() -> None:
    turnstile = Turnstile()
    with pytest.raises(ValueError, match="oh"), turnstile.passing(ORDER, "a"):
        raise ValueError("oh")
    with turnstile.passing(ORDER, "b") as first:
        assert not first


def test_another_answer_and_calls_of_unknown_order_pass_at_once() -> None:
    turnstile = Turnstile()
    with turnstile.passing(ORDER, "a"):
        pass
    for order, call in ((["x", "y"], "x"), ([], None), (["x"], "not of them")):
        with turnstile.passing(order, call) as first:
            assert first
