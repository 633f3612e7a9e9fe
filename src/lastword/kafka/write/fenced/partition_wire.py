"""Requests about one partition and one transactional id, over kafka-python's client.

The library does connections, TLS, SASL and the lookup of leaders. Its event loop runs in the
calling thread, so an append needs no thread switch. Where it can, an append does without that loop
(``direct_producer``); the loop still runs ten times a second, for the timers of the library.
"""

from __future__ import annotations

from typing import Any

from lastword.clock import Clock
from lastword.errors import (
    ConnectionFailedError,
    FencedError,
    LastwordError,
    TopicNotFoundError,
)
from lastword.kafka.admin.wire import kafka_python_imported, wire_failure, wire_settings
from lastword.kafka.connection import Connection
from lastword.kafka.connection.connection import (
    RECONNECT_BACKOFF_MS,
    RECONNECT_BACKOFF_MS_MAX,
    SOCKET_TIMEOUT_MS,
)
from lastword.kafka.write.fenced.direct_producer import DirectProducer
from lastword.kafka.write.fenced.fence import Holder
from lastword.kafka.write.fenced.sending import LeaderAnswer, NoAnswerError, NotSentError

with kafka_python_imported():
    from kafka import TopicPartition, errors
    from kafka.net.manager import KafkaConnectionManager
    from kafka.net.selector import NetworkSelector
    from kafka.protocol.admin import DescribeProducersRequest
    from kafka.protocol.metadata import FindCoordinatorRequest
    from kafka.protocol.producer import InitProducerIdRequest, ProduceRequest

_TRANSACTION = 1  # the coordinator type
_TRANSACTION_TIMEOUT_MS = 60_000  # required, although no transaction is ever begun
_AGAIN_S = 0.01
_UPKEEP_S = 0.1
_GRACE_MS = 1_000
_LARGEST_ANSWER_BYTES = 100 << 20
NO_HOLDER = Holder(-1, -1)


