"""Membership: the consumer group that every instance of an application joins, and its leader."""

from __future__ import annotations

import re
import secrets
import socket
from collections.abc import Callable

from lastword.errors import ConfigError
from lastword.kafka.connection import Connection
from lastword.kafka.groups.group_admin import GroupAdmin, StaticMember
from lastword.kafka.groups.group_member import GroupMember
from lastword.kafka.groups.names import cluster_group, control_topic

_INSTANCE_ID = re.compile(r"[A-Za-z0-9._-]{1,100}")


def checked_instance_id(given: str | None) -> str:
    """The given id, or a new unique one; raises ConfigError."""
    if given is None:
        host = re.sub(r"[^A-Za-z0-9._-]", "-", socket.gethostname())[:60]
        return f"{host}-{secrets.token_hex(6)}"
    if not _INSTANCE_ID.fullmatch(given):
        raise ConfigError(
            f"{given[:200]!r} is not a valid instance id",
            hint="use up to 100 letters, digits, '.', '_' and '-'",
        )
    return given


class Membership:
    """This instance in the group of its application, and the others in it.

    The member that holds the control topic's only partition is the leader. ``on_change`` is called
    after each rebalance, on the thread of the group's client, and must not block. ``restarts``
    means that an earlier process may have used the same instance id.
    """

    def __init__(
        self,
        connection: Connection,
        application_id: str,
        instance_id: str,
        address: str,
        *,
        restarts: bool,
        on_change: Callable[[], None],
    ) -> None:
        group = cluster_group(application_id)
        self._admin = GroupAdmin(connection, group)
        self._member = GroupMember(
            connection,
            group,
            control_topic(application_id),
            instance_id=instance_id,
            client_id=f"{instance_id}@{address}",
            restarts=restarts,
            on_change=on_change,
        )

    @property
    def term(self) -> int:
        """How often this instance has become the leader; 0 while it is not the leader."""
        return self._member.term

    @property
    def joined(self) -> bool:
        """Whether this instance is in the group."""
        return self._member.joined

    @property
    def failure(self) -> str | None:
        """Why this instance has left the group for good; None while it has not."""
        return self._member.failure

    def join(self) -> None:
        """Join the group; returns at once."""
        self._member.join()

    def leave(self) -> None:
        """Leave the group at once; idempotent."""
        self._member.leave()
        self._admin.close()

    def look(self) -> GroupView:
        """The members of the group now; raises ConnectionFailedError."""
        return GroupView(self._admin.members(), self._member.member_id)

    def evict(self, instance_id: str, address: str) -> bool:
        """Remove the member from the group; False if it was not there at that address."""
        for member in self._admin.members():
            if member.instance_id == instance_id and _address(member) == address:
                return self._admin.evict(member)
        return False


class GroupView:
    """The group at one moment."""

    def __init__(self, members: list[StaticMember], my_member_id: str) -> None:
        self.addresses = {each.instance_id: _address(each) for each in members}
        # Only the coordinator knows this for sure: a process that was frozen believes that it still
        # leads. During a rebalance the coordinator does not tell.
        self.i_lead = any(each.member_id == my_member_id and each.holds for each in members)


def _address(member: StaticMember) -> str:
    return member.client_id.rpartition("@")[2]
