"""Safe writes beside etcd: compare-and-set, a hot key, plain puts, and fail-over.

python benchmarks/writes.py                          everything, on embedded brokers of its own
python benchmarks/writes.py --quick                  a smoke test with small numbers
python benchmarks/writes.py --parts failover         kill -9 of owners, 20 times

Needs etcd and Go (Debian: etcd-server; go.dev has Go), which are looked for on PATH; --etcd names
another etcd. Both servers run with their defaults: etcd syncs its log to disk before it answers,
Kafka does not, so these rates do not buy the same durability against a loss of power.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

from arena import child, http_servers, report
from arena.cluster import cluster
from arena.failover import failover_seconds
from arena.programs import go_program
from arena.report import console, median

from lastword.kafka.admin import Admin
from lastword.kafka.connection import Connection
from lastword.topics.creation import create_topic

PARTS = ("cas", "hot", "puts", "failover")
ETCD, GATEWAY = "etcd, gRPC from Go", "etcd, HTTP from Go"
HTTP = "Lastword, HTTP from Go"
IN_PROCESS = {"threads": "Lastword, threads", "coroutines": "Lastword, coroutines"}
HOT_CLIENTS = 32

Measure = Callable[[str, int], dict[str, Any]]
"""(operation, clients) -> what was reached."""


def main() -> None:
    arguments = _arguments()
    program = ""
    if set(arguments.parts) - {"failover"}:
        http_servers.require(arguments.etcd, "go")
        program = str(go_program())
    figures: dict[str, Any] = {"seconds": arguments.seconds}
    for replication in arguments.replication:
        with cluster(arguments.bootstrap_servers, brokers=replication) as servers:
            found = figures[f"replication {replication}"] = {}
            for partitions in arguments.partitions if program else ():
                found[f"{partitions} partitions"] = beside_etcd(
                    arguments, program, servers, partitions, replication
                )
            if "failover" in arguments.parts and replication == 1:
                found["failover_s"] = failover(arguments, servers)
    report.save("writes", figures)


def beside_etcd(
    arguments: argparse.Namespace, program: str, servers: str, partitions: int, replication: int
) -> dict[str, Any]:
    """All parts but fail-over, everybody in turn."""
    where = f"{partitions} partitions, replication {replication}"
    local, served = (
        _topic(servers, partitions, replication),
        _topic(servers, partitions, replication),
    )
    found: dict[str, Any] = {}
    with ExitStack() as stack:
        etcd = stack.enter_context(http_servers.etcd(arguments.etcd))
        address, token = stack.enter_context(
            http_servers.lastword(servers, served, "memory", writes="owned")
        )

        def by_go(kind: str, at: str, path: str) -> Measure:
            def measure(operation: str, clients: int) -> dict[str, Any]:
                command = [program, f"{kind}-{operation}", at, path, token]
                return child.output([*command, str(clients), str(arguments.seconds)], who=kind)

            return measure

        def in_process(kind: str) -> Measure:
            def measure(operation: str, clients: int) -> dict[str, Any]:
                command = [sys.executable, "-m", "arena.run_writes", servers, local, kind]
                arguments_of_run = [operation, str(clients), str(arguments.seconds)]
                return child.output([*command, *arguments_of_run], who=IN_PROCESS[kind])

            return measure

        everybody: dict[str, Measure] = {
            ETCD: by_go("etcd", etcd, "-"),
            GATEWAY: by_go("gateway", etcd, "-"),
            IN_PROCESS["threads"]: in_process("threads"),
            IN_PROCESS["coroutines"]: in_process("coroutines"),
            HTTP: by_go("http", address, http_servers.MOUNT),
        }
        if "cas" in arguments.parts:
            for clients in arguments.clients:
                title = f"Compare-and-set, {clients} clients, {where}"
                found[f"cas {clients}"] = compare(arguments, everybody, title, "cas", clients)
        if "hot" in arguments.parts:
            title = f"One hot key, {HOT_CLIENTS} clients, {where}"
            found["hot"] = compare(arguments, everybody, title, "increment", HOT_CLIENTS)
        for operation in ("put", "batch") if "puts" in arguments.parts else ():
            title = f"Plain puts ({operation}), {HOT_CLIENTS} clients, {where}"
            if operation == "batch":  # a batch runs on a thread, whoever awaits it
                del everybody[IN_PROCESS["coroutines"]]
            found[operation] = compare(arguments, everybody, title, operation, HOT_CLIENTS)
    return found


def compare(
    arguments: argparse.Namespace,
    everybody: dict[str, Measure],
    title: str,
    operation: str,
    clients: int,
) -> dict[str, list[dict[str, Any]]]:
    """One operation, everybody in turn, in rounds."""
    rounds: dict[str, list[dict[str, Any]]] = {name: [] for name in everybody}
    for _ in range(arguments.rounds):
        for name, measure in everybody.items():
            rounds[name].append(measure(operation, clients))
    baseline = median(rounds[ETCD], "per_second")
    report.print_table(
        title,
        ("", "writes/s", "p50 ms", "p99 ms", "x etcd"),
        [
            (
                name,
                f"{median(answers, 'per_second'):,.0f}",
                f"{median(answers, 'p50_ms'):.2f}",
                f"{median(answers, 'p99_ms'):.2f}",
                f"{median(answers, 'per_second') / baseline:.2f}",
            )
            for name, answers in rounds.items()
        ],
    )
    return rounds


def failover(arguments: argparse.Namespace, servers: str) -> list[float]:
    """kill -9 of the owner, again and again."""
    seconds = failover_seconds(servers, _topic(servers, 1, 1), arguments.kills)
    ordered = sorted(seconds)
    console.print(
        f"kill -9 of the owner to the next accepted write, {len(seconds)} times: "
        f"p50 {ordered[len(ordered) // 2]:.2f} s, p99 {ordered[-1]:.2f} s (the slowest)"
    )
    return seconds


def _topic(servers: str, partitions: int, replication: int) -> str:
    topic = f"bench-writes-{time.time_ns()}"
    with Admin(Connection(bootstrap_servers=servers)) as admin:
        create_topic(admin, topic, partitions=partitions, replication=replication)
    return topic


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--bootstrap-servers", help="a broker to use instead of embedded ones")
    parser.add_argument("--etcd", default="etcd", help="the program to compare with")
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=list(PARTS))
    parser.add_argument("--clients", nargs="+", type=int, default=[1, 8, 32, 128])
    parser.add_argument("--partitions", nargs="+", type=int, default=[1, 4])
    parser.add_argument("--replication", nargs="+", type=int, default=[1, 3])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=5.0, help="of each measurement")
    parser.add_argument("--kills", type=int, default=20, help="of owners, for the fail-over")
    parser.add_argument("--quick", action="store_true", help="small numbers: does it work at all?")
    arguments = parser.parse_args()
    if arguments.quick:
        arguments.rounds, arguments.seconds, arguments.kills = 1, 1.0, 2
        arguments.clients, arguments.partitions, arguments.replication = [8], [1], [1]
    return arguments


if __name__ == "__main__":
    main()