class PartitionWire:
    """Sends requests to the leader of a partition and the coordinator of a transactional id.

    Used by one thread. Each call returns or raises by its deadline, in the clock's ``monotonic``
    time. The constructor does not connect.
    """

    def __init__(
        self,
        connection: Connection,
        topic: str,
        partition: int,
        transactional_id: str,
        clock: Clock,
    ) -> None:
        self._place = TopicPartition(topic, partition)
        self._direct = DirectProducer(topic, partition)
        self._servers, self._clock = connection.bootstrap_servers, clock
        self._transactional_id = transactional_id
        settings = wire_settings(connection) | {
            "request_timeout_ms": SOCKET_TIMEOUT_MS,
            "reconnect_backoff_ms": RECONNECT_BACKOFF_MS,
            "reconnect_backoff_max_ms": RECONNECT_BACKOFF_MS_MAX,
            "receive_message_max_bytes": _LARGEST_ANSWER_BYTES,
        }
        self._net = NetworkSelector(**settings)
        self._manager = KafkaConnectionManager(self._net, **settings)
        self._cluster = self._manager.cluster
        self._cluster.config["allow_auto_create_topics"] = False
        self._coordinator: int | None = None
        self._polled_at = 0.0

    def connect(self, deadline: float) -> None:
        """Find the cluster and the partition."""
        topic, partition = self._place
        try:
            self._manager.bootstrap(self._left_ms(deadline))
            self._cluster.add_topic(topic)
            self._run(self._cluster.refresh_metadata, deadline)
        except errors.KafkaError as error:
            raise self._failure(error) from error
        if partition not in (self._cluster.partitions_for_topic(topic) or ()):
            raise TopicNotFoundError(
                f"the topic {topic!r} with partition {partition} does not exist at {self._servers}",
                hint=f"check it with: lastword topic describe {topic}",
            )

    def init(self, deadline: float, current: Holder = NO_HOLDER) -> Holder:
        """Take over the transactional id; the coordinator aborts an open transaction.

        With a ``current`` holder it succeeds only if that one still holds the id; else FencedError.
        """
        while True:
            try:
                return self._init(current, deadline)
            except (errors.ProducerFencedError, errors.InvalidProducerEpochError) as error:
                raise FencedError(str(error)) from error
            except errors.KafkaError as error:
                self._raise_unless_another_try(error, deadline)
                if isinstance(error, errors.ConcurrentTransactionsError):
                    self._clock.sleep(_AGAIN_S)
                else:
                    self._coordinator = None
                    self.find_leader(deadline)  # also discovers new brokers

    def knows(self, producer_id: int, deadline: float) -> bool:
        """Whether the leader has state of this producer id for the partition."""
        topic = DescribeProducersRequest.TopicRequest(
            name=self._place.topic, partition_indexes=[self._place.partition]
        )
        while True:
            try:
                leader = self._cluster.leader_for_partition(self._place)
                response = self._ask(DescribeProducersRequest(topics=[topic]), leader, deadline)
                (found,) = response.topics[0].partitions
                _raise_for(found.error_code)
            except errors.KafkaError as error:
                self._raise_unless_another_try(error, deadline)
                self.find_leader(deadline)
            else:
                return any(each.producer_id == producer_id for each in found.active_producers)

    def produce(self, batch: bytes, deadline: float) -> LeaderAnswer:
        """Send an encoded batch to the leader, with acks from all in-sync replicas.

        Raises NotSentError or NoAnswerError.
        """
        leader = self._leader(deadline)
        waits_ms = min(SOCKET_TIMEOUT_MS, self._left_ms(deadline))
        if not waits_ms:
            raise NotSentError("no time is left")
        direct = self._direct.send(leader, batch, waits_ms)
        if direct is not None:
            return direct
        answer = leader.send_request(
            _produce_request(self._place, batch, waits_ms), request_timeout_ms=waits_ms
        )
        # The request's timeout closes the connection, so no late answer arrives.
        self._net.poll(timeout_ms=waits_ms + _GRACE_MS, future=answer)
        if not answer.is_done:
            leader.close()
            raise NoAnswerError("no answer in time")
        if isinstance(answer.exception, errors.NodeNotReadyError):
            raise NotSentError(str(answer.exception))
        if answer.exception is not None:
            raise NoAnswerError(str(answer.exception) or type(answer.exception).__name__)
        found = answer.value.responses[0].partition_responses[0]
        return LeaderAnswer(found.error_code, found.base_offset)

    def find_leader(self, deadline: float) -> None:
        """Look up the leader of the partition, after a short pause; errors are ignored."""
        self._clock.sleep(min(_AGAIN_S, self._left_ms(deadline) / 1000))
        try:
            self._run(self._cluster.refresh_metadata, deadline)
        except errors.KafkaError:
            return

    def close(self) -> None:
        """Close all connections; idempotent."""
        self._manager.close()
        self._net.close()

    def _init(self, current: Holder, deadline: float) -> Holder:
        if self._coordinator is None:
            self._coordinator = self._find_coordinator(deadline)
        request = InitProducerIdRequest(
            transactional_id=self._transactional_id,
            transaction_timeout_ms=_TRANSACTION_TIMEOUT_MS,
            producer_id=current.producer_id,
            producer_epoch=current.epoch,
            min_version=3,
            max_version=4,
        )
        response = self._ask(request, self._coordinator, deadline)
        _raise_for(response.error_code)
        if response.producer_id < 0 or response.producer_epoch < 0:
            # The broker would accept batches of producer id -1 without any fencing.
            raise ConnectionFailedError(
                f"the cluster assigned no producer id to {self._transactional_id!r}",
                hint="try again",
            )
        return Holder(response.producer_id, response.producer_epoch)

    def _find_coordinator(self, deadline: float) -> int:
        request = FindCoordinatorRequest(
            key_type=_TRANSACTION, coordinator_keys=[self._transactional_id], min_version=4
        )
        (found,) = self._ask(request, None, deadline).coordinators
        _raise_for(found.error_code)
        return int(found.node_id)

    def _ask(self, request: Any, node: int | None, deadline: float) -> Any:
        """Send a request to a node, or to any node, and return the answer."""
        return self._run(self._manager.send, deadline, request, node)

    def _run(self, call: Any, deadline: float, *arguments: Any) -> Any:
        """Run a call; raises KafkaTimeoutError, which is retriable, after the deadline."""
        asked = self._manager.call_soon(call, *arguments)
        self._net.poll(timeout_ms=self._left_ms(deadline), future=asked)
        if not asked.is_done:
            raise errors.KafkaTimeoutError("no answer in time")
        if asked.exception is not None:
            raise asked.exception
        return asked.value

    def _leader(self, deadline: float) -> Any:
        """A ready connection to the leader."""
        now = self._clock.monotonic()
        if now - self._polled_at > _UPKEEP_S:
            # The broker may have closed it meanwhile, and the library has timers of its own.
            self._net.poll(timeout_ms=0)
            self._polled_at = now
        try:
            found = self._manager.get_connection(self._cluster.leader_for_partition(self._place))
        except errors.KafkaError as error:
            raise NotSentError(f"cannot connect to the leader: {error}") from error
        if not found.connected:
            self._net.poll(timeout_ms=self._left_ms(deadline), future=found.init_future)
        if not found.connected:
            raise NotSentError(f"cannot connect to the leader: {found.init_future.exception}")
        return found

    def _raise_unless_another_try(self, error: Any, deadline: float) -> None:
        """Retry also for a broker that the client does not know yet."""
        hopeful = error.retriable or isinstance(error, errors.UnknownBrokerIdError)
        if not hopeful or not self._left_ms(deadline):
            raise self._failure(error) from error

    def _failure(self, error: Any) -> LastwordError:
        topic, partition = self._place
        return wire_failure(error, f"taking over {topic}, partition {partition}", self._servers)

    def _left_ms(self, deadline: float) -> int:
        return max(0, int((deadline - self._clock.monotonic()) * 1000))


def _produce_request(place: Any, batch: bytes, waits_ms: int) -> Any:
    data = ProduceRequest.TopicProduceData
    rows = data.PartitionProduceData(index=place.partition, records=batch)
    return ProduceRequest(
        transactional_id=None,
        acks=-1,
        timeout_ms=waits_ms,
        topic_data=[data(name=place.topic, partition_data=[rows])],
        min_version=3,
        max_version=9,  # like kafka-python's own producer; later versions use topic ids
    )


def _raise_for(code: int) -> None:
    if code:
        raise errors.for_code(code)()
