"""A random workload on a captured table, while parts of the capture are killed."""

from __future__ import annotations

import logging
import random
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field

from lastword.broker.embedded import EmbeddedBroker
from lastword.cdc.postgres.capture import Capture
from lastword.connect_worker.worker import EmbeddedWorker
from lastword.kafka.admin import Admin
from lastword.testing.waiting import wait_until
from tests.support.captures.cdc_lab import WAIT_S, Lab
from tests.support.captures.cdc_workload import LONG_KEYS, Workload
from tests.support.captures.mirror_process import MirrorProcess
from tests.support.captures.mirror_reader import MirrorReader
from tests.support.captures.postgres import Postgres
from tests.support.captures.row_differences import differences_of

log = logging.getLogger(__name__)

MODES = ("micro-batch", "real-time")
UNANSWERED = "lastword.errors.ConnectionFailedError:"
RESYNCS = 0.3
"""How often a new snapshot begins shortly before a kill, from the second round on."""
PARTS = ("driver", "postgres", "worker")
"""Killed one soon after the other. The broker is killed alone: all of them need it."""


@dataclass
class Killing:
    """Kills parts, each time after the table has moved on."""

    lab: Lab
    capture: Capture
    workload: Workload
    driver: MirrorProcess
    reader: MirrorReader
    chance: random.Random
    kills: Counter[str] = field(default_factory=Counter)
    resyncs: int = 0
    driver_starts: Counter[str] = field(default_factory=Counter)
    worker_starts: bool = False
    broker_was_killed: bool = False
    broker_was_away: bool = False

    def rounds(self, count: int) -> Iterator[list[str]]:
        """So many kills: all parts in a random order, before or after the broker; and again."""
        while count > 0:
            groups = [self.chance.sample(PARTS, len(PARTS)), ["broker"]]
            for group in self.chance.sample(groups, 2):
                if together := group[:count]:
                    yield together
                count -= len(together)

    def kill(self, victims: list[str]) -> None:
        """At random moments of the workload, while the table follows it.

        The next one is killed while the one before it starts again.
        """
        self._wait_for_progress()
        within = 60
        if self.kills and self.chance.random() < RESYNCS:
            with Admin(self.lab.connection) as admin:
                self.capture.resync(admin)
            self.resyncs += 1
            within = 12
        with ThreadPoolExecutor(len(victims)) as pool:
            starts: list[Future[None]] = []
            for victim in victims:
                # The workload goes slowly while nobody reads what it has done.
                self._wait_for_steps(self.chance.randint(1, 6 if starts else within))
                self.kills[victim] += 1
                log.info("kill -9 of the %s after %d steps", victim, self.workload.steps)
                starts.append(self._killed(victim, pool))
            for started in starts:
                started.result()
        self.worker_starts = False
        log.info("all parts run again after %d kills", self.kills.total())

    def _killed(self, victim: str, pool: ThreadPoolExecutor) -> Future[None]:
        """Gives what ends when it was started again."""
        if victim == "driver":
            self.driver.kill()
            self._start_driver()
            return pool.submit(lambda: None)
        if victim == "broker":
            self.broker_was_killed = self.broker_was_away = True
        self.worker_starts = self.worker_starts or victim == "worker"
        part = self._part(victim)
        part.kill()
        return pool.submit(part.start)

    def _part(self, victim: str) -> Postgres | EmbeddedWorker | EmbeddedBroker:
        if victim == "postgres":
            return self.lab.postgres
        return self.lab.worker if victim == "worker" else self.lab.broker

    def _wait_for_steps(self, count: int) -> None:
        later = self.workload.steps + count

        def has_gone_on() -> bool:
            self._look()
            return self.workload.steps >= later

        wait_until(has_gone_on, "the workload goes on", timeout=WAIT_S)

    def _wait_for_progress(self) -> None:
        """What is written after this moment arrives in the table."""
        before = max(self.reader.last_n, self.workload.last_n)

        def arrived() -> bool:
            self._look()
            return self.reader.last_n > before

        wait_until(arrived, "the table follows the database", timeout=WAIT_S)
        log.info("the table follows the database")

    def finish(self) -> None:
        """The table equals SELECT *, row by row and type by type.

        First with the columns that each row had when it changed, then with the current ones.
        """
        self.workload.stop()
        self._compare(self.workload.settled_n)
        self.workload.rewrite()
        self._compare(0)
        log.info("%s; %d new snapshots", dict(self.kills), self.resyncs)
        log.info("%d steps: %s", self.workload.steps, dict(self.workload.kinds))
        log.info(
            "%d records of %d versions in order, %d rows equal, drivers started: %s",
            *(self.reader.records, self.reader.last_n, len(self.reader.rows)),
            dict(self.driver_starts),
        )

    def _compare(self, settled_n: int) -> None:
        wanted = self.workload.table.selected()

        def differences() -> list[str]:
            self._look()
            return list(differences_of(self.reader.rows, wanted, settled_n))

        try:
            wait_until(
                lambda: not differences(), "the table equals SELECT *", timeout=WAIT_S, every=0.2
            )
        except AssertionError as error:
            raise AssertionError("\n".join(differences())) from error

    def _look(self) -> None:
        """A driver that cannot reach its group for six seconds gives up, and is started again.

        So does one that was started while the broker was still starting. A task whose transaction
        timed out while the broker was away fails, and is resumed.
        """
        ended = self.driver.ended()
        if ended is not None:
            errors = [line for line in ended.splitlines() if line.startswith("lastword.errors.")]
            unanswered = bool(errors) and errors[-1].startswith(UNANSWERED)
            assert self.broker_was_killed or (self.broker_was_away and unanswered), ended
            self._start_driver()
        failure = None if self.worker_starts else self.capture.failure()
        if failure is not None:
            assert self.broker_was_away, failure
            self.capture.resume()
        self.reader.read()
        self.workload.followed = self.reader.last_n

    def _start_driver(self) -> None:
        self.broker_was_killed = False
        mode = self.chance.choice(MODES)
        self.driver_starts[mode] += 1
        self.driver.start(mode)


@contextmanager
def killing_lab(lab: Lab, name: str, seed: int) -> Iterator[Killing]:
    """Everything runs, and nothing was killed yet."""
    chance = random.Random(seed)
    transactions = chance.choice(("last", "ordered"))
    workload = Workload(lab.postgres, name, chance.randrange(1 << 32))
    overtaken = frozenset(map(workload.table.key_of, LONG_KEYS))
    capture = lab.start_capture(name)
    driver = MirrorProcess(lab.connection, capture.table, lab.directory, lab.home, transactions)
    driver.create_topics()
    reader = MirrorReader(lab.connection, name, overtaken, ordered=transactions == "ordered")
    driver.start(chance.choice(MODES))
    try:
        with workload.running():
            yield Killing(lab, capture, workload, driver, reader, chance)
    finally:
        driver.kill()
        reader.close()
