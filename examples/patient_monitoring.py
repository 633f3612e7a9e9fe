"""Patient monitoring: pulse events counted by the minute, and patients who leave are forgotten.

Run it with a broker at hand (``make up``): python examples/patient_monitoring.py [HOST:PORT]
Or only the pipeline, until Ctrl-C: cd examples && lastword pipeline run patient_monitoring:app
"""

from __future__ import annotations

import json
import random
import sys
import time
from typing import Any

from confluent_kafka import Producer

import lastword as lw
from lastword.pipelines import Pipeline, tumbling

PATIENTS = ("alice", "bob", "carol")
Event = dict[str, Any]

app = Pipeline("patient-monitoring")
events = app.stream("patient-events", value="json", timestamp="at")
by_patient = events.group_by_key()


def as_of_now(old: Event, new: Event) -> Event | None:
    """What is known of a patient; nothing once they have checked out."""
    return None if new["type"] == "checked-out" else old | new


counts = by_patient.count(
    "counts", changelog={"segment.bytes": 536870912, "min.cleanable.dirty.ratio": 0.3}
)
pulse_counts = (
    events.filter(lambda patient, event: event["type"] == "pulse")
    .group_by_key()
    .windowed_by(tumbling("60s", grace="5s"))
    .count("pulse-counts", retention="6h")
)
patients = by_patient.reduce(as_of_now, "patients")


def main(bootstrap_servers: str) -> None:
    """Three minutes of pulses, one patient who leaves, and the tables that come of it."""
    cluster = lw.Connection(bootstrap_servers=bootstrap_servers)
    with lw.Admin(cluster) as admin:
        if "patient-events" not in admin.topics():
            settings = {"cleanup.policy": "delete"}
            admin.create("patient-events", partitions=2, replication=1, settings=settings)
    write(cluster, generated(minute_ms=int(time.time()) // 60 * 60_000))

    app.run(once=True, connection=cluster, on_batch=print)

    with lw.Table(patients.topic, connection=cluster, value="json") as table:
        print("in the house:", sorted(table))
        assert "bob" not in table
    with lw.Table(
        pulse_counts.topic,
        connection=cluster,
        key=pulse_counts.key,
        value=pulse_counts.value,
        allow_expiry=True,
    ) as table:
        for window, beats in table.items():
            print(f"{window.key} in the minute from {window.start_ms}: {beats} measurements")


def generated(minute_ms: int) -> list[tuple[str, Event]]:
    """Everybody checks in, has a pulse every ten seconds, and Bob checks out."""
    measured: list[tuple[str, Event]] = [
        (patient, {"type": "checked-in", "at": minute_ms}) for patient in PATIENTS
    ]
    for second in range(0, 180, 10):
        for patient in PATIENTS:
            at_ms = minute_ms + second * 1000
            bpm = random.randint(55, 110)
            measured.append((patient, {"type": "pulse", "bpm": bpm, "at": at_ms}))
    measured.append(("bob", {"type": "checked-out", "at": minute_ms + 180_000}))
    return measured


def write(cluster: lw.Connection, measured: list[tuple[str, Event]]) -> None:
    """As any Kafka client would: here with the one that Lastword itself uses."""
    producer = Producer(cluster.librdkafka() | {"partitioner": "murmur2_random"})
    for patient, event in measured:
        producer.produce("patient-events", json.dumps(event), patient)
    producer.flush(30)


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "localhost:9092")
