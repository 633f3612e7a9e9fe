"""Sending records: one by one with an outcome each, or in a transaction."""
