"""Documents that many writers build from partial updates, without losing any."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from lastword.records import Version
from lastword.table.table import Table


class MaterializedView:
    """Documents that partial updates are merged into. Safe to use from any thread and process.

    With plain puts such a view loses updates: two writers read the same document, each adds a field
    and writes it back, and the second one drops the field of the first. Here the owner of the
    key's partition merges, one update after the other, so both fields stay.

    ``table`` is an owned table with JSON values; the caller opens and closes it.
    """

    def __init__(self, table: Table) -> None:
        self.table = table

    def get(self, key: Any, default: Any = None) -> Any:
        """The whole document as this process has it, or ``default``."""
        return self.table.get(key, default)

    def update(self, key: Any, changes: Mapping[str, Any]) -> Any:
        """Merge ``changes`` into the document of ``key``, which begins empty; the whole document.

        A field that is None is removed, and a nested document is merged field by field, as in a
        JSON merge patch (RFC 7396).
        """
        return self.table.merge(key, changes).value

    def apply(self, key: Any, function: Callable[[Any], Any]) -> Any:
        """Replace the document by ``function(document)``, which is given None at first; returns it.

        The function may run more than once, so it must do nothing but compute.
        """
        entry = self.table.update(key, function)
        return None if entry is None else entry.value

    def delete(self, key: Any) -> Version:
        """Remove the document."""
        return self.table.delete(key)
