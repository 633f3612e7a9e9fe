"""User sessions that expire when they are not used."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from lastword.durations import Duration
from lastword.errors import ConflictError
from lastword.records import ABSENT
from lastword.table.table import Table

_ID_BYTES = 32


@dataclass(frozen=True, slots=True)
class Session:
    """One session: its secret id, and what the application keeps in it."""

    id: str
    data: Mapping[str, Any]


class SessionStore:
    """Sessions in an owned table with JSON values. Safe to use from any thread and process.

    A session ends ``idle`` after its last use (``"30m"``). Reading one does not count as a use:
    ``touch`` and ``update`` do, and each is a write, so an application calls ``touch`` once in
    a while and not for every request.

    Ids are 256 random bits, created here: anyone who has an id has the session.
    """

    def __init__(self, table: Table, *, idle: Duration = "30m") -> None:
        self.table = table
        self.idle = idle

    def create(self, data: Mapping[str, Any] | None = None) -> Session:
        """A new session; other instances find it by its id."""
        session = Session(secrets.token_urlsafe(_ID_BYTES), dict(data or {}))
        self.table.put(session.id, session.data, if_version=ABSENT, ttl=self.idle)
        return session

    def get(self, session_id: str) -> Session | None:
        """The session, or None if it has ended or never existed."""
        data = self.table.get(session_id)
        return None if data is None else Session(session_id, data)

    def touch(self, session_id: str) -> bool:
        """Restart the idle time; False if the session has ended."""
        return self.update(session_id, {}) is not None

    def update(self, session_id: str, changes: Mapping[str, Any]) -> Session | None:
        """Add ``changes`` to the session and restart the idle time.

        None if the session has ended; a late call does not revive it.
        """
        entry = self.table.entry(session_id)
        while entry is not None:
            data = {**entry.value, **changes}
            try:
                self.table.put(session_id, data, if_version=entry.version, ttl=self.idle)
            except ConflictError as conflict:
                entry = conflict.current  # another process was faster: add to the current value
                continue
            return Session(session_id, data)
        return None

    def end(self, session_id: str) -> None:
        """End a session now, in every instance."""
        self.table.delete(session_id)
