"""The plan as a value and as bytes."""

from __future__ import annotations

import msgspec
import pytest

from lastword.cluster.forecast import Move, moves_between
from lastword.cluster.plan import Owner, Plan, PlanMember, decode_plan, encode_plan
from lastword.errors import ClusterError

MEMBERS = {"a": PlanMember("h:1", {"carts": 3}), "b": PlanMember("h:2", {"carts": 3})}
PLAN = Plan(7, "a", MEMBERS, {"carts": ["a", "b", ""]})


def test_a_plan_survives_its_encoding() -> None:
    assert decode_plan(encode_plan(PLAN)) == PLAN


def test_equal_plans_have_equal_bytes() -> None:
    reordered = Plan(7, "a", dict(reversed(MEMBERS.items())), {"carts": ["a", "b", ""]})
    assert encode_plan(reordered) == encode_plan(PLAN)


def test_fields_of_a_later_version_are_ignored() -> None:
    later = msgspec.json.decode(encode_plan(PLAN)) | {"moods": {"carts": [["b"]]}}
    assert decode_plan(msgspec.json.encode(later)) == PLAN


def test_a_format_of_a_later_version_is_refused() -> None:
    with pytest.raises(ClusterError, match="format 2"):
        decode_plan(encode_plan(msgspec.structs.replace(PLAN, format=2)))


@pytest.mark.parametrize("data", [b"", b"null", b"{", b'{"number": "one", "leader": ""}'])
def test_a_value_that_is_not_a_plan_is_refused(data: bytes) -> None:
    with pytest.raises(ClusterError, match="not a plan"):
        decode_plan(data)


def test_an_owner_has_its_address_and_the_number_of_the_plan() -> None:
    assert PLAN.owner("carts", 1) == Owner("b", "h:2", 7)


@pytest.mark.parametrize(
    ("topic", "partition"), [("carts", 2), ("carts", 3), ("carts", -1), ("users", 0)]
)
def test_a_partition_that_the_plan_does_not_name_has_no_owner(topic: str, partition: int) -> None:
    assert PLAN.owner(topic, partition) is None


def test_first_owners_are_not_counted_as_moves() -> None:
    later = Plan(8, "a", MEMBERS, {"carts": ["b", "b", "a"], "users": ["a"]})
    assert moves_between(PLAN, later) == [Move("carts", 0, "a", "b")]
