"""A stream of changes to a fixed set of keys, the same for each topic."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from random import Random

from lastword.errors import ConfigError
from lastword.records import Write

_SEED = 5
_DELETED_SHARE = 0.05
_BATCH_RECORDS = 2_000


@dataclass(frozen=True)
class ChangeStream:
    """``records`` changes of ``keys`` keys, one in twenty a delete; each run has the same."""

    records: int
    keys: int
    value_bytes: int

    def __post_init__(self) -> None:
        if self.records < 1 or self.keys < 1 or self.value_bytes < 1:
            raise ConfigError("a stream has at least one record, one key and one byte a value")

    def batches(self) -> Iterator[list[Write]]:
        """The stream in pieces, in order."""
        dice = Random(_SEED)  # noqa: S311 - not for secrets
        for first in range(0, self.records, _BATCH_RECORDS):
            size = min(_BATCH_RECORDS, self.records - first)
            yield [self._change(dice) for _ in range(size)]

    def live_keys(self) -> int:
        """How many keys have a value at the end."""
        live = set[bytes]()
        for batch in self.batches():
            for record in batch:
                (live.discard if record.value is None else live.add)(record.key)
        return len(live)

    def _change(self, dice: Random) -> Write:
        key = b"key-%d" % dice.randrange(self.keys)
        # Random bytes: nothing that compression could make small.
        value = dice.randbytes(self.value_bytes)
        return Write(key, None if dice.random() < _DELETED_SHARE else value)
