"""The table that a random workload writes, and what PostgreSQL has of it."""

from __future__ import annotations

import hashlib
import json
from typing import Any
from uuid import UUID

import psycopg
from psycopg import sql
from psycopg.rows import dict_row

from tests.support.captures.database_values import (
    CREATE,
    KEYS_BY_TRIGGER,
    LARGE,
    SELECTED,
    SEVERAL_COLUMNS,
    SINGLE_COLUMN,
    TYPES,
    with_infinity,
)
from tests.support.captures.mirror_reader import Rows
from tests.support.captures.postgres import Postgres

_SAME_BUT_NEW = {"text": "''", "bytea": "''::bytea", "jsonb": "'{{}}'::jsonb"}


class WorkloadTable:
    """Rows have a number ``id``; their primary key is that, or a text and a UUID made of it."""

    def __init__(self, postgres: Postgres, name: str, *, composite_key: bool) -> None:
        self._postgres = postgres
        self._name = name
        self._composite_key = composite_key
        key = SEVERAL_COLUMNS if composite_key else SINGLE_COLUMN
        with postgres.connect() as connection:
            connection.execute(TYPES)
            self.do(connection, CREATE.replace("KEY", key))
            if composite_key:
                self.do(connection, KEYS_BY_TRIGGER)
            for column in LARGE:
                self.do(connection, "ALTER TABLE {} ALTER {} SET STORAGE EXTERNAL", column)

    def key_of(self, number: int) -> str:
        """The key in the mirror of the row with this ``id``."""
        if not self._composite_key:
            return str(number)
        tag = UUID(hashlib.md5(str(number).encode(), usedforsecurity=False).hexdigest())
        return json.dumps([f'é "{number}', str(tag)], ensure_ascii=False, separators=(",", ":"))

    def selected(self) -> Rows:
        """The table by psycopg, which knows nothing of how it was captured."""
        with self._postgres.connect() as connection:
            with_infinity(connection)
            cursor = connection.cursor(row_factory=dict_row)
            columns = [
                sql.SQL(f"{SELECTED.get(kind, '{0}')} AS {{0}}").format(sql.Identifier(name))  # type: ignore[arg-type]
                for name, kind in self._all_columns(connection).items()
            ]
            listed = sql.SQL(", ").join(columns)
            cursor.execute(sql.SQL("SELECT {} FROM {}").format(listed, sql.Identifier(self._name)))
            return {self.key_of(row["id"]): row for row in cursor}

    def columns(self, connection: psycopg.Connection[Any]) -> dict[str, str]:
        """Names and types, without the key that a trigger sets.

        Asked for rather than remembered: a change may or may not have outlived a crash.
        """
        found = self._all_columns(connection)
        return {name: kind for name, kind in found.items() if name not in ("code", "tag")}

    def rewrite(self, n: int) -> None:
        """Change every row, large values included, so that all of it is sent."""
        with self._postgres.connect() as connection:
            large = [
                (name, kind)
                for name, kind in self.columns(connection).items()
                if name.startswith(LARGE)
            ]
            changes = "".join(
                f', "{name}" = "{name}" || {_SAME_BUT_NEW[kind]}' for name, kind in large
            )
            self.do(connection, f"UPDATE {{}} SET n = {n}{changes}")  # noqa: S608

    def do(
        self,
        connection: psycopg.Connection[Any],
        statement: str,
        *names: str,
        parameters: list[Any] | None = None,
    ) -> psycopg.Cursor[Any]:
        """Execute a statement; its first placeholder is the table, others are ``names``."""
        identifiers = [sql.Identifier(name) for name in (self._name, *names)]
        query = sql.SQL(statement).format(*identifiers)  # type: ignore[arg-type]
        return connection.execute(query, parameters)

    def _all_columns(self, connection: psycopg.Connection[Any]) -> dict[str, str]:
        return dict(
            connection.execute(
                "SELECT attname, format_type(atttypid, atttypmod) FROM pg_attribute "
                "WHERE attrelid = %s::regclass AND attnum > 0 AND NOT attisdropped ORDER BY attnum",
                (self._name,),
            ).fetchall()
        )
