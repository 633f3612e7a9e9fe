"""Lets pages of the allowed origins read answers; all others were refused before."""

from __future__ import annotations

from collections.abc import Mapping

from starlette.types import Message, Send

from lastword.service.http.answers import SECURITY_HEADERS, HttpAnswer, HttpHeader
from lastword.service.http.service_config import ServiceConfig

_ALLOWED: tuple[HttpHeader, ...] = (
    (b"access-control-allow-methods", b"GET, PUT, POST, DELETE"),
    (
        b"access-control-allow-headers",
        b"authorization, content-type, if-none-match, last-event-id, lastword-ttl",
    ),
    (b"access-control-max-age", b"600"),
)
_EXPOSED: HttpHeader = (
    b"access-control-expose-headers",
    b"etag, lastword-timestamp, lastword-stale, lastword-contact-age, lastword-ttl, "
    b"lastword-staleness, lastword-answered-by, retry-after",
)


class Cors:
    """The headers by which a browser learns that a page may have the answer."""

    def __init__(self, config: ServiceConfig) -> None:
        self._origins = frozenset(origin.lower().encode() for origin in config.allowed_origins)

    def preflight(self, method: str, headers: Mapping[bytes, bytes]) -> HttpAnswer | None:
        """The answer to a preflight request of a browser; None for any other request."""
        if method != "OPTIONS" or b"access-control-request-method" not in headers:
            return None
        return HttpAnswer(204, (*SECURITY_HEADERS, *_ALLOWED, *self._for(headers)))

    def wrapped(self, send: Send, headers: Mapping[bytes, bytes]) -> Send:
        """``send`` with these headers added to the start of the answer."""
        added = self._for(headers)
        if not added:
            return send

        async def send_with_origin(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message["headers"], *added, _EXPOSED]
            await send(message)

        return send_with_origin

    def _for(self, headers: Mapping[bytes, bytes]) -> tuple[HttpHeader, ...]:
        origin = headers.get(b"origin", b"")
        if origin.lower() not in self._origins:
            return ()
        return (b"access-control-allow-origin", origin), (b"vary", b"origin")
