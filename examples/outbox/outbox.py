"""Transactional outbox: events that commit with the rows of a database become topics of events.

An application that writes to its database and to Kafka can fail between the two. With an outbox it
writes a row per event into the table ``outbox``, in the transaction that changes its other rows.
Debezium reads that table from the database's log, and the pipeline below writes each event to the
topic of its kind: ``outbox.event.order``, ``outbox.event.customer``. The key is the aggregate, so
the events of one order stay in order.

Needs a PostgreSQL with ``wal_level = logical``, a broker and a Connect worker:

    lastword broker start && lastword connect start
    export PGPASSWORD=...
    python examples/outbox/outbox.py postgresql://shop@localhost/shop [HOST:PORT]

Afterwards the pipeline alone, until Ctrl-C: cd examples/outbox && lastword pipeline run outbox:app
"""

from __future__ import annotations

import json
import sys
from typing import Any
from uuid import uuid4

import psycopg

import lastword as lw
from lastword.cdc.change import Operation, RowChange
from lastword.cdc.postgres.capture import Capture
from lastword.cdc.postgres.database import PostgresDatabase
from lastword.cdc.postgres.names import SourceTable
from lastword.connect_worker.rest import ConnectClient
from lastword.connect_worker.worker_info import read_worker
from lastword.home import default_home
from lastword.pipelines import BatchReport, Pipeline

AGGREGATES = ("order", "customer")
OUTBOX = SourceTable.parse("public.outbox")
TABLES = """
CREATE TABLE IF NOT EXISTS orders (id int PRIMARY KEY, customer text, state text);
CREATE TABLE IF NOT EXISTS outbox (
  id uuid PRIMARY KEY, aggregatetype text NOT NULL, aggregateid text NOT NULL,
  type text NOT NULL, payload jsonb
)
"""


def is_event(_: str, change: RowChange | None) -> bool:
    """Whether a row was added; that it is deleted again says nothing."""
    return change is not None and change.operation in (Operation.CREATE, Operation.READ)


def event_of(change: RowChange) -> dict[str, Any]:
    """What is written; consumers recognize an event that they have seen by its id."""
    row = change.after or {}
    return {"id": str(row["id"]), "type": row["type"], "payload": row["payload"]}


app = Pipeline("outbox")
added = app.changes(OUTBOX.topic).events().filter(is_event)
for kind in AGGREGATES:
    of_kind = added.filter(lambda _, change, kind=kind: change.after["aggregatetype"] == kind)
    by_aggregate = of_kind.select_key(lambda _, change: change.after["aggregateid"])
    by_aggregate.map_values(event_of).to_topic(f"outbox.event.{kind}")


def publish(
    database: psycopg.Connection[Any], aggregate: tuple[str, str], kind: str, payload: Any
) -> None:
    """Add an event to the transaction. The row can go at once: the database's log has it."""
    row = (uuid4(), *aggregate, kind, json.dumps(payload))
    database.execute("INSERT INTO outbox VALUES (%s, %s, %s, %s, %s)", row)
    database.execute("DELETE FROM outbox WHERE id = %s", row[:1])


def place_order(database: psycopg.Connection[Any], order: int, customer: str) -> None:
    """The row and its events, all or none of them."""
    with database.transaction():
        database.execute("INSERT INTO orders VALUES (%s, %s, 'placed')", (order, customer))
        publish(database, ("order", str(order)), "OrderPlaced", {"customer": customer})
        publish(database, ("customer", customer), "OrderCounted", {"order": order})


def pay_order(database: psycopg.Connection[Any], order: int) -> None:
    """A change of the same aggregate, whose event comes after the first one."""
    with database.transaction():
        database.execute("UPDATE orders SET state = 'paid' WHERE id = %s", (order,))
        publish(database, ("order", str(order)), "OrderPaid", {})


def main(url: str, bootstrap_servers: str) -> None:
    """Capture the outbox, place and pay two orders, and write their events until Ctrl-C."""
    worker = read_worker(default_home())
    if worker is None:
        sys.exit("start a Connect worker first: lastword connect start")
    cluster = lw.Connection(bootstrap_servers=bootstrap_servers)
    with psycopg.connect(url, autocommit=True) as database:
        database.execute(TABLES)
        client = ConnectClient(worker.url)
        capture = Capture(OUTBOX, PostgresDatabase(url), client, secrets=worker.secrets)
        with lw.Admin(cluster) as admin:
            capture.start(admin)
        (number,) = database.execute("SELECT coalesce(max(id), 0) FROM orders").fetchone() or (0,)
        for order in (number + 1, number + 2):
            place_order(database, order, "alice")
            pay_order(database, order)
    app.run(connection=cluster, on_batch=show)


def show(batch: BatchReport) -> None:
    """One line per batch that wrote events."""
    if batch.tally.updates:
        print(f"wrote {batch.tally.updates} events")


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit("python outbox.py postgresql://USER@HOST/DATABASE [HOST:PORT]")
    main(sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else "localhost:9092")
