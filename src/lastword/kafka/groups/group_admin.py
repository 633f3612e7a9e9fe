"""Lists the members of one group, often; and evicts members from it."""

from __future__ import annotations

import threading
from typing import Any, NamedTuple

from lastword.errors import ClusterError, ConnectionFailedError
from lastword.kafka.admin.wire import kafka_python, open_wire_admin, wire_errors
from lastword.kafka.connection import Connection

TIMEOUT_S = 5.0
_NO_SUCH_GROUP = "GroupIdNotFoundError"
_GONE = frozenset(("UnknownMemberIdError", "FencedInstanceIdError"))


class StaticMember(NamedTuple):
    """A member with a ``group.instance.id``; ``client_id`` is the one it joined with.

    ``member_id`` is new each time that an instance joins. ``holds`` says whether a partition is
    assigned to it; during a rebalance nobody's is known.
    """

    member_id: str
    instance_id: str
    client_id: str
    holds: bool


class GroupAdmin:
    """Requests about one group, over a connection that is kept; safe from any thread.

    librdkafka's admin client is not used: when a broker goes away under a request to a group's
    coordinator, librdkafka 2.16 aborts the process.
    """

    def __init__(
        self, connection: Connection, group: str, *, timeout_seconds: float = TIMEOUT_S
    ) -> None:
        self._connection = connection
        self._group = group
        self._timeout_s = timeout_seconds
        self._lock = threading.Lock()
        self._client: Any = None

    def members(self) -> list[StaticMember]:
        """The static members, those that are joining included.

        A dead one stays until its session ends. Raises ConnectionFailedError.
        """
        answer = self._ask("describe_groups", [self._group], doing="asking who is in")[self._group]
        error = answer["error"]
        if error is not None and _NO_SUCH_GROUP not in error:
            self.close()  # kafka-python would ask the former coordinator for ever
            raise ConnectionFailedError(
                f"{self._connection.bootstrap_servers} gave no answer while asking who is in "
                f"{self._group!r}: {error}",
                hint="is the group's coordinator up?",
            )
        return [
            StaticMember(
                each["member_id"],
                each["group_instance_id"],
                each["client_id"],
                holds=_holds(each["member_assignment"]),
            )
            for each in answer["members"]
            if each["group_instance_id"]
        ]

    def evict(self, member: StaticMember) -> bool:
        """Remove the member from the group; return whether it was still there.

        It is named by its member id: an instance that has joined again since is not evicted.
        """
        named = kafka_python().admin.MemberToRemove(
            member_id=member.member_id, group_instance_id=member.instance_id
        )
        answer = self._ask("remove_group_members", self._group, [named], doing="evicting from")
        outcomes = {outcome.__name__ for outcome in answer.values()}
        if not outcomes or outcomes - _GONE - {"NoError"}:
            self.close()
            raise ClusterError(
                f"{member.instance_id!r} was not evicted from {self._group!r}: {outcomes}",
                hint="may this user delete from the group? see the cluster's ACLs",
            )
        return "NoError" in outcomes

    def close(self) -> None:
        """Close the connections; idempotent. A later call opens them again."""
        with self._lock:
            self._drop()

    def _ask(self, call: str, *arguments: Any, doing: str) -> Any:
        doing = f"{doing} {self._group!r}"
        with self._lock, wire_errors(self._connection, doing=doing):
            try:
                if self._client is None:
                    self._client = open_wire_admin(
                        self._connection, timeout_seconds=self._timeout_s
                    )
                return getattr(self._client, call)(*arguments)
            except BaseException:
                # The coordinator may have moved, or an answer may still arrive.
                self._drop()
                raise

    def _drop(self) -> None:
        if self._client is not None:
            client, self._client = self._client, None
            client.close()


def _holds(assignment: Any) -> bool:
    """Whether kafka-python's reading of an assignment names a partition."""
    if not assignment:
        return False
    return any(topic["partitions"] for topic in assignment["assigned_partitions"])
