"""Reads the body of a request within its limits: bytes and seconds."""

from __future__ import annotations

from asyncio import CancelledError
from collections.abc import Mapping

from starlette.types import Receive

from lastword.service.http.answers import JSON, OCTETS
from lastword.service.http.body_deadlines import BodyDeadlines
from lastword.service.http.leaving import client_left
from lastword.service.http.limits import Limits
from lastword.service.http.problems import RefusedError


async def read_body(
    receive: Receive, declared: bytes | None, limits: Limits, deadlines: BodyDeadlines
) -> bytes:
    """The whole body. ``declared`` is its Content-Length, if it has one."""
    if declared is not None and int(declared) > limits.body_bytes:
        raise _too_large(limits)
    parts: list[bytes] = []
    size = 0
    deadline = deadlines.begin()
    try:
        while True:
            message = await receive()
            if message["type"] == "http.disconnect":
                raise client_left()
            part = message.get("body", b"")
            size += len(part)
            if size > limits.body_bytes:
                raise _too_large(limits)
            parts.append(part)
            if not message.get("more_body", False):
                return part if len(parts) == 1 else b"".join(parts)
    except CancelledError:
        if not deadline.ended_late():
            raise
        raise RefusedError(
            408,
            "RequestTimeout",
            f"the body did not arrive within {limits.arrival_s:g} s",
            hint="send it faster, or in smaller requests",
            connection="close",
        ) from None
    finally:
        deadlines.end(deadline)


def refuse_codings(headers: Mapping[bytes, bytes]) -> None:
    """Refuse a compressed body: it would be stored compressed."""
    if b"content-encoding" not in headers and b"transfer-encoding" not in headers:
        return  # nearly always
    content = headers.get(b"content-encoding", b"identity").strip().lower()
    transfer = headers.get(b"transfer-encoding", b"chunked").strip().lower()
    if content not in (b"", b"identity") or transfer not in (b"", b"chunked"):
        raise RefusedError(
            415,
            "UnsupportedContentEncoding",
            "the body is compressed, and would be stored compressed",
            hint="send it without Content-Encoding",
            accept_encoding="identity",
            connection="close",
        )


def media_type_of(content_type: bytes | None) -> bytes:
    """JSON or octets; anything else is refused, such as the form of a foreign page."""
    if content_type == JSON:  # nearly always
        return JSON
    media_type = (content_type or b"").partition(b";")[0].strip().lower()
    if media_type in (JSON, OCTETS):
        return media_type
    raise RefusedError(
        415,
        "UnsupportedMediaType",
        "the value is sent as JSON, or as the raw bytes that are to be stored",
        hint="Content-Type: application/json, or application/octet-stream",
    )


def _too_large(limits: Limits) -> RefusedError:
    return RefusedError(
        413,
        "ContentTooLarge",
        f"the body has more than {limits.body_bytes} bytes",
        hint="send fewer records at once",
        connection="close",
    )
