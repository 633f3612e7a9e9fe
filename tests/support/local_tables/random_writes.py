"""Changes at random, and what a table must hold after them."""

from __future__ import annotations

import random
from collections.abc import Sequence

from lastword import Table


def write_at_random(
    table: Table,
    keys: Sequence[bytes],
    dice: random.Random,
    state: dict[bytes, bytes],
    *,
    times: int,
) -> None:
    """Put, or delete three times in ten; ``state`` follows."""
    for _ in range(times):
        key, value = dice.choice(keys), b"%d" % dice.randrange(10**6)
        if dice.random() < 0.3:
            table.delete(key)
            state.pop(key, None)
        else:
            table.put(key, value)
            state[key] = value
