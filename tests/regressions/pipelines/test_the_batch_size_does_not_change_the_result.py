"""With several topics, the result depended on how the records were cut into batches.

Spark cuts a batch by offsets, so records were in the order of their times only within a batch: a
batch that had more of a later topic moved stream time on, and the rest of the earlier one was late.
In the example below Kafka Streams drops none of the 240 records, and batches of 50 dropped 95.
"""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from confluent_kafka import Producer
from hypothesis import given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession

from lastword.kafka.groups import Committed
from lastword.pipelines import tumbling
from lastword.pipelines.api.folds import Aggregate, Count
from lastword.pipelines.operators.events import Tally
from lastword.pipelines.operators.make_fold import MakeFold
from lastword.pipelines.run.observer import BatchReport
from lastword.pipelines.run.spans import Span, Spans
from lastword.records import TopicPartition
from tests.support.java_peers.streams_model import Event, WindowedModel
from tests.support.on_spark.operator_run import OperatorRun
from tests.support.on_spark.pipelines import NOON_MS, Bench
from tests.support.on_spark.split_input import Logged, Logs, SplitInput, greedy

TOPICS = ("a", "b", "c")


@st.composite
def logs(draw: st.DrawFn, topics: int = len(TOPICS)) -> dict[str, list[Logged]]:
    """Topics with gaps between offsets, records out of order, and some that cannot be decoded."""
    record = st.tuples(
        st.integers(1, 3), st.integers(0, 60), st.sampled_from([b"k", b"l"]), st.booleans()
    )
    made: dict[str, list[Logged]] = {}
    for topic in TOPICS[:topics]:
        offset, base = -1, draw(st.integers(0, 60))
        made[topic] = []
        for n, (step, time, key, good) in enumerate(draw(st.lists(record, max_size=12))):
            offset += step
            value = b"%d" % offset if good or n % 3 else b"{"
            made[topic].append((offset, base + time, key, value))
    return made


class AnySpans:
    """Spans of any length for each source: harder than what the driver chooses."""

    def __init__(self, draw: st.DataObject, topics: Logs) -> None:
        self._draw = draw
        self._positions = {TopicPartition(topic, 0): 0 for topic in topics}

    def next(
        self, committed: Mapping[TopicPartition, Committed], ends: Mapping[TopicPartition, int]
    ) -> dict[TopicPartition, Span]:
        spans: dict[TopicPartition, Span] = {}
        for place, end in ends.items():
            at = max(self._positions[place], committed.get(place, Committed(0, "")).offset)
            if at < end:
                upto = self._draw.draw(st.integers(at + 1, end))
                spans[place] = Span(at, upto, more=upto < end)
        return spans

    def pass_over(self, spans: Mapping[TopicPartition, Span], _: set[int]) -> None:
        self._positions |= {place: span.end for place, span in spans.items()}


def split(made: Logs, draw: st.DataObject) -> tuple[SplitInput, Spans | AnySpans]:
    """The logs, with offsets without records at their ends, and a way to cut them."""
    ends = {topic: (each[-1][0] + 1 if each else 0) + len(each) % 3 for topic, each in made.items()}
    cut = draw.draw(st.sampled_from(["any", "shares"]))
    if cut == "any":
        return SplitInput(made, ends), AnySpans(draw, made)
    starts = {TopicPartition(topic, 0): 0 for topic in made}
    return SplitInput(made, ends), Spans(starts, draw.draw(st.integers(1, 40)))


@settings(max_examples=300)
@given(logs(), st.data())
def test_records_of_several_topics_are_processed_in_one_order_for_every_batch_size(
    made: dict[str, list[Logged]], draw: st.DataObject
) -> None:
    good = {topic: [each for each in log if each[3] != b"{"] for topic, log in made.items()}
    whole, spans = split(made, draw)
    processed = [
        pair
        for events in whole.batches(spans.next, spans.pass_over)
        for pair in zip(events.topics, events.offsets, strict=True)
    ]
    assert processed == greedy(good)
    assert whole.records == sum(map(len, made.values()))
    assert sorted((bad.topic, bad.offset) for bad in whole.bad) == sorted(
        (topic, each[0]) for topic, log in made.items() for each in log if each[3] == b"{"
    )


@settings(max_examples=200)
@given(logs(), st.data(), st.booleans())
def test_changelogs_and_dropped_records_are_the_same_for_every_batch_size(
    made: dict[str, list[Logged]], draw: st.DataObject, suppressed: bool
) -> None:
    windows = tumbling(10, grace=5)
    text = Aggregate(str, lambda _key, value, so_far: f"{so_far},{value}")
    make = MakeFold(
        text,
        "string",
        "json",
        windows=windows,
        retention_ms=100,
        hold_at_most=1000 if suppressed else None,
    )
    stores = 2 if suppressed else 1
    by_record = {(topic, each[0]): each for topic, log in made.items() for each in log}
    once = OperatorRun(make(), stores=stores)
    good = {topic: [each for each in log if each[3] != b"{"] for topic, log in made.items()}
    in_order = [by_record[pair] for pair in greedy(good)]
    once.process([Event(key, int(value), time) for _, time, key, value in in_order])

    cut = OperatorRun(make(), stores=stores)
    whole, spans = split(made, draw)
    for events in whole.batches(spans.next, spans.pass_over):
        columns = zip(events.keys, events.values, events.timestamps, strict=True)
        cut.process([Event(*each) for each in columns])
    assert cut.table == once.table
    assert cut.table_by_changelog == once.table_by_changelog
    assert dict(cut.told) == dict(once.told)
    assert cut.tally.late == once.tally.late


