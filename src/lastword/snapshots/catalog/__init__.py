"""Snapshots: layout, planning, metadata, and the list of those that exist."""
