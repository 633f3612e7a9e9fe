"""Looks whether the changes of a table can be captured, before anything is touched."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from lastword.cdc.postgres.database import Session, quoted
from lastword.cdc.postgres.names import SourceTable
from lastword.cdc.row_filter import KeptColumns, RowFilter
from lastword.errors import CaptureError

Severity = Literal["error", "warning"]
_NAMES_SHOWN = 10
OLDEST_SERVER = 120_000
"""PostgreSQL 12; older ones are not maintained any more."""
_COLUMN_NAMES = (
    "SELECT attname FROM pg_attribute "
    "WHERE attrelid = to_regclass(%s) AND attnum > 0 AND NOT attisdropped"
)


@dataclass(frozen=True)
class Finding:
    """Something about the database: what it is, its consequence, and the SQL that repairs it."""

    severity: Severity
    what: str
    consequence: str
    repair: str


def check(
    session: Session,
    table: SourceTable,
    where: RowFilter | None = None,
    columns: KeptColumns | None = None,
) -> list[Finding]:
    """Everything that stands in the way, errors first; none where all is well."""
    found = [*_server(session, table), *_role(session, table), *_table(session, table)]
    if table.exists(session):
        found += _shape(session, table, where, columns)
    return sorted(found, key=lambda finding: finding.severity != "error")


def _shape(
    session: Session, table: SourceTable, where: RowFilter | None, columns: KeptColumns | None
) -> list[Finding]:
    """Whether the filter and the columns fit the table; the database is asked without a row.

    A condition was parsed before, so it is nothing but a condition.
    """
    names = {name for (name,) in session.rows(_COLUMN_NAMES, (table.sql,))}
    found = [
        _no_fit(f"there is no column {wanted} in {table}")
        for wanted in (() if columns is None else columns.columns)
        if wanted not in names
    ]
    if where is not None:
        condition = where.text.replace("%", "%%")
        try:
            session.rows(f"SELECT 1 FROM {table.sql} WHERE ({condition}) LIMIT 0")  # noqa: S608
        except CaptureError as error:
            found.append(_no_fit(f"the filter does not fit {table}: {error}"))
    return found


def _no_fit(what: str) -> Finding:
    return Finding("error", what, "no row could be kept", "-- correct --where or --columns")


def _server(session: Session, table: SourceTable) -> Iterator[Finding]:
    version = int(session.value("SHOW server_version_num"))
    if version < OLDEST_SERVER:
        yield Finding(
            "error",
            f"the server is PostgreSQL {version // 10_000}",
            "its logical replication is not the one that is tested here",
            "-- upgrade the server to PostgreSQL 12 or newer",
        )
    if (level := session.value("SHOW wal_level")) != "logical":
        yield Finding(
            "error",
            f"wal_level is {level}",
            "the database's log does not have what a row was changed to",
            "ALTER SYSTEM SET wal_level = 'logical';  -- and restart the server",
        )
    for setting, used_by_others in (
        (
            "max_replication_slots",
            "SELECT count(*) FROM pg_replication_slots WHERE slot_name <> %s",
        ),
        (
            "max_wal_senders",
            "SELECT count(*) FROM pg_stat_replication WHERE pid NOT IN (SELECT active_pid "
            "FROM pg_replication_slots WHERE slot_name = %s AND active)",
        ),
    ):
        limit = int(session.value(f"SHOW {setting}"))
        taken = session.value(used_by_others, (table.slot,))
        if taken >= limit:
            yield Finding(
                "error",
                f"{setting} is {limit}, and {taken} are taken",
                "there is none left for this capture",
                f"ALTER SYSTEM SET {setting} = {taken + 4};  -- and restart the server",
            )
    if (
        session.value("SELECT setting FROM pg_settings WHERE name = 'max_slot_wal_keep_size'")
        == "-1"
    ):
        yield Finding(
            "warning",
            "max_slot_wal_keep_size is unlimited",
            "while the capture does not run, the database keeps its log for it until the disk is "
            "full",
            "ALTER SYSTEM SET max_slot_wal_keep_size = '20GB'; SELECT pg_reload_conf();",
        )


def _role(session: Session, table: SourceTable) -> Iterator[Finding]:
    user, is_super, replicates = session.rows(
        "SELECT rolname, rolsuper, rolreplication FROM pg_roles WHERE rolname = current_user"
    )[0]
    managed = session.value(
        "SELECT 1 FROM pg_roles WHERE rolname IN ('rds_replication', 'cloudsqlsuperuser') "
        "AND pg_has_role(current_user, oid, 'member')"
    )
    if not (is_super or replicates or managed):
        yield Finding(
            "error",
            f"the role {user} may not replicate",
            "it cannot read the database's log",
            f"ALTER ROLE {quoted(user)} REPLICATION;",
        )
    if table.exists(session) and not session.value(
        "SELECT has_table_privilege(to_regclass(%s), 'SELECT')", (table.sql,)
    ):
        yield Finding(
            "error",
            f"the role {user} may not read {table}",
            "its first rows cannot be copied",
            f"GRANT SELECT ON {table.sql} TO {quoted(user)};",
        )


def _tables_of(session: Session, schema: str) -> str:
    """What could have been meant."""
    found = session.rows(
        "SELECT tablename FROM pg_tables WHERE schemaname = %s ORDER BY tablename LIMIT %s",
        (schema, _NAMES_SHOWN + 1),
    )
    names = [name for (name,) in found]
    more = ", ..." if len(names) > _NAMES_SHOWN else ""
    listed = ", ".join(names[:_NAMES_SHOWN]) + more
    return f"the schema {schema} has {listed or 'no table'}"


def _table(session: Session, table: SourceTable) -> Iterator[Finding]:
    found = session.rows(
        "SELECT relkind::text, relreplident::text, relrowsecurity, relpersistence::text, "
        "pg_has_role(current_user, relowner, 'member') "
        "FROM pg_class WHERE oid = to_regclass(%s)",
        (table.sql,),
    )
    if not found:
        yield Finding(
            "error",
            f"there is no table {table}",
            "nothing can be captured",
            f"-- check its name; {_tables_of(session, table.schema)}",
        )
        return
    kind, identity, row_security, persistence, is_owner = found[0]
    if kind not in "rp" or persistence != "p":
        yield Finding(
            "error",
            f"{table} is a view, or not logged",
            "the database's log has no changes of it",
            f"ALTER TABLE {table.sql} SET LOGGED;  -- of a view, capture its tables",
        )
        return
    yield from _key(session, table, identity)
    yield from _columns(session, table, identity)
    if row_security and not session.value(
        "SELECT rolsuper OR rolbypassrls FROM pg_roles WHERE rolname = current_user"
    ):
        yield Finding(
            "warning",
            f"{table} has row-level security",
            "rows that a policy hides are missing in the first copy, and come when they change",
            "ALTER ROLE CURRENT_USER BYPASSRLS;",
        )
    if not is_owner and not table.is_published(session):
        yield Finding(
            "error",
            f"there is no publication {table.publication} with {table}, and only its owner can "
            "make one",
            "the database does not send changes of it",
            table.create_publication,
        )


def _key(session: Session, table: SourceTable, identity: str) -> Iterator[Finding]:
    key = session.rows(
        "SELECT indimmediate FROM pg_index WHERE indrelid = to_regclass(%s) AND indisprimary",
        (table.sql,),
    )
    if not key:
        yield Finding(
            "error",
            f"{table} has no primary key",
            "a row has nothing by which it is known, and one such row stops the whole capture",
            f"ALTER TABLE {table.sql} ADD PRIMARY KEY (...);",
        )
    elif not key[0][0]:
        yield Finding(
            "error",
            f"the primary key of {table} is deferrable",
            "rows may exchange their keys within a transaction, and one of them would be lost",
            "-- make it not deferrable: drop the constraint and add it again",
        )
    if identity == "n":
        yield Finding(
            "error",
            f"the replica identity of {table} is NOTHING",
            "once it is published, the database refuses every UPDATE and DELETE of it",
            f"ALTER TABLE {table.sql} REPLICA IDENTITY DEFAULT;",
        )


_ARRAY = re.compile(r"(.+?)(?:\(.*\))?\[\]")
# For these Debezium says that a large value was not sent; for others it writes null.
_TEXTS = ("text", "character varying", "character", "json", "jsonb")
_ARRAYS_MARKED = frozenset((*_TEXTS, "bytea", "integer", "bigint", "uuid"))


def _columns(session: Session, table: SourceTable, identity: str) -> Iterator[Finding]:
    columns = session.rows(
        "SELECT attname, format_type(atttypid, atttypmod) FROM pg_attribute "
        "WHERE attrelid = to_regclass(%s) AND attnum > 0 AND NOT attisdropped",
        (table.sql,),
    )
    arrays = {name: _ARRAY.fullmatch(kind) for name, kind in columns}
    kinds = {name: found[1] for name, found in arrays.items() if found is not None}
    lost = [f"{name} ({kind}[])" for name, kind in kinds.items() if kind not in _ARRAYS_MARKED]
    if lost and identity != "f":
        yield Finding(
            "warning",
            f"arrays whose large values Debezium does not mark: {', '.join(lost)}",
            "a large one that did not change comes as null when another column changes",
            f"ALTER TABLE {table.sql} REPLICA IDENTITY FULL;",
        )
    if any(name == "$types" for name, _ in columns):
        yield Finding(
            "error",
            "a column is named $types",
            "that name says which types the other columns of a row have",
            f'ALTER TABLE {table.sql} RENAME COLUMN "$types" TO types;',
        )
