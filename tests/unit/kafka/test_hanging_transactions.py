"""How a transaction ends that is open in a partition and not for its coordinator."""

from __future__ import annotations

import pytest

from lastword.kafka.admin import hanging_transactions
from lastword.kafka.admin.hanging_transactions import (
    _STATE,
    _Decision,
    _decision,
    _Hanging,
    _last_states,
    _State,
)
from lastword.kafka.connection import Connection
from lastword.kafka.log.kafka_log import KafkaLog
from lastword.records import TopicPartition

EPOCH = 3
HANGING = _Hanging(TopicPartition("topic", 0), 17, 77, EPOCH, 0)
ONGOING, PREPARED_COMMIT, PREPARED_ABORT, COMMITTED, ABORTED, EMPTY, FENCING = 1, 2, 3, 4, 5, 0, 7


@pytest.mark.parametrize(
    ("status", "epoch", "expected"),
    [
        (COMMITTED, EPOCH, _Decision(True, EPOCH)),
        (COMMITTED, EPOCH + 1, _Decision(True, EPOCH + 1)),
        (PREPARED_COMMIT, EPOCH, _Decision(True, EPOCH)),
        (ABORTED, EPOCH, _Decision(False, EPOCH)),
        (PREPARED_ABORT, EPOCH, _Decision(False, EPOCH)),
        (EMPTY, EPOCH, _Decision(False, EPOCH)),
        (COMMITTED, EPOCH + 2, _Decision(False, EPOCH)),
        (ONGOING, EPOCH, None),
        (FENCING, EPOCH, None),
    ],
)
def test_the_last_state_decides(status: int, epoch: int, expected: _Decision | None) -> None:
    assert _decision(HANGING, _State(status, epoch)) == expected


def test_a_transaction_without_a_state_is_aborted() -> None:
    assert _decision(HANGING, None) == _Decision(False, EPOCH)


def test_an_open_transaction_is_not_taken_for_the_committed_one_before(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    states = [_STATE.pack(1, 77, EPOCH, 60_000, status) for status in (2, 4, 1)]
    monkeypatch.setattr(hanging_transactions, "_states", lambda *_: iter(states))
    nowhere = Connection(bootstrap_servers="127.0.0.1:1")
    last = _last_states(nowhere, KafkaLog(nowhere), {77})
    assert last == {77: _State(ONGOING, EPOCH)}
