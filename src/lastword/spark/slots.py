"""The task slots of a Spark session, divided among the jobs that hold them for long.

A long task keeps its slot until it ends. A job that takes more slots than its share starves the
other jobs of the session, and a job with more tasks than slots starves its own.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from lastword.clock import SYSTEM_CLOCK, Clock
from lastword.errors import ConfigError

if TYPE_CHECKING:
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

_LOOK_S = 0.2
_APPEAR_S = 180.0


class Slots:
    """The slots of one session; everybody who uses a session is in the process of its driver.

    ``count`` returns how many tasks can run at once: it changes as executors come and go.
    ``appear_s`` is how long to wait for the executors of a cluster at the start.
    """

    def __init__(
        self, count: Callable[[], int], *, appear_s: float, clock: Clock = SYSTEM_CLOCK
    ) -> None:
        self._count = count
        self._appear_s = appear_s
        self._clock = clock
        self._lock = threading.Lock()
        self._users = 0

    @property
    def share(self) -> int:
        """The slots for one user; at least 1, since Spark queues a task that finds no slot."""
        with self._lock:
            users = max(1, self._users)
        return max(1, self._count() // users)

    @contextmanager
    def used_by(self, users: int) -> Iterator[None]:
        """Divide the slots among this many more users until the end."""
        with self._lock:
            self._users += users
        try:
            yield
        finally:
            with self._lock:
                self._users -= users

    def require(self, stop: threading.Event) -> None:
        """Wait until there is a slot for each user, or ``stop`` is set.

        Raises ConfigError if there are still too few when all executors should have started.
        """
        deadline = self._clock.monotonic() + self._appear_s
        while (found := self._count()) < self._users and not stop.is_set():
            if self._clock.monotonic() >= deadline:
                raise ConfigError(
                    f"this Spark session has {found} task slots, but {self._users} are needed: "
                    "in real-time mode, one for each part of each pipeline",
                    hint=f"--master local[{self._users}], or more cores for the application",
                )
            stop.wait(_LOOK_S)


_known: WeakKeyDictionary[SparkContext, Slots] = WeakKeyDictionary()
_lock = threading.Lock()


def slots_of(spark: SparkSession) -> Slots:
    """The slots of a session; the same object each time."""
    from lastword.spark.network import is_local  # noqa: PLC0415 - imports PySpark

    context = spark.sparkContext
    with _lock:
        if context not in _known:
            appear_s = 0.0 if is_local(context.master) else _APPEAR_S
            _known[context] = Slots(_counter(context), appear_s=appear_s)
        return _known[context]


def _counter(context: Any) -> Callable[[], int]:
    """Counts the slots of the executors that are there now.

    ``defaultParallelism`` is not that: it is at least 2 on a cluster, and the user can set it.
    """
    java = context._jsc.sc()
    profile = java.resourceProfileManager().defaultResourceProfile()
    return lambda: int(java.maxNumConcurrentTasks(profile))
