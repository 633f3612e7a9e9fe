"""The text of a .proto file as the descriptor that the Protobuf runtime builds messages from.

Only what decides about bytes and names is taken over: messages, enums, fields, oneofs and maps.
Services, extensions and custom options change neither, so they are omitted. The runtime itself
finds the types that fields name and checks the whole.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NoReturn

from antlr4.error.ErrorListener import ErrorListener
from google.protobuf.descriptor_pb2 import (
    DescriptorProto,
    EnumDescriptorProto,
    FieldDescriptorProto,
    FileDescriptorProto,
)
from proto_schema_parser import ast
from proto_schema_parser.parser import Parser

TEXT_MAX = 256 << 10
"""How much text is parsed; a parser in Python reads about 50 KiB a second."""

_TYPES = {
    name: getattr(FieldDescriptorProto, f"TYPE_{name.upper()}")
    for name in (
        "double", "float", "int32", "int64", "uint32", "uint64", "sint32", "sint64", "fixed32",
        "fixed64", "sfixed32", "sfixed64", "bool", "string", "bytes",
    )
}  # fmt: skip


def descriptor_of(text: str, name: str) -> FileDescriptorProto:
    """The descriptor of the file ``name`` with this ``text``; raises ValueError."""
    if len(text) > TEXT_MAX:
        raise ValueError(f"a schema of {len(text)} characters is longer than {TEXT_MAX}")
    listener = _Refusal()

    def refuse(recognizer: Any) -> None:
        recognizer.removeErrorListeners()
        recognizer.addErrorListener(listener)

    try:
        file = Parser(setup_lexer=refuse, setup_parser=refuse).parse(text)
        return _Compiler(file, name).compiled()
    except (RecursionError, TypeError, AttributeError) as error:
        raise ValueError(f"it is not a .proto file: {type(error).__name__}: {error}") from error


class _Refusal(ErrorListener):  # type: ignore[misc]
    """Raises where the parser would guess what was meant."""

    def syntaxError(  # noqa: N802 - the name is the parser's
        self, _recognizer: Any, _symbol: Any, line: int, column: int, message: str, _error: Any
    ) -> NoReturn:
        """Raise ValueError with the position."""
        raise ValueError(f"line {line}, column {column + 1}: {message[:200]}")


class _Compiler:
    """Makes the descriptor of one parsed file."""

    def __init__(self, file: ast.File, name: str) -> None:
        self._file = file
        self._syntax = file.syntax or "proto2"
        if file.edition is not None or self._syntax not in ("proto2", "proto3"):
            raise ValueError(f"{file.edition or self._syntax} is not supported: use proto3")
        self._made = FileDescriptorProto(name=name, syntax=self._syntax)

    def compiled(self) -> FileDescriptorProto:
        """The descriptor of the file."""
        for each in self._file.file_elements:
            if isinstance(each, ast.Package):
                self._made.package = each.name
            elif isinstance(each, ast.Import):
                if each.public:
                    self._made.public_dependency.append(len(self._made.dependency))
                self._made.dependency.append(each.name)
            elif isinstance(each, ast.Message):
                self._message(self._made.message_type.add(), each.name, each.elements)
            elif isinstance(each, ast.Enum):
                _enum(self._made.enum_type.add(), each)
        return self._made

    def _message(self, made: DescriptorProto, name: str, elements: list[Any]) -> None:
        made.name = name
        for each in elements:
            if isinstance(each, ast.Message):
                self._message(made.nested_type.add(), each.name, each.elements)
            elif isinstance(each, ast.Enum):
                _enum(made.enum_type.add(), each)
            elif isinstance(each, ast.ExtensionRange):
                for start, end in _ranges(each.ranges):
                    made.extension_range.add(start=start, end=end)
            elif isinstance(each, ast.OneOf):
                self._oneof(made, each)
            elif isinstance(each, ast.MapField):
                self._map(made, each)
            elif isinstance(each, ast.Field):
                self._field(made, each)
            elif isinstance(each, ast.Group):
                raise ValueError(f"the group {each.name} is not supported: use a message")
        self._optional_last(made)

    def _oneof(self, made: DescriptorProto, oneof: ast.OneOf) -> None:
        index = len(made.oneof_decl)
        made.oneof_decl.add(name=oneof.name)
        for each in oneof.elements:
            if isinstance(each, ast.Field):
                self._field(made, each).oneof_index = index
            elif isinstance(each, ast.Group):
                raise ValueError(f"the group {each.name} is not supported: use a message")

    def _map(self, made: DescriptorProto, field: ast.MapField) -> None:
        entry = f"{_camel(field.name)}Entry"
        nested = made.nested_type.add(name=entry)
        nested.options.map_entry = True
        for number, name, kind in ((1, "key", field.key_type), (2, "value", field.value_type)):
            _typed(nested.field.add(name=name, number=number), kind)
            nested.field[-1].label = FieldDescriptorProto.LABEL_OPTIONAL
        made.field.add(
            name=field.name,
            number=field.number,
            label=FieldDescriptorProto.LABEL_REPEATED,
            type=FieldDescriptorProto.TYPE_MESSAGE,
            type_name=entry,
        )

    def _field(self, made: DescriptorProto, field: ast.Field) -> FieldDescriptorProto:
        found = made.field.add(name=field.name, number=field.number)
        _typed(found, field.type)
        label = "OPTIONAL" if field.cardinality is None else field.cardinality.value
        found.label = FieldDescriptorProto.Label.Value(f"LABEL_{label}")
        if self._syntax == "proto3" and field.cardinality is ast.FieldCardinality.OPTIONAL:
            found.proto3_optional = True
        for option in field.options:
            _option(found, option)
        return found

    def _optional_last(self, made: DescriptorProto) -> None:
        """Protobuf keeps ``optional`` of proto3 as a oneof of one field, after all others."""
        for field in made.field:
            if field.proto3_optional:
                field.oneof_index = len(made.oneof_decl)
                made.oneof_decl.add(name=f"_{field.name}")


def _typed(field: FieldDescriptorProto, kind: str) -> None:
    if kind in _TYPES:
        field.type = _TYPES[kind]
    else:
        field.type_name = kind  # the runtime finds out whether it is a message or an enum


def _option(field: FieldDescriptorProto, option: ast.Option) -> None:
    value = option.value.name if isinstance(option.value, ast.Identifier) else option.value
    if option.name == "packed":
        field.options.packed = value in (True, "true")
    elif option.name == "json_name":
        field.json_name = str(value)
    elif option.name == "default":
        field.default_value = str(value).lower() if isinstance(value, bool) else str(value)


def _enum(made: EnumDescriptorProto, enum: ast.Enum) -> None:
    made.name = enum.name
    for each in enum.elements:
        if isinstance(each, ast.EnumValue):
            made.value.add(name=each.name, number=each.number)
        elif isinstance(each, ast.Option) and each.name == "allow_alias":
            made.options.allow_alias = bool(each.value)


def _ranges(ranges: list[str]) -> Iterator[tuple[int, int]]:
    for each in ranges:
        first, _, last = each.partition(" to ")
        end = (1 << 29) - 1 if last.strip() == "max" else int(last or first)
        yield int(first), end + 1


def _camel(name: str) -> str:
    return "".join(part[:1].upper() + part[1:] for part in name.split("_"))
