"""What a table whose reads are all answered by this instance does about its own writes."""

from __future__ import annotations

import copy
from collections.abc import Collection
from functools import cached_property
from typing import Self

from lastword.errors import ConfigError, LastwordError
from lastword.keyspace import Keyspace
from lastword.records import Position, Version
from lastword.table.partitioned.routing import Routing
from lastword.table.serving import Serving


class LocalTable:
    """A table that this instance has all of: its reads wait for the writes of this process.

    A table that routes its reads asks whoever answers them to wait instead.
    """

    routes = False
    """Whether reads are answered wherever their partitions are, and may have to wait for that."""

    def __init__(self, topic: str, keyspace: Keyspace, serving: Serving) -> None:
        self.topic = topic
        self.keyspace = keyspace
        self._serving = serving
        self._unread = serving.unread
        self._unread_marks = serving.unread.marks

    def admit_write(self, key: bytes) -> None:
        """Raise unless a write to this key will be readable here."""
        self._serving.admit_write((key,))

    def reflect(self, version: Version) -> None:
        """Have later reads reflect a write that was acknowledged."""
        self._unread.reflect(version)

    def unread(self, partitions: Collection[int] | None = None) -> Position:
        """The writes that a read of these partitions, all by default, would wait for now."""
        if not self._unread_marks:
            return Position()
        return Position(self._unread.behind(self._serving.covered(partitions)))

    def waits_for_writes(self, key: bytes) -> bool:
        """Whether a read of the key would wait for a write now."""
        return bool(self._unread_marks) and bool(
            self._unread.behind((self.keyspace.partition_of(key),))
        )

    def why_not_ready(self) -> LastwordError | None:
        """Why a partition that is held here serves no reads, or None if all do."""
        try:
            self._serving.ensure_ready()
        except LastwordError as error:
            return error
        return None

    @cached_property
    def at_once(self) -> Self:
        """The same table, whose reads do not wait for writes: for callers that must not block."""
        other = copy.copy(self)
        other._serving = self._serving.at_once()
        other._unread = other._serving.unread
        other._unread_marks = other._unread.marks
        return other

    def within(self, routing: Routing) -> Self:
        """The same table, whose reads are routed like this; only of a partitioned table."""
        raise ConfigError(
            f"{self.topic} is read here: every instance has all of it",
            hint="route, max_stale and max_lag are for tables with layout='partitioned'",
        )
