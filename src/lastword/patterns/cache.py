"""A cache that all instances share: a value is computed once, by one of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from lastword.durations import Duration
from lastword.table.table import Table

_MISSING = object()


class Cache:
    """Computed values in an owned table. Safe to use from any thread and process.

    A value lives for ``ttl`` (``"10m"``), or until it is invalidated. While one instance computes,
    the others wait, at most ``wait``. If it dies, the next one computes instead.
    """

    def __init__(self, table: Table, *, ttl: Duration, wait: Duration = "60s") -> None:
        self.table = table
        self.ttl = ttl
        self.wait = wait

    def get(self, key: str, default: Any = None) -> Any:
        """The value as this process has it, or ``default``; computes nothing."""
        return self.table.get(key, default)

    def get_or_compute(self, key: str, compute: Callable[[], Any]) -> Any:
        """The value of ``key``; if there is none, one of all instances computes it.

        The others wait and get the same value; LeaseHeldError is raised for one that waits too
        long. What ``compute`` raises is raised here, and the next one that waits computes.
        """
        value = self.table.get(key, _MISSING)
        if value is not _MISSING:
            return value
        with self.table.lock(f"compute:{key}", wait=self.wait):
            value = self.table.get(key, _MISSING, consistency="linearizable")
            if value is _MISSING:
                value = compute()
                self.table.put(key, value, ttl=self.ttl)
            return value

    def put(self, key: str, value: Any) -> None:
        """Set the value for every instance."""
        self.table.put(key, value, ttl=self.ttl)

    def invalidate(self, *keys: str) -> None:
        """Remove these keys in every instance; the next lookup computes them again."""
        for key in keys:
            self.table.delete(key)

    def invalidate_prefix(self, prefix: str) -> int:
        """Forget every key that begins with ``prefix``; returns how many there were."""
        with self.table.prefix(prefix) as found:
            keys = [key for key, _ in found]
        self.invalidate(*keys)
        return len(keys)
