"""How many keys a table answers per second of CPU time, against Kafka Streams in the same run.

python benchmarks/reads.py              on an embedded broker of its own
python benchmarks/reads.py --quick      a smoke test with small numbers
"""

from __future__ import annotations

import argparse

from arena import contestants as who
from arena import report
from arena.cluster import cluster
from arena.dataset import Dataset, load
from arena.report import median_or_dash
from arena.rounds import Results, play


def main() -> None:
    arguments = _arguments()
    dataset = Dataset(arguments.records, arguments.keys)
    with cluster(arguments.bootstrap_servers) as servers:
        load(dataset, servers)
        everybody = [
            make(dataset, servers, store, reads=arguments.reads)
            for store in ("memory", "rocksdb")
            for make in (who.lastword, who.kafka_streams)
        ]
        results = play(everybody, arguments.rounds, dataset.expected)
    _print(dataset, {each.name: each.label for each in everybody}, results)
    report.save("reads", {"dataset": dataset.topic, "reads": arguments.reads, "rounds": results})


def _print(dataset: Dataset, labels: dict[str, str], results: Results) -> None:
    figures = ("gets_per_s", "multi_gets_per_s", "json_gets_per_s")
    rows = [
        [labels[name], *(median_or_dash(answers, figure, scale=1000) for figure in figures)]
        for name, answers in results.items()
    ]
    report.print_table(
        f"Thousands of random keys read per CPU second by one thread, of {dataset.expected.keys:,}",
        ["", "get", "get_many of 100", "get, JSON decoded"],
        rows,
    )


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--bootstrap-servers", help="a broker to use instead of an embedded one")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--quick", action="store_true", help="small numbers: does it work at all?")
    arguments = parser.parse_args()
    arguments.records, arguments.keys, arguments.reads = 2_000_000, 1_000_000, 200_000
    if arguments.quick:
        arguments.records, arguments.keys, arguments.reads = 40_000, 20_000, 2_000
        arguments.rounds = 1
    return arguments


if __name__ == "__main__":
    main()
