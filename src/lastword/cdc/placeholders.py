"""Recognizes what connectors send for a large value that did not change: a placeholder.

Its form depends on the type of the column and on the connector's settings: text, the same text as
base64, hexadecimal digits, the numbers of its bytes, a UUID made of it, or an object.
"""

from __future__ import annotations

from base64 import b64encode
from hashlib import md5
from typing import Any
from uuid import UUID

PLACEHOLDER = "__debezium_unavailable_value"

_BYTES = PLACEHOLDER.encode()
_BASE64 = b64encode(_BYTES).decode()
_UUID = str(UUID(bytes=md5(_BYTES, usedforsecurity=False).digest(), version=3))
_OBJECT = {PLACEHOLDER: PLACEHOLDER}
_TEXTS = frozenset(
    (PLACEHOLDER, _BASE64, _BYTES.hex(), f'{{"{PLACEHOLDER}":"{PLACEHOLDER}"}}'),
)
_OTHERS = ([PLACEHOLDER], [_BASE64], [_UUID], list(_BYTES), _OBJECT)


def is_placeholder(value: Any) -> bool:
    """Whether the value of JSON stands for one that was not sent.

    >>> is_placeholder("__debezium_unavailable_value"), is_placeholder("text"), is_placeholder([])
    (True, False, False)
    """
    if type(value) is str:
        return value in _TEXTS
    return type(value) in (list, dict) and value in _OTHERS
