"""From decoded values to what Arrow takes for a column type; what does not fit raises ValueError.

Values come from several codecs: dicts, objects of a class, and texts where JSON has no type.
"""

from __future__ import annotations

import dataclasses
import datetime
import enum
import uuid
from base64 import b64decode
from collections.abc import Callable, Mapping
from decimal import Decimal
from functools import cache, partial
from typing import Any

import msgspec

from lastword.codecs.columns.type_tree import (
    ColumnType,
    DecimalType,
    ListType,
    MapType,
    StructType,
)

Fit = Callable[[Any], Any]

# What fitting raises for a value of another type, or one that is out of range.
UNFIT = (ValueError, TypeError, ArithmeticError, AttributeError, RecursionError)

_INT_BITS = {"int32": 31, "int64": 63}
_LISTS = (list, tuple, set, frozenset)
_WRITTEN_AS_TEXT = (uuid.UUID, datetime.time, datetime.timedelta)


def fit_for(kind: ColumnType) -> Fit:
    """What turns one value, which is not None, into one of this type."""
    if isinstance(kind, StructType):
        return _struct(tuple((name, fit_for(each)) for name, each in kind.fields))
    if isinstance(kind, ListType):
        return partial(_list, fit_for(kind.item))
    if isinstance(kind, MapType):
        return partial(_map, fit_for(kind.key), fit_for(kind.value))
    if isinstance(kind, DecimalType):
        return partial(_decimal, kind)
    return _SCALARS[kind]


def _struct(fields: tuple[tuple[str, Fit], ...]) -> Fit:
    def fit(value: Any) -> dict[str, Any]:
        given = value if isinstance(value, Mapping) else _members(value)
        return {
            name: None if (each := given.get(name)) is None else inner(each)
            for name, inner in fields
        }

    return fit


def _members(value: Any) -> dict[str, Any]:
    return {shown: getattr(value, name) for shown, name in _names_of(type(value))}  # type: ignore[arg-type]


@cache
def _names_of(kind: type[Any]) -> tuple[tuple[str, str], ...]:
    """Of each field of a class, its name in a document and the attribute."""
    if issubclass(kind, msgspec.Struct):
        return tuple((each.encode_name, each.name) for each in msgspec.structs.fields(kind))
    if dataclasses.is_dataclass(kind):
        return tuple((each.name, each.name) for each in dataclasses.fields(kind))
    if hasattr(kind, "model_fields"):
        return tuple((shown_name(each, field), each) for each, field in kind.model_fields.items())
    raise ValueError(f"expected an object, not {kind.__name__}")


def shown_name(name: str, field: Any) -> str:
    """The name that a field of a pydantic model has in its documents."""
    return str(field.serialization_alias or field.alias or name)


def _list(fit: Fit, value: Any) -> list[Any]:
    if not isinstance(value, _LISTS):
        raise ValueError(f"expected a list, not {type(value).__name__}")
    return [None if each is None else fit(each) for each in value]


def _map(fit_key: Fit, fit: Fit, value: Any) -> list[tuple[Any, Any]]:
    if not isinstance(value, Mapping):
        raise ValueError(f"expected an object, not {type(value).__name__}")
    return [(fit_key(key), None if each is None else fit(each)) for key, each in value.items()]


def _decimal(kind: DecimalType, value: Any) -> Decimal:
    number = value if isinstance(value, Decimal) else Decimal(_exact(value))
    if not number.is_finite():
        raise ValueError(f"{number} is no decimal")
    _, digits, exponent = number.normalize().as_tuple()
    whole = len(digits) + int(exponent)
    if -int(exponent) > kind.scale or whole > kind.precision - kind.scale:
        raise ValueError(f"{number} has more digits than ({kind.precision}, {kind.scale})")
    return number


def _exact(value: Any) -> str | int:
    if isinstance(value, str) or (isinstance(value, int) and not isinstance(value, bool)):
        return value
    raise ValueError(f"expected a decimal, not {type(value).__name__}")


def _text(value: Any) -> str:
    if isinstance(value, enum.Enum):
        return _text(value.value)
    if isinstance(value, str):
        return value
    if isinstance(value, _WRITTEN_AS_TEXT):
        return str(msgspec.to_builtins(value))
    raise ValueError(f"expected text, not {type(value).__name__}")


def _enum(value: Any) -> str:
    """A name; of an enum that has grown since, the number."""
    return str(value.value if isinstance(value, enum.Enum) else value)


def _integer(kind: str, value: Any) -> int:
    if isinstance(value, enum.Enum):
        value = value.value
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int):
        raise ValueError(f"expected a whole number, not {type(value).__name__}")
    bound = 1 << _INT_BITS[kind]
    if not -bound <= value < bound:
        raise ValueError(f"{value} is no {kind}")
    return int(value)


def _float(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError(f"expected a number, not {type(value).__name__}")
    return float(value)


def _boolean(value: Any) -> bool:
    if not isinstance(value, bool):
        raise ValueError(f"expected true or false, not {type(value).__name__}")
    return value


def _bytes(value: Any) -> bytes:
    return b64decode(value, validate=True) if isinstance(value, str) else bytes(memoryview(value))


def _date(value: Any) -> datetime.date:
    if isinstance(value, str):
        return datetime.date.fromisoformat(value)
    if isinstance(value, datetime.datetime) or not isinstance(value, datetime.date):
        raise ValueError(f"expected a date, not {type(value).__name__}")
    return value


def _moment(value: Any) -> datetime.datetime:
    """In UTC; a time without a zone is taken for UTC."""
    found = _datetime(value)
    if found.tzinfo is None:
        return found.replace(tzinfo=datetime.UTC)
    return found.astimezone(datetime.UTC)


def _local(value: Any) -> datetime.datetime:
    found = _datetime(value)
    if found.tzinfo is not None:
        raise ValueError(f"{found} has a time zone")
    return found


def _datetime(value: Any) -> datetime.datetime:
    found = datetime.datetime.fromisoformat(value) if isinstance(value, str) else value
    if not isinstance(found, datetime.datetime):
        raise ValueError(f"expected a time, not {type(value).__name__}")
    return found


def _json(value: Any) -> str:
    return msgspec.json.encode(value, enc_hook=_as_document).decode()


def _as_document(value: Any) -> Any:
    """A pydantic model inside another value; other types by their text."""
    dump = getattr(value, "model_dump", None)
    return str(value) if dump is None else dump(mode="json", by_alias=True)


_SCALARS: dict[str, Fit] = {
    "string": _text,
    "boolean": _boolean,
    "int32": partial(_integer, "int32"),
    "int64": partial(_integer, "int64"),
    "float32": _float,
    "float64": _float,
    "bytes": _bytes,
    "date": _date,
    "timestamp": _moment,
    "timestamp_ntz": _local,
    "enum": _enum,
    "json": _json,
}
