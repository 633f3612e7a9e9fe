"""What every store must do, as tests: subclass, say how to make one, and run pytest.

    class TestMyStore(StoreContract):
        def make_store(self, directory: Path) -> Store:
            return MyStore(directory)

A store whose rows survive takes ``PersistentStoreContract`` instead, one with a capacity
``EvictingStoreContract``. Needs pytest and hypothesis.
"""

# ruff: noqa: D102 - the names of the tests are sentences

from __future__ import annotations

from itertools import product
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.stateful import run_state_machine_as_test

from lastword.errors import StoreError
from lastword.stores.base import Store
from lastword.testing.store_concurrency import ConcurrencyContract
from lastword.testing.store_model import StoreMachine

ODD_KEYS = [b"\x00", b"\x00\x00", b"\x00\xff", b"a", b"a\x00", b"b" * 4000, b"\xff", b"\xff\xff"]


class StoreContract(ConcurrencyContract):
    """The part of the contract that holds for all stores."""

    def test_it_implements_the_protocol(self, tmp_path: Path) -> None:
        assert isinstance(self.make_store(tmp_path / "store"), Store)

    def test_a_new_store_is_empty(self, store: Store) -> None:
        assert store.count() == 0
        assert store.checkpoint() is None
        assert list(store.scan()) == []
        assert store.get(b"a") is None
        assert store.evict() == []

    def test_an_applied_batch_is_there_with_its_checkpoint(self, store: Store) -> None:
        store.apply({b"a": b"1", b"b": b"2"}, (), b"first")
        store.apply({b"b": b"3", b"c": b"4"}, [b"a", b"absent"], b"second")
        assert [store.get(key) for key in (b"a", b"b", b"c", b"absent")] == [
            None,
            b"3",
            b"4",
            None,
        ]
        assert store.checkpoint() == b"second"
        assert store.count() == 2

    def test_a_batch_may_hold_nothing_but_a_checkpoint(self, store: Store) -> None:
        store.apply({b"a": b"1"}, (), b"first")
        store.apply({}, set(), b"second")
        assert store.checkpoint() == b"second"
        assert list(store.scan()) == [(b"a", b"1")]

    def test_an_empty_row_is_not_an_absent_one(self, store: Store) -> None:
        store.apply({b"empty": b""}, (), b"")
        assert store.get(b"empty") == b""
        assert store.get_many([b"empty", b"absent"]) == [b"", None]
        assert list(store.scan()) == [(b"empty", b"")]
        assert store.checkpoint() == b""
        assert store.count() == 1

    def test_an_empty_key_is_refused_and_nothing_of_its_batch_is_applied(
        self, store: Store
    ) -> None:
        with pytest.raises(StoreError):
            store.apply({b"a": b"1", b"": b"2"}, (), b"checkpoint")
        with pytest.raises(StoreError):
            store.apply({b"a": b"1"}, [b""], b"checkpoint")
        assert store.checkpoint() is None
        assert store.count() == 0
        assert store.get(b"") is None

    def test_the_checkpoint_is_not_a_row(self, store: Store) -> None:
        store.apply({b"a": b"1"}, (), b"checkpoint")
        assert store.get(b"") is None
        assert store.get_many([b"", b"a"]) == [None, b"1"]
        assert list(store.scan(b"")) == list(store.scan(reverse=True)) == [(b"a", b"1")]

    def test_many_rows_come_in_the_order_they_are_asked_for(self, store: Store) -> None:
        store.apply({b"%03d" % n: b"row-%d" % n for n in range(500)}, (), b"c")
        asked = [b"400", b"001", b"absent", b"400", b"250"]
        assert store.get_many(asked) == [b"row-400", b"row-1", None, b"row-400", b"row-250"]
        assert store.get_many(tuple(asked)) == store.get_many(asked)
        assert store.get_many([]) == []

    def test_a_scan_is_in_byte_order_whatever_the_keys_are(self, store: Store) -> None:
        store.apply({key: key[:10] for key in reversed(ODD_KEYS)}, (), b"c")
        assert [key for key, _ in store.scan()] == ODD_KEYS
        assert [key for key, _ in store.scan(reverse=True)] == ODD_KEYS[::-1]
        assert [store.get(key) for key in ODD_KEYS] == [key[:10] for key in ODD_KEYS]

    def test_a_scan_includes_its_start_and_excludes_its_end(self, store: Store) -> None:
        keys = [b"\x00", b"a", b"b", b"c", b"d", b"e"]
        store.apply(dict.fromkeys(keys, b"row"), (), b"c")
        starts = [None, b"", b"\x00", b"b", b"b\x00", b"z"]
        ends = [None, b"", b"\x00", b"b", b"d", b"d\x00", b"\xff" * 9]
        for start, end, reverse in product(starts, ends, (False, True)):
            wanted = [k for k in keys if (start or b"") <= k and (end is None or k < end)]
            scanned = [key for key, _ in store.scan(start, end, reverse=reverse)]
            assert scanned == (wanted[::-1] if reverse else wanted), (start, end, reverse)

    @pytest.mark.parametrize("reverse", [False, True])
    def test_a_long_scan_misses_and_repeats_nothing(self, store: Store, reverse: bool) -> None:
        rows = {b"%06d" % n: b"%d" % n for n in range(5000)}
        store.apply(rows, (), b"c")
        expected = sorted(rows.items(), reverse=reverse)
        assert list(store.scan(reverse=reverse)) == expected
        bounded = list(store.scan(b"000100", b"004900", reverse=reverse))
        assert bounded == [row for row in expected if b"000100" <= row[0] < b"004900"]

    @pytest.mark.parametrize("reverse", [False, True])
    def test_a_scan_sees_the_moment_it_was_made(self, store: Store, reverse: bool) -> None:
        rows = {b"%06d" % n: b"old" for n in range(3000)}
        store.apply(rows, (), b"c")
        scan = store.scan(reverse=reverse)
        store.apply({b"%06d" % n: b"new" for n in range(0, 6000, 2)}, [b"000001", b"002999"], b"c")
        seen = [next(scan)]
        store.apply({b"000001": b"newer", b"000002": b"newer"}, [b"000004"], b"c")
        store.clear()
        store.apply({b"000003": b"newest"}, (), b"c")
        seen += scan
        assert seen == sorted(rows.items(), reverse=reverse)

    def test_a_closed_scan_gives_no_more_rows(self, store: Store) -> None:
        store.apply({b"%d" % n: b"row" for n in range(10)}, (), b"c")
        scan = store.scan()
        assert next(scan) == (b"0", b"row")
        scan.close()
        scan.close()
        assert list(scan) == []

    def test_counting_stays_exact_through_changes(self, store: Store) -> None:
        store.apply({b"a": b"1", b"b": b"2"}, (), b"c")
        assert store.count() == 2
        store.apply({b"b": b"3", b"c": b"4"}, [b"absent"], b"c")
        assert store.count() == 3
        store.apply({}, [b"a", b"a", b"b"], b"c")
        assert store.count() == 1
        store.clear()
        assert store.count() == 0
        store.apply({b"x": b"1"}, (), b"c")
        assert store.count() == 1

    def test_clearing_forgets_rows_and_checkpoint(self, store: Store) -> None:
        store.apply(dict.fromkeys(ODD_KEYS, b"row"), (), b"checkpoint")
        store.clear()
        assert store.checkpoint() is None
        assert store.count() == 0
        assert list(store.scan()) == list(store.scan(reverse=True)) == []
        assert store.get_many(ODD_KEYS) == [None] * len(ODD_KEYS)
        store.clear()
        store.apply({b"a": b"again"}, (), b"new")
        assert list(store.scan()) == [(b"a", b"again")]
        assert store.checkpoint() == b"new"

    def test_the_size_grows_with_the_rows(self, store: Store) -> None:
        empty = store.size_bytes()
        store.apply({b"%d" % n: b"x" * 1000 for n in range(1000)}, (), b"c")
        assert store.size_bytes() > empty
        assert all(isinstance(value, int) for value in store.stats().values())

    def test_closing_twice_and_opening_again_is_fine(self, store: Store) -> None:
        store.apply({b"a": b"1"}, (), b"checkpoint")
        store.close()
        store.close()
        store.open()
        kept = store.capabilities.persistent
        assert store.get(b"a") == (b"1" if kept else None)
        assert store.checkpoint() == (b"checkpoint" if kept else None)

    def test_a_store_that_is_not_open_says_so(self, store: Store) -> None:
        store.apply({b"a": b"1"}, (), b"c")
        assert store.count() == 1
        store.close()
        for use in (
            lambda: store.get(b"a"),
            lambda: store.get_many([b"a"]),
            store.scan,
            store.count,
            store.checkpoint,
            lambda: store.apply({b"a": b"1"}, (), b"c"),
            store.clear,
            store.size_bytes,
        ):
            with pytest.raises(StoreError):
                use()

    def test_closing_ends_the_scans_that_are_open(self, store: Store) -> None:
        store.apply({b"%d" % n: b"row" for n in range(10)}, (), b"c")
        started, untouched, done = store.scan(), store.scan(), store.scan()
        next(started)
        assert len(list(done)) == 10
        store.close()
        for scan in (started, untouched):
            with pytest.raises(StoreError):
                next(scan)
        assert list(done) == []

    def test_it_behaves_like_a_dict(self, tmp_path: Path) -> None:
        """Random walks through all operations, compared with a plain dict."""
        contract = self

        class Machine(StoreMachine):
            def __init__(self) -> None:
                super().__init__(contract.make_store, tmp_path)

        run_state_machine_as_test(
            Machine,
            settings=settings(
                max_examples=20,
                stateful_step_count=30,
                deadline=None,
                database=None,
                suppress_health_check=list(HealthCheck),
            ),
        )
