"""What every store must do while several threads use it; a part of ``StoreContract``."""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from threading import Event, Thread

import pytest

from lastword.errors import StoreError
from lastword.stores.base import Store

_KEYS = [b"%03d" % n for n in range(400)]


class ConcurrencyContract(ABC):
    """One thread applies, any thread reads."""

    @abstractmethod
    def make_store(self, directory: Path) -> Store:
        """A store that is not open yet; made again for one directory, it finds its files."""

    @pytest.fixture
    def store(self, tmp_path: Path) -> Iterator[Store]:
        """An open, empty store."""
        store = self.make_store(tmp_path / "store")
        store.open()
        yield store
        store.close()

    @pytest.fixture
    def frequent_switches(self) -> Iterator[None]:
        """Let threads interrupt each other within a loop of a few steps, not after 5 ms."""
        before = sys.getswitchinterval()
        sys.setswitchinterval(1e-6)
        yield
        sys.setswitchinterval(before)

    @pytest.mark.usefixtures("frequent_switches")
    def test_readers_see_a_batch_whole_or_not_at_all(self, store: Store) -> None:
        """Every batch writes one number under all even keys and deletes or writes the odd."""
        store.apply(_batch(0), (), b"0")
        torn: list[object] = []

        def read_topic_state() -> None:
            if not _is_whole(rows := store.get_many(_KEYS)):
                torn.append(rows)

        def scan() -> None:
            rows = dict(store.scan())
            if not _is_whole([rows.get(key) for key in _KEYS]):
                torn.append(rows)

        with _running(read_topic_state) as lookups, _running(scan) as scans:
            for number in range(1, 150):
                odd = set(_KEYS[1::2]) if number % 2 else set()
                store.apply(_batch(number, without=odd), odd, b"%d" % number)
            lookups.wait_for_another()
            scans.wait_for_another()
        assert torn == []

    @pytest.mark.usefixtures("frequent_switches")
    def test_counting_is_exact_while_rows_come_and_go(self, store: Store) -> None:
        """The number of rows is 20 000 before and after every batch."""
        keys = [b"%06d" % n for n in range(20_000)]
        store.apply(dict.fromkeys(keys, b"row"), (), b"c")
        counts: set[int] = set()
        with _running(lambda: counts.add(store.count())) as counting:
            for number in range(100):
                store.apply({b"new-%d" % number: b"row"}, {keys[number]}, b"c")
            counting.wait_for_another()
        assert counts == {20_000}
        assert store.count() == 20_000 == sum(1 for _ in store.scan())

    @pytest.mark.usefixtures("frequent_switches")
    def test_readers_that_meet_a_close_get_an_error_or_an_answer(self, store: Store) -> None:
        """Never a wrong answer, never a crash; afterwards the store opens again."""
        rows = {b"%05d" % n: b"row-%05d" % n for n in range(2000)}
        asked = list(rows)[::7]

        def read(wrong: list[object]) -> None:
            with suppress(StoreError):
                if store.get(b"00700") != b"row-00700":
                    wrong.append("get")
            with suppress(StoreError):
                if store.get_many(asked) != [rows[key] for key in asked]:
                    wrong.append("get_many")
            with suppress(StoreError):
                if list(store.scan(b"00100", reverse=True))[-1] != (b"00100", b"row-00100"):
                    wrong.append("scan")
            with suppress(StoreError):
                if store.count() != len(rows):
                    wrong.append("count")

        for _ in range(5):
            store.apply(rows, (), b"c")
            wrong: list[object] = []
            with _running(partial(read, wrong)) as one, _running(partial(read, wrong)) as two:
                one.wait_for_another()
                two.wait_for_another()
                store.close()
                one.wait_for_another()
                two.wait_for_another()
            assert wrong == []
            store.open()


def _batch(number: int, without: set[bytes] | frozenset[bytes] = frozenset()) -> dict[bytes, bytes]:
    return {key: b"%d" % number for key in _KEYS if key not in without}


def _is_whole(rows: list[bytes | None]) -> bool:
    even, odd = set(rows[::2]), set(rows[1::2])
    return len(even) == 1 and odd in (even, {None}) and None not in even


class _Loop:
    """Calls a function over and over in a thread of its own, and counts how often it did."""

    def __init__(self, function: Callable[[], object]) -> None:
        self._function = function
        self._stop = Event()
        self._passed = Event()
        self._error: BaseException | None = None
        self._thread = Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            while not self._stop.is_set():
                self._function()
                self._passed.set()
        except BaseException as error:
            self._error = error
            raise

    def wait_for_another(self) -> None:
        """Wait until a call that began after now has ended: the first end may be an older one."""
        for _ in range(2):
            self._passed.clear()
            assert self._passed.wait(30), f"no call ended within 30 s: {self._error!r}"

    def stop(self) -> None:
        self._stop.set()
        self._thread.join(30)
        assert not self._thread.is_alive(), "the reader hangs"
        assert self._error is None, repr(self._error)


@contextmanager
def _running(function: Callable[[], object]) -> Iterator[_Loop]:
    loop = _Loop(function)
    try:
        yield loop
    finally:
        loop.stop()
