"""Reads: one key, many keys, pages of keys, the number of keys."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
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
NO_LIMITS: Mapping[str, str] = {}


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
    position: str
    stale: bool
    contact_age_seconds: float
    remaining: int = 0


class Count(msgspec.Struct):
    """The number of keys."""

    count: int
    position: str
    stale: bool
    contact_age_seconds: float


class Reads:
    """The reads of one table, as steps. ``limits`` are parameters of every read of now."""

    def __init__(
        self, forms: Forms, patience: Patience, limits: Mapping[str, str] = NO_LIMITS
    ) -> None:
        self.forms = forms
        self.patience = patience
        self._limits = limits
        self._table = f"/tables/{forms.info.name}"

    def within(self, limits: Mapping[str, str]) -> Reads:
        """The same reads with these limits."""
        return Reads(self.forms, self.patience, limits)

    def value(self, key: Any, default: Any) -> Steps[Any]:
        """Only the value, which is enough for most reads."""
        if self.forms.windowed:
            entry = yield from self.entry(key)
            return default if entry is None else entry.value
        response = yield from self.now(key)
        return default if response.status == 404 else self.forms.value_of(response.body)

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
            response = yield from self.now(key)
        return self.entry_in(response, key)

    def entries(self, keys: Iterable[Any]) -> Steps[list[Entry]]:
        """The entries of those keys that exist; up to 1000 are as of one moment."""
        raws = [self.forms.raw_key(key) for key in keys]
        found: list[Entry] = []
        while raws:
            asked = raws[:LOOKUP_KEYS_MAX]
            answer, _ = yield from self.lookup(asked)
            found += [self.forms.entry(item) for item in answer.items]
            raws = raws[len(asked) - answer.remaining :]
        return found

    def page(
        self, bounds: Bounds, *, reverse: bool, cursor: str | None, as_of: str | None
    ) -> Steps[tuple[Page, HttpResponse]]:
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
            **({} if as_of else self._limits),
        }
        query = urlencode({name: each for name, each in given.items() if each is not None})
        target = f"{self._table}/keys?{query}"
        request = HttpRequest("GET", target, reflects=as_of is None)
        response = yield from self._asked(request)
        return msgspec.json.decode(response.body, type=Page), response

    def count(self) -> Steps[tuple[Count, HttpResponse]]:
        """The number of keys."""
        target = self._limited(f"{self._table}/count")
        response = yield from self._asked(HttpRequest("GET", target, reflects=True))
        return msgspec.json.decode(response.body, type=Count), response

    def lookup(self, raws: Sequence[bytes]) -> Steps[tuple[Found, HttpResponse]]:
        """The entries of some of these raw keys, from the first on."""
        body = msgspec.json.encode({"keys": [base64url(raw) for raw in raws]})
        target = self._limited(f"{self._table}/lookup?encoding=base64url")
        response = yield from self._asked(HttpRequest("POST", target, body, reflects=True))
        return msgspec.json.decode(response.body, type=Found), response

    def now(self, key: Any) -> Steps[HttpResponse]:
        """The answer about one key as it is now; with the status 404 if there is no such key."""
        raw = self.forms.raw_key(key)
        target = self._limited(self.forms.key_target(raw))
        return (yield from self._get(HttpRequest("GET", target, key=raw, reflects=True)))

    def entry_in(self, response: HttpResponse, key: Any) -> Entry | None:
        """The entry in an answer about one key."""
        return None if response.status == 404 else _entry_in(response, key, self.forms)

    def _limited(self, target: str) -> str:
        return with_query(target, **self._limits) if self._limits else target

    def _get(self, request: HttpRequest) -> Steps[HttpResponse]:
        response = yield from answered(request, self.patience)
        if response.status == 200:
            return response
        if response.status == 404 and problem_in(response).name == "KeyNotFound":
            return response
        raise error_of(response)

    def _asked(self, request: HttpRequest) -> Steps[HttpResponse]:
        response = yield from answered(request, self.patience)
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
