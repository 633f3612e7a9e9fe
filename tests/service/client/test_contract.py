"""The same calls on a table and on a client of a service: the same answers, the same errors."""

from __future__ import annotations

import random
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import pytest

from lastword.client import RemoteTable
from lastword.errors import LastwordError
from lastword.records import ABSENT, Version
from lastword.table.entry import Entry
from lastword.table.table import Table
from lastword.table.writing.conditions import TOMBSTONE
from lastword.writer.outcome import Outcome
from tests.service.client.conftest import Lab
from tests.support.served.blocking_client import BlockingClient, blocking

AnyTable = Table | RemoteTable | BlockingClient
Connect = Callable[[str], AbstractContextManager[RemoteTable | BlockingClient]]
Call = Callable[[Any], Any]

KEYS = ["a", "b", "b/c", "ä", "..", "count", "eu:1", "eu:2", "x y?&%"]
STEPS = 150


@pytest.fixture(params=["threads", "coroutines"])
def connect(lab: Lab, request: pytest.FixtureRequest) -> Connect:
    """Connects to a table: a client for threads, or one for coroutines."""
    if request.param == "threads":
        return lab.connect
    return lambda kind: blocking(lab.connect_async(kind))


def plain(answer: Any) -> Any:
    """An answer without what differs between two topics: offsets and times."""
    match answer:
        case LastwordError(hint=hint, retriable=retriable):
            current = plain(getattr(answer, "current", None))
            shown: Any = (type(answer).__name__, hint is not None, retriable, current)
        case KeyError(args=args):
            shown = ("KeyError", args)
        case Version(partition=partition):
            shown = ("version", partition)
        case Entry(key=key, value=value, version=version, expires_at_ms=expires_at_ms):
            shown = (key, value, plain(version), answer.timestamp_ms > 0, expires_at_ms is None)
        case Outcome(key=key, status=status):
            shown = (key, status, plain(answer.version), plain(answer.error))
        case dict():
            shown = {key: plain(value) for key, value in answer.items()}
        case list():
            shown = [plain(each) for each in answer]
        case _:
            shown = answer
    return shown


def result(table: AnyTable, call: Call) -> Any:
    try:
        return plain(call(table))
    except (LastwordError, KeyError) as error:
        return plain(error)


def both(here: Table, client: AnyTable, call: Call) -> tuple[Any, Any]:
    return result(here, call), result(client, call)


def random_call(dice: random.Random) -> Call:
    """One call of any kind, on few keys, so that they meet."""
    key, other = dice.choice(KEYS), dice.choice(KEYS)
    number = dice.randrange(100)
    value: Any = dice.choice([number, {"n": number, "inner": {"ä": None}}, [number], "text", None])
    low, high = sorted((key, other))
    reverse = dice.random() < 0.5
    calls: list[Call] = [
        lambda t: t.get(key, "none"),
        lambda t: t[key],
        lambda t: key in t,
        lambda t: t.entry(key),
        lambda t: t.entry(key, consistency="linearizable"),
        lambda t: t.get_many([key, other, "nobody"]),
        lambda t: list(t.range(low, high, reverse=reverse)),
        lambda t: list(t.items(reverse=reverse)),
        lambda t: list(t.prefix("eu:", reverse=reverse)),
        lambda t: (list(t), len(t)),
        lambda t: t.query.get(key).value,
        lambda t: t.query.contains(key).value,
        lambda t: t.query.get_many([key, other, "nobody"]).value,
        lambda t: t.query.count().value,
        lambda t: list(t.query.scan(low, high, reverse=reverse)),
        lambda t: list(t.query.scan(prefix="eu:")),
        lambda t: t.put(key, value),
        lambda t: t.put(key, value, ttl="1h"),
        lambda t: t.delete(key),
        lambda t: t.put(key, value, if_version=ABSENT),
        lambda t: t.put(key, value, if_version=version_of(t, key)),
        lambda t: t.delete(key, if_version=version_of(t, other)),
        lambda t: t.put_many({key: value, other: TOMBSTONE}),
        lambda t: t.put_many([(key, 1), (other, 2)], if_version={key: version_of(t, key)}),
        lambda t: t.put_many([(key, 1)], if_version=ABSENT, ttl="1h"),
        lambda t: t.increment(key, number),
        lambda t: t.append(key, value),
        lambda t: t.merge(key, {"m": number}),
        lambda t: t.put_if_greater(key, number),
        lambda t: t.update(key, lambda old: [old, 1] if old != 1 else TOMBSTONE, default=0),
        lambda t: t.transact({key: value}, if_version={key: version_of(t, key)}),
        lambda t: t.transact({key: TOMBSTONE, other: 2}, if_version={"a": ABSENT}),
    ]
    return dice.choice(calls)


