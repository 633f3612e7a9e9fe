"""What a capture was asked for, and the private file in which this machine keeps it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import msgspec

from lastword.cdc.change import Transactions
from lastword.cdc.postgres.database import PostgresDatabase
from lastword.cdc.postgres.names import SourceTable
from lastword.cdc.row_filter import KeptColumns, RowFilter
from lastword.errors import CaptureError, ConfigError
from lastword.private_files import make_private_directory, write_private

_REFERENCE = ("${", "}")


@dataclass(frozen=True, repr=False)
class CaptureSpec:
    """One capture, as a user asks for it.

    name                 of the capture and of the table of Lastword
    url                  of the database; may have its password, so nothing prints it
    table                in the database, as SCHEMA.TABLE
    where                the rows to keep, as SQL's WHERE has it; None for all
    columns              the columns to keep, with commas between them; None for all
    password_reference   what stands for the password in the configuration of a connector on the
                         user's own Connect cluster
    connect_url          of that cluster; None for the worker of this machine
    transactions         what its table tells of the transactions of the database
    """

    name: str
    url: str
    table: str
    where: str | None = None
    columns: str | None = None
    password_reference: str | None = None
    connect_url: str | None = None
    transactions: Transactions = "last"

    @property
    def source(self) -> SourceTable:
        """The table and the names of all that belongs to its capture."""
        return SourceTable.parse(self.table, self.name)

    @property
    def database(self) -> PostgresDatabase:
        """Where the table is."""
        return PostgresDatabase(self.url)

    @property
    def filter(self) -> RowFilter | None:
        """Which rows to keep."""
        return None if self.where is None else RowFilter(self.where)

    @property
    def kept_columns(self) -> KeptColumns | None:
        """Which columns to keep."""
        return None if self.columns is None else KeptColumns(self.columns)

    @property
    def shape(self) -> tuple[str | None, str | None]:
        """What its table shows of the rows."""
        return self.where, self.columns

    def check(self) -> None:
        """Raise ConfigError for what cannot be meant, before anything is asked or made."""
        _ = self.source, self.filter, self.kept_columns, self.database.place
        reference = self.password_reference
        if reference is None:
            return
        begin, end = _REFERENCE
        if not (reference.startswith(begin) and reference.endswith(end) and ":" in reference):
            raise ConfigError(
                "the password reference is not one of a config provider",
                hint="as in ${file:/etc/kafka/shop.properties:password}; never the password itself",
            )


def keep_capture(directory: Path, spec: CaptureSpec) -> None:
    """Remember it, for commands that only name it; readable by this user alone."""
    make_private_directory(directory)
    write_private(_file(directory, spec.name), msgspec.json.encode(spec))


def kept_capture(directory: Path, name: str) -> CaptureSpec | None:
    """The capture of that name; None when there is none."""
    try:
        return msgspec.json.decode(_file(directory, name).read_bytes(), type=CaptureSpec)
    except FileNotFoundError:
        return None
    except msgspec.DecodeError:
        raise CaptureError(
            f"{_file(directory, name)} cannot be read",
            hint="delete it, and run lastword cdc postgres again",
        ) from None  # the file may hold a password, and the error a part of it


def kept_captures(directory: Path) -> list[CaptureSpec]:
    """All of them by name."""
    names = sorted(path.stem for path in directory.glob("*.json"))
    found = [kept_capture(directory, name) for name in names]
    return [spec for spec in found if spec is not None]


def forget_capture(directory: Path, name: str) -> None:
    """Delete the file; idempotent."""
    _file(directory, name).unlink(missing_ok=True)


def _file(directory: Path, name: str) -> Path:
    return directory / f"{name}.json"
