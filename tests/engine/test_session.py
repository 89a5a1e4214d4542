from types import SimpleNamespace
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from confkv_agents.cache import CacheConfig
from confkv_agents.engine.session import Session, SessionStore, common_prefix

FULL = CacheConfig(policy="full")
BOUNDED = CacheConfig(policy="window", budget=128)


class FakeCache:
    """Ten bytes per token; a bounded one cannot be cropped."""

    def __init__(self, config: CacheConfig):
        self.bounded = config.policy != "full"
        self.policy = SimpleNamespace(bounded=self.bounded)
        self.tokens = 0

    @property
    def nbytes(self) -> int:
        return 10 * self.tokens

    def can_crop_to(self, length: int) -> bool:
        return not self.bounded

    def crop_to(self, length: int) -> None:
        self.tokens = length

    def fork(self) -> "FakeCache":
        copy = FakeCache(BOUNDED if self.bounded else FULL)
        copy.tokens = self.tokens
        return copy

    def compact(self) -> None:
        pass

    def reset(self) -> None:
        self.tokens = 0


LOGITS = torch.zeros(0)


def store_of(snapshots: int = 2) -> SessionStore:
    return SessionStore(lambda config: FakeCache(config), snapshots)  # type: ignore[arg-type,return-value]


def feed(store: SessionStore, session: Session, keys: list[int]) -> None:
    cache: Any = session.cache
    session.keys.extend(keys)
    cache.tokens += len(keys)


def turn(
    store: SessionStore,
    prompt: list[int],
    answer: list[int],
    config: CacheConfig = FULL,
    name: str | None = None,
) -> tuple[Session, int, int | None]:
    """What a job does: match, open, read, take a snapshot, answer, release."""
    match = store.match(prompt, config, name)
    session = store.open(match, config, name)
    session.turn_start = len(prompt)
    feed(store, session, prompt[match.reused :])
    store.remember(session, LOGITS, None)
    feed(store, session, answer)
    store.release(session)
    return session, match.reused, match.miss_at


@given(st.lists(st.integers(0, 2), max_size=30), st.lists(st.integers(0, 2), max_size=30))
def test_common_prefix_is_that_of_a_plain_loop(left: list[int], right: list[int]) -> None:
    length = 0
    while length < min(len(left), len(right)) and left[length] == right[length]:
        length += 1
    assert common_prefix(left, right) == length


@pytest.mark.parametrize("config", [FULL, BOUNDED])
def test_a_growing_conversation_reads_only_what_is_new(config: CacheConfig) -> None:
    store = store_of()
    first, reused, _ = turn(store, [1, 2, 3], [4, 5], config)
    assert reused == 0
    second, reused, miss = turn(store, [1, 2, 3, 4, 5, 6, 7], [8], config)
    assert second is first and reused == 5 and miss is None


@pytest.mark.parametrize("config", [FULL, BOUNDED])
def test_a_retry_throws_the_answer_away_and_reads_at_most_one_token(config: CacheConfig) -> None:
    store = store_of()
    first, _, _ = turn(store, [1, 2, 3], [4, 5], config)
    second, reused, miss = turn(store, [1, 2, 3], [9], config)
    assert second is first and reused >= 2 and miss is None
    assert first.keys == [1, 2, 3, 9]


@pytest.mark.parametrize("config", [FULL, BOUNDED])
def test_an_edited_answer_goes_back_to_the_end_of_the_prompt(config: CacheConfig) -> None:
    store = store_of()
    first, _, _ = turn(store, [1, 2, 3], [4, 5], config)
    second, reused, miss = turn(store, [1, 2, 3, 9, 9, 6], [7], config)
    assert second is first and reused == 3 and miss is None


def test_a_foreign_prompt_on_the_same_beginning_leaves_the_conversation_whole() -> None:
    store = store_of()
    main, _, _ = turn(store, [1, 2, 3, 4], [5])
    side, reused, miss = turn(store, [1, 2, 3, 9], [8])
    assert side is not main and (reused, miss) == (3, 3)
    assert main.keys == [1, 2, 3, 4, 5]
    again, reused, _ = turn(store, [1, 2, 3, 4, 5, 6], [7])
    assert again is main and reused == 5


def test_a_conversation_edited_before_the_snapshots_is_read_again_and_says_where() -> None:
    store = store_of()
    turn(store, [1, 2, 3, 4, 5, 6], [7], BOUNDED)
    _, reused, miss = turn(store, [1, 2, 3, 9, 5, 6], [7], BOUNDED)
    assert (reused, miss) == (0, 3)


def test_another_conversation_is_no_miss() -> None:
    store = store_of()
    turn(store, [1, 2, 3, 4, 5, 6], [7])
    _, _, miss = turn(store, [1, 8, 8, 8, 8, 8], [7])
    assert miss is None


def test_the_name_decides_between_equals_only() -> None:
    store = store_of()
    one, _, _ = turn(store, [1, 2, 3], [4], name="one")
    other, _, _ = turn(store, [8, 8, 8], [4], name="other")
    match = store.match([1, 2, 3, 4, 5], FULL, "other")
    assert match.session is one and match.reused == 4
    assert other is not one


def test_sessions_of_another_configuration_are_not_shared() -> None:
    store = store_of()
    one, _, _ = turn(store, [1, 2, 3], [4])
    two, reused, _ = turn(store, [1, 2, 3, 4], [5], BOUNDED)
    assert two is not one and reused == 0


def test_a_busy_session_is_copied_from_its_snapshot() -> None:
    store = store_of()
    one, _, _ = turn(store, [1, 2, 3], [4], BOUNDED)
    one.busy = True
    two, reused, _ = turn(store, [1, 2, 3, 4, 5], [6], BOUNDED)
    assert two is not one and reused == 3


def test_snapshots_are_bounded() -> None:
    store = store_of(snapshots=2)
    keys = [1, 2, 3]
    for token in range(4, 10):
        session, _, _ = turn(store, keys, [token], BOUNDED)
        keys = [*session.keys, 0]
    assert [snapshot.length for snapshot in session.snapshots] == [11, 13]


def test_room_is_made_snapshots_first_then_by_last_use() -> None:
    store = store_of()
    old, _, _ = turn(store, [1] * 10, [2], BOUNDED)
    new, _, _ = turn(store, [3] * 10, [4], BOUNDED)
    assert store.nbytes == 2 * (110 + 100)
    assert store.make_room(0, 220, None)
    assert not old.snapshots and not new.snapshots and len(list(store)) == 2
    assert store.make_room(100, 220, None)
    assert list(store) == [new]


def test_busy_sessions_are_never_evicted_and_claim_what_they_reserved() -> None:
    store = store_of()
    busy, _, _ = turn(store, [1] * 10, [2])
    busy.busy, busy.reserved = True, 500
    assert store.claimed == 500
    assert not store.make_room(100, 550, None)
    assert list(store) == [busy]


def test_dropping_a_name_forgets_its_idle_sessions() -> None:
    store = store_of()
    turn(store, [1, 2], [3], name="a")
    turn(store, [5, 6], [7], name="b")
    assert store.drop("a") == 1
    assert [info.name for info in store.infos()] == ["b"]
    assert store.drop() == 1 and store.nbytes == 0
