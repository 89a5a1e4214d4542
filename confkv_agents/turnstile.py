"""One at a time and in order: what a model asked for together may arrive in any order, from several threads."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

logger = logging.getLogger(__name__)


class Turnstile:
    """Lets the calls of one answer pass one after the other, in the order in which the answer has them.

    Args:
        patience: Seconds to wait for an earlier call that has not arrived: something between the model and here may
            have refused it. One that has arrived is waited for as long as it takes.
    """

    def __init__(self, patience: float = 10.0) -> None:
        self._patience = patience
        self._changed = threading.Condition()
        self._order: tuple[str, ...] = ()
        self._arrived: set[str] = set()
        self._passed: set[str] = set()
        self._inside = False

    @contextmanager
    def passing(self, order: Sequence[str] = (), call: str | None = None) -> Iterator[bool]:
        """Hold the turnstile while the block runs.

        Args:
            order: All calls of the answer; empty if that is not known, and then the first to come passes.
            call: Which of them this one is.

        Yields:
            Whether this is the first call of its answer to pass.
        """
        key = tuple(order) if call in order else ()
        with self._changed:
            if key and key != self._order:
                self._order, self._arrived, self._passed = key, set(), set()
            first = self._await_turn(key, call)
            self._inside = True
        try:
            yield first
        finally:
            with self._changed:
                self._inside = False
                if key and key == self._order and call is not None:
                    self._passed.add(call)
                self._changed.notify_all()

    def others_follow(self, order: Sequence[str], call: str | None, *, wait: bool = True) -> bool:
        """Whether a later call of the same answer is here and has yet to pass; ask while holding the turnstile.

        Args:
            order: As for `passing`.
            call: As for `passing`.
            wait: Give later calls time to arrive, as long as `patience` allows; False where they come one by one.
        """
        if call not in order:
            return False
        later = set(order[order.index(call) + 1 :])
        with self._changed:
            if wait:
                self._changed.wait_for(
                    lambda: not later - self._passed or bool(later & self._arrived - self._passed), self._patience
                )
            return bool(later & self._arrived - self._passed)

    def _await_turn(self, key: tuple[str, ...], call: str | None) -> bool:
        if call is not None and key:
            self._arrived.add(call)
            self._changed.notify_all()
        before = set(key[: key.index(call)]) if key and call is not None else set()
        deadline = time.monotonic() + self._patience
        while True:
            missing = before - self._passed if key == self._order else set()
            waiting = self._inside or bool(missing & self._arrived)
            if not waiting and not missing:
                break
            left = deadline - time.monotonic()
            if not waiting and left <= 0:
                logger.warning("going on without %d of an answer's calls, which did not arrive", len(missing))
                break
            self._changed.wait(None if waiting else left)
        return not key or not self._passed
