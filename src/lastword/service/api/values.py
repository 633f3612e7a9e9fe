"""Documents inside answers: on one line, or as base64 where there is no document."""

from __future__ import annotations

import base64

import msgspec


def on_one_line(document: bytes) -> bytes:
    """The same JSON without line breaks, which would end an event or a line."""
    if b"\n" in document or b"\r" in document:
        return msgspec.json.format(document, indent=-1)
    return document


def as_base64(raw: bytes) -> str:
    """Bytes in a JSON document."""
    return base64.b64encode(raw).decode()
