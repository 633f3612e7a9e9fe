"""Every error Lastword raises.

LastwordError                      .retriable  .hint
  ConfigError                      a setting or an argument is wrong
  ConnectionFailedError*           the cluster does not answer
  JavaError                        no usable Java, or a jar that is missing or not the one expected
  ServerProcessError               a server that Lastword starts does not start, run or stop
    BrokerError                    the embedded broker does not
    RegistryServerError            the registry of this machine does not
    ConnectWorkerError             a worker of Kafka Connect does not, or does not answer
    PortTakenError                 something else listens on the port it was to have
  TopicError
    TopicNotFoundError             there is no such topic
    TopicExistsError               there is one already
    TopicUnfitError                the topic's settings would lose or corrupt the table
    PartitionCountError            the partition count changed; keys would move
  CodecError
    EncodeError                    a value cannot be turned into bytes
    DecodeError                    bytes of (topic, partition, offset) cannot be read
    RegistryError*                 the schema registry does not answer, or refuses
  StoreError
    StoreLockedError*              another process holds the state directory
    StoreCorruptedError            the local files cannot be read
    UnsupportedByStoreError        this store cannot do that
  QueryError
    NotReadyError*                 the table has not reached the end of the topic
    NotUpToPositionError*          the table has not reached the position asked for
    PartitionNotHereError*         this process does not hold the partition asked for
    TooStaleError*                 every copy is staler than the read allows
    WatchLostError                 a watcher fell behind, or what it asks for is gone
    MomentGoneError                a past state that can no longer be answered exactly
  WriteError
    InvalidRecordError             an empty key, too large, or a condition not supported here
    IndeterminateError             no answer in time: the write may or may not have happened
    WriteFailedError               the cluster refused the write, or it was never sent
    FencedError                    another process has taken over; this one must stop
      TakenOverError*              a transactional id has a new holder; take it over again, or stop
    ConflictError                  the key has another version than the one expected
    NotOwnerError*                 another process decides the writes of this partition
    OverloadedError*               too many writes wait for the owner of this partition
  LeaseError
    LeaseHeldError*                another holder has the lease
    LeaseLostError                 the lease ended before its holder released it
  ClusterError                     something about the instances of an application
    PeerUnreachableError*          another instance cannot be asked; nothing was done there
    PeerRefusedError               another instance refuses to answer, or must not be asked
  TableClosedError                 the table is closed, or failed before
  PipelineError                    a pipeline cannot go on
  CaptureError                     changes of a database cannot be captured
    ConnectorError                 Kafka Connect refuses a request, or a connector has failed
  SnapshotError                    a snapshot cannot be made, or one that is there cannot be read
  ServiceError                     the HTTP service does not start, or something has its port
  RequestRefusedError              a service refuses what a client asks: no right, no such table

                                   * retriable: the same call may succeed later
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


class LastwordError(Exception):
    """The base class: ``hint`` says what to do next, ``retriable`` whether a retry may help."""

    retriable: bool = False

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message)
        self.hint = hint


class ConfigError(LastwordError):
    """A setting or an argument is wrong."""


class ConnectionFailedError(LastwordError):
    """The cluster does not answer."""

    retriable = True


class JavaError(LastwordError):
    """No usable Java was found, or a jar is missing or not the expected one."""


class ServerProcessError(LastwordError):
    """A server that Lastword starts on this machine does not start, run or stop as asked."""


class BrokerError(ServerProcessError):
    """The embedded broker does not start, run or stop as asked."""


class RegistryServerError(ServerProcessError):
    """The registry of this machine does not start, run or stop as asked."""


class ConnectWorkerError(ServerProcessError):
    """A worker of Kafka Connect does not start, run, stop or answer as asked."""


class PortTakenError(ServerProcessError):
    """Another process listens on the port of a server."""


class TopicError(LastwordError):
    """A problem with a topic."""


class TopicNotFoundError(TopicError):
    """There is no such topic."""


class TopicExistsError(TopicError):
    """The topic to be created exists already."""


class TopicUnfitError(TopicError):
    """The topic's settings would lose or corrupt the table."""


class PartitionCountError(TopicError):
    """The partition count is not the one the table was built with."""


class CodecError(LastwordError):
    """Python values cannot be turned into bytes, or bytes into values."""


class EncodeError(CodecError):
    """A value cannot be turned into bytes."""


class DecodeError(CodecError):
    """Bytes cannot be turned into a value; names the record if it is known."""

    def __init__(
        self,
        message: str,
        *,
        topic: str | None = None,
        partition: int | None = None,
        offset: int | None = None,
        hint: str | None = None,
    ) -> None:
        where = "" if topic is None else f"{topic}, partition {partition}, offset {offset}: "
        super().__init__(where + message, hint=hint)
        self.reason = message
        self.topic, self.partition, self.offset = topic, partition, offset


class RegistryError(CodecError):
    """The schema registry does not answer, or refuses a request; the record may be good."""

    retriable = True


