"""Sessions: what was read, the cache that holds it, and where it can be taken up again."""

from __future__ import annotations

import itertools
import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import torch

from confkv_agents.errors import CacheStateError

if TYPE_CHECKING:
    from confkv_agents.cache import CacheConfig, ConfKVCache
    from confkv_agents.engine.misses import Asked

logger = logging.getLogger(__name__)


@dataclass
class Snapshot:
    """A copy of a session's cache at the end of a prompt, with the logits of the next token, `[V]`."""

    length: int
    cache: ConfKVCache
    logits: torch.Tensor

    @property
    def nbytes(self) -> int:
        """Bytes held."""
        return int(self.cache.nbytes) + self.logits.nbytes


@dataclass(eq=False)
class Session:
    """One conversation's tokens and cache.

    Attributes:
        name: Given by the caller, or made up.
        config: How its cache spends memory; a session serves requests of an equal configuration only.
        cache: Holds exactly the tokens of `keys`, as far as the policy kept them.
        keys: What was fed, in order: token ids, and hashes in place of picture placeholders.
        snapshots: Places to go back to when the cache itself cannot be cropped, oldest first.
        turn_start: Length of the prompt that was read last; what follows is the model's own answer.
        busy: A request runs on it.
        last_used: Order of use, for eviction.
        reserved: Bytes that a running request may come to need.
        asked: What it was asked last, to say what changed.
        own: Keys of the model's own turns in it.
        warned: Whether it was said that little of it could be used again.
    """

    name: str
    config: CacheConfig
    cache: ConfKVCache
    keys: list[int] = field(default_factory=list)
    snapshots: list[Snapshot] = field(default_factory=list)
    turn_start: int = 0
    busy: bool = False
    last_used: int = 0
    reserved: int = 0
    asked: Asked | None = None
    own: tuple[bytes, ...] = ()
    warned: bool = False

    @property
    def nbytes(self) -> int:
        """Bytes held by the cache and its snapshots."""
        return int(self.cache.nbytes) + sum(snapshot.nbytes for snapshot in self.snapshots)

    @property
    def claimed(self) -> int:
        """Bytes held, or reserved if that is more."""
        return max(self.nbytes, self.reserved)


@dataclass(frozen=True)
class SessionInfo:
    """What a session holds, to be shown to people."""

    name: str
    tokens: int
    nbytes: int
    busy: bool


@dataclass
class Match:
    """How a prompt continues what is there.

    Attributes:
        session: The nearest session, or `None` if a new one starts from nothing.
        reused: Prompt tokens that need not be read.
        snapshot: The snapshot to go back to; `None` if the session's cache is used as it is or cropped.
        in_place: Whether the session itself continues; else a copy does, and the session stays as it was.
        miss_at: First prompt token that departs from what the nearest session had read, if it makes a
            difference.
        missed: That session.
        missed_tokens: Tokens it held.
    """

    session: Session | None = None
    reused: int = 0
    snapshot: Snapshot | None = None
    in_place: bool = False
    miss_at: int | None = None
    missed: Session | None = None
    missed_tokens: int = 0


