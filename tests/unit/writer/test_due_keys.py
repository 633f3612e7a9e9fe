from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from lastword.expiry import expires_header
from lastword.rows import encode_row
from lastword.writer.due_keys import DueKey, DueKeys

AT_MS = 1_700_000_000_000


def row(offset: int, expires_at_ms: int | None) -> bytes:
    headers = None if expires_at_ms is None else (expires_header(expires_at_ms),)
    return encode_row(offset, 0, headers, b"value")


def test_keys_come_up_once_in_the_order_of_their_times() -> None:
    due = DueKeys()
    due.fill([(b"late", row(1, AT_MS + 9)), (b"lasting", row(2, None)), (b"soon", row(3, AT_MS))])
    due.note(b"between", 4, AT_MS + 5)
    assert (len(due), due.next_at_ms) == (3, AT_MS)
    assert due.take(AT_MS - 1, 10) == []
    assert due.take(AT_MS + 8, 10) == [DueKey(AT_MS, b"soon", 3), DueKey(AT_MS + 5, b"between", 4)]
    assert due.take(AT_MS + 9, 10) == [DueKey(AT_MS + 9, b"late", 1)]
    assert (len(due), due.next_at_ms) == (0, None)


def test_no_more_are_taken_than_asked_for() -> None:
    due = DueKeys()
    due.fill([(b"%d" % n, row(n, AT_MS + n)) for n in range(10)])
    assert [each.offset for each in due.take(AT_MS + 100, 4)] == [0, 1, 2, 3]
    assert due.next_at_ms == AT_MS + 4


def test_a_key_that_was_overwritten_or_deleted_does_not_come_up() -> None:
    due = DueKeys()
    for key, offset in ((b"renewed", 1), (b"made to last", 2), (b"deleted", 3)):
        due.note(key, offset, AT_MS)
    due.note(b"renewed", 4, AT_MS + 60_000)
    due.note(b"made to last", 5, None)
    due.note(b"deleted", 6, None)
    assert due.take(AT_MS + 1, 10) == []
    assert due.take(AT_MS + 60_000, 10) == [DueKey(AT_MS + 60_000, b"renewed", 4)]


def test_a_late_row_changes_nothing() -> None:
    due = DueKeys()
    due.note(b"key", 7, AT_MS + 10)
    due.note(b"key", 6, AT_MS)
    due.note(b"key", 5, None)
    assert due.take(AT_MS + 10, 10) == [DueKey(AT_MS + 10, b"key", 7)]


def test_a_key_that_is_renewed_over_and_over_takes_no_more_room() -> None:
    due = DueKeys()
    for offset in range(10_000):
        due.note(b"session", offset, AT_MS + offset)
    assert len(due) == 1
    assert len(due._heap) <= 1_002
    assert due.take(AT_MS + 20_000, 10) == [DueKey(AT_MS + 9_999, b"session", 9_999)]


_WRITES = st.lists(
    st.tuples(st.sampled_from([b"a", b"b", b"c"]), st.none() | st.integers(AT_MS, AT_MS + 20)),
    max_size=40,
)


@given(_WRITES, st.integers(AT_MS - 1, AT_MS + 21))
def test_the_last_write_of_each_key_decides_what_is_due(
    writes: list[tuple[bytes, int | None]], now_ms: int
) -> None:
    due, last = DueKeys(), dict[bytes, tuple[int, int | None]]()
    for offset, (key, expires_at_ms) in enumerate(writes):
        due.note(key, offset, expires_at_ms)
        last[key] = offset, expires_at_ms
    wanted = {
        DueKey(at, key, offset)
        for key, (offset, at) in last.items()
        if at is not None and at <= now_ms
    }
    assert set(due.take(now_ms, 100)) == wanted
