"""The same stream into topics of three policies: what each stores, and what a restore takes."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import astuple, dataclass, field

from lastword.bench.change_stream import ChangeStream
from lastword.broker.info import NodeInfo
from lastword.clock import SYSTEM_CLOCK, Clock
from lastword.kafka.admin import Admin
from lastword.kafka.admin.log_dirs import replica_sizes
from lastword.kafka.log.kafka_log import KafkaLog
from lastword.kafka.write.producer import BATCH_BYTES_MAX
from lastword.replicas.catch_up import catch_up
from lastword.replicas.topic.topic_state import read_topic_state
from lastword.stores.memory import MemoryStore
from lastword.topics.cleaner_log import all_runs
from lastword.writer.direct import DirectWriter

POLICIES = ("compact", "compact,delete", "delete")
SAMPLE_S = 1.0
QUIET_S = 20.0
"""Cleaners look for work every 15 seconds: sizes that do not change for longer are final."""

_SEGMENTS = 32
_SEGMENT_BYTES_MIN = 1 << 20
_RECORD_OVERHEAD_BYTES = 20
_WRITE_TIMEOUT_S = 60.0

BenchProgress = Callable[[int, int, str], None]
"""Called with how much is done, how much there is, and what is being done now."""


@dataclass(frozen=True)
class BenchPlan:
    """What to write and for how long to observe."""

    stream: ChangeStream
    partitions: int
    write_s: float
    watch_s: float
    retention_ms: int

    def settings(self, policy: str) -> dict[str, str]:
        """Topic settings under which a cleaner shows in minutes what it does in weeks."""
        record_bytes = self.stream.value_bytes + _RECORD_OVERHEAD_BYTES
        log_bytes = self.stream.records * record_bytes // self.partitions
        return {
            "cleanup.policy": policy,
            "segment.bytes": str(max(_SEGMENT_BYTES_MIN, log_bytes // _SEGMENTS)),
            "min.cleanable.dirty.ratio": "0.1",
            "min.insync.replicas": "1",
            "retention.ms": str(self.retention_ms if "delete" in policy else -1),
        }


@dataclass(frozen=True)
class SizeSample:
    """How much a topic stored, so many seconds after the first record."""

    at_s: float
    size_bytes: int


@dataclass(frozen=True)
class Cleaning:
    """A run of the cleaner: when it ended, and how many records the log had before and after."""

    at_s: float
    records_before: int
    records_after: int


@dataclass
class TopicResult:
    """The results of one topic; the runs of the cleaner are None if unknown."""

    policy: str
    topic: str
    samples: list[SizeSample] = field(default_factory=list)
    records_written: int = 0
    written_s: float = 0.0
    records_read: int = 0
    restore_s: float = 0.0
    rows: int = 0
    cleanings: list[Cleaning] | None = None

    @property
    def size_bytes(self) -> int:
        """What it stores at the end."""
        return self.samples[-1].size_bytes if self.samples else 0


class TopicsBench:
    """Creates three topics, writes, observes, restores, and deletes the topics again."""

    def __init__(
        self,
        admin: Admin,
        plan: BenchPlan,
        progress: BenchProgress,
        *,
        local_nodes: Sequence[NodeInfo] = (),
        clock: Clock = SYSTEM_CLOCK,
    ) -> None:
        self._admin = admin
        self._plan = plan
        self._progress = progress
        self._nodes = local_nodes
        self._clock = clock
        self._began = 0.0
        self._began_ms = 0

    def run(self) -> list[TopicResult]:
        """One result for each policy, in the order of POLICIES."""
        run_id = uuid.uuid4().hex[:8]
        results = [
            TopicResult(policy, f"lastword-bench-{run_id}-{policy.replace(',', '-')}")
            for policy in POLICIES
        ]
        with self._topics(results):
            self._began, self._began_ms = self._clock.monotonic(), self._clock.now_ms()
            self._write(results)
            self._watch(results)
            for number, result in enumerate(results):
                self._progress(number, len(results), f"restoring {result.policy}")
                result.cleanings = self._cleanings(result.topic)
                self._restore(result)
        return results

    @contextmanager
    def _topics(self, results: Sequence[TopicResult]) -> Iterator[None]:
        with ExitStack() as created:
            for each in results:
                settings = self._plan.settings(each.policy)
                partitions = self._plan.partitions
                self._admin.create(
                    each.topic, partitions=partitions, replication=1, settings=settings
                )
                created.callback(self._admin.delete, each.topic)
            yield

    def _write(self, results: Sequence[TopicResult]) -> None:
        plan, written = self._plan, 0
        with ExitStack() as opened:
            writers = []
            for each in results:
                writer = DirectWriter(
                    self._admin.connection,
                    each.topic,
                    batch_bytes=BATCH_BYTES_MAX,
                    timeout_s=_WRITE_TIMEOUT_S,
                    clock=self._clock,
                )
                opened.callback(writer.close)
                writers.append(writer)
            for batch in plan.stream.batches():
                for writer, result in zip(writers, results, strict=True):
                    for outcome in writer.write(batch):
                        outcome.raise_or_version()
                    result.records_written += len(batch)
                    result.written_s = self._elapsed()
                written += len(batch)
                self._progress(written, plan.stream.records, "writing")
                self._keep_pace(results, written / plan.stream.records)

    def _keep_pace(self, results: Sequence[TopicResult], share: float) -> None:
        """Spread the writes over their time, and sample the sizes meanwhile."""
        due = self._began + share * self._plan.write_s
        while True:
            if self._elapsed() - self._last_sample_s(results) >= SAMPLE_S:
                self._sample(results)
            left = due - self._clock.monotonic()
            if left <= 0:
                return
            self._clock.sleep(min(left, SAMPLE_S / 4))

    def _watch(self, results: Sequence[TopicResult]) -> None:
        """Until nothing has changed for a while, or the time is over."""
        started = changed = self._clock.monotonic()
        self._sample(results)
        while (now := self._clock.monotonic()) - started < self._plan.watch_s:
            if now - changed >= QUIET_S:
                return
            self._progress(int(now - started), int(self._plan.watch_s), "watching the cleaner")
            self._clock.sleep(SAMPLE_S)
            before = [each.size_bytes for each in results]
            self._sample(results)
            if before != [each.size_bytes for each in results]:
                changed = now

    def _sample(self, results: Sequence[TopicResult]) -> None:
        at_s = round(self._elapsed(), 2)
        for each in results:
            sizes = replica_sizes(self._admin.connection, each.topic, self._plan.partitions)
            each.samples.append(SizeSample(at_s, sum(size.size_bytes for size in sizes)))

    def _cleanings(self, topic: str) -> list[Cleaning] | None:
        """From the logs of brokers on this machine: Kafka does not report it to clients."""
        if not self._nodes:
            return None
        runs = [
            run
            for node in self._nodes
            for partition in range(self._plan.partitions)
            for run in all_runs(node.log_file, topic, partition)
        ]
        return [
            Cleaning((run.ended_ms - self._began_ms) / 1000, run.records_before, run.records_after)
            for run in sorted(runs)
        ]

    def _restore(self, result: TopicResult) -> None:
        """Restore an empty table to the end of the log, as a new instance would."""
        started = self._clock.monotonic()
        log_source = KafkaLog(self._admin.connection)
        topic_state = read_topic_state(self._admin, result.topic, self._clock.now_ms())
        for partition in range(topic_state.partitions):
            store = MemoryStore()
            store.open()
            result.records_read += catch_up(
                log_source,
                result.topic,
                partition,
                store,
                topic_state=topic_state,
                until=topic_state.stable_ends[partition],
                clock=self._clock,
            )
            result.rows += store.count()
            store.close()
        result.restore_s = self._clock.monotonic() - started

    def _elapsed(self) -> float:
        return self._clock.monotonic() - self._began

    @staticmethod
    def _last_sample_s(results: Sequence[TopicResult]) -> float:
        return results[0].samples[-1].at_s if results[0].samples else -SAMPLE_S


def as_object(plan: BenchPlan, results: Sequence[TopicResult]) -> Mapping[str, object]:
    """Everything that was measured, in the documented JSON shape."""
    return {
        "records": plan.stream.records,
        "keys": plan.stream.keys,
        "live_keys": plan.stream.live_keys(),
        "value_bytes": plan.stream.value_bytes,
        "partitions": plan.partitions,
        "write_s": plan.write_s,
        "retention_ms": plan.retention_ms,
        "topics": [
            {
                "policy": each.policy,
                "size_bytes": each.size_bytes,
                "records_written": each.records_written,
                "records_read": each.records_read,
                "restore_s": round(each.restore_s, 4),
                "rows": each.rows,
                "written_s": round(each.written_s, 2),
                "cleanings": None
                if each.cleanings is None
                else [astuple(c) for c in each.cleanings],
                "samples": [[sample.at_s, sample.size_bytes] for sample in each.samples],
            }
            for each in results
        ],
    }
