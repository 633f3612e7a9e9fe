"""Which rows of a captured table to keep, and which of their columns, as text says it."""

from __future__ import annotations

from lastword.cdc.change import Row
from lastword.cdc.filter_parser import FilterParser


class RowFilter:
    """Whether a condition in SQL holds for a row; one that is unknown does not hold.

    Travels to executors as its text. Safe to use from any thread.

    >>> RowFilter("total >= 100 AND status <> 'draft'")({"total": 120, "status": "paid"})
    True
    """

    def __init__(self, text: str) -> None:
        parser = FilterParser(text)
        self.text = text
        self._condition = parser.parse()
        self.columns = tuple(dict.fromkeys(parser.columns))

    def __reduce__(self) -> tuple[type[RowFilter], tuple[str]]:
        return RowFilter, (self.text,)

    def __call__(self, row: Row) -> bool:
        """Whether to keep the row; raises DecodeError when its values cannot be compared."""
        return self._condition(row) is True


class KeptColumns:
    """A row with nothing but these columns; one that a row does not have is skipped.

    >>> KeptColumns("id, status")({"id": 1, "status": "paid", "note": "large"})
    {'id': 1, 'status': 'paid'}
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self.columns = tuple(FilterParser(text).names())

    def __reduce__(self) -> tuple[type[KeptColumns], tuple[str]]:
        return KeptColumns, (self.text,)

    def __call__(self, row: Row) -> Row:
        """The row with only these columns."""
        return {name: row[name] for name in self.columns if name in row}
