"""The rows of several batches, collected while a restore builds one large apply."""

from __future__ import annotations

from lastword.many_rows import size_of
from lastword.replicas.apply.record_filter import FilteredBatch
from lastword.stores.layered_rows import Layer, LayeredRows

TOMBSTONE_BYTES = 128
"""What a gathered tombstone takes beside its key: a bytes object and its place in a set. Rows are
counted by their bytes, which are most of their memory."""


class GatheredRows:
    """Disjoint puts and deletes that are not in the store yet, and about how large they are."""

    def __init__(self) -> None:
        self.size_bytes = 0
        self._layers: list[Layer] = []
        self._deletes: set[bytes] = set()

    def __bool__(self) -> bool:
        return bool(self._layers)

    def add(self, filtered: FilteredBatch) -> None:
        """Add a later batch."""
        layer: Layer = filtered.puts
        if filtered.deletes:
            layer = {**filtered.puts, **dict.fromkeys(filtered.deletes)}
        if layer:
            self._layers.append(layer)
        if self._deletes:  # else it would still go through all of the puts
            self._deletes.difference_update(filtered.puts)
        self._deletes.update(filtered.deletes)
        self.size_bytes += size_of(filtered.puts)
        self.size_bytes += sum(map(len, filtered.deletes))
        self.size_bytes += len(filtered.deletes) * TOMBSTONE_BYTES

    def take(self) -> tuple[LayeredRows, set[bytes]]:
        """The puts and the deletes; nothing is left."""
        puts, deletes = LayeredRows(self._layers), self._deletes
        self._layers, self._deletes, self.size_bytes = [], set(), 0
        return puts, deletes
