"""How fast pipelines are, and how soon a result is there: beside Kafka Streams in the same run.

python benchmarks/pipeline.py            everything, on an embedded broker of its own
python benchmarks/pipeline.py --quick    a smoke test with small numbers
python benchmarks/pipeline.py --parts throughput --kinds count --bootstrap-servers localhost:9092
"""

from __future__ import annotations

import argparse
import functools
import shutil
import statistics
import sys
from typing import Any

from arena import child, report
from arena.cluster import cluster
from arena.events import KINDS, WINDOW_MS, Events, check
from arena.latency import Follower, latency
from arena.programs import BUILD, java_program
from arena.report import console

PARTS = ("throughput", "latency")
WHO = ("streams", "streams-eos", "micro-batch", "real-time")
STATE = BUILD / "pipelines"
# Larger polls and fetches than its defaults, which make Kafka Streams faster.
EXACTLY_ONCE = {"processing.guarantee": "exactly_once_v2"}
STREAMS = {"max.poll.records": "10000", "consumer.max.partition.fetch.bytes": str(4 << 20)}


def main() -> None:
    arguments = _arguments()
    figures: dict[str, Any] = {}
    with cluster(arguments.bootstrap_servers) as servers:
        if "throughput" in arguments.parts:
            figures["throughput"] = throughput(arguments, servers)
        if "latency" in arguments.parts:
            figures["latency"] = latencies(arguments, servers)
    report.save("pipeline", figures)


def throughput(arguments: argparse.Namespace, servers: str) -> dict[str, Any]:
    """Everybody processes the same topic, several times; the first time is the cold one."""
    events = Events(arguments.records, arguments.keys)
    console.print(f"loading {events.records:,} events into {events.topic}")
    events.load(servers)
    figures: dict[str, Any] = {}
    for kind in arguments.kinds:
        expected = events.expected(kind)
        for who, command in _contestants(events, kind, servers, arguments.rounds).items():
            shutil.rmtree(STATE, ignore_errors=True)
            answer = child.run(command, who=f"{who} {kind}")
            for number in range(arguments.rounds):
                changelog = f"{_application(events, who, kind)}-{number}-result-changelog"
                check(servers, changelog, kind, expected, who)
            figures.setdefault(kind, {})[who] = answer
            shown = ", ".join(f"{events.records / s:,.0f}/s" for s in answer["rounds"])
            console.print(f"  {kind:11s} {who:11s} {shown}")
    shutil.rmtree(STATE, ignore_errors=True)
    _print_throughput(events, figures)
    return {"records": events.records, "keys": events.keys, "figures": figures}


def _contestants(events: Events, kind: str, servers: str, rounds: int) -> dict[str, list[str]]:
    streams = functools.partial(
        _streams, servers, kind, events.topic, records=events.records, rounds=rounds
    )
    ours = functools.partial(_lastword, servers, kind, events.topic)
    once = ["--rounds", str(rounds)]
    names = {who: _application(events, who, kind) for who in WHO}
    return {
        "streams": streams(names["streams"], **STREAMS),
        "streams-eos": streams(names["streams-eos"], **STREAMS, **EXACTLY_ONCE),
        "micro-batch": [*ours(names["micro-batch"], "micro-batch"), *once],
        "real-time": [*ours(names["real-time"], "real-time"), *once],
    }


def _streams(
    servers: str,
    kind: str,
    topic: str,
    application: str,
    *,
    records: int = 0,
    rounds: int = 0,
    **more: str,
) -> list[str]:
    settings = {"bootstrap.servers": servers, "auto.offset.reset": "earliest", **more}
    return [
        *java_program("Pipelines"),
        *(kind, topic, str(STATE), application, str(records), str(rounds), str(WINDOW_MS)),
        *(f"{name}={value}" for name, value in settings.items()),
    ]


def _lastword(servers: str, kind: str, topic: str, application: str, mode: str) -> list[str]:
    return [
        *(sys.executable, "-m", "arena.run_pipeline", "--bootstrap-servers", servers),
        *("--topic", topic, "--kind", kind, "--state-dir", str(STATE)),
        *("--application-id", application, "--mode", mode),
    ]


