"""From what a person types to a value of a codec: ``42`` is text, a number or JSON."""

from __future__ import annotations

import json
from typing import Any

from lastword.errors import ConfigError


def parse_literal(text: str, codec: str) -> Any:
    """The value that ``text`` means under the codec named ``codec``.

    string takes the text as it is, bytes takes its UTF-8, int64 a number, json and msgpack JSON.
    """
    if codec == "string":
        return text
    if codec == "bytes":
        return text.encode("utf-8", errors="surrogateescape")
    if codec == "int64":
        return _parse_int(text)
    return _parse_json(text, codec)


def _parse_int(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise ConfigError(f"{text!r} is not a whole number, as the codec int64 needs") from None


def _parse_json(text: str, codec: str) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:
        raise ConfigError(
            f"{text!r} is not JSON, as the codec {codec} needs: {error}",
            hint="quote strings, as in '\"text\"', or choose --value-codec string",
        ) from None