class StoreError(LastwordError):
    """A problem with the local store."""


class StoreLockedError(StoreError):
    """Another process holds the state directory."""

    retriable = True


class StoreCorruptedError(StoreError):
    """The local files cannot be read; they can be deleted and rebuilt."""


class UnsupportedByStoreError(StoreError):
    """This store does not support the operation."""


class QueryError(LastwordError):
    """A read cannot be answered."""


class NotReadyError(QueryError):
    """The table has not reached the end of the topic yet."""

    retriable = True


class NotUpToPositionError(QueryError):
    """The table has not reached the position that was asked for.

    ``reached`` has the next offset of each partition. ``version`` is that of a record that was
    written but not read back in time: it is in the topic, and must not be written again.
    """

    retriable = True

    def __init__(
        self,
        message: str,
        *,
        reached: Mapping[int, int] | None = None,
        version: tuple[int, int] | None = None,
        hint: str | None = None,
    ) -> None:
        super().__init__(message, hint=hint)
        self.reached = {} if reached is None else reached
        self.version = version
        self.retriable = version is None


class PartitionNotHereError(QueryError):
    """This process does not hold the partition that was asked for, or has just lost it.

    ``address`` is that of the instance that owns it, if it is known.
    """

    retriable = True

    def __init__(
        self,
        message: str,
        *,
        partition: int | None = None,
        address: str | None = None,
        hint: str | None = None,
    ) -> None:
        super().__init__(message, hint=hint)
        self.partition = partition
        self.address = address


class TooStaleError(QueryError):
    """Every copy that could answer is staler than the read allows."""

    retriable = True


class WatchLostError(QueryError):
    """A watcher fell behind or the changes it asks for are no longer in the log."""


class MomentGoneError(QueryError):
    """The state of a past moment can no longer be answered exactly."""


class WriteError(LastwordError):
    """A write did not happen, or may not have happened."""


class InvalidRecordError(WriteError):
    """The record cannot be written: an empty key, too large, or a condition not supported here."""


class IndeterminateError(WriteError):
    """No answer in time: the write may or may not have happened."""


class WriteFailedError(WriteError):
    """The write did not happen: the cluster refused it, or it was never sent."""


class FencedError(WriteError):
    """Another process has taken over this one's writes; this one must stop."""


class TakenOverError(FencedError):
    """A transactional id has a new holder; take it over again only if you own it."""

    retriable = True


class ConflictError(WriteError):
    """The write did not happen: the key has another version than the one expected.

    ``current`` is the key's entry, None if the key is absent, and ``version`` that of the entry.
    """

    def __init__(
        self,
        message: str,
        *,
        current: Any = None,
        version: tuple[int, int] | None = None,
        hint: str | None = None,
    ) -> None:
        super().__init__(message, hint=hint)
        self.current = current
        self.version = version


class NotOwnerError(WriteError):
    """The write did not happen: no owner of the partition was found in time.

    ``owner`` is the instance that owns it, None if that is not known.
    """

    retriable = True

    def __init__(self, message: str, *, owner: str | None = None, hint: str | None = None) -> None:
        super().__init__(message, hint=hint)
        self.owner = owner


class OverloadedError(WriteError):
    """The write did not happen: too many writes wait for the owner of the partition."""

    retriable = True


class LeaseError(LastwordError):
    """A problem with a lease or a lock."""


class LeaseHeldError(LeaseError):
    """Another holder has the lease; ``holder`` names it."""

    retriable = True

    def __init__(self, message: str, *, holder: str | None = None, hint: str | None = None) -> None:
        super().__init__(message, hint=hint)
        self.holder = holder


class LeaseLostError(LeaseError):
    """The lease ended before its holder released it: others may hold it by now."""


class ClusterError(LastwordError):
    """A problem with the instances of an application or their plan."""


class PeerUnreachableError(ClusterError):
    """Another instance cannot be reached, and certainly has not done anything."""

    retriable = True


class PeerRefusedError(ClusterError):
    """Another instance refuses the request, or a rule forbids it; nothing was done."""


class TableClosedError(LastwordError):
    """The table is closed, or has failed and cannot continue."""


class PipelineError(LastwordError):
    """A pipeline cannot continue: its query failed, or results and positions do not agree."""


class CaptureError(LastwordError):
    """Changes of a database cannot be captured: a problem with it or with its connector."""


class ConnectorError(CaptureError):
    """Kafka Connect refuses a request, or a connector has failed."""


class SnapshotError(LastwordError):
    """A snapshot cannot be made, or an existing one cannot be read."""


class ServiceError(LastwordError):
    """The HTTP service does not start, or another process has its port."""


class RequestRefusedError(LastwordError):
    """A service refuses the request of a client: no right, no such table, too many watchers.

    ``status`` is the HTTP status, and ``name`` the service's name of the problem.
    """

    def __init__(
        self, message: str, *, status: int = 0, name: str = "", hint: str | None = None
    ) -> None:
        super().__init__(message, hint=hint)
        self.status = status
        self.name = name
