"""The operation that shows the captures, a row of the interface."""

from __future__ import annotations

from msgspec import Struct

from lastword.cdc.postgres.capture_document import CaptureDocument, document_of
from lastword.service.api.operations import Content, Operation, RequestCall
from lastword.service.http.answers import HttpAnswer, document
from lastword.service.http.auth import Access


class Captures(Struct):
    """Every capture that this process monitors, of tables that the caller may read."""

    captures: list[CaptureDocument]


async def get_captures(call: RequestCall) -> HttpAnswer:
    """The last look at each; nobody is asked, so it costs nothing."""
    readable = [
        monitor
        for monitor in call.context.captures
        if call.caller.access_to(monitor.name) >= Access.READ
    ]
    return document(Captures([document_of(monitor.status) for monitor in readable]))


CAPTURES = Operation(
    id="get_captures",
    method="GET",
    path="/captures",
    serves="service",
    summary="The captured database tables: source, lag, slot, last event and columns",
    access=Access.READ,
    handler=get_captures,
    answer=Content("as of the last look, some seconds ago; none if none is monitored", Captures),
)