def merged_example() -> dict[str, list[Logged]]:
    """120 records at 2, 4, … 240 ms and 120 at 243, 245, …, all of one key."""
    first = [(n, 2 * (n + 1), b"k", b"1") for n in range(120)]
    second = [(n, 243 + 2 * n, b"k", b"1") for n in range(120)]
    return {"a": first, "b": second}


@pytest.mark.parametrize("max_records", [1, 7, 50, 200, 1000])
def test_a_topic_that_is_ahead_waits_for_the_slower_one(max_records: int) -> None:
    made = merged_example()
    run = OperatorRun(
        MakeFold(Count(), "string", "json", windows=tumbling(30, grace=18), retention_ms=1000)()
    )
    whole = SplitInput(made, {"a": 120, "b": 120})
    spans = Spans({TopicPartition("a", 0): 0, TopicPartition("b", 0): 0}, max_records)
    for events in whole.batches(spans.next, spans.pass_over):
        columns = zip(events.keys, events.values, events.timestamps, strict=True)
        run.process([Event(*each) for each in columns])
    model = WindowedModel(lambda old, _: (old or 0) + 1, size_ms=30, advance_ms=30, grace_ms=18)
    model.process([Event(key, 1, time) for log in made.values() for _, time, key, _ in log])
    assert run.table == {row: b"%d" % count for row, count in model.table.items()}
    assert (run.tally.late, model.late) == (0, 0)


def write_in_transactions(bench: Bench, topic: str, events: list[tuple[str, int]]) -> None:
    """A marker behind each transaction: offsets without records, in every partition and at its end.

    Every other transaction is aborted.
    """
    settings = {"transactional.id": topic, "partitioner": "murmur2_random"}
    producer = Producer(bench.connection.librdkafka() | settings)
    producer.init_transactions(60)
    for first in range(0, len(events), 20):
        for end in (producer.abort_transaction, producer.commit_transaction):
            producer.begin_transaction()
            for key, time in events[first : first + 20]:
                producer.produce(topic, str(time), key, timestamp=NOON_MS + time)
            producer.flush(60)
            end(60)


@pytest.mark.parametrize("max_records", [120, 100_000])
def test_spark_counts_every_record_of_merged_topics_for_any_batch_size(
    spark: SparkSession, bench: Bench, max_records: int
) -> None:
    second = bench.add_source(f"{bench.source}-b")
    for topic, log in zip((bench.source, second), merged_example().values(), strict=True):
        write_in_transactions(bench, topic, [(f"key-{n % 4}", time) for n, time, *_ in log])
    app = bench.pipeline(max_records_per_batch=max_records)
    grouped = app.stream(bench.source, second).group_by_key()
    counts = grouped.windowed_by(tumbling(30, grace=18)).count("counts")
    order = grouped.aggregate(list, lambda _key, value, seen: [*seen, value], "order")
    reports: list[BatchReport] = []
    app.run(spark, once=True, on_batch=reports.append)
    total = Tally()
    for report in reports:
        total.records += report.tally.records
        total.late += report.tally.late
        assert report.tally.records <= max_records
    assert (total.records, total.late) == (240, 0)
    assert sum(bench.table(counts).values()) == 240
    seen = bench.table(order)
    assert all(times == sorted(times) for times in seen.values())
    assert sum(map(len, seen.values())) == 240


def test_a_run_of_several_topics_that_is_stopped_leaves_the_rest_to_the_next(
    spark: SparkSession, bench: Bench
) -> None:
    second = bench.add_source(f"{bench.source}-b")
    for topic, log in zip((bench.source, second), merged_example().values(), strict=True):
        bench.write([(f"key-{n % 4}", time, time) for n, time, *_ in log], topic)
    app = bench.pipeline(max_records_per_batch=60)
    grouped = app.stream(bench.source, second).group_by_key()
    order = grouped.aggregate(list, lambda _key, value, seen: [*seen, value], "order")
    reports: list[BatchReport] = []

    def stop_after_the_first(report: BatchReport) -> None:
        reports.append(report)
        app.stop()

    app.run(spark, on_batch=stop_after_the_first)
    assert 0 < sum(report.tally.records for report in reports) < 240
    app.run(spark, once=True, on_batch=reports.append)
    assert sum(report.tally.records for report in reports) == 240
    seen = bench.table(order)
    assert all(times == sorted(times) for times in seen.values())
    assert sum(map(len, seen.values())) == 240
