"""A PostgreSQL database whose changes are to be captured."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lastword.errors import CaptureError, ConfigError

if TYPE_CHECKING:
    import psycopg

_CONNECT_SECONDS = 15


@dataclass(frozen=True, repr=False)
class PostgresDatabase:
    """Where it is and who asks; ``url`` may have a password, which nothing here prints.

    Without one in the URL, libpq looks where it always looks: PGPASSWORD, then ~/.pgpass.
    """

    url: str

    @property
    def place(self) -> str:
        """``host:port/database``, without user and password; ConfigError where it is no address."""
        psycopg = _psycopg()
        try:
            given = psycopg.conninfo.conninfo_to_dict(self.url)
        except psycopg.ProgrammingError:  # its message may quote the URL
            raise _no_address() from None
        host, port = given.get("host") or "localhost", given.get("port") or 5432
        return f"{host}:{port}/{given.get('dbname') or given.get('user') or ''}"

    @contextmanager
    def connect(self) -> Iterator[Session]:
        """A connection that commits each statement; CaptureError when there is none."""
        psycopg = _psycopg()
        try:
            connection = psycopg.connect(
                self.url,
                autocommit=True,
                connect_timeout=_CONNECT_SECONDS,
                application_name="lastword",
            )
        except psycopg.ProgrammingError:  # its message may quote the URL
            raise _no_address() from None
        except psycopg.OperationalError as error:
            raise _no_connection(self.place, _first_line(error)) from None
        with connection:
            yield Session(connection)


class Session:
    """One connection to the database."""

    def __init__(self, connection: psycopg.Connection[Any]) -> None:
        self._connection = connection

    @property
    def login(self) -> dict[str, str]:
        """Host, port, database, user and password as they were found out."""
        info = self._connection.info
        return {
            "hostname": info.host,
            "port": str(info.port),
            "dbname": info.dbname,
            "user": info.user,
            "password": info.password or "",
        }

    @property
    def sslmode(self) -> str | None:
        """How the connection was asked to be encrypted, if it was."""
        return self._connection.info.get_parameters().get("sslmode")

    def rows(self, query: str, parameters: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """Everything that a query returns."""
        psycopg = _psycopg()
        try:
            return self._connection.execute(query.encode(), parameters).fetchall()
        except psycopg.Error as error:
            raise CaptureError(f"the database refuses: {_first_line(error)}") from error

    def value(self, query: str, parameters: Sequence[Any] = ()) -> Any:
        """The one value of a query of one row; None where there is no row."""
        found = self.rows(query, parameters)
        return found[0][0] if found else None

    def do(self, statement: str, parameters: Sequence[Any] = ()) -> None:
        """A statement that returns nothing."""
        psycopg = _psycopg()
        try:
            self._connection.execute(statement.encode(), parameters)
        except psycopg.Error as error:
            raise CaptureError(
                f"the database refuses: {_first_line(error)}", hint=f"the statement: {statement}"
            ) from error


def quoted(*names: str) -> str:
    """Names as SQL writes them.

    >>> quoted("public", 'odd"name')
    '"public"."odd""name"'
    """
    return ".".join('"' + name.replace('"', '""') + '"' for name in names)


def _no_address() -> ConfigError:
    return ConfigError(
        "this is no address of a PostgreSQL database",
        hint="postgresql://USER@HOST:5432/DATABASE, with the password in PGPASSWORD",
    )


def _no_connection(place: str, message: str) -> CaptureError:
    """The reason is at the end of what libpq says; before it are the addresses it tried."""
    reason = message.rpartition(" failed: ")[2]
    if "FATAL" in reason or "password" in reason:
        return CaptureError(
            f"the database at {place} does not let us in: {reason}",
            hint="try the same with psql; put the password into PGPASSWORD or ~/.pgpass",
        )
    return CaptureError(
        f"the database at {place} does not answer: {reason}",
        hint="see whether it runs, and listens there for connections from this machine",
    )


def _first_line(error: Exception) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0]


def _psycopg() -> Any:
    try:
        import psycopg  # noqa: PLC0415 - an extra of its own
    except ImportError as error:
        raise ConfigError(
            "to look at a PostgreSQL database, psycopg is needed",
            hint="pip install 'lastword[cdc]'",
        ) from error
    return psycopg
