"""Writes that the owner of a partition decides: conditions, operations, leases, safe reads."""
