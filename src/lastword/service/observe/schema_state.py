"""The schema of one table's values, and how many live keys hold which version of it.

The registry is asked at most every half minute. Counting reads all values: a small table is counted
when somebody looks and the count is old, a large one only on request.
"""

from __future__ import annotations

import threading

from lastword.clock import Clock
from lastword.codecs.versions import ValueSchema, VersionedCodec, value_schema
from lastword.errors import LastwordError
from lastword.service.api.served import ServedTable
from lastword.service.http.leaving import Stopping, client_left
from lastword.service.http.problems import Problem, RefusedError, problem_of
from lastword.service.observe.shapes_schema import (
    HeldVersion,
    SchemaVersionText,
    TableSchema,
    VersionCounts,
)
from lastword.table.schemas.held_versions import VersionCount, count_versions

ASK_AGAIN_S = 30.0
COUNTED_KEYS_MAX = 10_000
TEXT_MAX = 100_000
"""Characters of a schema that are shown."""
_NO_SCHEMA = ValueSchema(None, ())


class SchemaState:
    """One table. Safe to use from any thread; may ask the registry."""

    def __init__(self, served: ServedTable, clock: Clock) -> None:
        self._served = served
        self._clock = clock
        self._asking = threading.Lock()
        self._counting = threading.Lock()
        self._keys_so_far: int | None = None
        self._schema = _NO_SCHEMA
        self._problem: Problem | None = None
        self._ask_at = 0.0
        self._counts: VersionCounts | None = None
        self._count_at = 0.0

    def current(self) -> TableSchema:
        """The schema at most half a minute old, and the last count."""
        self._ask()
        keys = sum(each.keys for each in self._served.table.partitions())
        due = self._clock.monotonic() >= self._count_at
        if due and keys <= COUNTED_KEYS_MAX and self._counting.acquire(blocking=False):
            try:
                self._count(lambda: False)
            except LastwordError as error:
                self._problem = problem_of(error)
            finally:
                self._counting.release()
        return self._shown(keys)

    def count(self, stopping: Stopping = lambda: False) -> TableSchema:
        """Count all live keys, whatever that takes; raises RefusedError while a count runs."""
        if not self._counting.acquire(blocking=False):
            raise RefusedError(503, "Busy", "the keys are being counted", hint="try again later")
        try:
            self._count(stopping)
        finally:
            self._counting.release()
        return self.current()

    def _ask(self) -> None:
        with self._asking:
            if self._clock.monotonic() < self._ask_at:
                return
            try:
                self._schema = value_schema(self._served.decoder.value) or _NO_SCHEMA
                self._problem = None
            except LastwordError as error:
                self._problem = problem_of(error)
            self._ask_at = self._clock.monotonic() + ASK_AGAIN_S

    def _count(self, stopping: Stopping) -> None:
        codec = self._served.decoder.value
        if not isinstance(codec, VersionedCodec):
            return

        def progress(keys: int) -> None:
            self._keys_so_far = keys
            if stopping():
                raise client_left()

        started_s, at_ms = self._clock.monotonic(), self._clock.now_ms()
        try:
            found = count_versions(self._served.raw, codec, progress)
        finally:
            self._keys_so_far = None
        now_s = self._clock.monotonic()
        self._counts = _counts(found, at_ms, now_s - started_s)
        self._count_at = now_s + ASK_AGAIN_S

    def _shown(self, keys: int) -> TableSchema:
        codec = self._served.decoder.value
        return TableSchema(
            codec=codec.name,
            subject=self._schema.subject,
            versions=[
                SchemaVersionText(*each.version, each.kind, each.text[:TEXT_MAX])
                for each in self._schema.versions
            ],
            counts=self._counts,
            versioned=isinstance(codec, VersionedCodec),
            counting=self._keys_so_far,
            keys=keys,
            problem=self._problem,
        )


def _counts(found: list[VersionCount], at_ms: int, took_s: float) -> VersionCounts:
    held = [
        HeldVersion(*each.version, each.keys, each.newest)
        for each in found
        if each.version is not None
    ]
    unreadable = sum(each.keys for each in found if each.version is None)
    return VersionCounts(at_ms, round(took_s, 3), held, unreadable)
