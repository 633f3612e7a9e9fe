"""A table that instances share: routed reads, three instances, fail-over beside Kafka Streams.

python benchmarks/cluster.py             on an embedded broker of its own
python benchmarks/cluster.py --quick     a smoke test with small numbers
"""

from __future__ import annotations

import argparse
import random
import statistics
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import contextmanager
from multiprocessing import get_context
from typing import Any

from arena import report, standby_streams
from arena.cluster import cluster
from arena.shared_services import SharedService, wait_until_shared

import lastword as lw
from lastword.errors import LastwordError
from lastword.kafka.admin import Admin
from lastword.kafka.connection import Connection
from lastword.keyspace import Keyspace
from lastword.topics.creation import create_topic

PARTITIONS = 6
KEYS = 10_000
CLIENTS = 4
GIVE_UP_S = 120.0
VALUE = {"note": "x" * 90}
PLACES = Keyspace(PARTITIONS)
Found = dict[str, Any]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--bootstrap-servers", help="a broker to use instead of an embedded one")
    parser.add_argument("--kills", type=int, default=10, help="how often an owner is killed")
    parser.add_argument("--quick", action="store_true", help="small numbers: does it work at all?")
    arguments = parser.parse_args()
    reads, kills = (500, 1) if arguments.quick else (20_000, arguments.kills)
    found: Found = {"reads": reads}
    with cluster(arguments.bootstrap_servers) as servers:
        with instances(servers, _topic(servers, "one"), "a") as alone:
            found["one"] = throughput(alone, reads)
        with instances(servers, _topic(servers, "three"), "abc") as services:
            found["three"] = throughput(services, reads)
            found["hop"] = hop(services, reads)
            found["failover"] = [failover(services) for _ in range(kills)]
        found["streams"] = [streams_failover(servers) for _ in range(kills)]
    _show(found)
    report.save("cluster", found)


@contextmanager
def instances(servers: str, topic: str, names: str) -> Iterator[list[SharedService]]:
    """Instances that share the topic, with KEYS keys in it."""
    services: list[SharedService] = []
    try:
        services.extend(SharedService(servers, topic, name) for name in names)
        wait_until_shared(services)
        with lw.connect(services[0].url, token=services[0].token) as table:
            table.put_many((_key(number), VALUE) for number in range(KEYS))
        wait_until_shared(services)
        yield services
    finally:
        for service in services:
            service.kill()


def hop(services: list[SharedService], reads: int) -> dict[str, float]:
    """One read at a time through one instance: of keys that it owns, and of others' keys.

    The two take turns, so that a busy moment of the machine affects both.
    """
    owners = wait_until_shared(services)
    here = services[0]
    took: dict[bool, list[float]] = {True: [], False: []}
    dice = random.Random(1)
    with lw.connect(here.url, token=here.token) as table:
        while min(map(len, took.values())) < reads // 2:
            key = _key(dice.randrange(KEYS))
            started = time.perf_counter()
            value = table.get(key)
            seconds = time.perf_counter() - started
            if value != VALUE:
                raise SystemExit(f"a wrong answer for {key}: {value}")
            took[owners[PLACES.partition_of(key.encode())] == here.name].append(seconds)
    local, routed = (1000 * statistics.median(took[where]) for where in (True, False))
    return {"local_p50_ms": local, "routed_p50_ms": routed, "ratio": routed / local}


