"""Constraints that a schema cannot express, for schemathesis: see SCHEMATHESIS_HOOKS in its
documentation.

Some parameters have a meaning beyond their form. Versions in ``at_least`` must be ones that the
table has or will have, or the answer is 503 after a long wait; a moment in ``as_of`` must be past,
and is not of now, as other parameters are; and with ``encoding=base64url`` whatever names a key
must be written in it. Conditions and linearizable reads need a table with owners, and versions that
its keys have. Where a read is answered can be chosen of a partitioned table only.
"""

from __future__ import annotations

import re
from typing import Any

import schemathesis

from lastword.service.api.keys import to_base64url

_VERSIONS = re.compile(r"[0-9]{1,9}:[0-9]{1,18}(,[0-9]{1,9}:[0-9]{1,18}){0,99}")
_MOMENT = re.compile(
    r"[0-9]{1,15}|[0-9:,]{3,}(@[A-Za-z0-9_-]+(@[0-9]+)?)?"
    r"|[0-9]{4}-[0-9]{2}-[0-9]{2}(T[0-9:.+-]{2,24}Z?)?"
)
_CONDITION = re.compile(r"[0-9]{1,9}:[0-9]{1,18}|absent")
_CONDITIONS = {
    "If-Match": re.compile(r'"[0-9]{1,10}:[0-9]{1,19}"'),
    "If-None-Match": re.compile("[*]"),
}
_KEYS = ("key", "from", "to", "prefix")
_ROUTED = {
    "route": re.compile(r"true|false"),
    "max_stale": re.compile(r"[0-9]{1,9}(\.[0-9]{1,3})?(ms|s|m|h|d)"),
    "max_lag": re.compile(r"[0-9]{1,16}"),
}


@schemathesis.hook
def before_call(_context: Any, case: Any, _arguments: Any) -> None:
    """Give these parameters the meaning that their valid form promises."""
    query = case.query or {}
    asked = query.get("at_least")
    if isinstance(asked, str) and _VERSIONS.fullmatch(asked):
        query["at_least"] = "0:0"
    as_of = query.get("as_of")
    if isinstance(as_of, str) and _MOMENT.fullmatch(as_of):
        query["as_of"] = "0:1,1:1,2:1"
        for name in ("at_least", "stale"):
            query.pop(name, None)
    _drop_routing(query)
    if query.get("consistency") == "linearizable":
        query["consistency"] = "local"
    if case.method in ("PUT", "DELETE"):
        _drop_conditions(case)
    for record in _records(case.body):
        if _CONDITION.fullmatch(str(record.get("if_version"))):
            del record["if_version"]
    if query.get("encoding") == "base64url":
        for place in (query, case.path_parameters or {}, *_records(case.body)):
            for name in _KEYS:
                if isinstance(place.get(name), str):
                    place[name] = to_base64url(place[name].encode("utf-8", "replace"))
        keys = case.body.get("keys") if isinstance(case.body, dict) else None
        if isinstance(keys, list) and all(isinstance(key, str) for key in keys):
            case.body["keys"] = [to_base64url(key.encode("utf-8", "replace")) for key in keys]


def _drop_conditions(case: Any) -> None:
    """Drop what is valid, or meant to be: some phases ignore the pattern of a header."""
    headers, meant_well = case.headers or {}, case.meta and case.meta.generation.mode.is_positive
    for name, form in _CONDITIONS.items():
        if name in headers and (meant_well or form.fullmatch(headers[name])):
            del headers[name]


def _drop_routing(query: dict[str, Any]) -> None:
    for name, form in _ROUTED.items():
        if form.fullmatch(str(query.get(name))):
            del query[name]


def _records(body: Any) -> list[dict[str, Any]]:
    records = body.get("records") if isinstance(body, dict) else None
    return [each for each in records if isinstance(each, dict)] if isinstance(records, list) else []
