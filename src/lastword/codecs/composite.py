"""Keys of several text fields, such as ``region:userId``, that sort as their tuples do.

The fields are joined with ``:`` and the last one is written as it is.

    ("eu", "user-1")            eu:user-1
    ("eu", "a:b;c d")           eu:a:b;c d
    ("eu-west-1", "user-1")     eu;-west-1 :user-1
    ("a b!", "c")               a;! b!! :c

The bytes must compare as the tuples do, and ``eu`` comes before ``eu-west-1``. So what ends a
field must be lower than whatever can go on inside one; but the hyphen, the digits and the space
are lower than ``:``. No encoding can leave both ``eu:user-1`` and ``eu-west-1:user-1`` as they
are and keep the order. Therefore, in every field but the last, ``;`` (one above ``:``) is put
before the first character that is not above ``;``. From there on the field ends with a space (and
``:``, for the eye), and ``!`` (one above the space) is put before each character that is not
above ``!``:

    up to the ``;``     end ``:``     <  turn ``;``    <  any other character, as itself
    after it            end space     <  escape ``!``  <  any other character, as itself

UTF-8 sorts by code point, so each line is the order of the characters with the end first: the
order of tuples. The order won over the looks, because a range that silently leaves rows out is a
worse surprise than a ``;`` in a key.

Keys that other programs join with a bare ``:`` need no codec of this kind: read them with
``string`` and ask for the prefix ``"eu-west-1:"``. This codec refuses ``eu-west-1:user-1``, which
it would write in another way, so that a key that is listed can always be got.
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
# What stands before the turn; where there is one, the turn, the rest and the space; then ":".
_LEADING_FIELD = r"([^\x00-;]*+(?:;(?=[!-;])(?:[^\x00-!]++|![\x00-!])++ )?+):"
_LAST_FIELD = r"(.*)"


@dataclass(frozen=True)
class StartsWith:
    """In a prefix: the fields that begin with ``text``, not only the field that equals it."""

    text: str

    def __post_init__(self) -> None:
        if not isinstance(self.text, str):
            raise ConfigError(
                f"a field cannot start with {self.text!r}", hint='give a text: StartsWith("user-")'
            )


class CompositeCodec(WholeKey):
    """Text fields with names; keys are given as tuples and come back as named tuples."""

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
        """The fields in one key; raises EncodeError unless each of them is text."""
        if not isinstance(value, tuple) or len(value) != len(self.fields):
            raise EncodeError(
                f"{value!r} is not a {self.name} key",
                hint=f"give a tuple of {len(self.fields)} texts: ({', '.join(self.fields)})",
            )
        return _join(value[:-1], value[-1])

    def decode(self, data: bytes) -> Any:
        """The named tuple; bytes that ``encode`` does not write are refused."""
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

        ``prefix("eu")`` are the keys with the region ``eu`` and not those with ``europe``;
        ``prefix(StartsWith("eu"))`` are both; ``prefix(("eu", StartsWith("user-")))`` looks into
        the second field. Only the last field given may be a StartsWith.
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
    """A whole leading field, up to the ``:``."""
    begun = _beginning(field)
    return begun + " " if ";" in begun else begun


def _beginning(field: str) -> str:
    """What a leading field that begins like this one begins with."""
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