class SessionStore:
    """All sessions of an engine: found by longest common prefix, evicted by last use. Engine's thread only.

    Args:
        make_cache: Makes an empty cache of a configuration.
        snapshots: How many snapshots a session keeps.
        sessions: How many sessions are kept while no bound of bytes asks for fewer; running ones always are.
    """

    def __init__(self, make_cache: Callable[[CacheConfig], ConfKVCache], snapshots: int = 2, sessions: int = 8):
        self._make_cache = make_cache
        self._keep_sessions = sessions
        self._keep_snapshots = snapshots
        self._sessions: list[Session] = []
        self._clock = itertools.count(1)
        self._names = itertools.count(1)

    def __iter__(self) -> Iterator[Session]:
        return iter(self._sessions)

    @property
    def nbytes(self) -> int:
        """Bytes held by all sessions."""
        return sum(session.nbytes for session in self._sessions)

    @property
    def claimed(self) -> int:
        """Bytes held or reserved by all sessions."""
        return sum(session.claimed for session in self._sessions)

    def match(self, keys: Sequence[int], config: CacheConfig, name: str | None, asked: Asked | None = None) -> Match:
        """Find the session that spares the most reading.

        A session continues in place if the prompt departs from it, if at all, within the model's own last
        answer: a retry or an edited answer. A prompt that departs earlier gets a copy, so that another
        caller's prompt on the same beginning, such as a summary, does not destroy the conversation.

        Args:
            keys: The prompt's keys.
            config: The cache configuration asked for.
            name: The session's name if the caller gave one; decides between equals only.
            asked: What is asked, to tell a changed conversation from another one where the caller gave no name.
        """
        fitting = [session for session in self._sessions if session.config == config]
        common = {id(session): common_prefix(session.keys, keys) for session in fitting}
        best = Match()
        best_rank: tuple[int, bool, bool, int] = (0, False, False, 0)
        for session in fitting:
            candidate = self._reuse(session, keys, common[id(session)])
            rank = (candidate.reused, session.name == name, candidate.in_place, session.last_used)
            if candidate.reused and rank > best_rank:
                best, best_rank = candidate, rank
        missed = self._miss(fitting, common, len(keys), best.reused, name, asked)
        if missed is not None:
            best.miss_at, best.missed, best.missed_tokens = common[id(missed)], missed, len(missed.keys)
        return best

    def open(self, match: Match, config: CacheConfig, name: str | None) -> Session:
        """Make the session of a match ready: cropped, rolled back, copied or new; it is busy then."""
        session = match.session
        if session is None:
            session = Session(self._name(name), config, self._make_cache(config))
            self._sessions.append(session)
        elif not match.in_place:
            session = self._branch(session, match, name)
        elif match.snapshot is not None:
            session.cache.reset()
            session.cache = match.snapshot.cache.fork()
            del session.keys[match.snapshot.length :]
        else:
            self._crop(session, match.reused)
        if name is not None:
            session.name = name
        session.snapshots = [snapshot for snapshot in session.snapshots if snapshot.length <= match.reused]
        session.busy = True
        session.last_used = next(self._clock)
        self._evict_surplus()
        return session

    def release(self, session: Session) -> None:
        """End a request's hold on a session."""
        session.busy, session.reserved, session.cache.trace = False, 0, None
        session.last_used = next(self._clock)
        with suppress(ValueError):
            if not session.keys:
                self._sessions.remove(session)

    def remember(self, session: Session, logits: torch.Tensor, bound: int | None) -> None:
        """Take a snapshot at the end of a prompt, unless the cache can be cropped or memory forbids it.

        Args:
            session: The session, its prompt just read.
            logits: Raw logits of the next token, `[V]`.
            bound: Most bytes all sessions may hold.
        """
        if not session.cache.policy.bounded or self._keep_snapshots < 1:
            return
        session.cache.compact()
        length = len(session.keys)
        session.snapshots = [snapshot for snapshot in session.snapshots if snapshot.length != length]
        while len(session.snapshots) >= self._keep_snapshots:
            _free([session.snapshots.pop(0)])
        size = session.cache.nbytes + logits.nbytes
        if bound is not None and self.claimed - session.claimed + session.nbytes + size > bound:
            return
        session.snapshots.append(Snapshot(length, session.cache.fork(), logits.clone()))

    def make_room(self, needed: int, bound: int, keep: Session | None) -> bool:
        """Evict until `needed` more bytes fit below `bound`.

        Idle sessions lose their snapshots first, then go as a whole, least recently used first; the kept
        session loses its snapshots last.

        Args:
            needed: Bytes about to be used.
            bound: Most bytes all sessions may hold.
            keep: A session that must stay.

        Returns:
            Whether they fit.
        """
        idle = sorted(
            (session for session in self._sessions if not session.busy and session is not keep),
            key=lambda session: session.last_used,
        )
        for session in idle:
            if self.claimed + needed <= bound:
                return True
            _free(session.snapshots)
            session.snapshots.clear()
        for session in idle:
            if self.claimed + needed <= bound:
                return True
            logger.info("session %s is evicted: %d bytes over the bound", session.name, self.claimed + needed - bound)
            self._forget(session)
        if keep is not None:
            while keep.snapshots and self.claimed + needed > bound:
                keep.snapshots.pop(0)
        return self.claimed + needed <= bound

    def _forget(self, session: Session) -> None:
        """Let go of a session and of its memory, now: a cache and its layers hold each other until collected."""
        with suppress(ValueError):
            self._sessions.remove(session)
        _free([session, *session.snapshots])

    def _evict_surplus(self) -> None:
        """Forget the idle sessions not used for longest, until there are no more than are kept."""
        idle = sorted((one for one in self._sessions if not one.busy), key=lambda one: one.last_used)
        for session in idle[: max(0, len(self._sessions) - self._keep_sessions)]:
            logger.info("session %s is evicted: more than %d sessions", session.name, self._keep_sessions)
            self._forget(session)

    def add(self, session: Session) -> None:
        """Take in a session that was read from a file."""
        session.last_used = next(self._clock)
        self._sessions.append(session)
        self._evict_surplus()

    def drop(self, name: str | None = None) -> int:
        """Forget the idle sessions of a name, or all idle ones; returns how many."""
        gone = [session for session in self._sessions if not session.busy and name in (None, session.name)]
        for session in gone:
            self._forget(session)
        return len(gone)

    def discard(self, session: Session) -> None:
        """Forget a session whose cache can no longer be trusted."""
        self._forget(session)

    def infos(self) -> list[SessionInfo]:
        """What each session holds, most recently used first."""
        ordered = sorted(self._sessions, key=lambda session: -session.last_used)
        return [SessionInfo(s.name, len(s.keys), s.nbytes, s.busy) for s in ordered]

    def _branch(self, old: Session, match: Match, name: str | None) -> Session:
        """A new session that starts as a copy of another one's beginning."""
        source = match.snapshot.cache if match.snapshot else old.cache
        length = match.snapshot.length if match.snapshot else len(old.keys)
        session = Session(self._name(name), old.config, source.fork(), old.keys[:length])
        self._crop(session, match.reused)
        session.turn_start = match.reused
        self._sessions.append(session)
        return session

    def _name(self, name: str | None) -> str:
        return name if name is not None else f"session-{next(self._names)}"

    def _reuse(self, session: Session, keys: Sequence[int], common: int) -> Match:
        """The most one session can spare; at least one token is read unless a snapshot has its logits."""
        in_place = not session.busy and common >= min(session.turn_start, len(session.keys))
        wanted = min(common, len(keys) - 1)
        best = Match()
        worth_a_copy = in_place or wanted * 4 >= len(session.keys)
        if not session.busy and wanted > 0 and worth_a_copy and self._can_crop(session, wanted):
            best = Match(session, wanted, None, in_place)
        for snapshot in session.snapshots:
            if snapshot.length <= common and snapshot.length > best.reused:
                best = Match(session, snapshot.length, snapshot, in_place)
        return best

    @staticmethod
    def _can_crop(session: Session, length: int) -> bool:
        return length == len(session.keys) or bool(session.cache.can_crop_to(length))

    @staticmethod
    def _crop(session: Session, length: int) -> None:
        if length == len(session.keys):
            return
        if length > len(session.keys):
            raise CacheStateError(f"session {session.name!r} holds {len(session.keys)} tokens, not {length}")
        session.cache.crop_to(length)
        del session.keys[length:]

    @staticmethod
    def _miss(
        fitting: list[Session],
        common: dict[int, int],
        prompt: int,
        reused: int,
        name: str | None,
        asked: Asked | None,
    ) -> Session | None:
        """The session that the prompt departs from: the nearest one of that name, or one that shares half of it."""
        near = [session for session in fitting if session.name == name] if name is not None else fitting
        if not near:
            return None
        session = max(near, key=lambda one: common[id(one)])
        if name is None and common[id(session)] * 2 < min(prompt, session.turn_start):
            # another conversation, if it is not one of these with a changed beginning
            changed = [one for one in near if asked and one.asked and asked.continues(one.asked)]
            if not changed:
                return None
            session = max(changed, key=lambda one: one.last_used)
        length = common[id(session)]
        departs = length < min(prompt, session.turn_start)
        rereads = reused < min(length, prompt - 1)
        return session if departs or rereads else None


def _free(holders: Sequence[Session | Snapshot]) -> None:
    for holder in holders:
        holder.cache.reset()


def common_prefix(left: Sequence[int], right: Sequence[int]) -> int:
    """Length of the longest common prefix."""
    low, high = 0, min(len(left), len(right))
    if left[:high] == right[:high]:
        return high
    while low < high:  # invariant: the first `low` are equal, the first `high` are not
        middle = (low + high) // 2
        if left[low : middle + 1] == right[low : middle + 1]:
            low = middle + 1
        else:
            high = middle
    return low
