"""Random pipelines beside the real Kafka Streams: the same values, times and dropped records.

LASTWORD_TEST_STREAMS_CASES says how many, LASTWORD_TEST_STREAMS_SEED which; a failure prints both.
"""

from __future__ import annotations

import os
from random import Random

import pytest

from lastword.pipelines import Pipeline
from lastword.pipelines.api.windows import SessionWindows, Windows, retention_of
from tests.support.java_peers.kafka_streams import KafkaStreams, Outcome
from tests.support.java_peers.streams_cases import STORE, Case, random_case
from tests.support.on_spark.offline_pipeline import OfflinePipeline, Rows

CASES = int(os.environ.get("LASTWORD_TEST_STREAMS_CASES", "400"))
SEED = int(os.environ.get("LASTWORD_TEST_STREAMS_SEED") or Random().randrange(10**9))
AT_ONCE = 500


@pytest.fixture(scope="session")
def kafka_streams(tmp_path_factory: pytest.TempPathFactory) -> KafkaStreams:
    return KafkaStreams(tmp_path_factory.mktemp("classes"))


def run_pipeline(case: Case) -> Outcome:
    app = Pipeline("app", bootstrap_servers="none:1")
    result = case.declare(app)
    pipeline = OfflinePipeline(app)
    logs = {
        topic: [(r.key, r.value, r.timestamp_ms, ()) for r in case.records if r.topic == topic]
        for topic in case.topics
    }
    pipeline.run(logs, case.cuts, lose_stores=case.lose_stores)
    assert not pipeline.tally.quarantined, pipeline.topic("quarantine")
    changelog, told = (
        [(key or b"", value, at_ms) for key, value, at_ms, _ in pipeline.topic(topic)]
        for topic in (f"app-{STORE}-changelog", result.topic or "")
    )
    tally = pipeline.tally
    return Outcome(changelog, told, tally.keyless + tally.null_values + tally.late)


def assert_alike(case: Case, ours: Outcome, theirs: Outcome) -> None:
    expected = theirs.table
    if case.windows is not None:
        expired = expired_rows(expected, case.windows, case.retention_ms, case.stream_time_ms)
        expected = {row: value for row, value in expected.items() if row not in expired}
    if isinstance(case.windows, SessionWindows):
        # The changelog has the time of whatever record came last; what goes on has the end.
        expected = {row: (value, case.windows.last_ms(row)) for row, (value, _) in expected.items()}
    if case.fold == "latest" and case.windows is None:
        # Kafka Streams' tables of a topic have the time of the last record, however old.
        assert {k: v for k, (v, _) in ours.table.items()} == {
            k: v for k, (v, _) in expected.items()
        }
    else:
        assert ours.table == expected
    assert ours.dropped == theirs.dropped
    if case.suppress:
        final = [each for each in ours.told if each[1] is not None]
        assert sorted(final) == sorted(theirs.told)


def expired_rows(
    rows: Rows, windows: Windows, retention_ms: int | None, stream_time_ms: int
) -> set[bytes]:
    """Those that a pipeline has deleted by then; Kafka Streams leaves that to the broker."""
    retention_ms = retention_of(windows, retention_ms)
    quarter_ms = max(retention_ms // 4, 1)
    kept_from_ms = stream_time_ms // quarter_ms * quarter_ms - retention_ms
    return {row for row in rows if windows.last_ms(row) < kept_from_ms}


@pytest.mark.parametrize("first", range(0, CASES, AT_ONCE))
def test_a_pipeline_computes_what_kafka_streams_does(
    kafka_streams: KafkaStreams, first: int
) -> None:
    numbers = range(first, min(first + AT_ONCE, CASES))
    cases = [random_case(Random(f"{SEED}-{number}")) for number in numbers]
    try:
        outcomes = kafka_streams.run(cases)
    except AssertionError as error:
        error.add_note(f"seed {SEED}, cases {first} to {numbers[-1]}")
        raise
    different = []
    for number, case, theirs in zip(numbers, cases, outcomes, strict=True):
        try:
            assert_alike(case, run_pipeline(case), theirs)
        except AssertionError as difference:
            different.append(f"seed {SEED}, case {number}: {case}\n{difference}")
    assert not different, f"{len(different)} of {len(cases)} differ, such as\n" + min(
        different, key=len
    )
