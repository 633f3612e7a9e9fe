"""Takes the contestants in turn, several times, so that a busy moment hits all of them."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from typing import Any

from arena import child
from arena.contestants import Contestant
from arena.dataset import Expected
from arena.report import console

Results = dict[str, list[dict[str, Any]]]


def play(contestants: Sequence[Contestant], rounds: int, expected: Expected) -> Results:
    """A B C A B C: each in a fresh process without state, each answer checked."""
    results: Results = {contestant.name: [] for contestant in contestants}
    for number in range(1, rounds + 1):
        for contestant in contestants:
            answer = start_empty(contestant, expected)
            results[contestant.name].append(answer)
            console.print(
                f"  round {number}: {contestant.label:34s} ready after {answer['ready_s']:6.2f} s"
            )
    return results


def start_empty(contestant: Contestant, expected: Expected) -> dict[str, Any]:
    """One run that has nothing to go on but the topic."""
    if contestant.state_dir is not None:
        shutil.rmtree(contestant.state_dir, ignore_errors=True)
    answer = child.run(contestant.command, who=contestant.label)
    expected.check(contestant.label, answer)
    return answer


def start_again(contestant: Contestant, expected: Expected) -> dict[str, Any]:
    """One run that finds the state of the run before it."""
    answer = child.run(contestant.command, who=contestant.label)
    # How many records it read this time is not how many the topic has: only the table counts.
    expected.check(contestant.label, {name: answer[name] for name in ("keys", "checksum")})
    return answer
