"""Looks at the topic about once a second: is it still the same one, where does it end?

librdkafka does not notice a topic that was deleted and created again, and an idle consumer does
not know that it is cut off. This thread asks, and posts what it learns.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

from lastword.clock import Clock
from lastword.errors import LastwordError
from lastword.follow.facts import TopicFacts, look_up
from lastword.follow.looks import Looks
from lastword.kafka.admin import Admin

log = logging.getLogger(__name__)

INTERVAL_S = 1.0
_SETTINGS_EVERY = 10  # settings change rarely; identity and ends are asked each time
_WARN_EVERY = 60


class TopicMonitor:
    """Posts ``TopicFacts`` each interval, or None when the cluster could not be asked.

    A failed look is never taken for a deleted topic: it only proves nothing.
    """

    def __init__(
        self, admin: Admin, topic: str, clock: Clock, post: Callable[[TopicFacts | None], None]
    ) -> None:
        self._admin = admin
        self._topic = topic
        self._clock = clock
        self._post = post
        self.looks = Looks()
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name=f"monitor-{topic}", daemon=True)

    def start(self) -> None:
        """Begin looking."""
        self._thread.start()

    def stop(self) -> None:
        """Stop looking; returns within one request."""
        self._stopping.set()
        if self._thread.ident is not None:
            self._thread.join()

    def _run(self) -> None:
        failures = looks = 0
        known: TopicFacts | None = None
        while not self._stopping.wait(INTERVAL_S):
            looks += 1
            facts, problem = self._look(None if looks % _SETTINGS_EVERY == 1 else known)
            known = facts
            failures = failures + 1 if problem else 0
            if problem and failures % _WARN_EVERY == 1:
                log.warning("%s cannot be looked at: %s", self._topic, problem)
            if not self._stopping.is_set():
                self._post(facts)

    def _look(self, known: TopicFacts | None) -> tuple[TopicFacts | None, Exception | None]:
        now_ms = self._clock.now_ms()
        try:
            facts = look_up(self._admin, self._topic, now_ms, settings_from=known)
        except LastwordError as error:
            return None, error
        if known is None:
            self.looks.note(facts, self._clock.now_ms())
        return facts, None
