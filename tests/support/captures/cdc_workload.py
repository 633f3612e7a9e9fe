"""Random transactions on a table of PostgreSQL, every one of them decided by a seed."""

from __future__ import annotations

import random
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from typing import Any

import psycopg
from psycopg import sql
from psycopg.rows import dict_row

from tests.support.captures.database_values import (
    CREATE,
    LARGE,
    SELECTED,
    WIDER,
    some_value,
    with_infinity,
)
from tests.support.captures.mirror_reader import Rows
from tests.support.captures.postgres import Postgres

KEYS = range(1, 40)
LONG_KEYS = range(500, 510)
"""Only long transactions write these, so that nobody waits for their locks."""

_PACE_S = 0.02
_FAR_AHEAD = 40
_FAR_AHEAD_PACE_S = 0.5
_RETRY_S = 0.2


class Workload:
    """Writes on a thread of its own; goes on when the server was away."""

    def __init__(self, postgres: Postgres, table: str, seed: int) -> None:
        self.steps = 0
        self.kinds: Counter[str] = Counter()
        """How often each kind of statement was executed, including those taken back."""
        self._postgres = postgres
        self._table = sql.Identifier(table)
        self._name = table
        self._chance = random.Random(seed)
        self.last_n = 0
        self.followed = 0
        self._new_names = count(1)
        self._columns: dict[str, str] = {}
        self._long: psycopg.Connection[Any] | None = None
        self._stop = threading.Event()
        self._failures: list[BaseException] = []
        self._thread = threading.Thread(target=self._run)
        with postgres.connect() as connection:
            connection.execute(sql.SQL(CREATE).format(self._table))
            for name in LARGE:
                self._do(connection, "ALTER TABLE {} ALTER {} SET STORAGE EXTERNAL", name)

    @contextmanager
    def running(self) -> Iterator[None]:
        self._thread.start()
        try:
            yield
        finally:
            self.stop()

    def stop(self) -> None:
        """End the last transaction; raises what went wrong."""
        self._stop.set()
        self._thread.join(180)
        assert not self._failures, self._failures
        assert not self._thread.is_alive()

    def selected(self) -> Rows:
        """The table by psycopg, which knows nothing of how it was captured."""
        with self._postgres.connect() as connection:
            with_infinity(connection)
            cursor = connection.cursor(row_factory=dict_row)
            columns = [
                sql.SQL(f"{SELECTED.get(kind, '{0}')} AS {{0}}").format(sql.Identifier(name))  # type: ignore[arg-type]
                for name, kind in self._read_columns(connection).items()
            ]
            listed = sql.SQL(", ").join(columns)
            cursor.execute(sql.SQL("SELECT {} FROM {}").format(listed, self._table))
            return {str(row["id"]): row for row in cursor}

    def _run(self) -> None:
        try:
            while not self._stop.is_set():
                try:
                    self._session()
                except (psycopg.OperationalError, psycopg.InterfaceError):  # it was killed
                    self._forget_long()
                    self._stop.wait(_RETRY_S)
        except BaseException as error:  # noqa: BLE001 - shown by the test's own thread
            self._failures.append(error)

    def _session(self) -> None:
        with self._postgres.connect() as connection:
            self._columns = self._read_columns(connection)
            while not self._stop.wait(self._pace_s):
                self._step(connection)
            self._end_long()

    @property
    def _pace_s(self) -> float:
        """A slow machine is not flooded with changes that nobody has read."""
        ahead = self.last_n - self.followed
        return _FAR_AHEAD_PACE_S if ahead > _FAR_AHEAD else _PACE_S

    def _read_columns(self, connection: psycopg.Connection[Any]) -> dict[str, str]:
        """Asked for rather than remembered: a change may or may not have outlived a crash."""
        return dict(
            connection.execute(
                "SELECT attname, format_type(atttypid, atttypmod) FROM pg_attribute "
                "WHERE attrelid = %s::regclass AND attnum > 0 AND NOT attisdropped ORDER BY attnum",
                (self._name,),
            ).fetchall()
        )

    def _step(self, connection: psycopg.Connection[Any]) -> None:
        chance = self._chance.random()
        if chance < 0.01:
            self._truncate(connection)
        elif chance < 0.05:
            self._change_columns(connection)
        elif chance < 0.12:
            self._go_on_with_the_long_one()
        elif chance < 0.25:
            self._transaction(connection)
        else:
            self._change(connection)
        self.steps += 1

    def _change(self, connection: psycopg.Connection[Any], keys: range = KEYS) -> None:
        changes = [self._insert, self._update, self._touch, self._delete]
        changes += [self._update, self._touch] + ([self._copy, self._move] if keys is KEYS else [])
        chosen = self._chance.choice(changes)
        self.kinds[chosen.__name__[1:]] += 1
        chosen(connection, keys)

    def _transaction(self, connection: psycopg.Connection[Any]) -> None:
        """Several statements, some of them taken back, and perhaps all of them."""
        self.kinds["transaction"] += 1
        with connection.transaction() as transaction:
            self._change(connection)
            with connection.transaction() as savepoint:
                self._change(connection)
                if self._chance.random() < 0.4:
                    self.kinds["rollback to a savepoint"] += 1
                    raise psycopg.Rollback(savepoint)
            self._change(connection)
            if self._chance.random() < 0.3:
                self.kinds["rollback"] += 1
                raise psycopg.Rollback(transaction)

    def _go_on_with_the_long_one(self) -> None:
        """Open a transaction that others overtake, add to it, or end it."""
        if self._long is None:
            self.kinds["long transaction"] += 1
            self._long = psycopg.connect(self._postgres.url)
        elif self._chance.random() < 0.3:
            self._end_long()
            return
        self._change(self._long, LONG_KEYS)

    def _end_long(self) -> None:
        if self._long is not None:
            if self._chance.random() < 0.3:
                self._long.rollback()
            else:
                self._long.commit()
            self._forget_long()

    def _forget_long(self) -> None:
        if self._long is not None:
            self._long.close()
            self._long = None

    def _insert(self, connection: psycopg.Connection[Any], keys: range) -> None:
        """One statement with several rows; those that are there are overwritten."""
        chosen = self._chance.sample(keys, self._chance.randint(1, 4))
        n = self._next_n()
        values = [dict(zip(self._columns, self._row(key, n), strict=True)) for key in chosen]
        updates = ", ".join(f'"{name}" = EXCLUDED."{name}"' for name in self._columns)
        places = ", ".join(
            "(" + ", ".join(f"%s::{kind}" for kind in self._columns.values()) + ")" for _ in chosen
        )
        names = ", ".join(f'"{name}"' for name in self._columns)
        self._do(
            connection,
            f"INSERT INTO {{}} ({names}) VALUES {places} "  # noqa: S608
            f"ON CONFLICT (id) DO UPDATE SET {updates}",
            parameters=[value for row in values for value in row.values()],
        )

    def _update(self, connection: psycopg.Connection[Any], keys: range) -> None:
        """Some columns of a few rows."""
        free = [name for name in self._columns if name not in ("id", "n")]
        chosen = self._chance.sample(free, self._chance.randint(1, 3))
        set_to = "".join(f', "{name}" = %s::{self._columns[name]}' for name in chosen)
        first = self._chance.choice(keys)
        self._do(
            connection,
            f"UPDATE {{}} SET n = %s{set_to} "  # noqa: S608
            "WHERE id BETWEEN %s AND %s AND id = ANY(%s)",
            parameters=[
                self._next_n(),
                *(self._value(name) for name in chosen),
                first,
                first + self._chance.choice((0, 0, 5)),
                list(keys),
            ],
        )

    def _touch(self, connection: psycopg.Connection[Any], keys: range) -> None:
        """Many rows in one statement, their large values unchanged."""
        parameters = [self._next_n(), list(keys), self._chance.randint(2, 9)]
        self._do(
            connection,
            "UPDATE {} SET n = %s WHERE id = ANY(%s) AND id %% %s = 0",
            parameters=parameters,
        )

    def _delete(self, connection: psycopg.Connection[Any], keys: range) -> None:
        chosen = self._chance.sample(keys, self._chance.randint(1, 5))
        self._do(connection, "DELETE FROM {} WHERE id = ANY(%s)", parameters=[chosen])

    def _copy(self, connection: psycopg.Connection[Any], keys: range) -> None:
        free = self._free(connection, keys)[:5]
        n = self._next_n()
        with connection.cursor().copy(sql.SQL("COPY {} FROM STDIN").format(self._table)) as copy:
            for key in free:
                copy.write_row(self._row(key, n))

    def _move(self, connection: psycopg.Connection[Any], keys: range) -> None:
        """A row gets another primary key, and comes with its large values."""
        for key in self._free(connection, keys)[:1]:
            old = self._chance.choice(keys)
            self._do(
                connection,
                "UPDATE {} SET id = %s, n = %s WHERE id = %s",
                parameters=[key, self._next_n(), old],
            )

    def _truncate(self, connection: psycopg.Connection[Any]) -> None:
        self.kinds["truncate"] += 1
        self._end_long()
        self._do(connection, "TRUNCATE {}")

    def _change_columns(self, connection: psycopg.Connection[Any]) -> None:
        """A change of the columns, then of every row: a row gets its new columns with a change."""
        self._end_long()
        change = self._chance.choice((self._add, self._drop, self._rename, self._widen))
        self.kinds[f"{change.__name__[1:]} column"] += 1
        with connection.transaction():
            change(connection)
            self._do(connection, "UPDATE {} SET n = %s", parameters=[self._next_n()])
        self._columns = self._read_columns(connection)

    def _add(self, connection: psycopg.Connection[Any]) -> None:
        kind = self._chance.choice(("smallint", "text", "numeric(12,2)", "real"))
        default = " DEFAULT '7'" if self._chance.random() < 0.5 else ""
        name = f"extra_{next(self._new_names)}_{self.steps}"
        self._do(connection, f"ALTER TABLE {{}} ADD COLUMN {{}} {kind}{default}", name)

    def _drop(self, connection: psycopg.Connection[Any]) -> None:
        for name in [name for name in self._columns if name.startswith("extra_")][:1]:
            self._do(connection, "ALTER TABLE {} DROP COLUMN {}", name)

    def _rename(self, connection: psycopg.Connection[Any]) -> None:
        """Any column, those with large values above all."""
        free = [name for name in self._columns if name not in ("id", "n")]
        old = self._chance.choice(free)
        if self._chance.random() < 0.5:
            (old, *_) = [name for name in free if name.startswith("note")]
        kind = old.split("_")[0]
        new = f"{kind}_{next(self._new_names)}_{self.steps}"
        self._do(connection, "ALTER TABLE {} RENAME COLUMN {} TO {}", old, new)

    def _widen(self, connection: psycopg.Connection[Any]) -> None:
        narrow = [name for name, kind in self._columns.items() if kind in WIDER and name != "id"]
        for name in narrow[:1]:
            wider = WIDER[self._columns[name]]
            self._do(connection, f"ALTER TABLE {{}} ALTER COLUMN {{}} TYPE {wider}", name)

    def _free(self, connection: psycopg.Connection[Any], keys: range) -> list[int]:
        taken = {
            row[0] for row in connection.execute(sql.SQL("SELECT id FROM {}").format(self._table))
        }
        free = [key for key in keys if key not in taken]
        self._chance.shuffle(free)
        return free

    def _next_n(self) -> int:
        self.last_n += 1
        return self.last_n

    def _row(self, key: int, n: int) -> list[str | None]:
        given: dict[str, str | None] = {"id": str(key), "n": str(n)}
        return [given.get(name) or self._value(name) for name in self._columns]

    def _value(self, name: str) -> str | None:
        return some_value(name, self._columns[name], self._chance)

    def _do(
        self,
        connection: psycopg.Connection[Any],
        statement: str,
        *names: str,
        parameters: list[Any] | None = None,
    ) -> None:
        identifiers = [sql.Identifier(name) for name in names]
        query = sql.SQL(statement).format(self._table, *identifiers)  # type: ignore[arg-type]
        connection.execute(query, parameters)
