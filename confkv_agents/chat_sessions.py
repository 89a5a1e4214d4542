"""Sessions of a chat model: which one a call belongs to, and keeping them in files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from pathlib import Path
from typing import TYPE_CHECKING, Any

from langchain_core.runnables.config import RunnableConfig

from confkv_agents.chat_options import cache_config, thread_id_of

if TYPE_CHECKING:
    from confkv_agents.engine import Engine
    from confkv_agents.engine.session import SessionInfo

# Engine's key and session's name of each `with` block around here. A context variable: every task and every thread has
# its own, and a task or a pool of LangChain's inherits it from where it was started.
_BLOCKS: ContextVar[tuple[tuple[str, str], ...]] = ContextVar("confkv_sessions", default=())


class SessionAccess:
    """Part of `ChatConfKV` that concerns its sessions."""

    if TYPE_CHECKING:  # of the chat model
        model: str
        revision: str | None
        dtype: str
        device_map: Any
        engine: Any
        session_id: str | None
        kv_memory: int | None

        def _engine(self) -> Engine: ...

    def sessions(self) -> list[SessionInfo]:
        """What the conversations hold, most recently used first."""
        return self._engine().sessions()

    def drop_session(self, name: str | None = None) -> int:
        """Forget the conversations of a name, or all; returns how many."""
        return self._engine().drop_session(name)

    @contextmanager
    def session(self, name: str) -> Iterator[None]:
        """Name the session of the calls inside of a `with` block, agents' calls included.

        It holds for this thread or task and those that LangChain starts from it, for models of the same weights. A
        call's own `session_id` goes before it; it goes before the model's `session_id` and LangGraph's `thread_id`.

        Args:
            name: The session's name.
        """
        token = _BLOCKS.set((*_BLOCKS.get(), (self._session_key(), name)))
        try:
            yield
        finally:
            with suppress(ValueError):  # a generator that is closed elsewhere: its own context is gone already
                _BLOCKS.reset(token)

    def save_session(self, name: str, path: str | Path) -> None:
        """Write a session to a file, so that `load_session` takes it up, also in another process.

        The file holds what was read and said, pictures as keys and values only; whoever has it has the conversation.

        Args:
            name: The session; `sessions()` tells the names.
            path: The file; one that is there is replaced when the new one is whole.

        Raises:
            SessionFileError: No such session, it is answering, or the file cannot be written.
        """
        self._engine().save_session(name, path)

    def load_session(self, path: str | Path, name: str | None = None) -> SessionInfo:
        """Take up a session from a file: the next call of its conversation reads only what is new.

        Args:
            path: The file.
            name: Another name for it; an idle session of the name is replaced.

        Raises:
            SessionFileError: The file is missing, damaged or no session, of another model, revision, number format or
                cache configuration, or does not fit `kv_memory`.
        """
        return self._engine().load_session(path, cache_config(self), name, self.kv_memory)  # type: ignore[arg-type]

    def _with_session(self, config: RunnableConfig | None, kwargs: dict[str, Any]) -> dict[str, Any]:
        """The call's options with the session's name from its configuration, unless a nearer one is given."""
        name = self._session_name(kwargs, thread_id_of(config))
        return kwargs if name is None else {**kwargs, "session_id": name}

    def _session_name(self, kwargs: Mapping[str, Any], thread: str | None) -> str | None:
        """The nearest name: of the call, of a `with` block, of the model, of the thread."""
        given = kwargs.get("session_id")
        if given is not None:
            return str(given)
        key = self._session_key()
        blocks = [name for block, name in _BLOCKS.get() if block == key]
        return blocks[-1] if blocks else self.session_id if self.session_id is not None else thread

    def _session_key(self) -> str:
        """What two chat models have in common that share sessions."""
        if self.engine is not None:
            return str(self.engine.identity)
        return repr((self.model, self.revision, self.dtype, self.device_map))
