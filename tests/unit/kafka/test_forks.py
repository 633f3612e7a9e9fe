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


def test_a_client_that_the_parent_had_yet_to_free_is_not_freed_in_the_child() -> None:
    command = [sys.executable, "-c", FORKING]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    assert ended.stdout == "freed in the parent\n"
