"""Starts one Java process and, unless it is to outlive its parent, ends it with its parent.

Run as a script of its own between the parent and Java:

    python -I -S launcher.py PARENT LOCK_FD PID_FILE CONSOLE java ...

PARENT is the process id to live with, or 0 for a server that stays when its starter leaves. A
parent that was killed cannot clean up; this script notices that it has a new parent (on Linux and
macOS alike) and stops Java. Linux's parent-death signal would be shorter, but it fires when the
*thread* that started the child ends, and macOS has none.

It imports nothing of Lastword: it starts in milliseconds and stays small.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time

_POLL_SECONDS = 0.25
_STOP_SECONDS = 10.0


def main(arguments: list[str]) -> int:
    """Start Java, write its process id, and wait for it if it has a parent to end with."""
    parent, lock_fd, pid_file, console, *command = arguments
    os.umask(0o077)  # a broker's files hold the records of all topics, for one
    with open(console, "wb") as output:  # noqa: PTH123 - pathlib would double the start-up time
        # The lock on the server's directory goes to Java and to nobody else: it is held for
        # exactly as long as Java lives, however Java ends.
        java = subprocess.Popen(  # noqa: S603 - the command comes from JavaProgram
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            pass_fds=(int(lock_fd),),
        )
    os.close(int(lock_fd))
    with open(pid_file + ".new", "w") as file:  # noqa: PTH123 - as above
        file.write(str(java.pid))
    os.replace(pid_file + ".new", pid_file)  # noqa: PTH105 - as above
    os.write(1, f"{java.pid}\n".encode())
    os.close(1)
    if parent == "0":
        java.returncode = 0  # left to itself on purpose: no warning about a running child
        return 0
    threading.Thread(target=_end_with_parent, args=(int(parent), java), daemon=True).start()
    return java.wait()


def _end_with_parent(parent: int, java: subprocess.Popen[bytes]) -> None:
    while os.getppid() == parent:
        time.sleep(_POLL_SECONDS)
    java.terminate()
    java.send_signal(signal.SIGCONT)  # a paused process would sleep through the first signal
    time.sleep(_STOP_SECONDS)  # this script is gone as soon as Java is
    java.kill()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
