"""Handles Kafka clients, and objects that hold one, in a forked child.

A fork copies the memory of a process, but none of its other threads. Those of librdkafka and
RocksDB are missing in the child: nothing is read or sent there any more, and freeing a client would
wait for them forever, or crash. So a holder of a client is notified in the child, and makes a new
client or raises an error. What it referred to, and what the parent had yet to free, is never freed
in the child.
"""

from __future__ import annotations

import ctypes
import gc
import os
from typing import Protocol
from weakref import WeakSet


class ForkAware(Protocol):
    """Something that must be notified in a forked child."""

    def after_fork(self) -> None:
        """Called in the child, before anything else, while no other thread exists.

        Locks may be held by threads that are gone: replace them, and take none. An attribute may
        be replaced: its value is not freed.
        """


_TRACKED: WeakSet[ForkAware] = WeakSet()


def track(holder: ForkAware) -> None:
    """Have ``holder.after_fork`` called in each child of this process, as long as it lives."""
    _TRACKED.add(holder)


def _never_free(thing: object) -> None:
    """Keep ``thing`` until the process ends, and through its end."""
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(thing))


def _tell_the_child() -> None:
    gc.freeze()  # it frees nothing that was there before the fork
    for holder in list(_TRACKED):
        # All of it: an error that it keeps, for one, refers to the frames that had its clients.
        _never_free(dict(vars(holder)))
        holder.after_fork()


os.register_at_fork(after_in_child=_tell_the_child)
