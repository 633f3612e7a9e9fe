"""A Java server starts, says when it is ready, explains its death, and ends on time.

The server is a real one and small: the gateway of Py4J, which is inside PySpark, listens on a
port of the loopback address.
"""

from __future__ import annotations

import importlib.util
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest

from lastword.errors import PortTakenError, ServerProcessError
from lastword.jvm.child_process import ServerKind
from lastword.jvm.java import Java, find_java
from lastword.jvm.java_server import SMALL_SERVER, JavaProgram, JavaServer, log_options
from lastword.jvm.ports import LOOPBACK, free_ports
from lastword.testing import wait_until

START_SECONDS = 180.0


class GatewayError(ServerProcessError):
    """What a user of JavaServer would declare for its own kind of server."""


GATEWAY = ServerKind("gateway", stop_command="gateway stop", error=GatewayError)


@pytest.fixture(scope="module")
def java() -> Java:
    return find_java(os.environ)


@pytest.fixture
def port() -> int:
    return free_ports(1)[0]


@pytest.fixture
def program(java: Java, port: int) -> JavaProgram:
    spec = importlib.util.find_spec("pyspark")
    assert spec is not None
    (folder,) = spec.submodule_search_locations or ()
    (jar,) = Path(folder, "jars").glob("py4j-*.jar")
    return JavaProgram(
        java, "py4j.GatewayServer", (jar,), options=SMALL_SERVER, arguments=(str(port),)
    )


@pytest.fixture
def server(tmp_path: Path, port: int) -> Iterator[JavaServer]:
    gateway = JavaServer(GATEWAY, tmp_path / "gateway", ports=[port], name="gateway 7")
    yield gateway
    gateway.kill()


def listens(port: int) -> bool:
    with suppress(OSError):
        socket.create_connection((LOOPBACK, port), timeout=180).close()
        return True
    return False


def test_a_server_is_ready_when_start_returns_and_gone_when_stop_does(
    server: JavaServer, program: JavaProgram, port: int
) -> None:
    server.start(program, lambda: listens(port), START_SECONDS)
    assert listens(port)
    assert server.pid is not None
    server.stop()
    assert server.pid is None
    assert not listens(port)


def test_a_server_that_was_killed_starts_again(
    server: JavaServer, program: JavaProgram, port: int
) -> None:
    server.start(program, lambda: listens(port), START_SECONDS)
    first = server.pid
    server.kill()
    server.start(program, lambda: listens(port), START_SECONDS)
    assert server.pid not in (None, first)


def test_a_second_server_in_the_directory_is_refused_with_the_holder_and_a_hint(
    server: JavaServer, program: JavaProgram, port: int, tmp_path: Path
) -> None:
    server.start(program, lambda: listens(port), START_SECONDS)
    second = JavaServer(GATEWAY, tmp_path / "gateway", ports=free_ports(1))
    with pytest.raises(GatewayError, match=f"a gateway runs .* .process {server.pid}") as caught:
        second.start(program, lambda: True, START_SECONDS)
    assert caught.value.hint == "Use that one, or stop it first: gateway stop"
    assert listens(port)


def test_a_taken_port_is_found_before_java_is_started(
    server: JavaServer, program: JavaProgram, port: int, tmp_path: Path
) -> None:
    with (
        socket.create_server((LOOPBACK, port)),
        pytest.raises(PortTakenError, match=f"port {port} is taken by process {os.getpid()}"),
    ):
        server.start(program, lambda: True, START_SECONDS)
    assert not (tmp_path / "gateway").exists()


def test_a_server_that_dies_says_what_it_printed_and_what_it_logged_in_this_run(
    program: JavaProgram, tmp_path: Path
) -> None:
    log_file = tmp_path / "server.log"
    log_file.write_text("an ERROR of an earlier run\n")
    server = JavaServer(GATEWAY, tmp_path / "gateway", ports=[], log_file=log_file)
    with pytest.raises(GatewayError, match=r"(?s)gateway died.*no\.such\.Main") as seen:
        server.start(replace(program, main="no.such.Main"), lambda: False, START_SECONDS)
    assert "an earlier run" not in str(seen.value)
    assert str(log_file) in (seen.value.hint or "")


def test_a_server_that_is_never_ready_is_killed_at_the_deadline(
    server: JavaServer, program: JavaProgram, port: int
) -> None:
    with pytest.raises(GatewayError, match=r"gateway 7 does not answer within 0\.1 seconds"):
        server.start(program, lambda: False, timeout=0.1)
    assert server.pid is None
    assert not listens(port)


def test_a_paused_server_answers_after_it_is_resumed(
    server: JavaServer, program: JavaProgram, port: int
) -> None:
    server.start(program, lambda: listens(port), START_SECONDS)
    server.pause()
    assert server.pid is not None
    server.resume()
    wait_until(lambda: listens(port), "the server to accept connections")
    server.stop()
    assert not listens(port)


def test_java_ends_when_the_process_that_started_it_is_killed(
    program: JavaProgram, port: int, tmp_path: Path
) -> None:
    script = f"""
import time
from pathlib import Path
from lastword.errors import ServerProcessError
from lastword.jvm.child_process import ServerKind
from lastword.jvm.java import Java
from lastword.jvm.java_server import JavaProgram, JavaServer
kind = ServerKind("gateway", "gateway stop", ServerProcessError)
program = JavaProgram(
    Java(Path({str(program.java.executable)!r}), 17, "PATH"), {program.main!r},
    (Path({str(program.class_path[0])!r}),), arguments={program.arguments!r},
)
JavaServer(kind, Path({str(tmp_path)!r}), ports=[{port}]).launch(program)
print("launched", flush=True)
time.sleep(600)
"""
    server = JavaServer(GATEWAY, tmp_path, ports=[port])
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE) as parent:
        assert parent.stdout is not None
        assert parent.stdout.readline() == b"launched\n"
        assert server.pid is not None
        parent.send_signal(signal.SIGKILL)
    wait_until(lambda: server.pid is None, "the end of the orphan")


def test_a_runnable_jar_has_no_class_path(java: Java) -> None:
    program = JavaProgram(java, Path("/opt/registry.jar"), options=("-Xmx1g",), arguments=("x",))
    assert program.command() == [
        *(str(java.executable), "-Xmx1g", "-jar", "/opt/registry.jar", "x"),
    ]


def test_a_program_with_log4j_gets_its_log_file(tmp_path: Path) -> None:
    configuration, log_file = log_options(tmp_path / "x.log")
    assert Path(configuration.partition("=")[2]).is_file()
    assert log_file == f"-Dlastword.log={tmp_path / 'x.log'}"
