"""The configuration of the connector that captures one table."""

from __future__ import annotations

from collections.abc import Mapping

from lastword.cdc.postgres.names import SourceTable

CLASS = "io.debezium.connector.postgresql.PostgresConnector"
_JSON = "org.apache.kafka.connect.json.JsonConverter"


def connector_config(
    table: SourceTable, login: Mapping[str, str], password: str, sslmode: str | None = None
) -> dict[str, str]:
    """Full change events with their types, exactly once, into a topic of one partition.

    ``password`` is what stands in the configuration, which everybody who can read Connect's topics
    can read: better a reference to a secret than the secret itself.
    """
    return {
        "connector.class": CLASS,
        "tasks.max": "1",
        **{f"database.{name}": login[name] for name in ("hostname", "port", "dbname", "user")},
        "database.password": password,
        **({} if sslmode is None else {"database.sslmode": sslmode}),
        "plugin.name": "pgoutput",
        "slot.name": table.slot,
        "publication.name": table.publication,
        "publication.autocreate.mode": "disabled",
        "topic.prefix": table.connector,
        "schema.include.list": _exactly(table.schema),
        "table.include.list": rf"{_exactly(table.schema)}\.{_exactly(table.table)}",
        # By default the connector skips TRUNCATE. A tombstone after each delete is redundant.
        "skipped.operations": "none",
        "tombstones.on.delete": "false",
        "snapshot.fetch.size": "10000",
        # One poll is one transaction: a small one ends long before it times out, even on a busy
        # machine. A transaction that timed out fails the task for good.
        "max.batch.size": "512",
        "max.queue.size": "8192",
        "poll.interval.ms": "50",
        # A database that was restarted is asked again soon; the default is ten seconds.
        "retriable.restart.connector.wait.ms": "2000",
        # How values are written: nothing is rounded, and each column says what it is.
        "decimal.handling.mode": "string",
        "time.precision.mode": "isostring",
        "interval.handling.mode": "string",
        "binary.handling.mode": "bytes",
        # Only for these does the reader need it: it is in the schema of every record, twice.
        "datatype.propagate.source.type": r".*\._?(numeric|money)",
        "key.converter": _JSON,
        "key.converter.schemas.enable": "false",
        "value.converter": _JSON,
        "value.converter.schemas.enable": "true",
        "value.converter.replace.null.with.default": "false",
        # The database lets go of its log although other tables are written and this one is not.
        "lsn.flush.mode": "connector_and_driver",
        "heartbeat.interval.ms": "5000",
        "status.update.interval.ms": "2000",
        "topic.creation.default.replication.factor": "-1",
        "topic.creation.default.partitions": "1",
        "topic.creation.default.cleanup.policy": "delete",
        "exactly.once.support": "required",
        "transaction.boundary": "poll",
        "producer.override.compression.type": "lz4",
    }


def _exactly(name: str) -> str:
    """A name as the regular expression that Debezium takes it for."""
    return "".join(
        letter if letter.isalnum() or letter == "_" else f"\\{letter}" for letter in name
    )
