"""The rows of several batches, which a store may sort without merging them first."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property

Layer = Mapping[bytes, bytes | None]
"""What one batch does to each key: its row, or None for a delete. A dict."""


class LayeredRows(Mapping[bytes, bytes]):
    """The rows that ``layers``, from the oldest to the newest, leave behind.

    A restore gathers dozens of batches for one file. Merging them takes a quarter of the time it
    spends on their rows, and sorting finds equal keys anyway. So they are merged only for a store
    that asks for rows by key, or counts them.

    >>> dict(LayeredRows([{b"a": b"1", b"b": b"1"}, {b"a": b"2", b"b": None}]))
    {b'a': b'2'}
    """

    def __init__(self, layers: list[Layer]) -> None:
        self.layers = layers

    @property
    def changes(self) -> int:
        """How many changes the layers have; at least as many as there are rows."""
        return sum(map(len, self.layers))

    @cached_property
    def _merged(self) -> dict[bytes, bytes]:
        merged: dict[bytes, bytes | None] = {}
        for layer in self.layers:
            merged.update(layer)
        return {key: row for key, row in merged.items() if row is not None}

    def __contains__(self, key: object) -> bool:
        newest: Layer = next((layer for layer in reversed(self.layers) if key in layer), {})
        return isinstance(key, bytes) and newest.get(key) is not None

    def __getitem__(self, key: bytes) -> bytes:
        return self._merged[key]

    def __iter__(self) -> Iterator[bytes]:
        return iter(self._merged)

    def __len__(self) -> int:
        return len(self._merged)
