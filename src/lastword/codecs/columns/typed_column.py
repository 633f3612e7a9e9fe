"""A column whose type comes from a schema, fixed for a whole job."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, runtime_checkable

from lastword.codecs.batches import DecodedBatch
from lastword.codecs.columns.column_layout import ColumnLayout
from lastword.codecs.columns.fitting import UNFIT, fit_for
from lastword.codecs.columns.type_tree import ColumnType


class ColumnValues(NamedTuple):
    """Values for a column, None where one is missing, and how many do not fit.

    An ``unfit`` value is None; of a captured row, only the fields that do not fit are None.
    """

    values: Sequence[Any]
    unfit: int


@dataclass(frozen=True)
class TypedColumn:
    """Values of one schema as a column of ``type``.

    Pickled, it is a description, so that all executors of a job make the same column. The values
    of an ``exact`` one are of the types that Arrow takes for ``type``: it checks them itself.
    ``lay_out``, if there is one, writes a batch as a column without making values of it, or
    returns None.
    """

    type: ColumnType
    decode: Callable[[Sequence[bytes | None]], DecodedBatch]
    exact: bool = False
    lay_out: Callable[[list[bytes | None]], ColumnLayout | None] | None = None

    def read(self, data: Sequence[bytes | None]) -> ColumnValues:
        """A batch. Bytes that cannot be decoded, and values that the type cannot hold, are unfit.

        Raises RegistryError if the registry does not answer: such a record may be a good one.
        """
        found = self.decode(data)
        if self.exact:
            return ColumnValues(found.values, len(found.bad))
        fit = fit_for(self.type)
        values: list[Any] = []
        unfit = len(found.bad)
        for value in found.values:
            try:
                values.append(None if value is None else fit(value))
            except UNFIT:
                values.append(None)
                unfit += 1
        return ColumnValues(values, unfit)


@runtime_checkable
class ColumnCodec(Protocol):
    """A codec whose values have a schema, and with it a column type."""

    def typed_column(self) -> TypedColumn | None:
        """The column of the schema that reads now: the one given, else the newest of a registry.

        None while there is no schema yet. May ask the registry; raises RegistryError.
        """
