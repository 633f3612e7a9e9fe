"""Reading the cleaner's runs and troubles out of a broker's log."""

from __future__ import annotations

import os
from pathlib import Path

from lastword.topics.cleaner_log import last_run, was_marked_uncleanable

RUN = """\
2026-11-15 21:50:{second:02d},141 INFO  [kafka-log-cleaner-thread-0]: 
\tLog cleaner thread 0 cleaned log {log} (dirty section = [{start}, {end}])
\t0.0 MB of log processed in 0.1 seconds (0.0 MB/sec).
\tIndexed 0.0 MB in 0.1 seconds (0.0 Mb/sec, 62.6% of total time)
\tBuffer utilization: 0.0%
\tCleaned 0.0 MB in 0.0 seconds (0.0 Mb/sec, 37.4% of total time)
\tStart size: 0.0 MB (1,017 messages)
\tEnd size: 0.0 MB (3 messages)
\t82.3% size reduction (82.4% fewer messages)
 (LogCleaner$CleanerThread)
"""  # noqa: W291 - as the broker writes it
STARTED = "2026-11-15 21:49:00,000 INFO  [KafkaRaftServer nodeId=1] Kafka Server started (K)\n"
GIVEN_UP = (
    "2026-11-15 21:50:00,000 WARN  [kafka-log-cleaner-thread-0]: Unexpected exception thrown when "
    "cleaning log Log(dir=d). Marking its partition ({log}) as uncleanable (LogCleaner)\n"
)


def run(log: str, *, second: int = 0, start: int = 0, end: int = 8) -> str:
    return RUN.format(log=log, second=second, start=start, end=end)


def test_the_newest_run_on_the_partition_is_found(tmp_path: Path) -> None:
    log = tmp_path / "broker.log"
    log.write_text(run("users-0") + run("users-0", second=5, start=8, end=22) + run("users-1"))
    found = last_run(log, "users", 0)
    assert found is not None
    assert (found.dirty_from, found.dirty_until) == (8, 22)
    assert (found.records_before, found.records_after, found.recopy_percent) == (1017, 3, 17.7)
    first = last_run(log, "users", 1)
    assert first is not None
    assert found.ended_ms - first.ended_ms == 5_000


def test_another_topic_whose_name_begins_the_same_is_another_topic(tmp_path: Path) -> None:
    log = tmp_path / "broker.log"
    log.write_text(run("users-0-0"))
    assert last_run(log, "users", 0) is None
    assert last_run(log, "users-0", 0) is not None


def test_older_parts_of_the_log_are_read_when_the_newest_has_no_run(tmp_path: Path) -> None:
    log = tmp_path / "broker.log"
    log.write_text(run("other-0"))
    for age, (name, end) in enumerate({"broker.log.2": 30, "broker.log.1": 20}.items(), 1):
        (tmp_path / name).write_text(run("users-0", end=end))
        os.utime(tmp_path / name, (1_000_000 - age, 1_000_000 - age))
    found = last_run(log, "users", 0)
    assert found is not None
    assert found.dirty_until == 30


def test_without_a_log_nothing_is_known(tmp_path: Path) -> None:
    assert last_run(tmp_path / "broker.log", "users", 0) is None
    assert not was_marked_uncleanable(tmp_path / "broker.log", "users", 0)


def test_a_partition_the_cleaner_gave_up_on_is_known_until_the_broker_starts_again(
    tmp_path: Path,
) -> None:
    log = tmp_path / "broker.log"
    log.write_text(STARTED + GIVEN_UP.format(log="users-0"))
    assert was_marked_uncleanable(log, "users", 0)
    assert not was_marked_uncleanable(log, "users", 1)
    with log.open("a") as more:
        more.write(STARTED)
    assert not was_marked_uncleanable(log, "users", 0)
