"""What a snapshot is and which there are: layout, planning, metadata."""

from lastword.snapshots.catalog.catalog import Catalog, delta_errors, unreadable

__all__ = ["Catalog", "delta_errors", "unreadable"]
