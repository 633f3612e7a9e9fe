"""Snapshots and histories as Delta tables: their layout, reading them, and time travel."""
