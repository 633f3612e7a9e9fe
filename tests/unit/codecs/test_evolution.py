"""Three versions of one class: what each reads of the others, and what is refused."""

from __future__ import annotations

import dataclasses
import datetime
import decimal
import pickle
from typing import Any, ClassVar

import msgspec
import pydantic
import pytest

from lastword.codecs import TypedCodec, codec, upgrade
from lastword.codecs.evolution import VERSION_MEMBER
from lastword.codecs.typed import Format
from lastword.errors import ConfigError, DecodeError, EncodeError


class ProfileV1(msgspec.Struct):
    first: str
    last: str
    age: str = ""


class Steps:
    """What leads from the first version to the third, for classes of every kind."""

    @upgrade(from_version=1)
    def _one_name(old: dict[str, Any]) -> dict[str, Any]:  # noqa: N805
        """Rename: first and last become one name."""
        return {"name": f"{old['first']} {old['last']}", "age": old.get("age", "")}

    @upgrade(from_version=2)
    def _age_is_a_number(old: dict[str, Any]) -> dict[str, Any]:  # noqa: N805
        """Narrow a type: a text becomes a number, or nothing."""
        age = old.pop("age", "")
        return {**old, "age": int(age) if age else None}


class ProfileV2(msgspec.Struct):
    name: str
    age: str = ""
    nick: str = "none"
    _one_name = staticmethod(Steps._one_name)


class StructV3(msgspec.Struct, forbid_unknown_fields=True):
    name: str
    age: int | None = None
    _one_name = Steps._one_name
    _age = Steps._age_is_a_number


@dataclasses.dataclass
class DataclassV3(Steps):
    name: str
    age: int | None = None


class ModelV3(Steps, pydantic.BaseModel):
    name: str
    age: int | None = None


class OpenModelV3(Steps, pydantic.BaseModel, extra="allow"):
    name: str
    age: int | None = None


CLASSES = (StructV3, DataclassV3, ModelV3, OpenModelV3)
FORMATS: tuple[Format, ...] = ("json", "msgpack")


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("kind", CLASSES, ids=lambda kind: kind.__name__)
def test_records_of_three_versions_are_read_as_the_third(kind: type[Any], format: Format) -> None:
    newest = TypedCodec(format, kind)
    first = TypedCodec(format, ProfileV1).encode(ProfileV1("Ada", "King", "36"))
    second = TypedCodec(format, ProfileV2).encode(ProfileV2("Bob", "7"))
    if kind is StructV3:  # it forbids what it does not know, and `nick` is gone
        with pytest.raises(DecodeError, match="nick"):
            newest.decode(second)
        second = _without(second, "nick", format)
    third = newest.encode(kind(name="Cy", age=1))
    found = [newest.decode(each) for each in (first, second, third)]
    assert [(each.name, each.age) for each in found] == [("Ada King", 36), ("Bob", 7), ("Cy", 1)]
    assert not hasattr(found[2], VERSION_MEMBER)


@pytest.mark.parametrize("kind", CLASSES, ids=lambda kind: kind.__name__)
def test_a_typed_codec_travels_to_where_the_class_is_known(kind: type[Any]) -> None:
    arrived = pickle.loads(pickle.dumps(codec(kind)))  # noqa: S301
    assert arrived.evolution.version == 3
    assert arrived.decode(arrived.encode(kind(name="A"))) == kind(name="A")


def test_a_version_is_in_the_document_from_the_second_on() -> None:
    assert codec(ProfileV1).encode(ProfileV1("A", "B")) == b'{"first":"A","last":"B","age":""}'
    assert codec(DataclassV3).encode(DataclassV3("A")) == b'{"$version":3,"name":"A","age":null}'


def test_json_and_columns_show_the_newest_version_without_its_number() -> None:
    newest = codec(DataclassV3)
    old = codec(ProfileV1).encode(ProfileV1("Ada", "King", "36"))
    assert newest.to_json(old) == b'{"name":"Ada King","age":36}'
    assert list(newest.column_values([old, None, b"{"])) == [
        '{"name":"Ada King","age":36}',
        None,
        None,
    ]
    assert newest.text(old) is None, "typing it would write version 3"
    assert newest.parse(b'{"name":"A"}') == newest.encode(DataclassV3("A"))
    assert newest.from_json(b' {"name": "A"} ') == newest.encode(DataclassV3("A"))


def test_an_old_reader_reads_a_newer_record_if_it_fits() -> None:
    newer = codec(DataclassV3).encode(DataclassV3("Cy"))
    loose = TypedCodec("json", NameOnly)
    assert loose.decode(newer) == NameOnly("Cy")
    with pytest.raises(DecodeError, match="the record has version 3, and ProfileV1 here version 1"):
        codec(ProfileV1).decode(newer)


class NameOnly(msgspec.Struct):
    name: str


