"""Reads: one key, many keys, pages of keys, the number of keys."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlencode

import msgspec

from lastword.client.forms import Forms, Item, base64url
from lastword.client.http.messages import HttpRequest, HttpResponse, with_query
from lastword.client.problems import error_of, problem_in
from lastword.client.retrying import Patience, answered
from lastword.client.steps import Steps
from lastword.records import NO_HEADERS, Position, Version
from lastword.snapshots.travel.moments import Moment
from lastword.table.entry import Entry
from lastword.table.writing.conditions import Consistency, check_consistency

LOOKUP_KEYS_MAX = 1000
PAGE_ITEMS = 1000

Bounds = tuple[bytes | None, bytes | None]


class Page(msgspec.Struct):
    """Some entries in key order, as of one moment; ``next`` leads to those after them."""

    items: list[Item]
    position: str
    stale: bool
    contact_age_seconds: float
    next: str | None = None


class Found(msgspec.Struct):
    """The entries of some keys; the last ``remaining`` keys were not looked up."""

    items: list[Item]
    remaining: int = 0


class Count(msgspec.Struct):
    """The number of keys."""

    count: int


class Reads:
    """The reads of one table, as steps."""

    def __init__(self, forms: Forms, patience: Patience) -> None:
        self.forms = forms
        self._patience = patience
        self._table = f"/tables/{forms.info.name}"

    def value(self, key: Any, default: Any) -> Steps[Any]:
        """Only the value, which is enough for most reads."""
        if self.forms.windowed:
            entry = yield from self.entry(key)
            return default if entry is None else entry.value
        response = yield from self._get_now(key)
        return default if response is None else self.forms.value_of(response.body)

    def entry(
        self, key: Any, at: Moment | None = None, consistency: Consistency = "local"
    ) -> Steps[Entry | None]:
        """The entry of a key, now or at a past moment."""
        check_consistency(consistency, at)
        if self.forms.windowed and at is None and consistency == "local":
            found = yield from self.entries([key])
            return found[0] if found else None
        raw = self.forms.raw_key(key)
        target = self.forms.key_target(raw)
        if at is not None:
            # Every instance can read the past: none of them keeps it.
            past = HttpRequest("GET", with_query(target, as_of=moment_text(at)))
            response = yield from self._get(past)
        elif consistency != "local":
            decided = with_query(target, consistency=consistency)
            response = yield from self._get(HttpRequest("GET", decided, key=raw))
        else:
            response = yield from self._get_now(key)
        return None if response is None else _entry_in(response, key, self.forms)

    def entries(self, keys: Iterable[Any]) -> Steps[list[Entry]]:
        """The entries of those keys that exist; up to 1000 are as of one moment."""
        raws = [self.forms.raw_key(key) for key in keys]
        found: list[Entry] = []
        while raws:
            asked = raws[:LOOKUP_KEYS_MAX]
            answer = yield from self._lookup(asked)
            found += [self.forms.entry(item) for item in answer.items]
            raws = raws[len(asked) - answer.remaining :]
        return found

    def page(
        self, bounds: Bounds, *, reverse: bool, cursor: str | None, as_of: str | None
    ) -> Steps[Page]:
        """The next page of the keys within raw bounds."""
        low, high = bounds
        given = {
            "encoding": "base64url",
            "limit": str(PAGE_ITEMS),
            "from": None if low is None else base64url(low),
            "to": None if high is None else base64url(high),
            "reverse": "true" if reverse else None,
            "cursor": cursor,
            "as_of": as_of,
        }
        query = urlencode({name: each for name, each in given.items() if each is not None})
        target = f"{self._table}/keys?{query}"
        request = HttpRequest("GET", target, reflects=as_of is None)
        response = yield from self._asked(request)
        return msgspec.json.decode(response.body, type=Page)

    def count(self) -> Steps[int]:
        """The number of keys."""
        request = HttpRequest("GET", f"{self._table}/count", reflects=True)
        response = yield from self._asked(request)
        return msgspec.json.decode(response.body, type=Count).count

    def _lookup(self, raws: Sequence[bytes]) -> Steps[Found]:
        body = msgspec.json.encode({"keys": [base64url(raw) for raw in raws]})
        target = f"{self._table}/lookup?encoding=base64url"
        response = yield from self._asked(HttpRequest("POST", target, body, reflects=True))
        return msgspec.json.decode(response.body, type=Found)

    def _get_now(self, key: Any) -> Steps[HttpResponse | None]:
        raw = self.forms.raw_key(key)
        target = self.forms.key_target(raw)
        return (yield from self._get(HttpRequest("GET", target, key=raw, reflects=True)))

    def _get(self, request: HttpRequest) -> Steps[HttpResponse | None]:
        """The answer about one key; None if there is no such key."""
        response = yield from answered(request, self._patience)
        if response.status == 200:
            return response
        if response.status == 404 and problem_in(response).name == "KeyNotFound":
            return None
        raise error_of(response)

    def _asked(self, request: HttpRequest) -> Steps[HttpResponse]:
        response = yield from answered(request, self._patience)
        if response.status != 200:
            raise error_of(response)
        return response


def moment_text(moment: Moment) -> str:
    """A moment as the service reads it."""
    if isinstance(moment, Version):
        return str(Position.after(moment))
    if isinstance(moment, datetime):
        aware = moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
        return str(int(aware.timestamp() * 1000))
    return str(moment)


def _entry_in(response: HttpResponse, key: Any, forms: Forms) -> Entry:
    headers = response.headers
    expires_at = headers.get(b"lastword-expires-at")
    return Entry(
        key,
        forms.value_of(response.body),
        Version.parse(headers[b"etag"].strip(b'"').decode("latin-1")),
        int(headers[b"lastword-timestamp"]),
        NO_HEADERS,
        None if expires_at is None else int(expires_at),
    )
