"""One librdkafka admin client, replaced when it no longer answers."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeoutError
from contextlib import contextmanager, suppress
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
        track(self)

    def after_fork(self) -> None:
        """In a forked child the next call makes a new client."""
        self._client, self._lock = None, threading.Lock()

    def close(self) -> None:
        """Close the client; the next call makes another."""
        with self._lock:
            self._client = None

    def ask(self, call: AdminCall, *, doing: str, topic: str = "") -> dict[Any, Any]:
        """The answers to a read request, which may be sent twice."""
        try:
            return self._try(self._current(), call, self._timeout / 2)
        except KafkaException as error:
            if not is_unanswered(error.args[0]):
                raise self.failure(error.args[0], doing, topic) from error
        return self.order(call, doing=doing, topic=topic, seconds=self._timeout / 2)

    def order(
        self, call: AdminCall, *, doing: str, topic: str = "", seconds: float | None = None
    ) -> dict[Any, Any]:
        """The answers to a request that changes the cluster, and is therefore sent only once."""
        try:
            return self._try(self._current(), call, self._timeout if seconds is None else seconds)
        except KafkaException as error:
            raise self.failure(error.args[0], doing, topic) from error

    @contextmanager
    def to_leaders(self) -> Iterator[LeaderCalls]:
        """Requests that go to the leaders of partitions, by a client that makes no other such ones.

        librdkafka 2.16 looks up unknown leaders on the caller's thread, and on its own as soon as
        it learns of any topic. The process crashes if both happen at once, so a client must not
        begin a request while another of its requests still looks for a leader.
        """
        client = self._current()
        if not client.to_leaders.acquire(blocking=False):
            client = _Client(self._connection)
            client.to_leaders.acquire()
        try:
            self._connect(client)
            yield LeaderCalls(self, client)
        finally:
            client.to_leaders.release()

    def failure(self, error: KafkaError, doing: str, topic: str = "") -> LastwordError:
        """The error to raise when ``doing`` ended in ``error``."""
        return failure(error, doing=doing, servers=self.servers, topic=topic)

    def _current(self) -> _Client:
        with self._lock:
            self._client = self._client or _Client(self._connection)
            return self._client

    def _try(self, client: _Client, call: AdminCall, seconds: float) -> dict[Any, Any]:
        """The answers; raises KafkaException for the first that is an error."""
        answers = self._each(client, call, seconds)
        for answer in answers.values():
            if isinstance(answer, KafkaError):
                raise KafkaException(answer)
        return answers

    def _each(self, client: _Client, call: AdminCall, seconds: float) -> dict[Any, Any]:
        """Each answer, or its KafkaError; the client is replaced if one did not come."""
        try:
            answers = client.each(call, seconds, self._clock)
        except KafkaException as error:
            self._replace_unless_answered(client, error.args[0])
            raise
        for answer in answers.values():
            if isinstance(answer, KafkaError):
                self._replace_unless_answered(client, answer)
        return answers

    def _connect(self, client: _Client) -> None:
        """Wait a little for the connection of a new client; without one, its requests fail.

        librdkafka looks up the leaders when a request is made; without a connection it looks again
        only three seconds later.
        """
        if not client.is_connected:
            with suppress(KafkaException):
                self._try(client, _describe_cluster, _CONNECT_SECONDS)
                client.is_connected = True

    def _replace_unless_answered(self, client: _Client, error: KafkaError) -> None:
        if is_unanswered(error) or is_refused_connection(error):
            with self._lock:
                if self._client is client:
                    self._client = None


def _describe_cluster(client: Any, seconds: float) -> dict[str, Future[Any]]:
    return {"": client.describe_cluster(request_timeout=seconds)}


class LeaderCalls:
    """Makes requests to the leaders of partitions, one after the other."""

    def __init__(self, calls: AdminCalls, client: _Client) -> None:
        self._calls = calls
        self._client = client

    def each(
        self, call: AdminCall, seconds: float, *, doing: str, topic: str = ""
    ) -> dict[Any, Any]:
        """One try within ``seconds``: each answer, or its KafkaError."""
        try:
            return self._calls._each(self._client, call, seconds)
        except KafkaException as error:
            raise self._calls.failure(error.args[0], doing, topic) from error


class _Client:
    """A client and the reason it cannot connect, if it reported one."""

    def __init__(self, connection: Connection) -> None:
        self._refusal: KafkaError | None = None
        self.admin = AdminClient(connection.librdkafka() | {"error_cb": self._note})
        self.is_connected = False
        self.to_leaders = threading.Lock()

    def each(self, call: AdminCall, seconds: float, clock: Clock) -> dict[Any, Any]:
        """Each answer, or its KafkaError, all with one deadline."""
        deadline = clock.monotonic() + seconds
        futures = call(self.admin, seconds)
        return {name: self._answer(each, deadline, clock) for name, each in futures.items()}

    def _answer(self, future: Future[Any], deadline: float, clock: Clock) -> Any:
        """Fails early when there is no answer because login or TLS was refused."""
        while True:
            try:
                return future.result(timeout=_POLL_SECONDS)
            except KafkaException as error:
                return error.args[0]
            except FutureTimeoutError:
                # librdkafka keeps its own request timeout, a little late.
                if clock.monotonic() > deadline + 1.0:
                    return KafkaError(KafkaError._TIMED_OUT)
            finally:
                self.admin.poll(0)  # only a poll delivers the client's errors and log lines
            if self._refusal is not None:
                return self._refusal

    def _note(self, error: KafkaError) -> None:
        if is_refused_connection(error):
            self._refusal = error
