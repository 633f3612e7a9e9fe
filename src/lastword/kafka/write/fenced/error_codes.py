"""The meaning of an error code in the leader's answer to a batch."""

from __future__ import annotations

from enum import Enum, auto

from lastword.kafka.admin.wire import kafka_python_imported

with kafka_python_imported():
    from kafka import errors


class Meaning(Enum):
    """What happened to the batch, and what to do next."""

    WRITTEN = auto()
    FENCED = auto()
    """The leader has seen a newer epoch; this batch was not appended."""
    OUT_OF_SEQUENCE = auto()
    """The leader's sequence numbers of this epoch differ from ours; the batch was not appended."""
    TOO_LARGE = auto()
    INVALID = auto()
    FORBIDDEN = auto()
    NOT_YET = auto()
    """Rejected before anything was appended; a retry may succeed."""
    UNSURE = auto()
    """The batch may have been appended; sending it again gets a definite answer."""
    STRANGE = auto()
    """The batch may have been appended, and a retry does not help."""


_MEANINGS: dict[int, Meaning] = {
    0: Meaning.WRITTEN,
    45: Meaning.OUT_OF_SEQUENCE,  # OUT_OF_ORDER_SEQUENCE_NUMBER
    47: Meaning.FENCED,  # INVALID_PRODUCER_EPOCH
    59: Meaning.OUT_OF_SEQUENCE,  # UNKNOWN_PRODUCER_ID
    90: Meaning.FENCED,  # PRODUCER_FENCED
    10: Meaning.TOO_LARGE,  # MESSAGE_TOO_LARGE
    18: Meaning.TOO_LARGE,  # RECORD_LIST_TOO_LARGE
    32: Meaning.INVALID,  # INVALID_TIMESTAMP
    87: Meaning.INVALID,  # INVALID_RECORD
    29: Meaning.FORBIDDEN,  # TOPIC_AUTHORIZATION_FAILED
    31: Meaning.FORBIDDEN,  # CLUSTER_AUTHORIZATION_FAILED
    44: Meaning.FORBIDDEN,  # POLICY_VIOLATION
    53: Meaning.FORBIDDEN,  # TRANSACTIONAL_ID_AUTHORIZATION_FAILED
    3: Meaning.NOT_YET,  # UNKNOWN_TOPIC_OR_PARTITION
    5: Meaning.NOT_YET,  # LEADER_NOT_AVAILABLE
    19: Meaning.NOT_YET,  # NOT_ENOUGH_REPLICAS
    2: Meaning.UNSURE,  # CORRUPT_MESSAGE
    # A leader that is deposed while it waits for its replicas sends this after appending.
    6: Meaning.UNSURE,  # NOT_LEADER_OR_FOLLOWER
    7: Meaning.UNSURE,  # REQUEST_TIMED_OUT
    8: Meaning.UNSURE,  # BROKER_NOT_AVAILABLE
    9: Meaning.UNSURE,  # REPLICA_NOT_AVAILABLE
    13: Meaning.UNSURE,  # NETWORK_EXCEPTION
    20: Meaning.UNSURE,  # NOT_ENOUGH_REPLICAS_AFTER_APPEND
    56: Meaning.UNSURE,  # KAFKA_STORAGE_ERROR
    74: Meaning.UNSURE,  # FENCED_LEADER_EPOCH
}


def meaning_of(code: int) -> Meaning:
    """The meaning of an error code."""
    return _MEANINGS.get(code, Meaning.STRANGE)


def describe(code: int) -> str:
    """The error code in words."""
    known = errors.for_code(code)
    return f"{known.message}: {known.description}"
