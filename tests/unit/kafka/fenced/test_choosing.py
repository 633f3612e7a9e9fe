"""Transactions serve where a leader does not keep the fence."""

from __future__ import annotations

import logging

import pytest

from lastword.kafka.connection import Connection
from lastword.kafka.write.fenced import FenceNote
from lastword.kafka.write.fenced.append_errors import FenceNotKeptError
from lastword.kafka.write.fenced.first_that_holds import FirstThatHolds
from lastword.kafka.write.fenced.idempotent_log import IdempotentLog
from lastword.records import Write
from tests.support.shared_tables.scripted_wire import ScriptedWire, epoch_of

CONNECTION = Connection(bootstrap_servers="localhost:9092")


def log_on(wire: ScriptedWire) -> IdempotentLog:
    return IdempotentLog(CONNECTION, "t", 0, "a:owner:t:0", make_wire=wire)


def test_the_first_take_over_tries_a_batch_of_an_older_epoch() -> None:
    wire = ScriptedWire()
    log = log_on(wire)
    fence = log.take_over(FenceNote("one", 1))
    assert [epoch_of(batch) for batch in wire.batches] == [fence.epoch, fence.epoch - 1]
    assert fence.epoch == 1  # epoch 0 has none before it
    log.take_over(FenceNote("one", 2))
    assert len(wire.batches) == 3


def test_a_leader_that_takes_it_is_not_trusted() -> None:
    log = log_on(ScriptedWire(fences=False))
    with pytest.raises(FenceNotKeptError):
        log.take_over(FenceNote("one", 1))
    assert log.fence is None


def test_the_fallback_serves_and_is_logged_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    other = ScriptedWire()
    chosen = FirstThatHolds(log_on(ScriptedWire(fences=False)), lambda: log_on(other))
    with caplog.at_level(logging.WARNING):
        for plan in range(2):
            chosen.take_over(FenceNote("one", plan))
            chosen.append([Write(b"key", b"1")])
    assert len(caplog.records) == 1
    assert chosen.fence is not None
    assert len(other.batches) == 5
