"""The machine's clock, moved by a test: hours pass for a table while its broker sees none."""

from __future__ import annotations

from lastword.clock import SystemClock


class ShiftedClock(SystemClock):
    """Time runs as it does, ``shift_s`` ahead; ``set_back_s`` moves wall time alone."""

    def __init__(self) -> None:
        self.shift_s = 0.0
        self.set_back_s = 0.0

    def now_ms(self) -> int:
        return super().now_ms() + round((self.shift_s - self.set_back_s) * 1000)

    def monotonic(self) -> float:
        return super().monotonic() + self.shift_s
