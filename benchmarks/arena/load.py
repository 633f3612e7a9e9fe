"""Puts load on a server: wrk and redis-benchmark for requests, a thread for writes."""

from __future__ import annotations

import re
import subprocess
import threading
import time

from confluent_kafka import Producer

from arena.http_servers import KEYS, etcd_body, key_of, value_of
from arena.programs import BUILD

CONNECTIONS = 32
_ASKED_KEYS = 1_000
_UNITS = {"us": 1e-3, "ms": 1.0, "s": 1e3}


def wrk_get(address: str, path: str, seconds: int) -> dict[str, float]:
    """GET of keys in turn: requests per second, and latencies in milliseconds."""
    urls = ", ".join(f'"{path}/{key_of(n)}"' for n in _asked())
    return _wrk(address, f'wrk.method = "GET"\nlocal asked = {{{urls}}}\n', "asked[i]", seconds)


def wrk_page(address: str, path: str, seconds: int) -> dict[str, float]:
    """Pages of 100 keys, each from another key on."""
    urls = ", ".join(f'"{path}?limit=100&from={key_of(n)}"' for n in _asked())
    return _wrk(address, f'wrk.method = "GET"\nlocal asked = {{{urls}}}\n', "asked[i]", seconds)


def wrk_etcd(address: str, seconds: int) -> dict[str, float]:
    """The same keys from etcd's JSON gateway, which takes them as POST."""
    bodies = ", ".join(f"'{etcd_body(n)}'" for n in _asked())
    script = (
        'wrk.method = "POST"\nwrk.headers["Content-Type"] = "application/json"\n'
        f"local asked = {{{bodies}}}\n"
    )
    return _wrk(address, script, '"/v3/kv/range", nil, asked[i]', seconds)


def redis_get(port: int, seconds: int) -> dict[str, float]:
    """GET in Redis' own protocol, as redis-benchmark asks for it."""
    # It takes a number of requests instead of a time; Redis answers about a hundred thousand.
    command = ["redis-benchmark", "-p", str(port), "-c", str(CONNECTIONS), "-t", "get"]
    command += ["-n", str(80_000 * seconds), "-r", str(KEYS), "--csv"]
    lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    names, values = (line.replace('"', "").split(",") for line in lines[-2:])
    found = dict(zip(names, values, strict=True))
    return {
        "per_second": float(found["rps"]),
        "p50_ms": float(found["p50_latency_ms"]),
        "p99_ms": float(found["p99_latency_ms"]),
    }


class Writing:
    """Writes at a steady rate until the block ends, as a producer of its own would."""

    def __init__(self, bootstrap_servers: str, topic: str, per_second: int) -> None:
        self._producer = Producer(
            {
                "bootstrap.servers": bootstrap_servers,
                "partitioner": "murmur2_random",
                "linger.ms": 5,
            }
        )
        self._topic = topic
        self._per_second = per_second
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self._started = 0.0
        self.written = 0

    @property
    def rate(self) -> float:
        """Records per second that were written in fact."""
        return self.written / (time.monotonic() - self._started)

    def __enter__(self) -> Writing:
        self._started = time.monotonic()
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopping.set()
        self._thread.join()
        self._producer.flush(30)

    def _run(self) -> None:
        while not self._stopping.is_set():
            due = int((time.monotonic() - self._started) * self._per_second)
            for _ in range(min(due - self.written, self._per_second)):
                number = self.written % KEYS
                self._producer.produce(self._topic, value_of(number), key_of(number))
                self.written += 1
            self._producer.poll(0)
            self._stopping.wait(0.01)


def _asked() -> range:
    return range(0, KEYS, KEYS // _ASKED_KEYS)


def _wrk(address: str, script: str, formatted: str, seconds: int) -> dict[str, float]:
    lua = BUILD / "http" / "ask.lua"
    lua.write_text(
        f"{script}local i = 0\nlocal ready = {{}}\n"
        "init = function(args) for n = 1, #asked do i = n\n"
        f"  ready[n] = wrk.format(nil, {formatted}) end; i = 0 end\n"
        "request = function() i = i % #ready + 1; return ready[i] end\n"
    )
    command = ["wrk", "-t1", f"-c{CONNECTIONS}", f"-d{seconds}s", "--latency", "-s", str(lua)]
    finished = subprocess.run([*command, address], capture_output=True, text=True, check=True)
    text = finished.stdout
    if "Non-2xx" in text or "Socket errors" in text:
        raise SystemExit(f"{address} did not answer every request well:\n{text}")
    return {
        "per_second": float(_found(r"Requests/sec:\s+([\d.]+)", text)),
        "p50_ms": _milliseconds(_found(r"^ +50%\s+(\S+)", text)),
        "p99_ms": _milliseconds(_found(r"^ +99%\s+(\S+)", text)),
    }


def _found(pattern: str, text: str) -> str:
    match = re.search(pattern, text, re.MULTILINE)
    if match is None:
        raise SystemExit(f"wrk wrote something unexpected:\n{text}")
    return match[1]


def _milliseconds(text: str) -> float:
    number, unit = re.fullmatch(r"([\d.]+)(us|ms|s)", text).groups()  # type: ignore[union-attr]
    return float(number) * _UNITS[unit]
