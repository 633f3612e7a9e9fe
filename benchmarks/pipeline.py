"""How fast pipelines are, and how soon a result is there: beside Kafka Streams in the same run.

python benchmarks/pipeline.py            everything, on an embedded broker of its own
python benchmarks/pipeline.py --quick    a smoke test with small numbers
python benchmarks/pipeline.py --parts throughput --kinds count --bootstrap-servers localhost:9092
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import sys
import time
from typing import Any

from arena import child, report
from arena.cluster import cluster
from arena.events import KINDS, WINDOW_MS, Events, check
from arena.latency import latency
from arena.programs import BUILD, java_program
from arena.report import console

from lastword.durations import milliseconds

PARTS = ("throughput", "latency")
STATE = BUILD / "pipelines"
# Larger polls and fetches than its defaults, which make Kafka Streams faster.
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
            console.print(f"  {kind:11s} {who:9s} {shown}")
    shutil.rmtree(STATE, ignore_errors=True)
    _print_throughput(events, figures)
    return {"records": events.records, "keys": events.keys, "figures": figures}


def _contestants(events: Events, kind: str, servers: str, rounds: int) -> dict[str, list[str]]:
    settings = [f"{name}={value}" for name, value in STREAMS.items()]
    return {
        "streams": [
            *java_program("Pipelines"),
            *(kind, events.topic, str(STATE), _application(events, "streams", kind)),
            *(str(events.records), str(rounds), str(WINDOW_MS)),
            *(f"bootstrap.servers={servers}", "auto.offset.reset=earliest", *settings),
        ],
        "lastword": [
            *(sys.executable, "-m", "arena.run_pipeline", "--bootstrap-servers", servers),
            *("--topic", events.topic, "--kind", kind, "--state-dir", str(STATE)),
            *("--application-id", _application(events, "lastword", kind)),
            *("--rounds", str(rounds)),
        ],
    }


def _application(events: Events, who: str, kind: str) -> str:
    return f"{who}-{kind}-{events.topic}"


def _print_throughput(events: Events, figures: dict[str, Any]) -> None:
    rows = []
    for kind, answers in figures.items():
        cold = {who: events.records / answer["rounds"][0] for who, answer in answers.items()}
        warm = {
            who: events.records / statistics.median(answer["rounds"][1:])
            for who, answer in answers.items()
        }
        rows += [
            [
                f"{kind}, {when}",
                f"{rates['lastword'] / 1000:,.0f}",
                f"{rates['streams'] / 1000:,.0f}",
                f"{rates['lastword'] / rates['streams']:.2f}",
            ]
            for when, rates in (("cold", cold), ("warm", warm))
        ]
    title = f"Pipelines over {events.records:,} events, {events.keys:,} keys, thousand records/s"
    report.print_table(title, ["", "Lastword", "Kafka Streams", "x"], rows)


def latencies(arguments: argparse.Namespace, servers: str) -> dict[str, Any]:
    """From the event to its result in the changelog, at a steady rate."""
    figures: dict[str, Any] = {}
    rows = []
    runs = [("micro-batch", interval) for interval in arguments.intervals]
    runs += [("real-time", interval) for interval in arguments.real_time_intervals]
    for mode, interval in runs:
        interval_s = milliseconds(interval, what="an interval") // 1000
        found = latency(
            servers,
            state_dir=STATE,
            mode=mode,
            commit_interval=interval,
            rate=arguments.rate,
            seconds=max(arguments.seconds, 3 * interval_s),
            tag=str(int(time.time())),
        )
        shutil.rmtree(STATE, ignore_errors=True)
        figures[f"{mode} {interval}"] = found
        shown = [f"{found[name]:,.0f}" for name in ("p50_ms", "p99_ms", "max_ms")]
        rows.append([f"{mode}, {interval}", *shown, f"{found['events']:,}"])
    title = f"From event to changelog at {arguments.rate:,} events/s, milliseconds"
    report.print_table(title, ["mode, commit interval", "p50", "p99", "max", "events"], rows)
    return figures


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--bootstrap-servers", help="a broker to use instead of an embedded one")
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=list(PARTS))
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=list(KINDS))
    parser.add_argument("--intervals", nargs="+", default=["0s", "1s", "10s"])
    parser.add_argument("--real-time-intervals", nargs="*", default=["100ms", "50ms"])
    parser.add_argument("--rounds", type=int, default=4, help="the first of them is the cold one")
    parser.add_argument("--keys", type=int, default=1_000_000, help="how many the events are over")
    parser.add_argument("--quick", action="store_true", help="small numbers: does it work at all?")
    arguments = parser.parse_args()
    arguments.records = 2_000_000
    arguments.rate, arguments.seconds = 10_000, 30
    if arguments.quick:
        arguments.records, arguments.keys, arguments.rounds = 100_000, 5_000, 2
        arguments.rate, arguments.seconds, arguments.intervals = 1_000, 5, ["0s", "1s"]
    return arguments


if __name__ == "__main__":
    main()
