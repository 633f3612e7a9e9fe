"""Whether a snapshot is exact at its position: decided and committed after its log was read.

While the log below a cut is read, the cleaner may remove a record below it because of a record
beyond it. A table that starts from the snapshot reads the later record, so this does no harm. But
the snapshot lacks the value of the key at the cut, and time travel must not use it.
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
    """Whether no record below the cut can have been removed before it was read, in any partition.

    ``read`` is how many records were read from each, ``ends_after`` and ``found`` are of a state
    after that. A record that a base lacks does not matter: the records that superseded it are all
    read now.
    """
    return all(
        start == cut[p]  # there is nothing beyond the base
        or ends_after[p] == cut[p]  # there is nothing beyond the cut
        or read.get(p) == cut[p] - start  # every offset was there
        or found.holds(p, cut[p])  # the cleaner has not been beyond the cut
        for p, start in starts.items()
    )


def confirm(uri: str, run_id: str) -> None:
    """Commit, without rows, that the snapshot of this run is exact."""
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
