"""From Protobuf messages to plain Python: dicts, lists, numbers, text, bytes and times."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from typing import Any

from google.protobuf.descriptor import Descriptor, FieldDescriptor

Convert = Callable[[Any], Any]

TIMESTAMP = "google.protobuf.Timestamp"


class MessageValues:
    """Makes dicts of the messages of one schema.

    A field has its name of the schema. One that can be absent and is (a message, ``optional``, a
    member of a oneof) is not in the dict; every other one is. Enums are names, a number that the
    schema does not know stays a number. Timestamps are ``datetime``, in UTC.
    """

    def __init__(self) -> None:
        self._made: dict[str, Convert] = {}

    def of(self, descriptor: Descriptor) -> Convert:
        """What turns a message of this type into its value."""
        name = descriptor.full_name
        if name not in self._made:
            self._made[name] = self._later(name)  # a message may hold others of its kind
            self._made[name] = self._convert(descriptor)
        return self._made[name]

    def _later(self, name: str) -> Convert:
        def convert(message: Any) -> Any:
            return self._made[name](message)

        return convert

    def _convert(self, descriptor: Descriptor) -> Convert:
        if descriptor.full_name == TIMESTAMP:
            return _moment
        always: list[tuple[str, Convert | None]] = []
        present: list[tuple[str, Convert | None]] = []
        for field in descriptor.fields:
            (present if field.has_presence else always).append((field.name, self._field(field)))

        def convert(message: Any) -> dict[str, Any]:
            made = {}
            for name, converted in always:
                value = getattr(message, name)
                made[name] = value if converted is None else converted(value)
            for name, converted in present:
                if message.HasField(name):
                    value = getattr(message, name)
                    made[name] = value if converted is None else converted(value)
            return made

        return convert

    def _field(self, field: FieldDescriptor) -> Convert | None:
        """What converts a field's value; None where it is plain Python already."""
        if field.message_type is not None and field.message_type.GetOptions().map_entry:
            held = self._single(field.message_type.fields_by_name["value"])
            if held is None:
                return dict
            return lambda values: {key: held(values[key]) for key in values}
        one = self._single(field)
        if not field.is_repeated:
            return one
        if one is None:
            return list
        return lambda values: [one(each) for each in values]

    def _single(self, field: FieldDescriptor) -> Convert | None:
        if field.message_type is not None:
            return self.of(field.message_type)
        if field.enum_type is not None:
            names = {
                number: value.name for number, value in field.enum_type.values_by_number.items()
            }
            return lambda number: names.get(number, number)
        return None


def _moment(timestamp: Any) -> datetime.datetime:
    found: datetime.datetime = timestamp.ToDatetime(tzinfo=datetime.UTC)
    return found