def test_a_removed_field_is_ignored_unless_the_class_forbids_it() -> None:
    assert codec(NameOnly).decode(b'{"name":"A","gone":1}') == NameOnly("A")
    with pytest.raises(DecodeError, match="gone"):
        codec(StructV3).decode(b'{"$version":3,"name":"A","gone":1}')


def test_a_narrowed_type_without_a_step_is_refused_with_its_field() -> None:
    with pytest.raises(DecodeError, match=r"age") as caught:
        codec(DataclassV3).decode(b'{"$version":3,"name":"A","age":"old"}')
    assert "@upgrade" in str(caught.value.hint)


def test_a_step_that_fails_is_a_bad_record() -> None:
    with pytest.raises(DecodeError, match=r"from version 1 failed: KeyError: 'first'"):
        codec(DataclassV3).decode(b"{}")
    with pytest.raises(DecodeError, match=r"from version 2 failed: ValueError"):
        codec(DataclassV3).decode(b'{"$version":2,"name":"A","age":"old"}')


def test_a_step_returns_the_next_document() -> None:
    class Forgets(msgspec.Struct):
        @upgrade(from_version=1)
        def _step(old: dict[str, Any]) -> Any:  # noqa: N805
            old.clear()

    with pytest.raises(DecodeError, match="returned NoneType, not a dict"):
        codec(Forgets).decode(b"{}")


@pytest.mark.parametrize("stated", [b"0", b'"2"', b"true", b"1.5", b"null", b"[]"])
def test_an_invalid_version_is_a_bad_record(stated: bytes) -> None:
    with pytest.raises(DecodeError, match="not a version"):
        codec(DataclassV3).decode(b'{"$version":' + stated + b',"name":"A"}')


def test_versions_without_a_step_leave_the_document_as_it_is() -> None:
    class Declared(msgspec.Struct):
        name: str = "none"
        __schema_version__: ClassVar[int] = 4

    assert codec(Declared).decode(b'{"$version":2,"name":"A"}') == Declared("A")
    assert codec(Declared).encode(Declared()) == b'{"$version":4,"name":"none"}'


def test_wrong_steps_are_refused_when_the_codec_is_made() -> None:
    class TooLow(Steps):
        __schema_version__: ClassVar[int] = 2

    class Twice(msgspec.Struct):
        @upgrade(from_version=1)
        def _a(old: dict[str, Any]) -> dict[str, Any]:  # noqa: N805
            return old

        @upgrade(from_version=1)
        def _b(old: dict[str, Any]) -> dict[str, Any]:  # noqa: N805
            return old

    with pytest.raises(ConfigError, match="has version 2 and a step from version 2"):
        codec(dataclasses.dataclass(TooLow))
    with pytest.raises(ConfigError, match="two steps from version 1: _a, _b"):
        codec(Twice)
    with pytest.raises(ConfigError, match="not a version"):
        upgrade(from_version=0)
    with pytest.raises(ConfigError, match="is not a codec"):
        codec(dict)


def test_only_an_object_has_a_version() -> None:
    class Row(msgspec.Struct, array_like=True):
        name: str
        __schema_version__: ClassVar[int] = 2

    with pytest.raises(EncodeError, match="only an object has a version"):
        codec(Row).encode(Row("A"))


class Part(msgspec.Struct):
    at: datetime.datetime
    price: decimal.Decimal
    raw: bytes = b""


class Whole(msgspec.Struct):
    parts: list[Part]
    more: list[Whole] = []
    __schema_version__: ClassVar[int] = 2


@pytest.mark.parametrize("format", FORMATS)
def test_times_decimals_and_bytes_survive_an_upgrade(format: Format) -> None:
    part = Part(
        datetime.datetime(2026, 1, 2, tzinfo=datetime.UTC), decimal.Decimal("1.50"), b"\xff"
    )
    value = Whole([part], [Whole([])])
    subject = TypedCodec(format, Whole)
    old = _without(subject.encode(value), VERSION_MEMBER, format)
    assert subject.decode(old) == subject.decode(subject.encode(value)) == value


@pytest.mark.parametrize("kind", [Whole, *CLASSES], ids=lambda kind: kind.__name__)
def test_a_schema_is_generated_from_the_class(kind: type[Any]) -> None:
    import jsonschema_rs

    schema = TypedCodec("json", kind).schema
    assert schema["title"] == kind.__name__
    validator = jsonschema_rs.validator_for(schema)
    assert not validator.is_valid({"name": 1, "parts": 1})
    good = Whole([]) if kind is Whole else kind(name="A", age=3)
    assert validator.is_valid(
        msgspec.json.decode(TypedCodec("json", kind).to_json(TypedCodec("json", kind).encode(good)))
    )


def _without(data: bytes, member: str, format: Format) -> bytes:
    module = msgspec.json if format == "json" else msgspec.msgpack
    document = module.decode(data)
    del document[member]
    return module.encode(document)
