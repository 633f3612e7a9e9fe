"""The catalog: a compacted topic that says how each table is written.

It is a help, never a condition: without the topic, or without the right to read it, flags and
settings decide alone.
"""
