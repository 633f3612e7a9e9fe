"""Finds Java, resolves and verifies jars."""
