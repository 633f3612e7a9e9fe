"""Keys that no text names: their raw bytes in base64url, in URLs and in JSON.

Every other key is written as its codec writes it: ``KeyCodec.parse`` and ``KeyCodec.text``.
"""

from __future__ import annotations

import base64
import re
from typing import Literal

from lastword.service.http.problems import RefusedError

Encoding = Literal["text", "base64url"]

_BASE64URL = re.compile(rb"[A-Za-z0-9_-]*")


def from_base64url(text: bytes) -> bytes:
    """The bytes of base64url, with or without its padding."""
    bare = text.rstrip(b"=")
    if _BASE64URL.fullmatch(bare) and len(bare) % 4 != 1:
        return base64.urlsafe_b64decode(bare + b"=" * (-len(bare) % 4))
    raise RefusedError(
        400, "NotBase64Url", "that is not base64url", hint="letters, digits, - and _, no padding"
    )


def to_base64url(raw: bytes) -> str:
    """Base64url without padding."""
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()
