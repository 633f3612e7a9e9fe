"""Where a change is in its database's log, read from the fields that its connector writes.

Each database numbers its log in its own way. Positions of one log are compared, to drop a change
that arrives again; those of two logs are not. A connector that is not known here has no positions:
its changes are applied as they come.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from lastword.cdc.change import SourcePosition

_FILE_BITS = 40  # a file of MySQL's log is smaller than a terabyte


class Source(msgspec.Struct):
    """The member ``source`` of an envelope: what all connectors write, then what each one does."""

    connector: str = ""
    snapshot: str | bool | None = None
    schema: str = ""
    db: str = ""
    table: str = ""
    ts_ms: int = 0
    tx_id: int | str | None = msgspec.field(default=None, name="txId")
    # PostgreSQL
    lsn: int | None = None
    sequence: str | None = None
    # MySQL and MariaDB
    server_id: int | None = None
    file: str | None = None
    pos: int | None = None
    gtid: str | None = None
    # SQL Server
    commit_lsn: str | None = None
    change_lsn: str | None = None
    # Oracle
    scn: str | int | None = None
    commit_scn: str | int | None = None


_decode_sequence = msgspec.json.Decoder(tuple[str | None, str | None]).decode


def position_of(source: Source) -> SourcePosition | None:
    """The position; None where the connector is not known, or did not write one."""
    read = _BY_CONNECTOR.get(source.connector)
    return None if read is None else read(source)


def transaction_of(source: Source) -> str | None:
    """The database's name for the transaction of a change."""
    if source.tx_id is not None:
        return str(source.tx_id)
    return source.gtid or source.commit_lsn


def _is_streamed(source: Source) -> bool:
    """Whether it is a change that the database's log has, not a row of a snapshot."""
    return source.snapshot in (None, False, "false")


def _postgresql(source: Source) -> SourcePosition | None:
    if source.lsn is None:
        return None
    commit = None if source.sequence is None else _decode_sequence(source.sequence)[0]
    return SourcePosition(None if commit is None else int(commit), source.lsn)


def _mysql(source: Source) -> SourcePosition | None:
    """The number of the transaction's GTID; without one, that of the file and the place in it.

    A transaction is written when it commits, so one number has the order of both. Files and places
    are those of the server that is read. After a fail-over that is another one, while
    ``server_id`` is still the server on which the transaction began: only GTIDs tell, and
    connectors follow a fail-over only with them.
    """
    if source.gtid:
        return _gtid(source.gtid)
    number = (source.file or "").rpartition(".")[2]
    if not number.isdecimal() or source.pos is None:
        return None
    at = (int(number) << _FILE_BITS) + source.pos
    return SourcePosition(at, at, str(source.server_id or ""))


def _gtid(text: str) -> SourcePosition | None:
    """``UUID:23``, ``UUID:tag:23``, or ``0-1-23`` of MariaDB: counted for each UUID or server.

    The changes of a transaction share its position.
    """
    log, _, number = text.rpartition(":" if ":" in text else "-")
    return SourcePosition(int(number), int(number), log) if number.isdecimal() else None


def _sqlserver(source: Source) -> SourcePosition | None:
    if source.commit_lsn is None:
        return None
    commit = _lsn(source.commit_lsn)
    # A snapshot has no changes, only the commit after which it was read.
    return SourcePosition(commit, commit if source.change_lsn is None else _lsn(source.change_lsn))


def _lsn(text: str) -> int:
    """``00000027:00000758:0005`` as one number; each part is hexadecimal and has leading zeros."""
    return int(text.replace(":", ""), 16)


def _oracle(source: Source) -> SourcePosition | None:
    """The commit alone: transactions that commit together are in no order of their changes.

    Only LogMiner tells it. The SCN of a change does not replace it, because a transaction that
    began first may commit last; that of a snapshot does.
    """
    at = source.commit_scn or (None if _is_streamed(source) else source.scn)
    return None if at is None else SourcePosition(int(at), int(at))


_BY_CONNECTOR: dict[str, Callable[[Source], SourcePosition | None]] = {
    "postgresql": _postgresql,
    "mysql": _mysql,
    "mariadb": _mysql,
    "sqlserver": _sqlserver,
    "oracle": _oracle,
}
