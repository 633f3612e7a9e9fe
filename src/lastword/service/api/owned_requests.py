"""Asks the owners of partitions from the event loop, without a thread for each request.

The answers of an owner's batch wake the loop once, for any number of requests.
"""

from __future__ import annotations

from lastword.errors import ConflictError, LastwordError
from lastword.records import Version
from lastword.rows import offset_of
from lastword.service.api.served import ServedTable
from lastword.service.http.problems import RefusedError
from lastword.table.entry import RawEntry, raw_entry
from lastword.table.writing.loop_answers import LoopAnswers
from lastword.table.writing.owned_writes import OwnedWrites
from lastword.writer.owned.conflicts import conflict_error
from lastword.writer.owned.decide import Result
from lastword.writer.owned.requests import AnyRequest, Applied, Conflicted, Current

_REQUESTS_MAX = 4096


class OwnedRequests:
    """The requests of one service that wait for owners; used on the event loop alone."""

    def __init__(self) -> None:
        self._answers: dict[OwnedWrites, LoopAnswers] = {}
        self._waiting = 0

    async def ask(self, owned: OwnedWrites, request: AnyRequest) -> Result:
        """The owner's answer; raises its error, except a conflict, which is an answer."""
        if self._waiting >= _REQUESTS_MAX:
            raise RefusedError(
                503,
                "Busy",
                f"{self._waiting} requests wait for owners already",
                hint="nothing was written; try again in a moment",
            )
        answers = self._answers.get(owned)
        if answers is None:
            answers = self._answers[owned] = LoopAnswers(owned)
        self._waiting += 1
        try:
            answer = await answers.ask(request)
        finally:
            self._waiting -= 1
        if isinstance(answer, LastwordError):
            raise answer
        return answer


def owners_of(served: ServedTable) -> OwnedWrites:
    """The owners of a table's partitions; raises RefusedError where writes go without them."""
    if served.raw.owned is None:
        raise RefusedError(
            400,
            "NoOwners",
            "writes of this table go straight to Kafka, so no condition can be checked",
            hint='set writes = "conditional" or writes = "owned" for the table',
        )
    return served.raw.owned


def written_version(served: ServedTable, key: bytes, answer: Result) -> Version | None:
    """The version of a write, which later reads here reflect; raises ConflictError.

    None where a request left the key as it was.
    """
    if isinstance(answer, Applied):
        return answer.versions[-1]
    match answer:
        case Current():
            return None
        case Conflicted(key=other, row=row):
            raise _conflict(served, served.raw.keyspace.partition_of(key), other, row)
    raise RuntimeError(f"a write cannot be answered with {answer!r}")


def written_entry(served: ServedTable, key: bytes, answer: Result) -> RawEntry | None:
    """The entry that a write left, which later reads here reflect; raises ConflictError."""
    written_version(served, key, answer)
    row = answer.row if isinstance(answer, Applied | Current) else None
    return None if row is None else raw_entry(served.raw.keyspace.partition_of(key), key, row)


def _conflict(served: ServedTable, partition: int, key: bytes, row: bytes | None) -> ConflictError:
    error = conflict_error(row, partition)
    if row is not None:
        error.current = served.shown_current(raw_entry(partition, key, row))
        error.version = Version(partition, offset_of(row))
    return error
