"""Customer activity: logins and purchases folded into what is known of each customer.

Every event may come twice; its id tells. A visit is a session: events of a customer with never
more than half an hour between two of them.

Run it with a broker at hand (``make up``): python examples/customer_activity.py [HOST:PORT]
Or only the pipeline, until Ctrl-C: cd examples && lastword pipeline run customer_activity:app
"""

from __future__ import annotations

import random
import sys
import time
from typing import Any

import lastword as lw
from lastword.pipelines import Pipeline, session

CUSTOMERS = ("alice", "bob", "carol")
HOUR_MS = 3_600_000
Event = dict[str, Any]

app = Pipeline("customer-activity")
events = app.stream("customer-events", timestamp="at").deduplicate("id", "seen", within="1h")


def after(customer: str, event: Event, known: Event) -> Event:
    """What is known of a customer after one more event."""
    if event["action"] == "login":
        return known | {"login_count": known["login_count"] + 1}
    return known | {
        "purchases": known["purchases"] + 1,
        "spent_cents": known["spent_cents"] + event["cents"],
    }


def nothing_yet() -> Event:
    """A customer who was never here."""
    return {"login_count": 0, "purchases": 0, "spent_cents": 0}


by_customer = events.group_by_key()
activity = by_customer.aggregate(nothing_yet, after, "activity")
visits = by_customer.windowed_by(session("30m", grace="5m")).count("visits", retention="6h")


def main(bootstrap_servers: str) -> None:
    """An hour of events, each sent twice, and the tables that come of it."""
    cluster = lw.Connection(bootstrap_servers=bootstrap_servers)
    with lw.Admin(cluster) as admin:
        if "customer-events" not in admin.topics():
            settings = {"cleanup.policy": "delete"}
            admin.create("customer-events", partitions=2, replication=1, settings=settings)
    generated = events_of_an_hour(until_ms=int(time.time() * 1000))
    write(cluster, [each for each in generated for _ in range(2)])

    app.run(once=True, connection=cluster, on_batch=print)

    with lw.Table(activity.topic, connection=cluster, value=activity.value) as table:
        for customer, known in table.items():
            print(f"{customer}: {known}")
            # A duplicate that was counted would show.
            assert known["login_count"] == 2 * known["purchases"]
    with lw.Table(
        visits.topic, connection=cluster, key=visits.key, value=visits.value, allow_expiry=True
    ) as table:
        for visit, count in table.items():
            minutes = (visit.end_ms - visit.start_ms) // 60_000
            print(f"{visit.key} was here for {minutes} minutes: {count} events")


def events_of_an_hour(until_ms: int) -> list[tuple[str, Event]]:
    """Everybody logs in twice and buys something in between, in the order of time."""
    done: list[tuple[str, Event]] = []
    for n, customer in enumerate(CUSTOMERS):
        start_ms = until_ms - HOUR_MS + n * 60_000
        for at_ms, action in ((0, "login"), (600_000, "purchase"), (3_000_000, "login")):
            event: Event = {"id": f"{customer}-{start_ms + at_ms}", "action": action}
            event |= {"at": start_ms + at_ms}
            if action == "purchase":
                event["cents"] = random.randint(100, 9_999)
            done.append((customer, event))
    return sorted(done, key=lambda each: each[1]["at"])


def write(cluster: lw.Connection, generated: list[tuple[str, Event]]) -> None:
    """Any Kafka client can do that; this one puts each customer where Kafka's own would."""
    with lw.EventLog("customer-events", connection=cluster) as log:
        log.append_many(generated)


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "localhost:9092")
