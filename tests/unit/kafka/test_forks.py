"""What a forked child does with the memory of its parent."""

from __future__ import annotations

import subprocess
import sys

FORKING = """
import gc, os
import lastword.kafka.forks

class Client:
    def __del__(self):
        os.write(1, f"freed in the {where}\\n".encode())

gc.disable()
client = Client()
client.itself = client
del client
child = os.fork()
where = "parent" if child else "child"
if child:
    os.waitpid(child, 0)
gc.collect()
os._exit(0)
"""

REPLACING = """
import os
from lastword.kafka.forks import track

class Client:
    def __del__(self):
        os.write(1, f"freed in the {where}\\n".encode())

class Holder:
    def __init__(self):
        try:
            self.connect(Client())
        except OSError as error:
            self.failure = error
        track(self)

    def connect(self, client):
        raise OSError

    def after_fork(self):
        self.failure = None

holder = Holder()
where = "child"
child = os.fork()
if child:
    where = "parent"
    os.waitpid(child, 0)
    holder.failure = None
os._exit(0)
"""


def test_a_client_that_the_parent_had_yet_to_free_is_not_freed_in_the_child() -> None:
    assert _printed(FORKING) == "freed in the parent\n"


def test_a_client_in_the_frames_of_an_error_is_not_freed_when_the_child_replaces_the_error() -> (
    None
):
    assert _printed(REPLACING) == "freed in the parent\n"


def _printed(program: str) -> str:
    command = [sys.executable, "-c", program]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=180, check=True)
    return ended.stdout
