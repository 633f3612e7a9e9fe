"""librdkafka's and the brokers' error codes, as errors that say what to do."""

from __future__ import annotations

from confluent_kafka import KafkaError, KafkaException

from lastword.errors import (
    ConfigError,
    ConnectionFailedError,
    LastwordError,
    TopicError,
    TopicExistsError,
    TopicNotFoundError,
)

_UNANSWERED = frozenset(
    {
        KafkaError._TRANSPORT,
        KafkaError._TIMED_OUT,
        KafkaError._TIMED_OUT_QUEUE,
        KafkaError._ALL_BROKERS_DOWN,
        KafkaError._RESOLVE,
        KafkaError._WAIT_COORD,
        KafkaError._DESTROY,
        KafkaError._NOENT,  # no leader known
        KafkaError.REQUEST_TIMED_OUT,
        KafkaError.NETWORK_EXCEPTION,
        KafkaError.BROKER_NOT_AVAILABLE,
        KafkaError.NOT_CONTROLLER,
        KafkaError.LEADER_NOT_AVAILABLE,
        KafkaError.NOT_LEADER_FOR_PARTITION,
        KafkaError.FENCED_LEADER_EPOCH,  # the client knows an older leader than the broker,
        KafkaError.UNKNOWN_LEADER_EPOCH,  # or a newer one
        KafkaError.REPLICA_NOT_AVAILABLE,
        KafkaError.OFFSET_NOT_AVAILABLE,  # a new leader does not know its high watermark yet
        KafkaError.KAFKA_STORAGE_ERROR,  # the leader has lost its disk and will be replaced
        KafkaError.COORDINATOR_NOT_AVAILABLE,
        KafkaError.COORDINATOR_LOAD_IN_PROGRESS,
    }
)
_REFUSED_LOGIN = frozenset(
    {
        KafkaError._AUTHENTICATION,
        KafkaError.SASL_AUTHENTICATION_FAILED,
        KafkaError.UNSUPPORTED_SASL_MECHANISM,
        KafkaError.ILLEGAL_SASL_STATE,
    }
)
_FORBIDDEN = frozenset(
    {
        KafkaError.TOPIC_AUTHORIZATION_FAILED,
        KafkaError.CLUSTER_AUTHORIZATION_FAILED,
        KafkaError.GROUP_AUTHORIZATION_FAILED,
        KafkaError.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
    }
)
_NO_SUCH_TOPIC = frozenset(
    {
        KafkaError.UNKNOWN_TOPIC_OR_PART,
        KafkaError._UNKNOWN_TOPIC,
        KafkaError._UNKNOWN_PARTITION,
        KafkaError.UNKNOWN_TOPIC_ID,
    }
)
_REFUSED_SETTING = frozenset(
    {
        KafkaError.INVALID_CONFIG,
        KafkaError.INVALID_PARTITIONS,
        KafkaError.INVALID_REPLICATION_FACTOR,
        KafkaError.INVALID_REQUEST,
        KafkaError.POLICY_VIOLATION,
        KafkaError.TOPIC_EXCEPTION,
        KafkaError._INVALID_ARG,
    }
)


def raised_error(raised: BaseException) -> KafkaError | None:
    """The client's own error in what a call of it raised; None if it was something else.

    A callback that runs while the client raises turns it into a SystemError, with it as the cause.
    """
    cause: BaseException | None = raised
    while cause is not None:
        if isinstance(cause, KafkaException):
            found: KafkaError = cause.args[0]
            return found
        cause = cause.__cause__
    return None


def is_unanswered(error: KafkaError) -> bool:
    """Whether no broker answered, so that another try may succeed."""
    return error.code() in _UNANSWERED


def is_no_such_topic(error: KafkaError) -> bool:
    """Whether a broker does not know the topic or the partition."""
    return error.code() in _NO_SUCH_TOPIC


def is_refused_connection(error: KafkaError) -> bool:
    """Whether login or TLS failed: waiting longer will not help."""
    return error.code() in _REFUSED_LOGIN or error.code() == KafkaError._SSL


def failure(error: KafkaError, *, doing: str, servers: str, topic: str = "") -> LastwordError:
    """The error to raise when ``doing`` ended in ``error``; ``topic`` when it is about one."""
    code, reason = error.code(), error.str()
    found: LastwordError = TopicError(f"failed while {doing}: {error.name()}: {reason}")
    if is_no_such_topic(error):
        found = TopicNotFoundError(
            f"{servers} has no topic {topic!r}, or not all of its partitions",
            hint=f"list the topics: lastword topic list; or: lastword topic create {topic}",
        )
    elif code == KafkaError.TOPIC_ALREADY_EXISTS:
        found = TopicExistsError(
            f"there is a topic {topic!r} already", hint=f"see it: lastword topic describe {topic}"
        )
    elif is_refused_connection(error):
        found = ConfigError(
            f"{servers} refuses the connection while {doing}: {reason}",
            hint="check security protocol, user name, password and certificates",
        )
    elif code in _FORBIDDEN:
        found = ConfigError(
            f"not allowed: {doing}: {reason}", hint="grant the operation in the cluster's ACLs"
        )
    elif code in _REFUSED_SETTING:
        found = ConfigError(f"refused while {doing}: {reason}", hint="correct it and try again")
    elif is_unanswered(error):
        found = ConnectionFailedError(
            f"{servers} did not answer while {doing}: {reason}",
            hint="check the address and that the broker runs: lastword broker status",
        )
    return found
