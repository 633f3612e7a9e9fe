"""The catalog: a compacted topic that says how each table is written.

The catalog is optional: without the topic, or without permission to read it, flags and settings
decide alone.
"""
