"""The thread that follows a topic: it reads the log and passes on batches and news."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence

from lastword.kafka.log.source import EndOfLog, LogReader, PositionLost, Unreadable
from lastword.records import Batch
from lastword.replicas.tail.inbox import Inbox
from lastword.replicas.tail.intake import Intake

log = logging.getLogger(__name__)

POLL_S = 0.1


class Tailer:
    """Runs what is in the inbox, polls the reader, passes on its news, and does the ``upkeep``.

    ``on_failure`` is called with the error that ends the thread, ``on_end`` when it has ended.
    """

    def __init__(
        self,
        topic: str,
        reader: LogReader,
        inbox: Inbox,
        *,
        intake: Intake,
        position_lost: Callable[[PositionLost], None],
        upkeep: Sequence[Callable[[], None]],
        on_failure: Callable[[Exception], None],
        on_end: Callable[[], None],
    ) -> None:
        self._topic = topic
        self._reader = reader
        self._inbox = inbox
        self._intake = intake
        self._position_lost = position_lost
        self._upkeep = upkeep
        self._on_failure = on_failure
        self._on_end = on_end
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name=f"tailer-{topic}", daemon=True)

    def start(self) -> None:
        """Follow in the background."""
        self._thread.start()

    def stop(self) -> None:
        """Stop following and wait for that; idempotent."""
        self._stopping.set()
        if self._thread.ident is not None:
            self._thread.join()

    def run_once(self) -> None:
        """One round: run the inbox, poll the log, do the upkeep."""
        self._inbox.run()
        news = self._reader.poll(POLL_S)
        self._intake.polled(idle=not news)
        for item in news:
            if isinstance(item, Batch):
                self._intake.accept(item)
            elif isinstance(item, EndOfLog):
                self._intake.end_of_log(item)
            elif isinstance(item, Unreadable):
                self._intake.unreadable(item)
            else:
                self._position_lost(item)
        for check in self._upkeep:
            check()

    def _run(self) -> None:
        try:
            while not self._stopping.is_set():
                self.run_once()
        except Exception as error:  # a thread's last word: the table must know why
            log.exception("following %s failed", self._topic)
            self._on_failure(error)
        finally:
            self._inbox.close()
            self._on_end()
