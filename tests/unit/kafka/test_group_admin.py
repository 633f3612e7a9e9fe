"""Requests to the coordinator of a group, which moves when its broker restarts."""

from __future__ import annotations

from typing import Any

import pytest

from lastword.errors import ClusterError, ConnectionFailedError
from lastword.kafka.admin.wire import kafka_python
from lastword.kafka.connection import Connection
from lastword.kafka.groups import group_admin
from lastword.kafka.groups.group_admin import GroupAdmin, StaticMember

MEMBER = StaticMember("member-1", "one", "one@host:1", holds=False)


class RememberingClient:
    """As kafka-python's: it asks the coordinator that it found first, wherever that moves."""

    def __init__(self, *, moved: bool) -> None:
        self._moved = moved

    def describe_groups(self, groups: list[str]) -> dict[str, Any]:
        error = "[Error 16] NotCoordinatorError: None" if self._moved else None
        return {group: {"error": error, "members": []} for group in groups}

    def remove_group_members(self, _group: str, members: list[Any]) -> dict[str, Any]:
        errors = kafka_python().errors
        error = errors.NotCoordinatorError if self._moved else errors.NoError
        return {each.member_id: error for each in members}

    def close(self) -> None:
        self._moved = True


@pytest.fixture
def admin(monkeypatch: pytest.MonkeyPatch) -> GroupAdmin:
    """Its first client was opened before the coordinator moved."""
    clients = [RememberingClient(moved=True), RememberingClient(moved=False)]
    monkeypatch.setattr(group_admin, "open_wire_admin", lambda *_, **__: clients.pop(0))
    return GroupAdmin(Connection(bootstrap_servers="localhost:1"), "group")


def test_the_members_are_asked_of_the_new_coordinator(admin: GroupAdmin) -> None:
    with pytest.raises(ConnectionFailedError, match="NotCoordinator"):
        admin.members()
    assert admin.members() == []


def test_a_member_is_evicted_by_the_new_coordinator(admin: GroupAdmin) -> None:
    with pytest.raises(ClusterError, match="NotCoordinator"):
        admin.evict(MEMBER)
    assert admin.evict(MEMBER)
