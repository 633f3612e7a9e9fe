"""Keys of several text fields, such as ``region:userId``, in the order of their tuples.

The fields are joined with ``:`` and the last one is written as it is.

    ("eu", "user-1")            eu:user-1
    ("eu", "a:b;c d")           eu:a:b;c d
    ("eu-west-1", "user-1")     eu;-west-1 :user-1
    ("a b!", "c")               a;! b!! :c

The bytes must compare like the tuples, and ``eu`` comes before ``eu-west-1``. So the end of a
field must be lower than any character that can continue it; but the hyphen, the digits and the
space are lower than ``:``. No encoding can leave both ``eu:user-1`` and ``eu-west-1:user-1``
unchanged and keep the order. Therefore, in every field but the last, ``;`` (one above ``:``) is
inserted before the first character that is not above ``;``. From there on the field ends with a
space (and ``:``, for readability), and ``!`` (one above the space) is inserted before each
character that is not above ``!``:

    up to the ``;``     end ``:``     <  turn ``;``    <  any other character, as itself
    after it            end space     <  escape ``!``  <  any other character, as itself

UTF-8 sorts by code point, so each line is the order of the characters with the end first: the
order of tuples. Order matters more than looks here: a range that silently omits rows is worse than
a ``;`` in a key.

Keys that other programs join with a bare ``:`` do not need this codec: read them with ``string``
and the prefix ``"eu-west-1:"``. This codec rejects ``eu-west-1:user-1``, which it would write
differently, so that every listed key can be read.
"""

from __future__ import annotations

import re
from collections import namedtuple
from dataclasses import dataclass
from typing import Any

import msgspec

from lastword.codecs.defaults import WholeKey
from lastword.errors import ConfigError, DecodeError, EncodeError

_NOT_ABOVE_TURN = re.compile(r"[\x00-;]")
_ESCAPES = str.maketrans({chr(low): "!" + chr(low) for low in range(ord("!") + 1)})
# The part before the turn; if there is a turn, it, the rest and the space; then ":".
_LEADING_FIELD = r"([^\x00-;]*+(?:;(?=[!-;])(?:[^\x00-!]++|![\x00-!])++ )?+):"
_LAST_FIELD = r"(.*)"


@dataclass(frozen=True)
class StartsWith:
    """In a prefix: matches fields that begin with ``text``, not only the field that equals it."""

    text: str

    def __post_init__(self) -> None:
        if not isinstance(self.text, str):
            raise ConfigError(
                f"a field cannot start with {self.text!r}", hint='give a text: StartsWith("user-")'
            )


class CompositeCodec(WholeKey):
    """Named text fields; keys are passed as tuples and returned as named tuples."""

    wire = "string"

    def __init__(self, fields: tuple[str, ...]) -> None:
        if len(fields) < 2:
            raise ConfigError(
                "a composite key has at least two fields", hint='use key="string" for one field'
            )
        self.name = f"composite({', '.join(fields)})"
        self.fields = fields
        self._key = _named_tuple(fields)
        self._pattern = re.compile(_LEADING_FIELD * (len(fields) - 1) + _LAST_FIELD, re.DOTALL)

    def __reduce__(self) -> tuple[type[CompositeCodec], tuple[tuple[str, ...]]]:
        return CompositeCodec, (self.fields,)

    def encode(self, value: tuple[str, ...]) -> bytes:
        """The fields as one key; raises EncodeError unless each of them is text."""
        if not isinstance(value, tuple) or len(value) != len(self.fields):
            raise EncodeError(
                f"{value!r} is not a {self.name} key",
                hint=f"give a tuple of {len(self.fields)} texts: ({', '.join(self.fields)})",
            )
        return _join(value[:-1], value[-1])

    def decode(self, data: bytes) -> Any:
        """The named tuple; raises DecodeError for bytes that ``encode`` would not write."""
        try:
            match = self._pattern.fullmatch(data.decode())
        except UnicodeDecodeError as error:
            raise DecodeError(f"not UTF-8 text: {error}") from error
        if match is None:
            raise DecodeError(
                f"{data!r} is not a {self.name} key",
                hint="read keys that others join with a bare ':' with key=\"string\"",
            )
        if b";" not in data:
            return self._key._make(match.groups())
        *leading, last = match.groups()
        return self._key(*map(_unescape, leading), last)

    def prefix(self, value: str | StartsWith | tuple[str | StartsWith, ...]) -> bytes:
        """The keys whose first fields are these.

        ``prefix("eu")`` matches the region ``eu`` and not ``europe``; ``prefix(StartsWith("eu"))``
        matches both; ``prefix(("eu", StartsWith("user-")))`` matches part of the second field. Only
        the last field given may be a StartsWith.
        """
        given = value if isinstance(value, tuple) else (value,)
        if not 0 < len(given) <= len(self.fields):
            raise ConfigError(
                f"{value!r} is not a prefix of a {self.name} key",
                hint=f"give the first of the fields {', '.join(self.fields)}",
            )
        reaches_last_field = len(given) == len(self.fields)
        if isinstance(given[-1], StartsWith):
            text = given[-1].text
            return _join(given[:-1], text if reaches_last_field else _beginning(text))
        if reaches_last_field:
            raise ConfigError(
                f"{value!r} names every field, so it is a key and not a prefix",
                hint="get() it, or wrap the last field in StartsWith",
            )
        return _join(given, "")

    def from_json(self, document: bytes) -> bytes:
        """From a list of the fields, as ``to_json`` writes it."""
        try:
            return self.encode(msgspec.json.decode(document, type=tuple[str, ...]))
        except (ValueError, RecursionError) as error:
            raise EncodeError(
                f"not the fields of a {self.name} key: {error}", hint="give a list of texts"
            ) from error

    def text_prefix(self, text: bytes) -> bytes:
        """The same bytes: a key is its text."""
        return text


def composite(*fields: str) -> CompositeCodec:
    """Keys of several text fields: ``composite("region", "userId")``."""
    return CompositeCodec(fields)


def _named_tuple(fields: tuple[str, ...]) -> Any:
    try:
        return namedtuple("Key", fields)
    except ValueError as error:
        raise ConfigError(
            f"not the fields of a composite key: {error}",
            hint="field names are different Python identifiers without a leading underscore",
        ) from error


def _join(leading: tuple[Any, ...], last: Any) -> bytes:
    try:
        return ":".join([*map(_escape, leading), last]).encode()
    except TypeError as error:
        raise EncodeError(
            f"{(*leading, last)!r} are not the fields of a composite key",
            hint="every field is a text; convert numbers with str() or a fixed-width format",
        ) from error
    except UnicodeEncodeError as error:
        raise EncodeError(f"not text that UTF-8 can hold: {error}") from error


def _escape(field: str) -> str:
    """A whole leading field, including its end ``:``."""
    begun = _beginning(field)
    return begun + " " if ";" in begun else begun


def _beginning(field: str) -> str:
    """The encoded beginning of all leading fields that begin with this text."""
    turn = _NOT_ABOVE_TURN.search(field)
    if turn is None:
        return field
    at = turn.start()
    return f"{field[:at]};{field[at:].translate(_ESCAPES)}"


def _unescape(field: str) -> str:
    before, turn, rest = field.partition(";")
    if not turn:
        return field
    # A run of "!" always begins an escape, so each "!!" from the left is an escaped "!".
    return before + "!".join([part.replace("!", "") for part in rest[:-1].split("!!")])
