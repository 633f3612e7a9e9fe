"""Whether a snapshot is exact at its position: decided once its log has been read, and committed.

While the log below a cut is read, a record beyond it may let the cleaner take one below it away. A
table that starts from the snapshot reads that later record and never knows; but the snapshot itself
then lacks what the key was at the cut, and time travel must not use it.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec
from deltalake import CommitProperties, DeltaTable

from lastword.snapshots.catalog.snapshot import Confirmation
from lastword.snapshots.catalog.snapshot_catalog import delta_errors
from lastword.snapshots.travel.log_completeness import LogCompleteness


def is_exact(
    starts: Mapping[int, int],
    cut: Mapping[int, int],
    *,
    read: Mapping[int, int],
    ends_after: Mapping[int, int],
    found: LogCompleteness,
) -> bool:
    """Whether nothing below the cut can have gone before it was read, in any partition.

    ``read`` is how many records were read from each, ``ends_after`` and ``found`` are of a state
    after that. What a base lacks does not matter: the records that took it away are all read now.
    """
    return all(
        start == cut[p]  # there is nothing beyond the base
        or ends_after[p] == cut[p]  # there is nothing beyond the cut
        or read.get(p) == cut[p] - start  # every offset was there
        or found.holds(p, cut[p])  # the cleaner has not been beyond the cut
        for p, start in starts.items()
    )


def confirm(uri: str, run_id: str) -> None:
    """Say in a commit of its own, without rows, that the snapshot of this run is exact."""
    text = msgspec.json.encode(Confirmation(confirms=run_id)).decode()
    with delta_errors(uri):
        table = DeltaTable(uri)
        table.create_write_transaction(
            [],
            mode="append",
            schema=table.schema(),
            partition_by=["partition"],
            commit_properties=CommitProperties(custom_metadata={"userMetadata": text}),
        )
