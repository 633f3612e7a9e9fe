"""Whether a read or a write may be answered now: only the partitions it needs count."""

from __future__ import annotations

import copy
from collections.abc import Callable, Collection, Iterable
from typing import Self

from lastword.errors import (
    ConfigError,
    LastwordError,
    NotReadyError,
    PartitionNotHereError,
)
from lastword.keyspace import Keyspace
from lastword.records import Position
from lastword.replicas.progress import still_to_do
from lastword.replicas.replica import WAIT_OR_STALE
from lastword.replicas.replica_set import ReplicaSet
from lastword.table.writing.unread_writes import UnreadWrites


class Serving:
    """Admits reads and writes of one table. Safe to use from any thread.

    ``ensure_open`` raises unless the table is started, and neither closed nor failed. With
    ``routes`` a write is admitted wherever its partition is, because reads of it are routed.
    ``unread`` has the writes that reads must wait for.
    """

    def __init__(
        self,
        name: str,
        replicas: ReplicaSet,
        keyspace: Keyspace,
        ensure_open: Callable[[], None],
        *,
        unread: UnreadWrites,
        routes: bool = False,
    ) -> None:
        self.ensure_open = ensure_open
        self.unread = unread
        self._routes = routes
        self._name = name
        self._replicas = replicas
        self._keyspace = keyspace
        self._everything = range(keyspace.partitions)

    def at_once(self) -> Self:
        """The same, but reads do not wait for writes."""
        other = copy.copy(self)
        other.unread = UnreadWrites(self._replicas, self.unread.clock)
        return other

    def covered(self, partitions: Collection[int] | None) -> Collection[int]:
        """The partitions that a read is about: those named, or every one of the topic."""
        return self._everything if partitions is None else partitions

    def admit_read(
        self,
        partitions: Collection[int],
        at_least: Position | None,
        timeout_s: float,
        allow_stale: bool,
    ) -> bool:
        """Raise unless the read may be answered; return whether a partition is not ready.

        Waits for ``at_least``, and for the writes of this process unless ``allow_stale``. Raises
        NotUpToPositionError after ``timeout_s``, and PartitionNotHereError for a partition that is
        not here, also with ``allow_stale``: there is nothing to read.
        """
        unready = False
        try:
            self.ensure_ready_at(partitions)
        except LastwordError as error:
            if not allow_stale or isinstance(error, PartitionNotHereError):
                raise
            unready = True
        if at_least is not None:
            self.require_own_position(at_least)
            self._replicas.wait_for(at_least, timeout_s)
        if not self.unread.marks:
            return unready
        if allow_stale:
            return unready or bool(self.unread.behind(partitions))
        self.unread.wait(partitions, timeout_s)
        return unready

    def admit_write(self, keys: Iterable[bytes]) -> None:
        """Raise unless writes to these keys will be readable here."""
        self.ensure_open()
        if self._routes:
            return
        held = self._replicas.held
        if len(held) == self._keyspace.partitions:
            for replica in held.values():
                if not replica.ready:
                    break
            else:
                return
        self.ensure_ready_at(sorted({self._keyspace.partition_of(key) for key in keys}))

    def ensure_ready_at(self, partitions: Iterable[int]) -> None:
        """Raise unless each of these partitions is here and serves reads."""
        self.ensure_open()
        for partition in partitions:
            self._replicas.at(partition).ensure_ready()

    def ensure_ready(self) -> None:
        """Raise unless every partition that is held here serves reads."""
        self.ensure_open()
        if all(replica.ready for replica in self._replicas.held.values()):
            return
        raise NotReadyError(
            f"the table {self._name} is being restored, " + still_to_do(self._replicas.progress()),
            hint=WAIT_OR_STALE,
        )

    def require_own_position(self, position: Position) -> None:
        """Raise ConfigError unless ``position`` belongs to the current topic."""
        topic, topic_id = self._replicas.topic, self._replicas.topic_state.topic_id
        if any(partition not in self._everything for partition in position.offsets):
            raise ConfigError(
                f"the position {position} names partitions that {topic} does not have",
                hint="a position comes from an answer, or from the version of a write",
            )
        if position.is_foreign_to(topic_id):
            raise ConfigError(
                f"the position {position} belongs to an earlier topic with the name {topic}",
                hint="read without at_least, and continue from the position of that answer",
            )
