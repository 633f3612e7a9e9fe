"""SortedKeys against sorting everything each time."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from lastword.stores.sorted_keys import SortedKeys

KEYS = st.binary(min_size=1, max_size=2)
CHANGES = st.lists(
    st.tuples(st.dictionaries(KEYS, st.just(b"row"), max_size=150), st.sets(KEYS, max_size=100))
)


@given(CHANGES, st.sets(st.integers(0, 20)))
def test_the_order_is_that_of_a_sort_whenever_it_is_asked_for(
    changes: list[tuple[dict[bytes, bytes], set[bytes]]], asked_after: set[int]
) -> None:
    rows: dict[bytes, bytes] = {}
    keys = SortedKeys(rows)
    handed_out = []
    for number, (puts, unwanted) in enumerate(changes):
        deletes = unwanted - puts.keys()
        keys.changing(puts, deletes)
        rows.update(puts)
        for key in deletes:
            rows.pop(key, None)
        if number in asked_after:
            handed_out.append((keys.current(), sorted(rows)))
    handed_out.append((keys.current(), sorted(rows)))
    for order, expected in handed_out:
        assert order == expected


def test_an_unchanged_order_is_not_sorted_again() -> None:
    rows = {b"b": b"1", b"a": b"2"}
    keys = SortedKeys(rows)
    order = keys.current()
    keys.changing({b"a": b"3"}, [b"absent"])
    rows[b"a"] = b"3"
    assert keys.current() is order
