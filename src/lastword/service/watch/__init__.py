"""Watching tables by server-sent events."""