def _application(events: Events, who: str, kind: str) -> str:
    return f"{who}-{kind}-{events.topic}"


def _print_throughput(events: Events, figures: dict[str, Any]) -> None:
    """Rates, each with its ratio to both kinds of Kafka Streams; then what the rounds used."""
    rows = []
    for kind, answers in figures.items():
        cold = {who: events.records / answer["rounds"][0] for who, answer in answers.items()}
        warm = {
            who: events.records / statistics.median(answer["rounds"][1:])
            for who, answer in answers.items()
        }
        for when, rates in (("cold", cold), ("warm", warm)):
            ours = [
                f"{rates[who] / 1000:,.0f} ({rates[who] / rates['streams']:.2f}x, "
                f"{rates[who] / rates['streams-eos']:.2f}x)"
                for who in ("micro-batch", "real-time")
            ]
            theirs = [f"{rates[who] / 1000:,.0f}" for who in ("streams", "streams-eos")]
            rows.append([f"{kind}, {when}", *theirs, *ours])
        used = [answers[who].get("tree_cpu_s", answers[who]["cpu_s"]) for who in WHO]
        rows.append([f"{kind}, CPU seconds", *(f"{seconds:,.0f}" for seconds in used)])
    title = f"Pipelines over {events.records:,} events, {events.keys:,} keys, thousand records/s"
    report.print_table(title, ["", *WHO], rows)


def latencies(arguments: argparse.Namespace, servers: str) -> dict[str, Any]:
    """From the event to its result in the changelog, at steady rates."""
    figures: dict[str, Any] = {}
    rows = []
    for rate in arguments.rates:
        for name, follower in _followers(arguments, servers).items():
            found = latency(servers, follower, name=name, rate=rate, seconds=arguments.seconds)
            shutil.rmtree(STATE, ignore_errors=True)
            figures[f"{name} {rate}"] = found
            shown = [f"{found[each]:,.0f}" for each in ("p50_ms", "p99_ms", "max_ms")]
            rows.append([f"{rate:,}/s", name, *shown, f"{found['cores']:.2f}"])
            console.print("  ".join(rows[-1]))
    title = "From event to changelog, milliseconds"
    report.print_table(
        title, ["events", "mode, commit interval", "p50", "p99", "max", "cores"], rows
    )
    return figures


def _followers(arguments: argparse.Namespace, servers: str) -> dict[str, Follower]:
    def ours(mode: str, interval: str) -> Follower:
        more = ["--follow", "--commit-interval", interval]
        return lambda topic, app: [*_lastword(servers, "count", topic, app, mode), *more]

    settings = EXACTLY_ONCE | {"commit.interval.ms": "100"}
    runs = [("micro-batch", interval) for interval in arguments.intervals]
    runs += [("real-time", interval) for interval in arguments.real_time_intervals]
    return {f"{mode}-{interval}": ours(mode, interval) for mode, interval in runs} | {
        "streams-eos-100ms": lambda topic, app: _streams(servers, "count", topic, app, **settings)
    }


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--bootstrap-servers", help="a broker to use instead of an embedded one")
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=list(PARTS))
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=list(KINDS))
    parser.add_argument("--intervals", nargs="+", default=["0s"])
    parser.add_argument("--real-time-intervals", nargs="*", default=["100ms", "50ms"])
    parser.add_argument("--rates", nargs="+", type=int, default=[1_000, 10_000])
    parser.add_argument("--seconds", type=int, default=30, help="of each latency, once it is warm")
    parser.add_argument("--records", type=int, default=2_000_000)
    parser.add_argument("--rounds", type=int, default=4, help="the first of them is the cold one")
    parser.add_argument("--keys", type=int, default=1_000_000, help="how many the events are over")
    parser.add_argument("--quick", action="store_true", help="small numbers: does it work at all?")
    arguments = parser.parse_args()
    if arguments.quick:
        arguments.records, arguments.keys, arguments.rounds = 100_000, 5_000, 2
        arguments.rates, arguments.seconds = [1_000], 5
    return arguments


if __name__ == "__main__":
    main()