def version_of(table: AnyTable, key: str) -> Any:
    entry = table.entry(key)
    return ABSENT if entry is None else entry.version


def test_random_calls_get_the_same_answers(lab: Lab, connect: Connect) -> None:
    dice = random.Random(7)
    with connect("owned") as client:
        for _ in range(STEPS):
            ours, theirs = both(lab.here["owned"], client, random_call(dice))
            assert theirs == ours


CODECS: list[tuple[str, Any, Any]] = [
    ("numbers", 7, -3),
    ("numbers", -1, 2**62),
    ("blobs", b"\x00\xff/", b"\xfe"),
    ("blobs", b"text", b""),
    ("texts", "a/b", "text with \n and ä"),
    ("texts", 5, ""),
    ("direct", "key", {"float": 1.5, "list": [1, None, "x"]}),
    ("direct", "k" * 300, None),
]


@pytest.mark.parametrize(("kind", "key", "value"), CODECS)
def test_keys_and_values_keep_their_types(
    lab: Lab, connect: Connect, kind: str, key: Any, value: Any
) -> None:
    here = lab.here[kind]
    with connect(kind) as client:
        for call in (
            lambda t: t.put(key, value),
            lambda t: t.get(key),
            lambda t: t.entry(key),
            lambda t: list(t.get_many([key]).values()),
            lambda t: [pair[1] for pair in t.range(key)][:1],
            lambda t: [each.status for each in t.put_many([(key, value), (key, value)])],
            lambda t: t.delete(key),
            lambda t: t.get(key, "gone"),
        ):
            ours, theirs = both(here, client, call)
            assert theirs == ours


WRONG: list[tuple[str, Call]] = [
    ("owned", lambda t: t.put("", 1)),
    ("owned", lambda t: t.put(5, 1)),
    ("owned", lambda t: t.put("a", object())),
    ("owned", lambda t: t.put("a", 1, ttl="soon")),
    ("owned", lambda t: t.range("b", "a")),
    ("owned", lambda t: t.get("a", consistency="maybe")),
    ("owned", lambda t: t.transact(dict.fromkeys(KEYS, 1))),
    ("owned", lambda t: t.put("a", "x" * (2 << 20))),
    ("owned", lambda t: t.increment("a", "one")),
    ("owned", lambda t: [each.status for each in t.put_many([("", 1), ("ok", 1)])]),
    ("direct", lambda t: t.put("a", 1, if_version=ABSENT)),
    ("direct", lambda t: t.increment("a")),
    ("direct", lambda t: t.get("a", consistency="linearizable")),
    ("direct", lambda t: t.update("a", lambda old: old)),
    ("numbers", lambda t: t.put("text", 1)),
    ("numbers", lambda t: t.put(1, "text")),
    ("numbers", lambda t: t.put(2**70, 1)),
    ("numbers", lambda t: t.merge(1, {"a": 1})),
    ("numbers", lambda t: t.prefix(1)),
    ("blobs", lambda t: t.put("text", b"")),
]


@pytest.mark.parametrize(("kind", "call"), WRONG)
def test_a_client_refuses_with_the_same_error_as_a_table(
    lab: Lab, connect: Connect, kind: str, call: Call
) -> None:
    with connect(kind) as client:
        ours, theirs = both(lab.here[kind], client, call)
        assert theirs == ours
