"""The parameters by which a request says where a partitioned table may be read."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

Route = Annotated[
    Literal["true", "false"],
    Meta(
        description="of a partitioned table: whether another instance may answer; if not, a "
        "partition elsewhere is refused with the address of its owner"
    ),
]
MaxStale = Annotated[
    str,
    Meta(
        pattern=r"^[0-9]{1,9}(\.[0-9]{1,3})?(ms|s|m|h|d)$",
        description="of a partitioned table: how old the answer may be",
        examples=["5s"],
    ),
]
MaxLag = Annotated[
    int,
    Meta(
        ge=0,
        le=(1 << 53) - 1,
        description="of a partitioned table: how many offsets behind the answer may be",
    ),
]
