from __future__ import annotations

from dataclasses import replace
from typing import Any

from lastword.pipelines.operators.events import Events
from lastword.pipelines.operators.operator import BatchContext
from lastword.pipelines.operators.steps import (
    EncodeValues,
    Filter,
    MapValues,
    SelectKey,
    WithHeaders,
)


def events(*pairs: tuple[bytes | None, Any]) -> Events:
    return Events(
        ["t"] * len(pairs),
        [key for key, _ in pairs],
        [value for _, value in pairs],
        [10 * i for i in range(len(pairs))],
        range(len(pairs)),
    )


def test_a_filter_keeps_whole_records() -> None:
    kept = Filter(lambda key, value: key == "b" and value > 1, "string")(
        events((b"a", 2), (b"b", 1), (b"b", 2)), BatchContext()
    )
    assert (kept.keys, kept.values, kept.timestamps, list(kept.offsets)) == ([b"b"], [2], [20], [2])


def test_mapped_values_keep_their_keys_and_times() -> None:
    mapped = MapValues(lambda value: value * 2)(events((b"a", 1), (b"b", 2)), BatchContext())
    assert (mapped.keys, mapped.values, mapped.timestamps) == ([b"a", b"b"], [2, 4], [0, 10])


def test_a_function_may_look_at_headers() -> None:
    given = replace(events((b"a", 1), (b"b", 2)), headers=[{"by": b"x"}, {}])
    context = BatchContext()
    mapped = WithHeaders(lambda value, headers: headers["by"].decode() * value)(given, context)
    assert mapped.values == ["x"]
    assert [bad.key for bad in context.bad] == [b"b"]


def test_a_selected_key_may_be_none() -> None:
    rekeyed = SelectKey(lambda key, value: value, "string")(
        events((b"a", "x"), (None, None)), BatchContext()
    )
    assert rekeyed.keys == [b"x", None]


def test_values_are_encoded_and_none_stays_a_tombstone() -> None:
    encoded = EncodeValues("json")(events((b"a", {"n": 1}), (b"b", None)), BatchContext())
    assert encoded.values == [b'{"n":1}', None]


def test_a_record_for_which_a_function_fails_is_dropped_and_reported_with_its_offset() -> None:
    context = BatchContext()
    mapped = MapValues(lambda value: 1 // value)(events((b"a", 1), (b"b", 0), (b"c", 1)), context)
    assert mapped.keys == [b"a", b"c"]
    (bad,) = context.bad
    assert (bad.topic, bad.offset, bad.key) == ("t", 1, b"b")
    assert bad.reason.startswith("ZeroDivisionError")
    assert context.tally.quarantined == 1


def test_a_key_that_cannot_be_read_is_quarantined_where_the_key_is_used() -> None:
    context = BatchContext()
    kept = Filter(lambda key, value: True, "string")(events((b"\xff", 1), (b"a", 1)), context)
    assert kept.keys == [b"a"]
    assert context.tally.quarantined == 1
