"""What happened to one row of a database, as a value."""

from __future__ import annotations

from enum import StrEnum
from typing import Any, Final, Literal, NamedTuple


class Operation(StrEnum):
    """What a change is; READ is a row that a snapshot found."""

    READ = "r"
    CREATE = "c"
    UPDATE = "u"
    DELETE = "d"
    TRUNCATE = "t"


class Snapshot(StrEnum):
    """Whether a change is of a snapshot; LAST is its last row of this table."""

    NO = "no"
    ROW = "row"
    LAST = "last"
    INCREMENTAL = "incremental"


class Unavailable:
    """The one value ``UNAVAILABLE``: a column whose large value did not change and was not sent."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "UNAVAILABLE"

    def __reduce__(self) -> str:
        return "UNAVAILABLE"  # the same object wherever it travels


UNAVAILABLE: Final = Unavailable()

Row = dict[str, Any]
"""Column names to values."""


Transactions = Literal["last", "ordered"]
"""What a table has of the changes: the last one of each row per commit of its pipeline, or all."""


class SourcePosition(NamedTuple):
    """Where in its database's log a change is: the commit before it, and its own place.

    Commits come in this order, and so do the changes of one of them. ``commit`` is None before
    the first commit that a connector has seen. Positions are compared within one ``log`` only: a
    MySQL server that takes over from another one starts a new numbering of its log.
    """

    commit: int | None
    change: int
    log: str = ""


class RowChange(NamedTuple):
    """One change: the row before and after it where the database says so, else None.

    before        with the usual replica identity of PostgreSQL None, or nothing but the key
    after         None for a delete and a truncate; a value may be UNAVAILABLE
    position      None for a connector whose positions are not known here
    transaction   the database's name for the transaction; None in a snapshot
    table         schema and name
    source_ms     when the database committed it, in milliseconds since 1970
    """

    operation: Operation
    before: Row | None
    after: Row | None
    position: SourcePosition | None
    transaction: str | None
    snapshot: Snapshot
    table: str
    source_ms: int
