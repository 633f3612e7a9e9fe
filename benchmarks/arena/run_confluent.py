"""The contestant one writes by hand: ``Consumer.consume`` into a dict. Run in its own process."""

from __future__ import annotations

import argparse
import json
import time

from confluent_kafka import Consumer, KafkaException, TopicPartition

from arena.child import memory_bytes
from arena.dataset import sample_checksum, sample_keys

_BATCH = 2000
_STALL_S = 30


def main() -> None:
    arguments = _arguments()
    started = time.perf_counter()
    table = restore(
        arguments.topic,
        arguments.partitions,
        {
            "bootstrap.servers": arguments.bootstrap_servers,
            "group.id": "benchmark",
            **dict(setting.split("=", 1) for setting in arguments.settings),
        },
    )
    ready_s, ready_at = time.perf_counter() - started, time.time()
    checksum = sample_checksum(table.get(key) for key in sample_keys(arguments.keys_drawn))
    answer = {
        "ready_s": ready_s,
        "ready_at": ready_at,
        "peak_rss_bytes": memory_bytes("VmHWM"),
        "keys": len(table),
        "checksum": checksum,
    }
    print(json.dumps(answer))


def restore(topic: str, partitions: int, settings: dict[str, str]) -> dict[bytes, bytes]:
    """Read the topic to the end it has now."""
    consumer = Consumer(settings)
    places, ends = [], {}
    for partition in range(partitions):
        place = TopicPartition(topic, partition)
        low, high = consumer.get_watermark_offsets(place, timeout=_STALL_S)
        places.append(TopicPartition(topic, partition, low))
        if low < high:
            ends[partition] = high
    consumer.assign(places)
    table: dict[bytes, bytes] = {}
    heard = time.monotonic()
    while ends:
        messages = consumer.consume(_BATCH, 0.1)
        if messages:
            heard = time.monotonic()
        elif time.monotonic() - heard > _STALL_S:
            raise SystemExit(f"nothing arrived of {topic} for {_STALL_S} s")
        for message in messages:
            if error := message.error():
                raise KafkaException(error)
            table[message.key()] = message.value()
            if message.offset() + 1 == ends.get(message.partition()):
                del ends[message.partition()]
    consumer.close()
    return table


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("--topic", required=True)
    parser.add_argument("--partitions", type=int, required=True)
    parser.add_argument("--bootstrap-servers", required=True)
    parser.add_argument("--keys-drawn", type=int, required=True)
    parser.add_argument("--settings", nargs="*", default=[])
    return parser.parse_args()


if __name__ == "__main__":
    main()
