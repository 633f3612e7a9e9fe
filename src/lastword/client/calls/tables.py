"""Finds the table that an address names."""

from __future__ import annotations

import msgspec

from lastword.client.forms import TableInfo
from lastword.client.http.messages import HttpRequest
from lastword.client.problems import error_of
from lastword.client.retrying import Patience, answered
from lastword.client.steps import Steps
from lastword.errors import ConfigError, ConnectionFailedError


class TableList(msgspec.Struct):
    """The tables that the caller may read."""

    tables: list[TableInfo]


def find_table(path: str, patience: Patience) -> Steps[TableInfo]:
    """The table at a mount, at ``/tables/NAME``, or the only one if there is no path."""
    response = yield from answered(HttpRequest("GET", "/tables"), patience)
    if response.status != 200:
        raise error_of(response)
    try:
        tables = msgspec.json.decode(response.body, type=TableList).tables
    except msgspec.MsgspecError as error:
        raise ConnectionFailedError(
            "the answer is not that of a Lastword service",
            hint="check the address; the service may be older than this client",
        ) from error
    for each in tables:
        if path in (each.mount, f"/tables/{each.name}") or (not path and len(tables) == 1):
            return each
    places = ", ".join(each.mount or f"/tables/{each.name}" for each in tables) or "none"
    raise ConfigError(
        f"the service has no table at {path or 'that address'} that this token may read",
        hint=f"end the address with one of: {places}",
    )
