"""A row older than a tombstone that the pass reads is dead.

A table can pass the place of a tombstone after the leader has cleaned it away, together with the
key's record. A new leader that has not cleaned its copy yet still has both. The pass found the
record, took the row for alive and ignored the tombstone.
"""

from __future__ import annotations

from lastword.replicas.sweep.dead_rows import SweepJob, SweepProgress, doomed_rows, find_dead
from tests.unit.replicas.test_sweep import Log, reading, store_of


def test_a_row_older_than_a_tombstone_in_the_log_is_found_dead() -> None:
    store = store_of({b"deleted": 3, b"written-again": 7, b"deleted-later": 4})
    log: Log = {
        3: (b"deleted", b"v"),
        4: (b"deleted-later", b"v"),
        5: (b"deleted", None),
        6: (b"written-again", None),
        7: (b"written-again", b"v"),
        12: (b"deleted-later", None),  # beyond the position: the table will read it itself
    }
    job = SweepJob(0, store, 0, 10, [])
    progress = SweepProgress(job)
    dead = find_dead(job, reading(log), progress)
    assert list(doomed_rows(job, dead, progress)) == [[(b"deleted", 3)]]
