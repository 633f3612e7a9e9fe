"""The column type of a Protobuf message, as its values look in Python."""

from __future__ import annotations

from google.protobuf.descriptor import Descriptor, FieldDescriptor

from lastword.codecs.columns.type_tree import (
    JSON,
    ColumnType,
    DecimalType,
    ListType,
    MapType,
    PartLimits,
    struct_of,
)

_TIMESTAMP = "google.protobuf.Timestamp"
_SCALARS: dict[int, ColumnType] = {
    FieldDescriptor.CPPTYPE_BOOL: "boolean",
    FieldDescriptor.CPPTYPE_INT32: "int32",
    FieldDescriptor.CPPTYPE_UINT32: "int64",
    FieldDescriptor.CPPTYPE_INT64: "int64",
    FieldDescriptor.CPPTYPE_UINT64: DecimalType(20, 0),
    FieldDescriptor.CPPTYPE_FLOAT: "float32",
    FieldDescriptor.CPPTYPE_DOUBLE: "float64",
    FieldDescriptor.CPPTYPE_STRING: "string",
    FieldDescriptor.CPPTYPE_ENUM: "enum",
}


def proto_columns(descriptor: Descriptor) -> ColumnType:
    """The type of a column of such messages; JSON text for one that contains itself."""
    return _ProtoColumns().message(descriptor)


class _ProtoColumns:
    def __init__(self) -> None:
        self._limits = PartLimits()
        self._open: set[str] = set()

    def message(self, descriptor: Descriptor) -> ColumnType:
        return self._limits.part(lambda: self._made(descriptor))

    def _made(self, descriptor: Descriptor) -> ColumnType:
        name = descriptor.full_name
        if name == _TIMESTAMP:
            return "timestamp"
        if name in self._open:
            return JSON
        self._open.add(name)
        try:
            return struct_of([(each.name, self._field(each)) for each in descriptor.fields])
        finally:
            self._open.discard(name)

    def _field(self, field: FieldDescriptor) -> ColumnType:
        kind = field.message_type
        if kind is not None and kind.GetOptions().map_entry:
            entry = kind.fields_by_name
            return MapType(self._single(entry["key"]), self._single(entry["value"]))
        one = self._single(field)
        return ListType(one) if field.is_repeated else one

    def _single(self, field: FieldDescriptor) -> ColumnType:
        if field.message_type is not None:
            return self.message(field.message_type)
        if field.type == FieldDescriptor.TYPE_BYTES:
            return "bytes"
        return self._limits.part(lambda: _SCALARS[field.cpp_type])
