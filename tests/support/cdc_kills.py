"""A random workload on a captured table, while parts of the capture are killed."""

from __future__ import annotations

import logging
import random
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from lastword.cdc.postgres.capture import Capture
from lastword.testing.waiting import wait_until
from tests.support.cdc_lab import WAIT_S, Lab
from tests.support.cdc_workload import Workload
from tests.support.mirror_process import MirrorProcess
from tests.support.mirror_reader import MirrorReader

log = logging.getLogger(__name__)

MODES = ("micro-batch", "real-time")
UNANSWERED = "lastword.errors.ConnectionFailedError:"
VICTIMS = ("driver", "postgres", "worker", "broker")


@dataclass
class Killing:
    """Kills one part after the other, each time after the table has moved on."""

    lab: Lab
    capture: Capture
    workload: Workload
    driver: MirrorProcess
    reader: MirrorReader
    chance: random.Random
    broker_was_killed: bool = False
    broker_was_away: bool = False

    def victims(self, count: int) -> Iterator[str]:
        """Each part once before any of them again, in a random order."""
        for number in range(count):
            if number % len(VICTIMS) == 0:
                order = self.chance.sample(VICTIMS, len(VICTIMS))
            yield order[number % len(VICTIMS)]

    def kill(self, victim: str) -> None:
        """At a random moment of the workload, while the table follows it."""
        self._wait_for_progress()
        later = self.workload.steps + self.chance.randint(1, 60)

        def has_gone_on() -> bool:
            self._look()
            return self.workload.steps >= later

        wait_until(has_gone_on, "the workload goes on", timeout=WAIT_S)
        log.info("kill -9 of the %s after %d steps", victim, self.workload.steps)
        if victim == "driver":
            self.driver.kill()
            self._start_driver()
            return
        if victim == "broker":
            self.broker_was_killed = self.broker_was_away = True
        part = {"postgres": self.lab.postgres, "worker": self.lab.worker}.get(
            victim, self.lab.broker
        )
        part.kill()
        part.start()

    def _wait_for_progress(self) -> None:
        """What is written after this moment arrives in the table."""
        before = max(self.reader.last_n, self.workload.last_n)

        def arrived() -> bool:
            self._look()
            return self.reader.last_n > before

        wait_until(arrived, "the table follows the database", timeout=WAIT_S)

    def finish(self) -> None:
        """The table equals SELECT *, row by row and type by type."""
        self.workload.stop()
        wanted = self.workload.selected()

        def equal() -> bool:
            self._look()
            return repr(sorted(self.reader.rows.items())) == repr(sorted(wanted.items()))

        wait_until(equal, "the table equals SELECT *", timeout=WAIT_S, every=0.2)

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
        failure = self.capture.failure()
        if failure is not None:
            assert self.broker_was_away, failure
            self.capture.resume()
        self.reader.read()
        self.workload.followed = self.reader.last_n

    def _start_driver(self) -> None:
        self.broker_was_killed = False
        self.driver.start(self.chance.choice(MODES))


@contextmanager
def killing_lab(lab: Lab, name: str, seed: int) -> Iterator[Killing]:
    """Everything runs, and nothing was killed yet."""
    chance = random.Random(seed)
    transactions = chance.choice(("last", "ordered"))
    workload = Workload(lab.postgres, name, chance.randrange(1 << 32))
    with lab.captured(name) as capture:
        driver = MirrorProcess(lab.connection, capture.table, lab.directory, lab.home, transactions)
        driver.create_topics()
        reader = MirrorReader(lab.connection, name, ordered=transactions == "ordered")
        driver.start(chance.choice(MODES))
        try:
            with workload.running():
                yield Killing(lab, capture, workload, driver, reader, chance)
        finally:
            driver.kill()
            reader.close()
