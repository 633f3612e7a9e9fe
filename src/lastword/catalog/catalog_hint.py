"""What only the catalog says of a table, to be named in errors: its entry may be wrong."""

from __future__ import annotations

from typing import NamedTuple, TypeVar

from lastword.errors import DecodeError, LastwordError

E = TypeVar("E", bound=LastwordError)


class CatalogHint(NamedTuple):
    """What the catalog says, as a part of a sentence, and how to correct it."""

    says: str
    way_out: str

    def added_to(self, error: E) -> E:
        """The error; it also says what the catalog says, and how to correct that."""
        error.args = (f"{error}; {self.says}",)
        if isinstance(error, DecodeError):
            error.reason = f"{error.reason}; {self.says}"
        error.hint = f"{error.hint}; {self.way_out}" if error.hint else self.way_out
        return error
