"""Writes: single records, named operations, batches and transactions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import count
from typing import Any

import msgspec

from lastword.client.calls.outcomes import BatchAnswer, outcome_from
from lastword.client.calls.reads import Reads
from lastword.client.forms import Forms, Item, base64url
from lastword.client.http.messages import HttpRequest, HttpResponse, Repeat
from lastword.client.plan_routes import PlanRoutes
from lastword.client.problems import error_of, problem_in
from lastword.client.retrying import Patience, answered
from lastword.client.steps import Steps
from lastword.durations import Duration
from lastword.errors import (
    ConfigError,
    ConflictError,
    EncodeError,
    IndeterminateError,
    InvalidRecordError,
    LastwordError,
)
from lastword.expiry import ttl_ms_of
from lastword.records import ABSENT, NO_HEADERS, Absent, Version
from lastword.table.entry import Entry
from lastword.table.writing.conditions import TOMBSTONE, Conditions, IfVersion
from lastword.writer.outcome import Failed, Indeterminate, Outcome

BATCH_RECORDS_MAX = 1000
BATCH_BYTES_MAX = 4 << 20
UPDATE_TRIES = 100
_JSON = msgspec.json.Encoder().encode


class Written(msgspec.Struct):
    """A write that is acknowledged."""

    version: str


class Operated(msgspec.Struct):
    """The result of an operation."""

    version: str
    timestamp: int
    value: msgspec.Raw
    expires_at: int | None = None


class Transacted(msgspec.Struct):
    """The version of each record, in order."""

    versions: list[str]


Prepared = tuple[Any, bytes | LastwordError]
"""The key as the caller named it, and its record as JSON or why there is none."""


class Writes:
    """The writes of one table, as steps."""

    def __init__(self, forms: Forms, patience: Patience, reads: Reads, routes: PlanRoutes) -> None:
        self._forms = forms
        self._patience = patience
        self._routes = routes
        self._reads = reads
        self._table = f"/tables/{forms.info.name}"

    def put(
        self, key: Any, value: Any, ttl: Duration | None, if_version: IfVersion
    ) -> Steps[Version]:
        """Write a value, or a tombstone for TOMBSTONE."""
        self._refuse_windows()
        headers = condition_headers(if_version)
        body = None if value is TOMBSTONE else self._forms.document(value)
        if ttl is not None:
            headers = (*headers, ("lastword-ttl", f"{ttl_ms_of(ttl)}ms"))
        raw = self._forms.raw_key(key)
        request = HttpRequest(
            "DELETE" if body is None else "PUT",
            self._forms.key_target(raw),
            body,
            headers,
            Repeat.NEVER if if_version is None else Repeat.CONDITIONAL,
            raw,
        )
        try:
            response = yield from self._written(request)
        except ConfigError as error:
            if if_version is None:
                raise
            raise InvalidRecordError(str(error), hint=error.hint) from error  # as a table does
        return self._version(msgspec.json.decode(response.body, type=Written).version)

    def operate(self, key: Any, operation: str, argument: bytes, repeat: Repeat) -> Steps[Entry]:
        """Apply a named operation; ``argument`` is JSON."""
        self._refuse_windows()
        raw = self._forms.raw_key(key)
        target = self._forms.key_target(raw, f"/{operation}")
        request = HttpRequest("POST", target, argument, repeat=repeat, key=raw)
        response = yield from self._written(request)
        done = msgspec.json.decode(response.body, type=Operated)
        value = self._forms.value_of(bytes(done.value))
        version = self._version(done.version)
        return Entry(key, value, version, done.timestamp, NO_HEADERS, done.expires_at)

    def argument(self, value: Any) -> bytes:
        """The argument of an operation as JSON."""
        try:
            return _JSON(value)
        except (ValueError, TypeError, OverflowError, RecursionError) as error:
            raise EncodeError(f"cannot be written as json: {error}") from error

    def update(self, key: Any, function: Any, default: Any) -> Steps[Entry | None]:
        """Read, compute and write with the version that was read, until there is no conflict."""
        deadline = self._patience.deadline()
        for attempt in count(1):
            before = yield from self._reads.entry(key, consistency="linearizable")
            after = function(default if before is None else before.value)
            if before is None and after is TOMBSTONE:
                return None
            expected: Version | Absent = ABSENT if before is None else before.version
            try:
                version = yield from self.put(key, after, None, expected)
            except ConflictError:
                if attempt >= UPDATE_TRIES or self._patience.clock.monotonic() >= deadline:
                    raise
                continue
            if after is TOMBSTONE:
                return None
            entry = yield from self._reads.entry(key)
            if entry is not None and entry.version == version:
                return entry
            # Another writer was here since: still return what this call wrote.
            value = self._forms.value_of(self._forms.document(after))
            return Entry(key, value, version, self._patience.clock.now_ms(), NO_HEADERS)
        raise RuntimeError("unreachable")

    def put_many(
        self,
        items: Mapping[Any, Any] | Iterable[tuple[Any, Any]],
        ttl: Duration | None,
        if_version: Conditions,
    ) -> Steps[list[Outcome]]:
        """Write many records; a record that cannot be encoded fails alone."""
        self._refuse_windows()
        ttl_text = None if ttl is None else f"{ttl_ms_of(ttl)}ms"
        pairs = items.items() if isinstance(items, Mapping) else items
        prepared = [self._prepared(key, value, ttl_text, if_version) for key, value in pairs]
        outcomes: list[Outcome] = []
        for batch in batches_of(prepared):
            outcomes += yield from self._batch(batch)
        return outcomes

    def transact(
        self, items: Mapping[Any, Any], if_version: Mapping[Any, Version | Absent]
    ) -> Steps[dict[Any, Version]]:
        """Write several keys of one partition, all or none."""
        self._refuse_windows()
        records = [
            self._record(key, value, None, if_version.get(key)) for key, value in items.items()
        ]
        checks = [
            {"key": base64url(self._forms.raw_key(key)), "if_version": condition_text(expected)}
            for key, expected in if_version.items()
            if key not in items
        ]
        body = b'{"records":[%b],"checks":%b}' % (b",".join(records), _JSON(checks))
        target = f"{self._table}/transact?encoding=base64url"
        repeat = Repeat.CONDITIONAL if happens_once(items, if_version) else Repeat.NEVER
        of_one = self._forms.raw_key(next(iter(items))) if items else None
        request = HttpRequest("POST", target, body, repeat=repeat, key=of_one)
        response = yield from self._written(request)
        versions = msgspec.json.decode(response.body, type=Transacted).versions
        return dict(zip(items, map(self._version, versions), strict=True))

    # -- one request -----------------------------------------------------------------------

    def _version(self, text: str) -> Version:
        """The version of a write, which later reads reflect."""
        version = Version.parse(text)
        self._routes.wrote(version)
        return version

    def _written(self, request: HttpRequest) -> Steps[HttpResponse]:
        response = yield from answered(request, self._patience)
        if response.status != 200:
            raise error_of(response, self._current(response))
        return response

    def _current(self, response: HttpResponse) -> Entry | None:
        """The entry that a conflict found, as far as the service shows it."""
        shown = bytes(problem_in(response).current)
        return self._forms.entry(msgspec.json.decode(shown, type=Item)) if shown else None

    def _batch(self, batch: Sequence[Prepared]) -> Steps[list[Outcome]]:
        records = [each for _, each in batch if isinstance(each, bytes)]
        answers: Iterator[Outcome] = iter(())
        if records:
            answers = yield from self._sent(records)
        return [
            next(answers).with_key(key) if isinstance(each, bytes) else Failed(key, each)
            for key, each in batch
        ]

    def _sent(self, records: Sequence[bytes]) -> Steps[Iterator[Outcome]]:
        """The outcomes of one request; if its answer is lost, all are indeterminate."""
        body = b'{"records":[%b]}' % b",".join(records)
        target = f"{self._table}/keys?encoding=base64url"
        request = HttpRequest("POST", target, body, repeat=Repeat.NEVER)
        try:
            response = yield from self._written(request)
        except IndeterminateError as error:
            return iter([Indeterminate(None, error) for _ in records])
        answer = msgspec.json.decode(response.body, type=BatchAnswer)
        outcomes = [outcome_from(each, self._forms) for each in answer.outcomes]
        for outcome in outcomes:
            if outcome.version is not None:
                self._routes.wrote(outcome.version)
        return iter(outcomes)

    # -- records -----------------------------------------------------------------------------

    def _prepared(
        self, key: Any, value: Any, ttl_text: str | None, conditions: Conditions
    ) -> Prepared:
        expected = conditions.get(key) if isinstance(conditions, Mapping) else conditions
        try:
            return key, self._record(key, value, ttl_text, expected)
        except LastwordError as error:
            return key, error

    def _record(self, key: Any, value: Any, ttl_text: str | None, expected: IfVersion) -> bytes:
        record: dict[str, Any] = {"key": base64url(self._forms.raw_key(key))}
        if expected is not None:
            record["if_version"] = condition_text(expected)
        if value is TOMBSTONE:
            return _JSON(record | {"op": "delete"})
        if ttl_text is not None:
            record["ttl"] = ttl_text
        return _JSON(record | {"op": "put", "value": msgspec.Raw(self._forms.document(value))})

    def _refuse_windows(self) -> None:
        if self._forms.windowed:
            raise ConfigError(
                "a client cannot write windows", hint="the pipeline that owns the topic does"
            )


def happens_once(items: Mapping[Any, Any], if_version: Mapping[Any, Version | Absent]) -> bool:
    """Whether a condition of a transaction no longer holds once it is done."""
    return any(
        key in items and not (items[key] is TOMBSTONE and isinstance(expected, Absent))
        for key, expected in if_version.items()
    )


def condition_text(expected: Version | Absent) -> str:
    """A condition in a document."""
    return "absent" if isinstance(expected, Absent) else str(expected)


def condition_headers(expected: IfVersion) -> tuple[tuple[str, str], ...]:
    """A condition in the headers of a request."""
    if expected is None:
        return ()
    if isinstance(expected, Absent):
        return (("if-none-match", "*"),)
    return (("if-match", f'"{expected}"'),)


def batches_of(prepared: Iterable[Prepared]) -> Iterator[list[Prepared]]:
    """Batches of as many records and bytes as one request may have."""
    batch: list[Prepared] = []
    size = 0
    for each in prepared:
        length = len(each[1]) if isinstance(each[1], bytes) else 0
        if batch and (len(batch) >= BATCH_RECORDS_MAX or size + length > BATCH_BYTES_MAX):
            yield batch
            batch, size = [], 0
        batch.append(each)
        size += length
    if batch:
        yield batch
