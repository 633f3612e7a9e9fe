"""One librdkafka admin client, replaced when it no longer answers."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeoutError
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import AdminClient

from lastword.clock import Clock
from lastword.errors import LastwordError
from lastword.kafka.admin.client_failures import failure, is_refused_connection, is_unanswered
from lastword.kafka.connection import Connection
from lastword.kafka.forks import track

AdminCall = Callable[[Any, float], Mapping[Any, "Future[Any]"]]
"""A request to a client, with its time limit; one future for each answer."""

_POLL_SECONDS = 0.1
_CONNECT_SECONDS = 1.0


class AdminCalls:
    """Makes admin calls within a time limit; safe from any thread.

    A client whose controller died keeps timing out for seconds while a fresh one is answered at
    once, so an unanswered request is sent again with a fresh client.
    """

    def __init__(self, connection: Connection, *, timeout_seconds: float, clock: Clock) -> None:
        self.servers = connection.bootstrap_servers
        self._connection = connection
        self._timeout = timeout_seconds
        self._clock = clock
        self._client: _Client | None = None
        self._lock = threading.Lock()
        self._leaders = threading.Lock()
        track(self)

    def after_fork(self) -> None:
        """In a forked child the next call makes a new client."""
        self._client, self._lock, self._leaders = None, threading.Lock(), threading.Lock()

    def close(self) -> None:
        """Close the client; the next call makes another."""
        with self._lock:
            self._client = None

    def ask(self, call: AdminCall, *, doing: str, topic: str = "") -> dict[Any, Any]:
        """The answers to a read request, which may be sent twice."""
        try:
            return self._try(call, self._timeout / 2)
        except KafkaException as error:
            self._replace_unless_answered(error)
            if not is_unanswered(error.args[0]):
                raise self.failure(error.args[0], doing, topic) from error
        return self.order(call, doing=doing, topic=topic, seconds=self._timeout / 2)

    def order(
        self, call: AdminCall, *, doing: str, topic: str = "", seconds: float | None = None
    ) -> dict[Any, Any]:
        """The answers to a request that changes the cluster, and is therefore sent only once."""
        try:
            return self._try(call, self._timeout if seconds is None else seconds)
        except KafkaException as error:
            self._replace_unless_answered(error)
            raise self.failure(error.args[0], doing, topic) from error

    def each(
        self, call: AdminCall, seconds: float, *, doing: str, topic: str = ""
    ) -> dict[Any, Any]:
        """One try within ``seconds``: each answer, or its KafkaError.

        The client is connected first. librdkafka looks up the leaders when a request is made;
        without a connection it looks again only three seconds later.
        """
        answers: dict[Any, Any] = {}
        self._connect()
        try:
            waits = self._waits(call, seconds)
        except KafkaException as error:
            raise self.failure(error.args[0], doing, topic) from error
        for name, wait in waits.items():
            try:
                answers[name] = wait()
            except KafkaException as error:
                self._replace_unless_answered(error)
                answers[name] = error.args[0]
        return answers

    @contextmanager
    def only_one_to_leaders(self, seconds: float) -> Iterator[bool]:
        """Hold this for every request that goes to the leaders of partitions, until its answer.

        Gives False if others held it for ``seconds``. librdkafka 2.16 looks up unknown leaders on
        the caller's thread, and on its own as soon as it learns of any topic. The process crashes
        if both happen at once, so no request may begin while another still waits for a leader.
        """
        is_free = self._leaders.acquire(timeout=seconds)
        try:
            yield is_free
        finally:
            if is_free:
                self._leaders.release()

    def failure(self, error: KafkaError, doing: str, topic: str = "") -> LastwordError:
        """The error to raise when ``doing`` ended in ``error``."""
        return failure(error, doing=doing, servers=self.servers, topic=topic)

    def _try(self, call: AdminCall, seconds: float) -> dict[Any, Any]:
        return {name: wait() for name, wait in self._waits(call, seconds).items()}

    def _waits(self, call: AdminCall, seconds: float) -> dict[Any, Callable[[], Any]]:
        """Send the request; return a way to wait for each answer, all with one deadline."""
        with self._lock:
            client = self._client = self._client or _Client(self._connection)
        deadline = self._clock.monotonic() + seconds

        def left() -> float:
            return deadline - self._clock.monotonic()

        futures = call(client.admin, seconds)
        return {name: partial(client.wait, future, left) for name, future in futures.items()}

    def _connect(self) -> None:
        """Wait a little for the connection of a new client; without one, the call itself fails."""
        with self._lock:
            is_new = self._client is None
        if is_new:
            with suppress(KafkaException):
                self._try(_describe_cluster, _CONNECT_SECONDS)

    def _replace_unless_answered(self, error: KafkaException) -> None:
        if is_unanswered(error.args[0]) or is_refused_connection(error.args[0]):
            self.close()


def _describe_cluster(client: Any, seconds: float) -> dict[str, Future[Any]]:
    return {"": client.describe_cluster(request_timeout=seconds)}


class _Client:
    """A client and the reason it cannot connect, if it reported one."""

    def __init__(self, connection: Connection) -> None:
        self._refusal: KafkaError | None = None
        self.admin = AdminClient(connection.librdkafka() | {"error_cb": self._note})

    def wait(self, future: Future[Any], left: Callable[[], float]) -> Any:
        """The future's answer; fails early when there is none because login or TLS was refused."""
        while True:
            try:
                return future.result(timeout=_POLL_SECONDS)
            except FutureTimeoutError:
                if left() < -1.0:  # librdkafka keeps its own request timeout, a little late
                    raise KafkaException(KafkaError(KafkaError._TIMED_OUT)) from None
            finally:
                self.admin.poll(0)  # only a poll delivers the client's errors and log lines
            if self._refusal is not None:
                raise KafkaException(self._refusal)

    def _note(self, error: KafkaError) -> None:
        if is_refused_connection(error):
            self._refusal = error
