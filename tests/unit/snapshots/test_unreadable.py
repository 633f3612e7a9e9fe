"""What deltalake says goes into one line of an error."""

from __future__ import annotations

from lastword.snapshots.catalog.snapshot_catalog import unreadable


def test_a_tree_of_causes_is_reported_in_one_line() -> None:
    tree = "Generic S3 error\n   \x1b[31m↳\x1b[0m HTTP error\n    \x1b[31m↳\x1b[0m not allowed"
    assert str(unreadable("s3a://b/t", Exception(tree))) == (
        "s3a://b/t cannot be read: Generic S3 error: HTTP error: not allowed"
    )
