"""Looks at the topic about once a second: is it still the same one, where does it end?

librdkafka does not notice a topic that was deleted and created again, and an idle consumer does
not know that it is cut off. This thread asks, and posts what it learns.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping

from lastword.clock import Clock
from lastword.errors import LastwordError
from lastword.follow.facts import TopicFacts, look_up
from lastword.kafka.admin import Admin
from lastword.kafka.group_positions import publish_positions

log = logging.getLogger(__name__)

INTERVAL_S = 1.0
_SETTINGS_EVERY = 10  # settings change rarely; identity and ends are asked each time
_WARN_EVERY = 60


class TopicMonitor:
    """Posts ``TopicFacts`` each interval, or None when the cluster could not be asked.

    A failed look is never taken for a deleted topic: it only proves nothing. Since it talks to
    the cluster anyway, it also publishes the table's positions for lag tools.
    """

    def __init__(
        self,
        admin: Admin,
        topic: str,
        group_id: str,
        clock: Clock,
        post: Callable[[TopicFacts | None], None],
    ) -> None:
        self._admin = admin
        self._topic = topic
        self._group_id = group_id
        self._positions: Mapping[int, int] = {}
        self._clock = clock
        self._post = post
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name=f"monitor-{topic}", daemon=True)

    def start(self) -> None:
        """Begin looking."""
        self._thread.start()

    def publish(self, positions: Mapping[int, int]) -> None:
        """Have these positions shown under the group with the next look."""
        self._positions = positions

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
            if facts is not None and not self._stopping.is_set():
                self._publish()

    def _publish(self) -> None:
        positions, self._positions = self._positions, {}
        try:
            if positions:
                publish_positions(self._admin.connection, self._group_id, self._topic, positions)
        except LastwordError as error:  # nothing here depends on it: tried again with the next look
            log.debug("positions of %s were not published: %s", self._topic, error)
            self._positions = self._positions or positions

    def _look(self, known: TopicFacts | None) -> tuple[TopicFacts | None, Exception | None]:
        now_ms = self._clock.now_ms()
        try:
            return look_up(self._admin, self._topic, now_ms, settings_from=known), None
        except LastwordError as error:
            return None, error
