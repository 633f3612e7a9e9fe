"""Random walks through a store, compared with a dict that does the same."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from uuid import uuid4

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from lastword.errors import StoreError
from lastword.stores.base import Store, StoredRow, StoreScan

# Few and short keys, so that walks meet the same ones again; the bytes are those at the edges.
_BYTES = st.sampled_from([0x00, 0x01, 0x61, 0x62, 0xFE, 0xFF])
KEYS = st.lists(_BYTES, min_size=1, max_size=3).map(bytes)
ROWS = st.binary(max_size=12)
BOUNDS = st.none() | st.just(b"") | KEYS


class StoreMachine(RuleBasedStateMachine):
    """Applies the same operations to a store and to a dict, and compares the results."""

    def __init__(self, make_store: Callable[[Path], Store], directory: Path) -> None:
        super().__init__()
        self.make_store = make_store
        self.path = directory / uuid4().hex
        self.store = make_store(self.path)
        self.store.open()
        self.rows: dict[bytes, bytes] = {}
        self.checkpoint: bytes | None = None
        self.scans: list[tuple[StoreScan, list[StoredRow]]] = []

    @rule(puts=st.dictionaries(KEYS, ROWS), deletes=st.sets(KEYS), checkpoint=ROWS)
    def apply(self, puts: dict[bytes, bytes], deletes: set[bytes], checkpoint: bytes) -> None:
        """Put, delete and move the checkpoint."""
        deletes -= puts.keys()
        self.store.apply(puts, deletes, checkpoint)
        self.rows = {k: row for k, row in (self.rows | puts).items() if k not in deletes}
        self.checkpoint = checkpoint

    @rule(key=KEYS)
    def get(self, key: bytes) -> None:
        """One key."""
        assert self.store.get(key) == self.rows.get(key)

    @rule(keys=st.lists(KEYS))
    def get_many(self, keys: list[bytes]) -> None:
        """Several keys, some of them twice."""
        assert self.store.get_many(keys) == [self.rows.get(key) for key in keys]

    @rule(start=BOUNDS, end=BOUNDS, reverse=st.booleans())
    def scan(self, start: bytes | None, end: bytes | None, reverse: bool) -> None:
        """A range, in either direction, at once."""
        assert list(self.store.scan(start, end, reverse=reverse)) == self.range(start, end, reverse)

    @precondition(lambda self: len(self.scans) < 3)
    @rule(start=BOUNDS, end=BOUNDS, reverse=st.booleans())
    def begin_scan(self, start: bytes | None, end: bytes | None, reverse: bool) -> None:
        """A range that is read while other things happen."""
        scan = self.store.scan(start, end, reverse=reverse)
        self.scans.append((scan, self.range(start, end, reverse)))

    @precondition(lambda self: self.scans)
    @rule(steps=st.integers(1, 5))
    def continue_scan(self, steps: int) -> None:
        """Some more rows of the oldest open scan."""
        scan, expected = self.scans[0]
        for _ in range(steps):
            assert next(scan, None) == (expected.pop(0) if expected else None)

    @precondition(lambda self: self.scans)
    @rule()
    def close_scan(self) -> None:
        """A scan that is not read to its end."""
        scan, _ = self.scans.pop(0)
        scan.close()
        assert next(scan, None) is None

    @rule()
    def count(self) -> None:
        """The number of rows; not an invariant, because asking changes how a store counts."""
        assert self.store.count() == len(self.rows)

    @rule()
    def clear(self) -> None:
        """Forget everything."""
        self.store.clear()
        self.rows, self.checkpoint = {}, None

    @rule()
    def reopen(self) -> None:
        """Close with scans open, and open again as another process would."""
        self.store.close()
        for scan, expected in self.scans:
            with suppress(StoreError):
                assert next(scan, None) is None, "a row after close"
                assert not expected, "the scan ended as if it were complete"
        self.scans = []
        self.store = self.make_store(self.path)
        self.store.open()
        if not self.store.capabilities.persistent:
            self.rows, self.checkpoint = {}, None

    @invariant()
    def the_checkpoint_is_the_last_one(self) -> None:
        """Rows and checkpoint always belong together."""
        assert self.store.checkpoint() == self.checkpoint

    def teardown(self) -> None:
        """Compare everything once more and close the files."""
        assert list(self.store.scan()) == self.range(None, None, False)
        self.store.close()

    def range(self, start: bytes | None, end: bytes | None, reverse: bool) -> list[StoredRow]:
        """What a scan of the dict would give."""
        return [
            (key, self.rows[key])
            for key in sorted(self.rows, reverse=reverse)
            if (start or b"") <= key and (end is None or key < end)
        ]
