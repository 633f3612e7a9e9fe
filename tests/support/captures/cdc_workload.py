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

from tests.support.captures.database_values import WIDER, some_value
from tests.support.captures.postgres import Postgres
from tests.support.captures.workload_table import WorkloadTable

KEYS = range(1, 40)
LONG_KEYS = range(500, 510)
"""Only long transactions write these, so that nobody waits for their locks."""

KINDS = frozenset(
    (
        *("insert", "update", "touch", "touch of a large value", "delete", "copy", "move"),
        *("truncate", "transaction", "rollback to a savepoint", "rollback", "long transaction"),
        *("add column", "drop column", "rename column", "widen column"),
    )
)
"""All that a workload does if it has the time."""

_PACE_S = 0.02
_FAR_AHEAD = 40
_FAR_AHEAD_PACE_S = 0.5
_RETRY_S = 0.2


class Workload:
    """Writes on a thread of its own; goes on when the server was away."""

    def __init__(self, postgres: Postgres, table: str, seed: int) -> None:
        self.steps = 0
        self.kinds: Counter[str] = Counter()
        """How often each kind of statement changed something, including changes taken back."""
        self.last_n = 0
        self.followed = 0
        self.settled_n = 0
        """Rows with a greater ``n`` have changed since the columns did."""
        self._postgres = postgres
        self._chance = random.Random(seed)
        self.table = WorkloadTable(postgres, table, composite_key=self._chance.random() < 0.5)
        self._name = sql.Identifier(table)
        self._new_names = count(1)
        self._columns: dict[str, str] = {}
        self._long: psycopg.Connection[Any] | None = None
        self._stop = threading.Event()
        self._failures: list[BaseException] = []
        self._thread = threading.Thread(target=self._run)

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

    def rewrite(self) -> None:
        """Change every row once more."""
        self.table.rewrite(self._next_n())

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
            self._columns = self.table.columns(connection)
            while not self._stop.wait(self._pace_s):
                self._step(connection)
            self._end_long()

    @property
    def _pace_s(self) -> float:
        """A slow machine is not flooded with changes that nobody has read."""
        ahead = self.last_n - self.followed
        return _FAR_AHEAD_PACE_S if ahead > _FAR_AHEAD else _PACE_S

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
        self.kinds[chosen.__name__[1:]] += chosen(connection, keys) > 0

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

    def _insert(self, connection: psycopg.Connection[Any], keys: range) -> int:
        """One statement with several rows; those that are there are overwritten."""
        chosen = self._chance.sample(keys, self._chance.randint(1, 4))
        n = self._next_n()
        values = [dict(zip(self._columns, self._row(key, n), strict=True)) for key in chosen]
        updates = ", ".join(f'"{name}" = EXCLUDED."{name}"' for name in self._columns)
        places = ", ".join(
            "(" + ", ".join(f"%s::{kind}" for kind in self._columns.values()) + ")" for _ in chosen
        )
        names = ", ".join(f'"{name}"' for name in self._columns)
        done = self.table.do(
            connection,
            f"INSERT INTO {{}} ({names}) VALUES {places} "  # noqa: S608
            f"ON CONFLICT (id) DO UPDATE SET {updates}",
            parameters=[value for row in values for value in row.values()],
        )
        return done.rowcount

    def _update(self, connection: psycopg.Connection[Any], keys: range) -> int:
        """Some columns of a few rows."""
        free = [name for name in self._columns if name not in ("id", "n")]
        chosen = self._chance.sample(free, self._chance.randint(1, 3))
        set_to = "".join(f', "{name}" = %s::{self._columns[name]}' for name in chosen)
        first = self._chance.choice(keys)
        done = self.table.do(
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
        return done.rowcount

    def _touch(self, connection: psycopg.Connection[Any], keys: range) -> int:
        """Many rows in one statement, their large values unchanged."""
        parameters = [self._next_n(), list(keys), self._chance.randint(2, 9)]
        (note,) = [name for name in self._columns if name.startswith("note")]
        touched = self.table.do(
            connection,
            "UPDATE {} SET n = %s WHERE id = ANY(%s) AND id %% %s = 0 RETURNING length({}) > 2000",
            note,
            parameters=parameters,
        ).fetchall()
        self.kinds["touch of a large value"] += (True,) in touched
        return len(touched)

    def _delete(self, connection: psycopg.Connection[Any], keys: range) -> int:
        chosen = self._chance.sample(keys, self._chance.randint(1, 5))
        statement = "DELETE FROM {} WHERE id = ANY(%s)"
        return self.table.do(connection, statement, parameters=[chosen]).rowcount

    def _copy(self, connection: psycopg.Connection[Any], keys: range) -> int:
        free = self._free(connection, keys)[:5]
        n = self._next_n()
        names = sql.SQL(", ").join(map(sql.Identifier, self._columns))
        statement = sql.SQL("COPY {} ({}) FROM STDIN").format(self._name, names)
        with connection.cursor().copy(statement) as copy:
            for key in free:
                copy.write_row(self._row(key, n))
        return len(free)

    def _move(self, connection: psycopg.Connection[Any], keys: range) -> int:
        """A row gets another primary key, and comes with its large values."""
        free, old = self._free(connection, keys), self._chance.choice(keys)
        if not free:
            return 0
        statement = "UPDATE {} SET id = %s, n = %s WHERE id = %s"
        given = [free[0], self._next_n(), old]
        return self.table.do(connection, statement, parameters=given).rowcount

    def _truncate(self, connection: psycopg.Connection[Any]) -> None:
        self.kinds["truncate"] += 1
        self._end_long()
        self.table.do(connection, "TRUNCATE {}")

    def _change_columns(self, connection: psycopg.Connection[Any]) -> None:
        """A change of the columns, and perhaps of every row in the same transaction.

        A row gets its new columns with its next change, and keeps the old ones until then.
        """
        self._end_long()
        change = self._chance.choice((self._add, self._drop, self._rename, self._widen))
        self.settled_n = self.last_n
        with connection.transaction():
            self.kinds[f"{change.__name__[1:]} column"] += change(connection)
            if self._chance.random() < 0.5:
                self.table.do(connection, "UPDATE {} SET n = %s", parameters=[self._next_n()])
        self._columns = self.table.columns(connection)

    def _add(self, connection: psycopg.Connection[Any]) -> bool:
        kind = self._chance.choice(("smallint", "text", "numeric(12,2)", "real"))
        default = " DEFAULT '7'" if self._chance.random() < 0.5 else ""
        name = f"extra_{next(self._new_names)}_{self.steps}"
        self.table.do(connection, f"ALTER TABLE {{}} ADD COLUMN {{}} {kind}{default}", name)
        return True

    def _drop(self, connection: psycopg.Connection[Any]) -> bool:
        extra = [name for name in self._columns if name.startswith("extra_")][:1]
        for name in extra:
            self.table.do(connection, "ALTER TABLE {} DROP COLUMN {}", name)
        return bool(extra)

    def _rename(self, connection: psycopg.Connection[Any]) -> bool:
        """Any column, those with large values above all."""
        free = [name for name in self._columns if name not in ("id", "n")]
        old = self._chance.choice(free)
        if self._chance.random() < 0.5:
            (old, *_) = [name for name in free if name.startswith("note")]
        kind = old.split("_")[0]
        new = f"{kind}_{next(self._new_names)}_{self.steps}"
        self.table.do(connection, "ALTER TABLE {} RENAME COLUMN {} TO {}", old, new)
        return True

    def _widen(self, connection: psycopg.Connection[Any]) -> bool:
        narrow = [name for name, kind in self._columns.items() if kind in WIDER and name != "id"]
        for name in narrow[:1]:
            wider = WIDER[self._columns[name]]
            self.table.do(connection, f"ALTER TABLE {{}} ALTER COLUMN {{}} TYPE {wider}", name)
        return bool(narrow)

    def _free(self, connection: psycopg.Connection[Any], keys: range) -> list[int]:
        taken = {row[0] for row in self.table.do(connection, "SELECT id FROM {}")}
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
