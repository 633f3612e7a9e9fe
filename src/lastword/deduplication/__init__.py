"""Finds repeated messages, for any consumer: exactly for a time, or by a Bloom filter."""

from __future__ import annotations

from lastword.deduplication.bloom import BloomDeduplicator
from lastword.deduplication.window import DeduplicationWindow

__all__ = ["BloomDeduplicator", "DeduplicationWindow"]
