"""What a store whose rows survive must do beyond ``StoreContract``."""

# ruff: noqa: D102 - the names of the tests are sentences

from __future__ import annotations

import inspect
import subprocess
import sys
from pathlib import Path

import pytest

from lastword.errors import StoreLockedError
from lastword.stores.base import Store
from lastword.testing.store_contract import StoreContract
from lastword.testing.store_crash import KEYS, batch


class PersistentStoreContract(StoreContract):
    """For stores whose ``capabilities.persistent`` is True."""

    def test_it_says_that_it_persists(self, store: Store) -> None:
        assert store.capabilities.persistent

    def test_rows_and_checkpoint_survive_a_close(self, tmp_path: Path) -> None:
        first = self.make_store(tmp_path / "store")
        first.open()
        first.apply({b"a": b"1", b"b": b"2", b"gone": b"3"}, (), b"first")
        first.apply({b"a": b""}, [b"gone"], b"second")
        first.close()
        second = self.make_store(tmp_path / "store")
        second.open()
        assert list(second.scan()) == [(b"a", b""), (b"b", b"2")]
        assert second.checkpoint() == b"second"
        assert second.count() == 2
        second.close()

    def test_a_cleared_store_stays_empty(self, tmp_path: Path) -> None:
        first = self.make_store(tmp_path / "store")
        first.open()
        first.apply({b"a": b"1"}, (), b"checkpoint")
        first.clear()
        first.close()
        second = self.make_store(tmp_path / "store")
        second.open()
        assert second.checkpoint() is None
        assert list(second.scan()) == []
        second.close()

    def test_a_forgotten_scan_does_not_keep_the_files(self, tmp_path: Path) -> None:
        first = self.make_store(tmp_path / "store")
        first.open()
        first.apply({b"%d" % n: b"row" for n in range(100)}, (), b"c")
        held = first.scan()
        next(held)
        next(iter(first.scan()))
        first.close()
        second = self.make_store(tmp_path / "store")
        second.open()
        assert second.count() == 100
        second.close()

    def test_it_cannot_be_opened_twice(self, store: Store, tmp_path: Path) -> None:
        with pytest.raises(StoreLockedError) as raised:
            self.make_store(tmp_path / "store").open()
        assert raised.value.hint
        store.apply({b"a": b"1"}, (), b"c")
        assert store.get(b"a") == b"1"

    def test_a_killed_process_leaves_rows_and_checkpoint_in_step(self, tmp_path: Path) -> None:
        """Killed in the middle of a batch, again and again, in the same directory."""
        for acknowledged_batches in (1, 2, 3, 5, 8):
            acknowledged = self._kill_after(acknowledged_batches, tmp_path / "store")
            store = self.make_store(tmp_path / "store")
            store.open()
            number = int(store.checkpoint() or b"0")
            assert number >= acknowledged, "a batch that had been applied is lost"
            puts, _ = batch(number)
            assert dict(store.scan()) == puts
            assert store.get_many(KEYS) == [puts.get(key) for key in KEYS]
            assert store.count() == len(puts)
            store.close()

    def _kill_after(self, batches: int, directory: Path) -> int:
        module = "lastword.testing.store_crash"
        own = type(self)
        command = [sys.executable, "-m", module, inspect.getfile(own), own.__name__, str(directory)]
        with subprocess.Popen(command, stdout=subprocess.PIPE) as child:  # noqa: S603 - ourselves
            assert child.stdout is not None
            try:
                lines = [child.stdout.readline() for _ in range(batches)]
            finally:
                child.kill()
            lines += child.stdout.readlines()
        return int(lines[-1])
