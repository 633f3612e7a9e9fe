"""A log source that hands over what a test says, and asks no broker."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable

from lastword.kafka.log.source import LogReader
from lastword.records import Batch


class WrittenLog:
    """A ``LogSource`` whose every range holds the batches that ``batches`` gives for it."""

    def __init__(self, batches: Callable[[], Iterable[Batch]]) -> None:
        self._batches = batches

    def follow(self, topic: str, **_options: object) -> LogReader:
        raise AssertionError(f"nobody follows {topic} here")

    def read(self, topic: str, ranges: object, **_options: object) -> Generator[Batch, None, None]:
        yield from self._batches()
