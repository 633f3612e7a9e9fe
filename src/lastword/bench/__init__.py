"""Measures what compaction does to a topic, beside topics that only delete."""
