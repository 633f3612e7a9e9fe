"""How far the log of one partition has been read and applied, and how far it has to be."""

from __future__ import annotations

from lastword.kafka.admin.offsets import LogEnd


class LogOffsets:
    """``position`` is what readers see; ``next_offset`` is the next offset to read.

    It runs ahead of the position while a restore gathers a large batch.

    ``target`` is the captured end that a restore has to reach. Written by the thread that applies,
    read from any.
    """

    def __init__(self) -> None:
        self.start = 0
        self.position = 0
        self.next_offset = 0
        self.target = 0
        self.leader_epoch = -1
        self._gap_end = 0

    def begin(self, offset: int, leader_epoch: int, target: int) -> None:
        """Reading begins at ``offset`` and has reached the captured end at ``target``."""
        self.start = self.position = self.next_offset = offset
        self.leader_epoch, self.target, self._gap_end = leader_epoch, target, 0

    def read(self, offset: int, leader_epoch: int = -1) -> None:
        """The log was read up to ``offset``."""
        self.next_offset = max(self.next_offset, offset)
        self.leader_epoch = max(self.leader_epoch, leader_epoch)

    def applied(self) -> None:
        """Everything that was read is in the store."""
        self.position = self.next_offset

    def ended(self, end: int) -> None:
        """The log ends at ``end`` now.

        A high watermark falls only if the log lost its tail; lost records cannot be read.
        """
        self.target = min(self.target, end)

    def end_in_gap(self) -> None:
        """Nothing is left before the captured end: the last offsets of the log are empty.

        The position stays at the last offset that was read. If that is wrong, later records are
        still applied, and a restart still begins before them.
        """
        self._gap_end = self.target

    @property
    def read_up_to(self) -> int:
        """The offset up to which every record has been read, or there is none."""
        return max(self.next_offset, self._gap_end)

    @property
    def finished(self) -> bool:
        """Whether everything below the captured end has been read."""
        return self.read_up_to >= self.target

    @property
    def unread(self) -> int:
        """The offsets between what was read and the captured end."""
        return max(0, self.target - self.next_offset)

    @property
    def place(self) -> LogEnd:
        """The offset at which reading can continue."""
        return LogEnd(self.next_offset, self.leader_epoch)
