"""Writes records from the command line: straight to Kafka, or through owners where they decide."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager

from lastword.cli.support.app_context import AppContext
from lastword.cli.support.opening import open_table
from lastword.cli.support.output import as_text
from lastword.cli.support.table_options import TableSpec, typed
from lastword.codecs.split import split_of
from lastword.errors import ConfigError, IndeterminateError, LastwordError
from lastword.expiry import ttl_ms_of
from lastword.kafka.admin import Admin
from lastword.keyspace import Keyspace
from lastword.records import ABSENT, Absent, Headers, Version, Write
from lastword.table.table import Table
from lastword.topics.check import check_topic, require_fit
from lastword.writer.direct import WRITE_TIMEOUT_S, DirectWriter
from lastword.writer.id_headers import IdHeaders
from lastword.writer.outcome import Outcome, write_each
from lastword.writer.write_mode import WriteMode


class CommandWriter:
    """Encodes text with a table's codecs, writes it, and prints the outcome."""

    def __init__(
        self,
        app: AppContext,
        spec: TableSpec,
        write: Callable[[Sequence[Write]], list[Outcome]],
        *,
        headers: Headers,
        timestamp_ms: int | None,
        ttl_ms: int | None,
    ) -> None:
        self._app = app
        self._write = write
        self._headers = headers
        self._timestamp_ms = timestamp_ms
        self._ttl_ms = ttl_ms
        self._keys, self._values = spec.codecs

    def record(
        self, key: str, value: str | None, expected: Version | Absent | None = None
    ) -> Write:
        """A record from text; a value of None is a tombstone."""
        raw_value = None if value is None else self._values.parse(typed(value))
        raw_key = self._keys.parse(typed(key))
        return Write(
            raw_key,
            raw_value,
            self._headers,
            self._timestamp_ms,
            expected=expected,
            ttl_ms=None if value is None else self._ttl_ms,
        )

    def write(self, items: Iterable[tuple[str, Write | LastwordError]]) -> list[Outcome]:
        """Write records, each given with its key as text; an outcome for each, errors included."""
        return write_each(self._write, items)

    def print_outcome(self, outcome: Outcome) -> None:
        """One line per record."""
        shown = {
            "key": outcome.key,
            "status": outcome.status,
            "version": None if outcome.version is None else str(outcome.version),
        }
        if outcome.error is not None:
            shown["error"] = str(outcome.error)
        what = outcome.error or outcome.version
        line = f"{as_text(outcome.key)}  {outcome.status}  {as_text(str(what))}"
        self._app.output.line(line, shown)


@contextmanager
def open_writer(
    app: AppContext,
    spec: TableSpec,
    *,
    headers: Headers = (),
    timestamp_ms: int | None = None,
    ttl: str | None = None,
    conditional: bool = False,
) -> Iterator[CommandWriter]:
    """A writer to the topic of ``spec``, which is checked as a table would check it.

    Every record gets the headers and the timestamp; without one, the time of writing. Without a
    ``ttl`` a value has the time to live of the table's settings, if they name one. ``conditional``
    says that records have conditions: then, as for a table whose settings say so, owners decide.
    """
    chosen = ttl if ttl is not None else spec.checked_ttl
    ttl_ms = None if chosen is None else ttl_ms_of(chosen)
    with _path(app, spec, conditional=conditional) as write:
        yield CommandWriter(
            app, spec, write, headers=headers, timestamp_ms=timestamp_ms, ttl_ms=ttl_ms
        )


@contextmanager
def _path(
    app: AppContext, spec: TableSpec, *, conditional: bool
) -> Iterator[Callable[[Sequence[Write]], list[Outcome]]]:
    if conditional or spec.writes == "owned":
        with open_owned(app, spec) as table:
            yield table.raw.put_many
        return
    if spec.owned_by is not None:
        app.output.info(
            f"warning: the application {spec.owned_by} owns the writes of {spec.topic}, and this "
            "write bypasses it; to write through it, set application_id"
        )
    with Admin(app.connection) as admin:
        partitions = admin.describe(spec.topic).partitions
        require_fit(spec.topic, check_topic(admin, spec.topic, allow_expiry=spec.allow_expiry))
        batch_bytes = int(admin.settings(spec.topic)["max.message.bytes"])
    path = DirectWriter(
        app.connection,
        spec.topic,
        batch_bytes=batch_bytes,
        timeout_s=WRITE_TIMEOUT_S,
        keyspace=Keyspace(partitions, spec.codecs[0].suffix_bytes),
    )
    split = split_of(spec.codecs[1])
    try:
        yield path.write if split is None else IdHeaders(path, split).write
    finally:
        path.close()


def open_owned(app: AppContext, spec: TableSpec) -> AbstractContextManager[Table]:
    """The table of ``spec`` with owned writes: the running owners decide, if there are any."""
    writes: WriteMode = "conditional" if spec.writes == "direct" else spec.writes
    return open_table(app, spec, writes=writes)


def raise_worst(outcomes: Sequence[Outcome]) -> None:
    """End the command with the most uncertain of the errors, if there is one."""
    errors = [outcome.error for outcome in outcomes if outcome.error is not None]
    if errors:
        raise max(errors, key=lambda error: isinstance(error, IndeterminateError))


def expected_version(if_version: str | None, *, if_absent: bool = False) -> Version | Absent | None:
    """The condition that the flags name; None without one."""
    if if_version is not None and if_absent:
        raise ConfigError(
            "--if-version and --if-absent exclude each other", hint="give one of the two"
        )
    if if_absent:
        return ABSENT
    return None if if_version is None else Version.parse(if_version)
