"""The capture of one table: its publication, topic, connector and slot, from start to removal."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lastword.cdc.postgres.connector import CLASS, connector_config
from lastword.cdc.postgres.database import PostgresDatabase, Session, quoted
from lastword.cdc.postgres.names import SourceTable
from lastword.cdc.postgres.new_snapshot import announce_snapshot
from lastword.clock import SYSTEM_CLOCK
from lastword.codecs.row_schema import SourceColumn, SourceColumns
from lastword.connect_worker.rest import ConnectClient
from lastword.connect_worker.secrets import forget_secret, keep_secret
from lastword.errors import ConfigError, ConnectorError, TopicExistsError
from lastword.kafka.admin import Admin

_BROKERS_DEFAULT = -1
_STOP_SECONDS = 60.0
_POLL_SECONDS = 0.2


@dataclass(frozen=True)
class SlotState:
    """The replication slot as the database sees it.

    active      whether the connector is connected
    lag_bytes   how much of the log the connector has not confirmed
    held_bytes  how much of the log the database keeps for it
    lost        whether the database gave up, because the slot was too far behind
    """

    active: bool
    lag_bytes: int
    held_bytes: int
    lost: bool


class Capture:
    """What belongs to one captured table in the database, in Kafka and in Connect.

    ``secrets`` is the directory from which the worker's connectors read passwords; None for a
    worker of somebody else. Its connectors get ``password_reference`` instead, which the config
    provider of that worker resolves.
    """

    def __init__(
        self,
        table: SourceTable,
        database: PostgresDatabase,
        client: ConnectClient,
        *,
        secrets: Path | None,
        password_reference: str | None = None,
    ) -> None:
        self.table = table
        self._database = database
        self._client = client
        self._secrets = secrets
        self._reference = password_reference

    @property
    def place(self) -> str:
        """Host, port and name of the database."""
        return self._database.place

    def start(self, admin: Admin) -> None:
        """Make what is missing, and start the connector; what is there is left as it is.

        After a removal the table has the rows of before: a new snapshot is announced to it.
        """
        if CLASS not in self._client.plugins():
            raise ConnectorError(
                "the Connect worker has no Debezium plug-in for PostgreSQL",
                hint="install it there, or use the local worker: lastword connect start",
            )
        with self._database.connect() as session:
            if not self.table.is_published(session):
                session.do(self.table.create_publication)
            was_there = self._create_topic(admin)
            is_new = self._client.config(self.table.connector) is None
            if was_there and is_new and _slot(session, self.table) is None:
                announce_snapshot(admin.connection, session, self.table)
            self._client.put(self.table.connector, self._config(session))
        self._client.resume(self.table.connector)

    def failure(self) -> str | None:
        """Why the connector failed; None while it has not."""
        found = self._client.status(self.table.connector)
        return None if found is None else found.failure

    def connector_state(self) -> tuple[str | None, str | None]:
        """The state of the connector and why it failed; (None, None) when there is none."""
        found = self._client.status(self.table.connector)
        return (None, None) if found is None else (found.state, found.failure)

    def offsets(self) -> list[dict[str, Any]]:
        """How far the connector says it has come."""
        return self._client.offsets(self.table.connector)

    def slot(self) -> SlotState | None:
        """The slot; None when there is none (yet)."""
        with self._database.connect() as session:
            return _slot(session, self.table)

    def slot_and_columns(self) -> tuple[SlotState | None, SourceColumns | None]:
        """The slot, and the columns that the table has now; None for what is not there."""
        with self._database.connect() as session:
            return _slot(session, self.table), _columns(session, self.table)

    def estimated_rows(self) -> int:
        """About how many rows the table has; exact where it was never analysed."""
        with self._database.connect() as session:
            known = session.value(
                "SELECT reltuples::bigint FROM pg_class WHERE oid = to_regclass(%s)",
                (self.table.sql,),
            )
            if known is None or known < 0:
                known = session.value(f"SELECT count(*) FROM {self.table.sql}")  # noqa: S608
        return int(known)

    def pause(self) -> None:
        """Have the connector stop reading; the database keeps its log until it goes on."""
        self._client.pause(self.table.connector)

    def resume(self) -> None:
        """Have it go on, or try again after a failure."""
        self._client.resume(self.table.connector)
        self._client.restart(self.table.connector)

    def resync(self, admin: Admin) -> None:
        """Have the connector read all rows again; the table keeps those it has meanwhile.

        What the new snapshot does not find is swept from the table at its end.
        """
        self._stop_connector()
        with self._database.connect() as session:
            self._drop_slot(session)
            # Without offsets the connector cannot go on but with a snapshot, as it is announced.
            self._client.delete_offsets(self.table.connector)
            announce_snapshot(admin.connection, session, self.table)
        self._client.resume(self.table.connector)

    def remove(self) -> None:
        """Delete connector, slot and publication; the topics and the table stay.

        What is gone already is passed over, so a removal that failed half way can be repeated.
        """
        if self._client.config(self.table.connector) is not None:
            self._stop_connector()
            self._client.delete_offsets(self.table.connector)
            self._client.delete(self.table.connector)
        with self._database.connect() as session:
            self._drop_slot(session)
            session.do(f"DROP PUBLICATION IF EXISTS {quoted(self.table.publication)}")
        if self._secrets is not None:
            forget_secret(self._secrets, self.table.connector)

    def _config(self, session: Session) -> dict[str, str]:
        login = session.login
        if self._secrets is not None:
            password = keep_secret(self._secrets, self.table.connector, login["password"])
        elif self._reference is None and login["password"]:
            raise ConfigError(
                "everybody who reaches your Connect cluster could read the database's password",
                hint="give it to a config provider there, and name it: "
                "--password-reference '${file:/etc/kafka/shop.properties:password}'",
            )
        else:
            password = self._reference or ""
        return connector_config(self.table, login, password, session.sslmode)

    def _create_topic(self, admin: Admin) -> bool:
        """Of one partition: changes come in the order of the database's log.

        Says whether it was there.
        """
        settings = {"cleanup.policy": "delete"}
        try:
            admin.create(
                self.table.topic, partitions=1, replication=_BROKERS_DEFAULT, settings=settings
            )
        except TopicExistsError:
            return True
        return False

    def _stop_connector(self) -> None:
        """Returns once its tasks have ended, so that nothing holds the slot."""
        self._client.stop(self.table.connector)
        deadline = SYSTEM_CLOCK.monotonic() + _STOP_SECONDS
        while (found := self._client.status(self.table.connector)) is not None and (
            found.state != "STOPPED" or found.tasks
        ):
            if SYSTEM_CLOCK.monotonic() > deadline:
                raise ConnectorError(
                    f"the connector {self.table.connector} does not stop",
                    hint="look at the worker's log: lastword connect log",
                )
            SYSTEM_CLOCK.sleep(_POLL_SECONDS)

    def _drop_slot(self, session: Session) -> None:
        """Ends whoever still reads it: the connector was stopped, and this is what is left."""
        session.rows(
            "SELECT pg_terminate_backend(active_pid) FROM pg_replication_slots "
            "WHERE slot_name = %s AND active",
            (self.table.slot,),
        )
        deadline = SYSTEM_CLOCK.monotonic() + _STOP_SECONDS
        while session.value(
            "SELECT active FROM pg_replication_slots WHERE slot_name = %s", (self.table.slot,)
        ):
            if SYSTEM_CLOCK.monotonic() > deadline:
                raise ConnectorError(
                    f"something reads the slot {self.table.slot}",
                    hint="see who: SELECT * FROM pg_replication_slots",
                )
            SYSTEM_CLOCK.sleep(_POLL_SECONDS)
        session.rows(
            "SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots "
            "WHERE slot_name = %s",
            (self.table.slot,),
        )


def _slot(session: Session, table: SourceTable) -> SlotState | None:
    found = session.rows(
        "SELECT active, "
        "coalesce(pg_wal_lsn_diff(pg_current_wal_lsn(), confirmed_flush_lsn), 0)::bigint, "
        "coalesce(pg_wal_lsn_diff(pg_current_wal_lsn(), restart_lsn), 0)::bigint, "
        "coalesce(wal_status = 'lost', false) "
        "FROM pg_replication_slots WHERE slot_name = %s",
        (table.slot,),
    )
    return SlotState(*found[0]) if found else None


def _columns(session: Session, table: SourceTable) -> SourceColumns | None:
    """Without generated columns, which the database does not send."""
    found = session.rows(
        "SELECT attrelid::bigint, attname, format_type(atttypid, atttypmod), attnum "
        "FROM pg_attribute WHERE attrelid = to_regclass(%s) "
        "AND attnum > 0 AND NOT attisdropped AND attgenerated = '' ORDER BY attnum",
        (table.sql,),
    )
    columns = tuple(SourceColumn(name, kind, number) for _, name, kind, number in found)
    return SourceColumns(found[0][0], columns) if found else None
