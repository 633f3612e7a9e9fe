"""Puts and deletes, with an outcome per key."""
