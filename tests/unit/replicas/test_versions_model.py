"""Random logs, cleaned and read at random: a past value is that of a full log, or it is refused."""

from __future__ import annotations

from collections import Counter
from random import Random

from lastword.column_batch import ColumnBatch
from lastword.keyspace import Keyspace
from lastword.replicas.apply.record_filter import RecordFilter
from lastword.replicas.partition_follower import PartitionFollower
from lastword.replicas.versions.past_coverage import NotCovered, version_at
from lastword.replicas.versions.version_recorder import KeptVersions
from lastword.replicas.versions.versions import VersionCut, VersionLimit, decode_past
from lastword.rows import decode_row
from lastword.stores.versioned import VersionedStore
from lastword.testing.fake_clock import FakeClock
from tests.support.local_tables.offline_topic import KeepingStore, OfflineTopic

KEYS = [b"a", b"b", b"c"]
WORLDS, STEPS = 400, 30
KEEPS = [VersionLimit(2), VersionLimit(100), VersionLimit(100, 3_000)]

Write = tuple[bytes, bytes | None, int]
"""Key, value and timestamp."""

answers: Counter[str] = Counter()


class World:
    """``log`` is every write there was; ``left`` are the offsets that the cleaner spared."""

    def __init__(self, dice: Random) -> None:
        self.dice = dice
        self.keep, self.lag_ms = dice.choice(KEEPS), dice.choice([0, 2_000])
        self.clock = FakeClock()
        self.store = VersionedStore(KeepingStore())
        self.topic = OfflineTopic(self.clock, store=self.store)  # type: ignore[arg-type]
        self.log: list[Write] = []
        self.left: list[int] = []
        self.asked = self.topic.topic_state
        self.restart()

    def step(self) -> None:
        actions = {self.write: 6, self.wait: 3, self.clean: 4, self.read_some: 6}
        actions |= {self.observe: 3, self.ask: 3, self.hear: 3, self.change_the_lag: 2}
        actions |= {self.restart: 1, self.lose_the_store: 1, self.expire: 2}
        (action,) = self.dice.choices(list(actions), list(actions.values()))
        action()

    def restart(self) -> None:
        recorder = KeptVersions(self.store, RecordFilter(Keyspace(1)), self.keep, self.clock)
        self.past_builder = recorder.past_builder
        self.follower = PartitionFollower(
            0, self.store, RecordFilter(Keyspace(1)), self.clock, recorder
        )
        topic_state = self.topic.state(len(self.log), compaction_lag_ms=self.lag_ms)
        self.at = self.follower.begin(topic_state).offset
        self.read(self.dice.randint(0, 9), gather=True)
        for action in self.dice.choices([self.observe, self.follower.commit, self.write], k=3):
            action()
        self.read(len(self.log), gather=True)
        self.follower.go_live()

    def lose_the_store(self) -> None:
        self.store.clear()
        self.restart()

    def write(self) -> None:
        """Puts and deletes, some of them with a timestamp that is late."""
        for _ in range(self.dice.randint(1, 5)):
            key, value = self.dice.choice(KEYS), self.dice.choice([None, b"1", b"2", b"3"])
            self.left.append(len(self.log))
            self.log.append((key, value, self.clock.now_ms() - self.dice.choice([0, 9, 400])))
            self.clock.advance(seconds=0.001)

    def wait(self) -> None:
        self.clock.advance(seconds=self.dice.choice([0.001, 0.5, 2.0, 5.0, 90_000.0]))

    def clean(self) -> None:
        """As Kafka does: what a later record of the key has replaced, where it may."""
        bound = len(self.log)
        for offset in self.left:
            if self.lag_ms and self.log[offset][2] > self.clock.now_ms() - self.lag_ms:
                bound = offset
                break
        bound = int(bound * self.dice.choice([0.3, 0.6, 1.0]))
        last = {self.log[offset][0]: offset for offset in self.left if offset < bound}
        self.left = [o for o in self.left if o >= bound or last[self.log[o][0]] == o]

    def read_some(self) -> None:
        self.read(self.dice.randint(1, 4))

    def read(self, most: int, *, gather: bool = False) -> None:
        ahead = [offset for offset in self.left if offset >= self.at]
        taken, rest = ahead[:most], ahead[most:]
        if taken:
            keys, values, timestamps = zip(*(self.log[o] for o in taken), strict=True)
            self.at = taken[-1] + 1
            batch = ColumnBatch(
                partition=0,
                keys=keys,
                values=values,
                offsets=taken,
                timestamps=timestamps,
                headers=[None] * len(taken),
                next_offset=self.at,
            )
            self.follower.accept(batch, gather=gather)
        if not rest:
            self.at = len(self.log)
            self.follower.advance(self.at)

    def observe(self) -> None:
        self.follower.on_topic_state(self.topic.state(len(self.log)))

    def change_the_lag(self) -> None:
        """And have it seen: a table cannot know of settings that come and go between looks."""
        self.lag_ms = self.dice.choice([0, 2_000])
        self.asked = self.topic.state(len(self.log), compaction_lag_ms=self.lag_ms)
        self.hear()

    def ask(self) -> None:
        """A look at the topic that is heard of later, when more was read."""
        self.asked = self.topic.state(len(self.log))

    def hear(self) -> None:
        self.follower.on_topic_state(self.asked)

    def expire(self) -> None:
        self.follower.refresh_checkpoint()

    def check(self) -> None:
        """Ask for every key at every offset read, and around every timestamp once all is read."""
        states: list[dict[bytes, bytes | None]] = [{}]
        for key, value, _ in self.log:
            states.append(states[-1] | {key: value})
        cuts = [(VersionCut(below=at), at) for at in range(self.follower.position + 1)]
        if self.at == len(self.log):
            times = {write[2] + more for write in self.log for more in (-1, 0, 1)}
            for time_ms in times | {self.clock.now_ms()}:
                later = (o for o, write in enumerate(self.log) if write[2] > time_ms)
                cuts.append((VersionCut(until_ms=time_ms), next(later, len(self.log))))
        for key, (row, past) in zip(KEYS, self.store.versions(KEYS), strict=True):
            for cut, at in cuts:
                answer = version_at(cut, self.past_builder.coverage, row, decode_past(past))
                if isinstance(answer, NotCovered):
                    answers["refused"] += 1
                    continue
                answers["given"] += 1
                found = answer and answer.row and decode_row(answer.row).value
                assert found == states[at].get(key), (key, cut)


def test_a_past_value_is_exact_or_refused() -> None:
    for seed in range(WORLDS):
        world = World(Random(seed))
        for _ in range(STEPS):
            world.step()
            try:
                world.check()
            except AssertionError as error:
                raise AssertionError(f"world {seed}") from error
    assert answers["given"] > 10_000 and answers["refused"] > 10_000
