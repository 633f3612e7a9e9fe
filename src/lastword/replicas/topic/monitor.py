"""Asks for the state of the topic about once a second: its id, its ends and its settings.

librdkafka does not detect a topic that was deleted and created again, and an idle consumer does
not know that its connection is gone. This thread asks, and posts each answer.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

from lastword.clock import Clock
from lastword.errors import LastwordError, TopicNotFoundError
from lastword.kafka.admin import Admin
from lastword.replicas.topic.protection import ProtectionLog
from lastword.replicas.topic.topic_state import TopicState, read_topic_state

log = logging.getLogger(__name__)

INTERVAL_S = 1.0
GONE_ANSWERS = 3
"""This many consecutive answers must report no such topic before it counts as deleted."""

_SETTINGS_EVERY = 10  # settings change rarely; identity and ends are asked each time
_WARN_EVERY = 60


class TopicMonitor:
    """Posts a ``TopicState`` each interval, or None when the cluster could not be asked.

    A failed request never counts as a deleted topic: it proves nothing. ``topic_gone`` is True once
    several consecutive answers of brokers reported no such topic.
    """

    def __init__(
        self, admin: Admin, topic: str, clock: Clock, post: Callable[[TopicState | None], None]
    ) -> None:
        self._admin = admin
        self._topic = topic
        self._clock = clock
        self._post = post
        self._last: TopicState | None = None
        self._not_found = 0
        self.protection = ProtectionLog()
        self._polling = threading.Lock()
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name=f"monitor-{topic}", daemon=True)

    @property
    def topic_gone(self) -> bool:
        """Whether the topic was deleted and is not there again."""
        return self._not_found >= GONE_ANSWERS

    def start(self, known: TopicState) -> None:
        """Start asking; ``known`` is the state that was read before."""
        self._last = known
        self._thread.start()

    def refresh(self) -> TopicState:
        """Ask now and post the answer; raises ConnectionFailedError or TopicNotFoundError.

        States are posted in order: an older one never replaces a newer one.
        """
        with self._polling:
            topic_state = self._read(settings=False)
            self._post(topic_state)
        return topic_state

    def stop(self) -> None:
        """Stop asking; returns within one request."""
        self._stopping.set()
        if self._thread.ident is not None:
            self._thread.join()

    def _run(self) -> None:
        failures = polls = 0
        while not self._stopping.wait(INTERVAL_S):
            polls += 1
            with self._polling:
                settings = failures > 0 or polls % _SETTINGS_EVERY == 1
                topic_state, problem = self._poll(settings=settings)
                if not self._stopping.is_set():
                    self._post(topic_state)
            failures = failures + 1 if problem else 0
            if problem and failures % _WARN_EVERY == 1:
                log.warning("the state of %s cannot be read: %s", self._topic, problem)

    def _poll(self, *, settings: bool) -> tuple[TopicState | None, object]:
        """The state, and the problem if it is incomplete or missing."""
        try:
            topic_state = self._read(settings=settings)
        except LastwordError as error:
            self._not_found = self._not_found + 1 if isinstance(error, TopicNotFoundError) else 0
            return None, error
        if topic_state.unanswered:
            silent = ", ".join(map(str, sorted(topic_state.unanswered)))
            return topic_state, f"no answer from the leader of partition {silent}"
        if settings:
            self.protection.record(topic_state, self._clock.now_ms())
        return topic_state, None

    def _read(self, *, settings: bool) -> TopicState:
        topic_state = read_topic_state(
            self._admin, self._topic, self._clock.now_ms(), before=self._last, settings=settings
        )
        self._last, self._not_found = topic_state, 0
        return topic_state
