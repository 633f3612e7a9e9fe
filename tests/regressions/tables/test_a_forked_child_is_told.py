"""A forked child kept using the table of its parent: RUNNING, and never up to date again.

No thread survives a fork, so nothing follows the topic in the child. Reads answered with what had
been there at the fork, writes waited for their whole timeout, and closing the table, or ending
the process, waited for threads that were gone. The table raises an error now; clients are replaced.
"""

from __future__ import annotations

import subprocess
import sys

import pytest

from lastword.kafka.connection import Connection
from tests.support.local_tables.real_topic import RealTopic

# The child ends as multiprocessing ends its children. With the interpreter's own clean-up, RocksDB
# crashes without its threads, and a client may wait for a lock that a thread held at the fork.
FORKING = """
import faulthandler, os, sys
import lastword as lw
from lastword.errors import LastwordError
from lastword.writer.event_log import EventLog

servers, topic, store, state_dir = sys.argv[1:]
connection = lw.Connection(bootstrap_servers=servers)
admin, events = lw.Admin(connection), EventLog(topic + "-events", connection=connection)
events.create(partitions=1, replication=1)
events.append("parent", 1)
unopened = lw.Table(topic, connection=connection)

def say(what, do):
    try:
        print(what, do(), flush=True)
    except LastwordError as error:
        print(what, type(error).__name__, error, flush=True)

with lw.Table(topic, connection=connection, store=store, state_dir=state_dir) as table:
    table.put("a", 1)
    query, watch = table.query, table.watch()
    child = os.fork()
    if child:
        _, status = os.waitpid(child, 0)
        print("the child ended with", status)
        table.put("a", 3)
        say("parent get", lambda: table["a"])
        say("parent append", lambda: events.append("parent", 2))
    else:
        faulthandler.dump_traceback_later(100, exit=True)
        say("get", lambda: table["a"])
        say("query", lambda: query.get("a"))
        say("put", lambda: table.put("a", 2))
        say("watch", lambda: next(watch))
        say("state", lambda: table.state)
        say("partitions", lambda: admin.describe(topic).partitions)
        say("append", lambda: events.append("child", 1).offset)
        with unopened:
            say("opened here", lambda: unopened["a"])
        table.close()
        os._exit(0)
"""


@pytest.mark.parametrize("store", ["memory", "rocksdb"])
def test_its_table_refuses_and_everything_ends(
    connection: Connection, topic: RealTopic, store: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    state_dir = tmp_path_factory.mktemp("state")
    arguments = (connection.bootstrap_servers, topic.name, store, str(state_dir))

    done = subprocess.run(
        [sys.executable, "-c", FORKING, *arguments],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )

    lines = done.stdout.splitlines()
    assert done.returncode == 0, done.stderr
    told = "was opened before this process was forked"
    assert [line.split()[1] for line in lines[:3]] == ["TableClosedError"] * 3, done
    assert all(told in line for line in lines[:4]), lines
    assert lines[3].startswith("watch WatchLostError")
    assert lines[4:] == [
        "state ERROR",
        "partitions 1",
        "append 1",
        "opened here 1",
        "the child ended with 0",
        "parent get 3",
        "parent append 0:2",
    ], done.stderr
