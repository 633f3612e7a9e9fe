"""The column type of a class: msgspec Structs, dataclasses and pydantic models."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from msgspec import inspect

from lastword.codecs.columns.fitting import shown_name
from lastword.codecs.columns.type_tree import (
    JSON,
    PYTHON_DECIMAL,
    ColumnType,
    ListType,
    MapType,
    PartLimits,
    struct_of,
)

_SCALARS: dict[type[inspect.Type], ColumnType] = {
    inspect.BoolType: "boolean",
    inspect.IntType: "int64",
    inspect.FloatType: "float64",
    inspect.StrType: "string",
    inspect.BytesType: "bytes",
    inspect.ByteArrayType: "bytes",
    inspect.MemoryViewType: "bytes",
    inspect.DateType: "date",
    inspect.TimeType: "string",
    inspect.TimeDeltaType: "string",
    inspect.UUIDType: "string",
    inspect.DecimalType: PYTHON_DECIMAL,
}
_PYDANTIC_TIMES: dict[str, ColumnType] = {
    "AwareDatetime": "timestamp",
    "NaiveDatetime": "timestamp_ntz",
}


def class_columns(kind: type[Any]) -> ColumnType:
    """The type of a column of such values; JSON text for what has no type of its own."""
    try:
        return _ClassColumns().of(inspect.type_info(kind))
    except (TypeError, NameError, ValueError):  # an annotation that cannot be resolved
        return JSON


class _ClassColumns:
    def __init__(self) -> None:
        self._limits = PartLimits()
        self._open: set[type[Any]] = set()

    def of(self, info: inspect.Type) -> ColumnType:
        return self._limits.part(lambda: self._made(info))

    def _made(self, info: inspect.Type) -> ColumnType:
        if isinstance(info, inspect.Metadata):
            return self.of(info.type)
        if isinstance(info, inspect.DateTimeType):
            return "timestamp_ntz" if info.tz is False else "timestamp"
        if isinstance(info, inspect.EnumType | inspect.LiteralType):
            return _of_values(info)
        return _SCALARS.get(type(info)) or self._composed(info)

    def _composed(self, info: inspect.Type) -> ColumnType:
        if isinstance(info, inspect.UnionType):
            return self._union(info)
        if isinstance(info, inspect.CollectionType):
            return ListType(self.of(info.item_type))
        return self._map(info) if isinstance(info, inspect.DictType) else self._object(info)

    def _union(self, info: inspect.UnionType) -> ColumnType:
        """Optional is a type that can be null; of several types, only numbers have a column."""
        types = [each for each in info.types if not isinstance(each, inspect.NoneType)]
        if len(types) == 1:
            return self.of(types[0])
        numbers = all(isinstance(each, inspect.IntType | inspect.FloatType) for each in types)
        return "float64" if numbers else JSON

    def _map(self, info: inspect.DictType) -> ColumnType:
        key = self.of(info.key_type)
        return MapType(key, self.of(info.value_type)) if key in ("string", "int64") else JSON

    def _object(self, info: inspect.Type) -> ColumnType:
        if isinstance(info, inspect.StructType | inspect.DataclassType | inspect.TypedDictType):
            fields = [(each.encode_name, each.type) for each in info.fields]
        elif isinstance(info, inspect.CustomType) and hasattr(info.cls, "model_fields"):
            fields = _model_fields(info.cls)
        elif isinstance(info, inspect.CustomType):
            return _PYDANTIC_TIMES.get(info.cls.__name__, JSON)
        else:
            return JSON
        if info.cls in self._open:
            return JSON  # it contains itself
        self._open.add(info.cls)
        try:
            return struct_of([(name, self.of(each)) for name, each in fields])
        finally:
            self._open.discard(info.cls)


def _model_fields(model: Any) -> list[tuple[str, inspect.Type]]:
    return [
        (shown_name(name, field), inspect.type_info(field.annotation))
        for name, field in model.model_fields.items()
    ]


def _of_values(info: inspect.EnumType | inspect.LiteralType) -> ColumnType:
    if isinstance(info, inspect.EnumType):
        values: Iterable[Any] = [each.value for each in info.cls]
    else:
        values = info.values
    kinds = {type(each) for each in values} - {type(None)}
    if kinds == {str}:
        return "string"
    return "int64" if kinds == {int} else JSON
