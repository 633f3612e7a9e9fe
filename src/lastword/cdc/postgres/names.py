"""What everything is called that belongs to the capture of one table."""

from __future__ import annotations

import re
from dataclasses import dataclass

from lastword.cdc.postgres.database import Session, quoted
from lastword.errors import ConfigError

_TABLE = re.compile(r"(?:([^.]+)\.)?([^.]+)")
_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,40}")


@dataclass(frozen=True)
class SourceTable:
    """A table of the database and the name of its capture, by which all else is called.

    name     of the capture; the table of Lastword is called so, too
    schema   of the table in the database
    table    its name there
    """

    name: str
    schema: str
    table: str

    @classmethod
    def parse(cls, text: str, name: str | None = None) -> SourceTable:
        """``public.orders``, or ``orders`` in the schema public."""
        match = _TABLE.fullmatch(text)
        if match is None:
            raise ConfigError(f"{text!r} names no table", hint="SCHEMA.TABLE, as in public.orders")
        name = name or match[2]
        if not _NAME.fullmatch(name):
            raise ConfigError(
                f"a capture cannot be named {name!r}",
                hint="--as NAME: small letters, digits, '_' and '-', at most 41",
            )
        return cls(name, match[1] or "public", match[2])

    def __str__(self) -> str:
        return f"{self.schema}.{self.table}"

    @property
    def sql(self) -> str:
        """Its name in SQL."""
        return quoted(self.schema, self.table)

    @property
    def connector(self) -> str:
        """The connector, and the pipeline that keeps the table."""
        return f"cdc-{self.name}"

    @property
    def topic(self) -> str:
        """Where the connector writes the changes."""
        return f"{self.connector}.{self.schema}.{self.table}"

    @property
    def slot(self) -> str:
        """The replication slot, by which the database knows how far the capture is."""
        return f"lastword_{self.name}".replace("-", "_")

    @property
    def publication(self) -> str:
        """What says in the database that changes of this table are sent."""
        return self.slot

    @property
    def create_publication(self) -> str:
        """The SQL that makes the publication."""
        return (
            f"CREATE PUBLICATION {quoted(self.publication)} FOR TABLE {self.sql} "
            "WITH (publish_via_partition_root = true);"
        )

    def exists(self, session: Session) -> bool:
        """Whether the database has the table."""
        return session.value("SELECT to_regclass(%s)", (self.sql,)) is not None

    def is_published(self, session: Session) -> bool:
        """Whether the publication is there and has the table."""
        found = session.value(
            "SELECT 1 FROM pg_publication_tables "
            "WHERE pubname = %s AND schemaname = %s AND tablename = %s",
            (self.publication, self.schema, self.table),
        )
        return found is not None
