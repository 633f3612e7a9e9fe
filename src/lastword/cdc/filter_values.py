"""Compares column values with each other and with literals, as PostgreSQL would.

A comparison with a null is neither true nor false: it is unknown, here None.
"""

from __future__ import annotations

import operator
from base64 import b16decode
from collections.abc import Callable
from datetime import UTC, date, datetime, time
from decimal import Decimal, InvalidOperation
from typing import Any
from uuid import UUID

from lastword.errors import DecodeError

Truth = bool | None

_FROM_TEXT: dict[type, Callable[[str], Any]] = {
    datetime: datetime.fromisoformat,
    date: date.fromisoformat,
    time: time.fromisoformat,
    UUID: UUID,
    int: Decimal,
    float: float,
    Decimal: Decimal,
    bytes: lambda text: b16decode(text.removeprefix("\\x"), casefold=True),
    bool: {"true": True, "t": True, "false": False, "f": False}.__getitem__,
}
_NUMBERS = (int, float, Decimal)
_OPERATORS: dict[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq,
    "<>": operator.ne,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def compare(sign: str, left: Any, right: Any) -> Truth:
    """``left sign right``; raises DecodeError for two values that cannot be compared.

    >>> compare("<", Decimal("9.9"), 10), compare("=", None, 1)
    (True, None)
    """
    if left is None or right is None:
        return None
    try:
        return _OPERATORS[sign](*_alike(left, right))
    except (TypeError, ValueError, KeyError, InvalidOperation) as error:
        kinds = f"{type(left).__name__} and {type(right).__name__}"
        raise DecodeError(
            f"the filter cannot compare {kinds}", hint="compare a column with a value of its type"
        ) from error


def _alike(left: Any, right: Any) -> tuple[Any, Any]:
    """Both as values of one type: a text is read as what it is compared with."""
    if isinstance(left, str) and not isinstance(right, str):
        left = _FROM_TEXT[type(right)](left)
    elif isinstance(right, str) and not isinstance(left, str):
        right = _FROM_TEXT[type(left)](right)
    if isinstance(left, bool) is not isinstance(right, bool):
        raise TypeError("a boolean is no number")
    if isinstance(left, _NUMBERS) and isinstance(right, _NUMBERS):
        return _number(left), _number(right)
    if isinstance(left, datetime) or isinstance(right, datetime):
        return _moment(left), _moment(right)
    return left, right


def _number(value: Any) -> tuple[bool, Any]:
    """NaN equals itself and comes after every other number."""
    is_nan = value != value  # noqa: PLR0124 - what NaN is
    return is_nan, 0 if is_nan else value


def _moment(value: Any) -> datetime:
    """Without a zone it is in UTC; a date is its first moment."""
    moment = value if isinstance(value, datetime) else datetime.combine(value, time())
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
