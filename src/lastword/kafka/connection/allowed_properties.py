"""Which further settings a connection may have for librdkafka: a list, not a list of exceptions.

Such settings come from a file. Some of librdkafka's load a library into this process
(``plugin.library.paths``) or read a file of their choice, and a new version may add more. Others
would contradict Lastword's own settings, such as where a reader begins.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable

from lastword.errors import ConfigError

_ALLOWED = frozenset(
    """
    client.id client.rack client.dns.lookup broker.address.family broker.address.ttl
    metadata.max.age.ms topic.metadata.refresh.interval.ms
    topic.metadata.refresh.fast.interval.ms topic.metadata.propagation.max.ms
    metadata.recovery.strategy metadata.recovery.rebootstrap.trigger.ms
    connections.max.idle.ms reconnect.backoff.ms reconnect.backoff.max.ms
    retry.backoff.ms retry.backoff.max.ms request.timeout.ms
    socket.timeout.ms socket.connection.setup.timeout.ms socket.keepalive.enable
    socket.nagle.disable socket.send.buffer.bytes socket.receive.buffer.bytes socket.max.fails
    max.in.flight max.in.flight.requests.per.connection
    message.max.bytes receive.message.max.bytes fetch.wait.max.ms fetch.queue.backoff.ms
    fetch.error.backoff.ms fetch.min.bytes fetch.max.bytes fetch.message.max.bytes
    max.partition.fetch.bytes queued.min.messages queued.max.messages.kbytes check.crcs
    linger.ms queue.buffering.max.ms queue.buffering.max.messages queue.buffering.max.kbytes
    batch.size batch.num.messages compression.type compression.codec compression.level
    message.timeout.ms delivery.timeout.ms transaction.timeout.ms
    session.timeout.ms heartbeat.interval.ms max.poll.interval.ms
    enable.metrics.push statistics.interval.ms log_level log.connection.close debug
    """.split()  # noqa: SIM905 - read as a list of names
)


def check_properties(names: Iterable[str]) -> None:
    """Raise ConfigError for the first that is not on the list."""
    for name in names:
        if name in ("bootstrap.servers", "metadata.broker.list") or name.startswith(
            ("ssl.", "sasl.", "security.")
        ):
            raise ConfigError(
                f"the property {name} contradicts the connection's own settings",
                hint="use the connection's field for it",
            )
        if name not in _ALLOWED:
            nearest = difflib.get_close_matches(name, _ALLOWED, n=1, cutoff=0.8)
            raise ConfigError(
                f"the property {name} is not allowed in a connection",
                hint=f"did you mean {nearest[0]}?"
                if nearest
                else "those that tune the network, batches and memory are; none that loads code, "
                "reads files or decides what is read and written",
            )
