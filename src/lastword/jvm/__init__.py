"""Finds Java, resolves and verifies jars, starts and watches Java processes."""
