"""Reads the sources of a long task: one log reader per topic for all its partitions."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack

from lastword.errors import PipelineError
from lastword.kafka.log.source import EndOfLog, LogReader, LogSource, News, PositionLost
from lastword.pipelines.real_time.live_input import LiveInput
from lastword.records import Batch

_TURN_S = 0.02


class LiveSources:
    """Fills ``inputs``, by partition. A source that is far ahead of the others is paused."""

    def __init__(self, log_source: LogSource, inputs: Mapping[int, LiveInput]) -> None:
        self._inputs = inputs
        self._readers: dict[str, LogReader] = {}
        self._paused: set[tuple[str, int]] = set()
        self._opened = ExitStack()
        topics = sorted({topic for each in inputs.values() for topic in each.next_offsets})
        for topic in topics:
            reader = self._readers[topic] = log_source.follow(topic)
            self._opened.callback(reader.close)
            for partition, each in inputs.items():
                reader.assign(partition, each.next_offsets[topic])

    def poll(self, timeout_s: float) -> None:
        """Read available records; wait up to ``timeout_s`` if there are none."""
        self._resume()
        if len(self._readers) > 1:
            timeout_s = min(timeout_s, _TURN_S)
        for topic, reader in self._readers.items():
            for news in reader.poll(timeout_s):
                self._take(topic, news)

    def close(self) -> None:
        """Stop reading; idempotent."""
        self._opened.close()

    def _take(self, topic: str, news: News) -> None:
        if isinstance(news, PositionLost):
            raise PipelineError(
                f"{topic}, partition {news.partition}: records were deleted before they were "
                f"processed: {news.reason}",
                hint="keep records longer than the pipeline may be behind (retention.ms)",
            )
        given = self._inputs[news.partition]
        if isinstance(news, EndOfLog):
            given.reach_end(topic, news)
        elif isinstance(news, Batch):
            given.take(topic, news)
            if given.is_full(topic):
                self._readers[topic].release(news.partition)
                self._paused.add((topic, news.partition))

    def _resume(self) -> None:
        for topic, partition in sorted(self._paused):
            given = self._inputs[partition]
            if not given.is_full(topic):
                self._readers[topic].assign(partition, given.next_offsets[topic])
                self._paused.discard((topic, partition))