def throughput(services: list[SharedService], reads: int) -> float:
    """Reads per second of CLIENTS processes, each with one of the instances in turn."""
    with ProcessPoolExecutor(CLIENTS, mp_context=get_context("spawn")) as clients:
        list(clients.map(_nothing, range(CLIENTS)))  # so that no start of a process is measured
        chosen = [services[number % len(services)] for number in range(CLIENTS)]
        began = time.perf_counter()
        done = clients.map(
            _read_many,
            [each.url for each in chosen],
            [each.token for each in chosen],
            [reads // CLIENTS] * CLIENTS,
        )
        return sum(done) / (time.perf_counter() - began)


def failover(services: list[SharedService]) -> dict[str, float]:
    """Kill the owner of a partition; the seconds to the next read and write through another.

    Starts it again afterwards.
    """
    owners = wait_until_shared(services)
    partition = random.randrange(PARTITIONS)
    key = _key_in(partition)
    victim = next(each for each in services if each.name == owners[partition])
    other = next(each for each in services if each is not victim)
    with (
        lw.connect(other.url, token=other.token) as reader,
        lw.connect(other.url, token=other.token) as writer,
        ThreadPoolExecutor(2) as threads,
    ):
        reader.get(key)
        writer.get(key)
        victim.kill()
        killed_at = time.perf_counter()
        read = threads.submit(_first_success, lambda: reader.get(key), killed_at)
        written = threads.submit(_first_success, lambda: writer.put(key, VALUE), killed_at)
        seconds = {"read_s": read.result(), "write_s": written.result()}
    victim.start()
    return seconds


def streams_failover(servers: str) -> dict[str, float]:
    """The same for one of two instances of Kafka Streams, with a topic of its own."""
    topic = _topic(servers, "streams")
    keys = [_key_in(partition) for partition in range(PARTITIONS)]
    with lw.Table(topic, bootstrap_servers=servers, value="string") as table:
        table.put_many((key, "once") for key in keys)
    return standby_streams.failover(servers, topic, PARTITIONS, keys)


def _first_success(attempt: Callable[[], object], since: float) -> float:
    while time.perf_counter() - since < GIVE_UP_S:
        try:
            attempt()
        except LastwordError:
            time.sleep(0.005)
        else:
            return time.perf_counter() - since
    raise SystemExit(f"nothing succeeded within {GIVE_UP_S:.0f} s of the kill")


def _read_many(url: str, token: str, reads: int) -> int:
    dice = random.Random(url)
    with lw.connect(url, token=token) as table:
        for _ in range(reads):
            if table.get(_key(dice.randrange(KEYS))) != VALUE:
                raise RuntimeError(f"a wrong answer from {url}")
    return reads


def _nothing(number: int) -> int:
    return number


def _key(number: int) -> str:
    return f"user-{number:05d}"


def _key_in(partition: int) -> str:
    return next(k for k in map(_key, range(KEYS)) if PLACES.partition_of(k.encode()) == partition)


def _topic(servers: str, name: str) -> str:
    topic = f"bench-cluster-{name}-{int(time.time())}"
    with Admin(Connection(bootstrap_servers=servers)) as admin:
        create_topic(admin, topic, partitions=PARTITIONS)
    return topic


def _show(found: Found) -> None:
    hops, kills, streams = found["hop"], found["failover"], found["streams"]
    report.print_table(
        f"A table of {KEYS:,} keys that instances share, {found['reads']:,} reads",
        ("", "figure"),
        [
            ("local GET, p50", f"{hops['local_p50_ms']:.2f} ms"),
            ("routed GET, p50", f"{hops['routed_p50_ms']:.2f} ms"),
            ("routed / local", f"{hops['ratio']:.2f}"),
            ("reads/s, one instance", f"{found['one']:,.0f}"),
            ("reads/s, three instances", f"{found['three']:,.0f}"),
            ("kill -9 to the next read", f"{report.median(kills, 'read_s'):.2f} s"),
            ("  all of them", f"{report.spread(kills, 'read_s')} s"),
            ("kill -9 to the next write", f"{report.median(kills, 'write_s'):.2f} s"),
            ("  all of them", f"{report.spread(kills, 'write_s')} s"),
            ("Kafka Streams: query of a standby", f"{report.median(streams, 'any_s'):.2f} s"),
            ("Kafka Streams: query of the owner", f"{report.median(streams, 'owner_s'):.2f} s"),
            ("Kafka Streams: processed record", f"{report.median(streams, 'counted_s'):.2f} s"),
        ],
    )


if __name__ == "__main__":
    main()
