"""The servers that answer over HTTP or their own protocol: Lastword, etcd and Redis."""

from __future__ import annotations

import base64
import json
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from arena.programs import BUILD
from lastword.jvm.ports import free_ports
from lastword.service import TokenFile

MOUNT = "/users"
KEYS = 10_000
_START_S = 60.0
# What to install on Debian for each program.
_PACKAGES = {
    "wrk": "wrk",
    "etcd": "etcd-server",
    "go": "golang-go",
    "redis-server": "redis-server",
    "redis-benchmark": "redis-tools",
}


def require(*programs: str) -> None:
    """Stop with the names of what is missing and how to get it."""
    missing = [program for program in programs if shutil.which(program) is None]
    if missing:
        packages = " ".join(_PACKAGES.get(program, program) for program in missing)
        raise SystemExit(
            f"not on PATH: {', '.join(missing)} (Debian: apt install --no-install-recommends "
            f"{packages})"
        )


def key_of(number: int) -> str:
    """The key of a record."""
    return f"user-{number:05d}"


def value_of(number: int) -> str:
    """Some hundred bytes of JSON."""
    return json.dumps({"name": f"Name {number}", "age": number % 90, "note": "x" * 60})


@contextmanager
def lastword(
    bootstrap_servers: str, topic: str, store: str, *, writes: str = "direct"
) -> Iterator[tuple[str, str]]:
    """``lastword serve`` with its default limits; yields its address and a token for writes."""
    directory = _fresh("lastword")
    port = free_ports(1)[0]
    (directory / "lastword.toml").write_text(
        f'[connection]\nbootstrap_servers = "{bootstrap_servers}"\n'
        f'[service]\nport = {port}\n[tables.users]\ntopic = "{topic}"\n'
        f'mount = "{MOUNT}"\nstore = "{store}"\nwrites = "{writes}"\n'
    )
    token = TokenFile(directory / "service" / "tokens.json").create("bench", {"*": "admin"})
    command = [str(Path(sys.executable).with_name("lastword")), "serve"]
    address = f"http://127.0.0.1:{port}"
    with _running(command, directory, {"LASTWORD_HOME": str(directory)}):
        _await_ready(f"{address}/ready")
        yield address, token


@contextmanager
def etcd(program: str = "etcd") -> Iterator[str]:
    """One etcd with KEYS keys; yields its address."""
    directory = _fresh("etcd")
    client, peer = free_ports(2)
    address = f"http://127.0.0.1:{client}"
    command = [program, "--data-dir", str(directory / "data"), "--log-level", "error"]
    command += ["--listen-client-urls", address, "--advertise-client-urls", address]
    command += ["--listen-peer-urls", f"http://127.0.0.1:{peer}"]
    command += ["--initial-advertise-peer-urls", f"http://127.0.0.1:{peer}"]
    command += ["--initial-cluster", f"default=http://127.0.0.1:{peer}"]
    with _running(command, directory):
        _await_ready(f"{address}/health")
        for first in range(0, KEYS, 100):
            puts = [
                {"requestPut": {"key": _base64(key_of(n)), "value": _base64(value_of(n))}}
                for n in range(first, first + 100)
            ]
            post(f"{address}/v3/kv/txn", {"success": puts})
        yield address


@contextmanager
def redis() -> Iterator[int]:
    """One Redis with KEYS keys, without persistence; yields its port."""
    directory = _fresh("redis")
    port = free_ports(1)[0]
    command = ["redis-server", "--port", str(port), "--bind", "127.0.0.1", "--save", ""]
    with _running(command, directory):
        deadline = time.monotonic() + _START_S
        while not _redis_is_filled(port):
            if time.monotonic() > deadline:
                raise SystemExit("redis-server does not answer")
            time.sleep(0.05)
        yield port


def post(url: str, body: object) -> None:
    """A JSON request whose answer does not matter."""
    request = urllib.request.Request(  # noqa: S310 - our own server
        url, json.dumps(body).encode(), {"Content-Type": "application/json"}
    )
    with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=30):
        pass


def etcd_body(number: int) -> str:
    """What asks etcd's gateway for a key."""
    return json.dumps({"key": _base64(key_of(number))})


def _redis_is_filled(port: int) -> bool:
    try:
        with socket.create_connection(("127.0.0.1", port), 5) as connection:
            pairs = "".join(f"SET {key_of(n)} {'x' * 100}\r\n" for n in range(KEYS))
            connection.sendall(pairs.encode() + b"QUIT\r\n")
            answered = b""
            while part := connection.recv(1 << 16):
                answered += part
    except OSError:
        return False
    return answered.count(b"+OK") == KEYS + 1


def _base64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def _fresh(name: str) -> Path:
    directory = BUILD / "http" / name
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir(parents=True)
    return directory


@contextmanager
def _running(
    command: Sequence[str], directory: Path, environment: dict[str, str] | None = None
) -> Iterator[None]:
    with (directory / "output.txt").open("wb") as output:
        process = subprocess.Popen(
            command,
            cwd=directory,
            env=os.environ | (environment or {}),
            stdout=output,
            stderr=output,
        )
        try:
            yield
        finally:
            process.terminate()
            process.wait(30)


def _await_ready(url: str) -> None:
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    deadline = time.monotonic() + _START_S
    while True:
        try:
            opener.open(url, timeout=5).close()
            return
        except OSError:  # refused, or 503: not yet
            if time.monotonic() > deadline:
                raise SystemExit(f"{url} is not ready after {_START_S:.0f} s") from None
            time.sleep(0.05)
