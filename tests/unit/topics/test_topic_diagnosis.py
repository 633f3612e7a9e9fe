"""Reasons that are hard to bring about on a healthy broker; the others have broker tests."""

from __future__ import annotations

from dataclasses import replace

from lastword.broker.scrape import ScrapedSample
from lastword.kafka.admin.transactions import OpenTransaction
from lastword.topics.cleanability import Cleanability
from lastword.topics.cleaner_gauges import CleanerGauges, cleaner_gauges
from lastword.topics.compaction import CleanerState, PartitionCompaction
from lastword.topics.diagnosis import DiagnosisInput, diagnose
from lastword.topics.partition_files import PartitionFiles, TimedSegment
from lastword.topics.survey import PartitionContents

FILES = PartitionFiles((TimedSegment(0, 900, 1, 1), TimedSegment(10, 100, 1, 1)), None)
DUE = Cleanability(
    first_dirty_offset=0,
    first_uncleanable_offset=10,
    limit="active segment",
    clean_bytes=0,
    cleanable_bytes=900,
    uncleanable_bytes=100,
    dirty_ratio=1.0,
    forced=False,
    due=True,
)
PARTITION = PartitionCompaction(
    partition=3,
    leader=1,
    log_start=0,
    log_end=12,
    stable_end=12,
    size_bytes=1000,
    contents=PartitionContents(records=12, live_keys=4, duplicates=8),
    cleaner=CleanerState(FILES, DUE, last_run=None, given_up=False),
)
AROUND = DiagnosisInput(
    topic="users",
    settings={
        "cleanup.policy": "compact",
        "segment.ms": "1000",
        "segment.bytes": "1000000",
        "delete.retention.ms": "100",
        "min.compaction.lag.ms": "0",
        "max.compaction.lag.ms": "9223372036854775807",
        "min.cleanable.dirty.ratio": "0.5",
    },
    broker_settings={"log.cleaner.enable": "true", "log.cleaner.backoff.ms": "200"},
    gauges=CleanerGauges(0, 0, 12.5, 100.0, 150),
    transactions=(),
    now_ms=100_000,
)


def causes(partition: PartitionCompaction, around: DiagnosisInput) -> list[str]:
    return [reason.cause for reason in diagnose(partition, around)]


def test_a_log_that_is_due_waits_for_the_cleaners_next_round() -> None:
    first, *_ = diagnose(PARTITION, AROUND)
    assert first.cause == "due"
    assert "900 bytes can be cleaned (100% dirty)" in first.evidence
    assert "every 200 ms" in first.evidence


def test_a_dead_cleaner_thread_comes_before_everything_that_waits_for_it() -> None:
    dead = replace(AROUND, gauges=CleanerGauges(1, 0, None, None, None))
    assert causes(PARTITION, dead)[:2] == ["dead cleaner", "due"]


def test_a_cleaner_that_is_switched_off_is_said() -> None:
    off = replace(AROUND, broker_settings={"log.cleaner.enable": "false"})
    assert causes(PARTITION, off)[0] == "cleaner off"


def test_unknown_gauges_mean_neither_a_healthy_nor_a_dead_cleaner() -> None:
    assert "dead cleaner" not in causes(PARTITION, replace(AROUND, gauges=None))
    assert cleaner_gauges([]) == CleanerGauges(None, None, None, None, None)


def test_a_hanging_transaction_that_no_coordinator_knows_is_described_as_such() -> None:
    limited = replace(DUE, limit="open transaction", cleanable_bytes=0, due=False)
    blocked = replace(
        PARTITION, stable_end=2, cleaner=CleanerState(FILES, limited, None, given_up=False)
    )
    hanging = OpenTransaction(partition=3, start_offset=2, producer_id=77, last_write_ms=0)
    (reason,) = diagnose(blocked, replace(AROUND, transactions=(hanging,)))
    assert reason.cause == "open transaction"
    assert "hanging transaction of producer 77 that no coordinator has open" in reason.evidence
    assert "kafka-transactions.sh abort --topic users --partition 3 --start-offset 2" in (
        reason.remedy
    )


def test_an_open_transaction_of_a_remote_broker_is_known_although_the_cleaner_is_not() -> None:
    remote = replace(PARTITION, cleaner=None, stable_end=2)
    assert causes(remote, AROUND) == ["open transaction"]


def test_an_empty_remote_partition_has_nothing_to_clean() -> None:
    empty = replace(PARTITION, cleaner=None, log_start=5, log_end=5, stable_end=5, contents=None)
    assert causes(empty, AROUND) == ["nothing to clean"]


def test_gauges_are_found_by_the_names_the_broker_gives_them() -> None:
    samples = [
        ScrapedSample("kafka_log_LogCleaner_DeadThreadCount", {}, 1.0),
        ScrapedSample("kafka_log_LogCleaner_cleaner_recopy_percent", {}, 37.0),
        ScrapedSample("kafka_log_LogCleanerManager_uncleanable_partitions_count", {}, 1.0),
        ScrapedSample("kafka_log_LogCleanerManager_uncleanable_partitions_count", {}, 2.0),
        ScrapedSample("kafka_log_LogCleanerManager_max_dirty_percent", {}, 50.0),
        ScrapedSample("kafka_log_LogCleanerManager_time_since_last_run_ms", {}, 120.0),
    ]
    assert cleaner_gauges(samples) == CleanerGauges(1, 3, 37.0, 50.0, 120)
