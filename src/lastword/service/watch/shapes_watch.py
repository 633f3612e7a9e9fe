"""The query and the events of a watch."""

from __future__ import annotations

from typing import Annotated

from msgspec import UNSET, Meta, Raw, Struct, UnsetType

from lastword.service.api.shapes import VersionText, Window


class WatchQuery(Struct, forbid_unknown_fields=True):
    """Where to begin."""

    since: (
        Annotated[
            str,
            Meta(
                pattern=r"^([0-9]{1,9}:[0-9]{1,18}(,[0-9]{1,9}:[0-9]{1,18}){0,999}"
                r"@[A-Za-z0-9_-]{1,64}(@[0-9]{1,15})?)?$",
                description="a position as pages and events have it: changes after it; the header "
                "Last-Event-ID wins",
            ),
        ]
        | UnsetType
    ) = UNSET


class WatchStart(Struct):
    """The first event of a watch."""

    position: str


class ChangeEvent(Struct, omit_defaults=True):
    """The data of the events `put` and `delete`; their id is the position after the change.

    A delete that a sweep found has neither version nor timestamp.
    """

    key: str | None
    value: Raw | UnsetType = UNSET
    version: VersionText | UnsetType = UNSET
    timestamp: int | UnsetType = UNSET
    raw_key: str | UnsetType = UNSET
    window: Window | UnsetType = UNSET
    raw_value: str | UnsetType = UNSET
    error: str | UnsetType = UNSET
