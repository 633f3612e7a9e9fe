"""Writes that a partition's owner decides: conditions, operations, leases, linearizable reads."""
