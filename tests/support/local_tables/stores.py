"""Stores that tell what is done to them, or hold it up."""

from __future__ import annotations

import threading
from collections.abc import Collection, Mapping
from pathlib import Path

from lastword.replicas.apply.checkpoint import Checkpoint, decode_checkpoint
from lastword.stores.memory import MemoryStore


class RecordingStore(MemoryStore):
    """Notes for each apply the thread, the rows, the deletes and the checkpoint it came with."""

    def __init__(self) -> None:
        super().__init__()
        self.threads: set[str] = set()
        self.applied: list[tuple[dict[bytes, bytes], set[bytes], Checkpoint]] = []

    def apply(
        self, puts: Mapping[bytes, bytes], deletes: Collection[bytes], checkpoint: bytes
    ) -> None:
        decoded = decode_checkpoint(checkpoint)
        assert decoded is not None
        self.threads.add(threading.current_thread().name)
        self.applied.append((dict(puts), set(deletes), decoded))
        super().apply(puts, deletes, checkpoint)

    def __call__(self, partition: int, _directory: Path) -> RecordingStore:
        """Itself as ``store=``, for tables of one partition."""
        assert partition == 0
        return self


class GatedStore(RecordingStore):
    """Each apply waits while ``gate`` is closed; ``waiting`` is set when one does."""

    def __init__(self) -> None:
        super().__init__()
        self.gate = threading.Event()
        self.waiting = threading.Event()

    def apply(
        self, puts: Mapping[bytes, bytes], deletes: Collection[bytes], checkpoint: bytes
    ) -> None:
        if not self.gate.is_set():
            self.waiting.set()
            assert self.gate.wait(180), "the test never opened the gate"
        super().apply(puts, deletes, checkpoint)


class GatedStores:
    """As ``store=``: a GatedStore for each partition, all with one gate, which is open at first."""

    def __init__(self) -> None:
        self.gate = threading.Event()
        self.waiting = threading.Event()
        self.gate.set()

    def __call__(self, _partition: int, _directory: Path) -> GatedStore:
        store = GatedStore()
        store.gate, store.waiting = self.gate, self.waiting
        return store
