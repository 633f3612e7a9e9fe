"""Real-time mode: long tasks that read their partitions themselves and commit every interval."""
