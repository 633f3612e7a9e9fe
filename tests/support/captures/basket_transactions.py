"""Two tables that change in one transaction, and what a reader joins by the transaction's id."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from itertools import groupby
from typing import Any, NamedTuple

from psycopg import Connection as PostgresConnection

from lastword.cdc.postgres.capture import Capture
from lastword.codecs.row import RowCodec
from lastword.kafka.connection import Connection
from lastword.pipelines import Pipeline
from lastword.pipelines.operators.mirror_marks import SOURCE_HEADER
from lastword.testing.waiting import wait_until
from tests.support.captures.cdc_lab import WAIT_S
from tests.support.captures.mirror_lab import MirrorLab
from tests.support.local_tables.tables import read_raw

CREATE = """
CREATE TABLE baskets (id int PRIMARY KEY, customer text, total int, changed_items int);
CREATE TABLE basket_items (id int PRIMARY KEY, quantity int);
INSERT INTO baskets VALUES (0, 'old', 0, 0);
INSERT INTO basket_items VALUES (0, 0);
"""
TABLES = "baskets", "basket-items", "filled-baskets", "baskets-by-customer"
WRITES = (
    (
        "INSERT INTO baskets VALUES (1, 'ann', 5, 2)",
        "INSERT INTO basket_items VALUES (11, 1), (12, 1)",
    ),
    ("UPDATE basket_items SET quantity = 9 WHERE id = 11",),
    (
        "UPDATE baskets SET total = 1 WHERE id = 1",
        "DELETE FROM basket_items WHERE id = 12",
        "UPDATE baskets SET total = 0, changed_items = 1 WHERE id = 1",
    ),
    (
        "INSERT INTO basket_items VALUES (21, 1), (22, 1), (23, 1)",
        "INSERT INTO baskets VALUES (2, 'bob', 7, 3)",
    ),
    ("UPDATE baskets SET customer = 'cyd', changed_items = 0 WHERE id = 2",),
)
"""Statements of one transaction each; a basket says how many items changed with it."""


class Change(NamedTuple):
    """A record of a table; ``row`` is None for a tombstone."""

    key: str
    row: dict[str, Any] | None
    commit: int


Changes = dict[str, dict[str, list[Change]]]
"""By transaction, then by topic."""


def basket_transactions(
    lab: MirrorLab, database: PostgresConnection[Any]
) -> tuple[Changes, list[str]]:
    """Execute WRITES, and read TABLES until all of it has arrived; with the transactions' ids."""
    database.execute(CREATE)
    with (
        lab.captured("baskets") as baskets,
        lab.captured("basket_items") as items,
        lab.running(_pipeline(baskets, items), baskets, items) as check,
    ):

        def changes() -> Changes:
            check()
            return _by_transaction(lab.connection, TABLES)

        def is_copied() -> bool:
            return set(TABLES) - {"filled-baskets"} <= changes()[""].keys()

        def is_there() -> bool:
            found = changes()
            joined = [name for name in ids if name != only_items]
            return (
                all(_is_complete(found[name]) for name in joined)
                and "basket-items" in found[only_items]
                and {"filled-baskets", "baskets-by-customer"} <= found[last].keys()
            )

        wait_until(is_copied, "the copies", timeout=WAIT_S)
        ids = _write(database)
        _, only_items, *_, last = ids
        wait_until(is_there, "every transaction is complete", timeout=WAIT_S)
        return changes(), ids


def _pipeline(baskets: Capture, items: Capture) -> Pipeline:
    """Both tables with every change; the baskets also filtered, and under another key."""
    app = Pipeline("baskets")
    changes = app.changes(baskets.table.topic)
    changes.to_table("baskets", transactions="ordered")
    app.changes(items.table.topic).to_table("basket-items", transactions="ordered")
    filled = changes.filter(lambda row: row["total"] > 0)
    filled.map_values(lambda row: {"customer": row["customer"]}).to_table("filled-baskets")
    changes.select_key(lambda row: row["customer"]).to_table("baskets-by-customer")
    return app


def _write(database: PostgresConnection[Any]) -> list[str]:
    """Each of WRITES in a transaction; returns their ids."""
    ids = []
    for statements in WRITES:
        with database.transaction():
            for statement in statements:
                database.execute(statement)  # type: ignore[arg-type]
            (name,) = database.execute("SELECT pg_current_xact_id()::text").fetchone() or ("",)
        ids.append(name)
    return ids


def _by_transaction(connection: Connection, topics: Sequence[str]) -> Changes:
    """The records of the tables, those of each source transaction together."""
    found: Changes = defaultdict(lambda: defaultdict(list))
    for topic in topics:
        names = []
        for record in read_raw(connection, topic):
            assert record.key is not None
            source = dict(record.headers)[SOURCE_HEADER] or b""
            _, position, name = source.decode().split(":")
            row = None if record.value is None else RowCodec().decode(record.value)
            change = Change(record.key.decode(), row, int(position.split("/")[0]))
            found[name][topic].append(change)
            names.append(name)
        in_turn = [name for name, _ in groupby(names)]
        assert len(in_turn) == len(set(in_turn)), f"{topic}: {in_turn}"
    return found


def _is_complete(changes: dict[str, list[Change]]) -> bool:
    """Whether all items have arrived that the basket says were changed with it."""
    rows = [change.row for change in changes["baskets"] if change.row is not None]
    return bool(rows) and len(changes["basket-items"]) == rows[-1]["changed_items"]
