"""Writes records from the command line, without reading the table first."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager

from lastword.cli.support.app_context import AppContext
from lastword.cli.support.output import as_text
from lastword.cli.support.table_options import TableSpec, typed
from lastword.errors import IndeterminateError, LastwordError
from lastword.expiry import ttl_ms_of
from lastword.kafka.admin import Admin
from lastword.keyspace import Keyspace
from lastword.records import Headers, Write
from lastword.topics.check import check_topic, require_fit
from lastword.writer.direct import WRITE_TIMEOUT_S, DirectWriter
from lastword.writer.outcome import Outcome, write_each
from lastword.writer.write_path import WritePath


class CommandWriter:
    """Encodes text with a table's codecs, writes it, and prints what became of it."""

    def __init__(
        self,
        app: AppContext,
        spec: TableSpec,
        path: WritePath,
        *,
        headers: Headers,
        timestamp_ms: int | None,
        ttl_ms: int | None,
    ) -> None:
        self._app = app
        self._path = path
        self._headers = headers
        self._timestamp_ms = timestamp_ms
        self._ttl_ms = ttl_ms
        self._keys, self._values = spec.codecs

    def record(self, key: str, value: str | None) -> Write:
        """A record from text; a value of None is a tombstone."""
        raw_value = None if value is None else self._values.parse(typed(value))
        raw_key = self._keys.parse(typed(key))
        return Write(raw_key, raw_value, self._headers, self._timestamp_ms, ttl_ms=self._ttl_ms)

    def write(self, items: Iterable[tuple[str, Write | LastwordError]]) -> list[Outcome]:
        """Write records, each given with its key as text; an outcome for each, errors included."""
        return write_each(self._path.write, items)

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
) -> Iterator[CommandWriter]:
    """A writer to the topic of ``spec``, which is checked as a table would check it.

    Every record gets the headers and the timestamp; without one, the time of writing. Without a
    ``ttl`` a value has the time to live of the table's settings, if they name one.
    """
    chosen = ttl if ttl is not None else spec.ttl
    ttl_ms = None if chosen is None else ttl_ms_of(chosen)
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
    try:
        yield CommandWriter(
            app, spec, path, headers=headers, timestamp_ms=timestamp_ms, ttl_ms=ttl_ms
        )
    finally:
        path.close()


def raise_worst(outcomes: Sequence[Outcome]) -> None:
    """End the command with the most uncertain of the errors, if there is one."""
    errors = [outcome.error for outcome in outcomes if outcome.error is not None]
    if errors:
        raise max(errors, key=lambda error: isinstance(error, IndeterminateError))
