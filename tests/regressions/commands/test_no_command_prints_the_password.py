"""No command prints the cluster's password, at any verbosity.

With ``-vv``, kafka-python logged its settings and the bytes of the login, and so did Py4J for
Spark; the commands on Spark are in ``regressions/pipelines``.
"""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from lastword.cli.main import lastword as command_line
from lastword.testing.secure_broker import SecureBroker
from tests.broker.cli.conftest import Lastword
from tests.support.prepared_home import make_prepared_home
from tests.support.secret_search import environment_of, lines_with
from tests.support.served.up_process import Up

ON_SPARK = {"pipeline run", "pipeline rebuild", "pipeline prepare", "snapshot create"}
UNTIL_STOPPED = ("up", "serve")
# They would start a server, and print where it is.
LEFT_OUT = {"broker start", "connect start"}
RUNS = (
    "topic create {topic} --partitions 1",
    "topic list",
    "topic describe {topic}",
    "topic check {topic}",
    "topic alter {topic} --config max.message.bytes=2000000",
    "topic partition {topic} user-1",
    "topic compaction {topic} --why",
    "put {topic} user-1 1",
    "get {topic} user-1",
    "ls {topic}",
    "count {topic}",
    "watch {topic} --from beginning --limit 1",
    "log {topic}",
    "history {topic} user-1",
    "increment {topic} counter",
    "topic copy {topic} {topic}-wide --partitions 2 --once",
    "lock job -vv -- true",
    "cluster status",
    "cluster plan",
    "cluster drain nobody",
    "cluster rebalance --dry-run",
    "tables",
    "describe {topic}",
    "schema list",
    "schema show {topic}-value",
    "schema register {topic}-value no-such-file.avsc",
    "schema diff {topic}-value",
    "schema check {topic}",
    "schema rewrite {topic} --dry-run",
    "pipeline describe no_such_module:app",
    "delete {topic} user-1",
    "snapshot list {topic}",
    "snapshot show {topic}",
    "pipeline status",
    "pipeline jars",
    "estimate restore {topic}",
    "estimate compaction --topic-size 1GB --dirty-ratio 0.5 --throughput 1MB",
    "estimate bloom --items 10",
    "bench topics --records 10 --keys 2 --duration 0s --watch 0s",
    "token create somebody --scope read",
    "token list",
    "token revoke somebody",
    "state",
    "wipe {topic} --yes",
    "broker fetch",
    "broker status",
    "broker log",
    "broker stop",
    "cdc postgres postgresql://127.0.0.1:1/none --table {topic} --check",
    "cdc status",
    "cdc pause nothing",
    "cdc resume nothing",
    "cdc resync nothing",
    "cdc remove nothing --yes",
    "connect fetch",
    "connect status",
    "connect log",
    "connect stop",
    "completion bash",
    "topic delete {topic} --yes",
)


def every_command(group: click.Group, path: str = "") -> Iterator[str]:
    for name in group.list_commands(click.Context(group)):
        below = group.get_command(click.Context(group), name)
        if isinstance(below, click.Group):
            yield from every_command(below, f"{path}{name} ")
        else:
            yield f"{path}{name}"


def test_every_command_is_tried() -> None:
    tried = {
        name
        for name in every_command(command_line)
        for run in RUNS
        if f"{run} ".startswith(f"{name} ")
    }
    assert tried | ON_SPARK | LEFT_OUT | set(UNTIL_STOPPED) == set(every_command(command_line))


def test_commands_that_end(
    secure_broker: SecureBroker, prepared: Path, topic_name: str, tmp_path: Path
) -> None:
    home = make_prepared_home(tmp_path, prepared)
    secure = Lastword({**environment_of(secure_broker), "LASTWORD_HOME": str(home)})
    said = ""
    for run in RUNS:
        answer = secure(*run.format(topic=topic_name).split(), "-vv")
        ended = answer.exception is None or isinstance(answer.exception, SystemExit)
        assert ended, f"{run}: {answer.exception!r}\n{answer.output}"
        said += answer.output
    assert "kafka.net" in said, "kafka-python has something to say at INFO"
    assert lines_with(secure_broker.password, said) == []


@pytest.mark.parametrize("command", UNTIL_STOPPED)
def test_commands_that_run_until_they_are_stopped(
    secure_broker: SecureBroker, topic_name: str, tmp_path: Path, command: str
) -> None:
    environ = environment_of(secure_broker)
    (tmp_path / "lastword.toml").write_text(f"[tables.{topic_name}]")
    secure = Lastword({**environ, "LASTWORD_HOME": str(tmp_path)})
    secure.ok("topic", "create", topic_name)
    running = Up(tmp_path, "-vv", command=[command], **environ)
    try:
        running.next_with("url")
        status, logged = running.stop(signal.SIGINT)
    finally:
        running.close()
    assert status == 0
    assert " INFO kafka." in logged
    assert lines_with(secure_broker.password, logged + "".join(running.printed)) == []
