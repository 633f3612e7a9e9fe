"""Where a client sends the requests of a partitioned table: to the owner of the key, if it can.

The client learns the owners from the service that it was connected to, and from nobody else. It
sends its token to an owner only if that is as safe as sending it to that service.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, replace

import msgspec

from lastword.client.http.address import Address
from lastword.client.http.messages import HttpRequest, HttpResponse, with_query
from lastword.clock import Clock
from lastword.keyspace import Keyspace
from lastword.records import Version

REFRESH_S = 1.0
"""The least time between two questions for the owners; doubled after each without an answer."""
AVOID_S = 1.0
"""How long an owner that did not answer is not asked; doubled each time it fails again."""
_LONGEST_S = 60.0
_HOSTS_MAX = 256


class Owners(msgspec.Struct):
    """The owners of a table's partitions, as the service tells them."""

    plan: int | None
    services: list[str | None]


@dataclass(slots=True)
class _Silence:
    """Until when an owner is avoided, and for how long if it fails again."""

    until: float
    pause_s: float


class PlanRoutes:
    """What a client knows of the owners of one table. Safe to use from any thread.

    Without a plan every request goes to the address that the client was given.
    """

    def __init__(self, base: Address, table: str, clock: Clock) -> None:
        self._base, self._clock = base, clock
        self.question = HttpRequest("GET", f"/tables/{table}/owners")
        self._lock = threading.Lock()
        self._plan: bytes | None = None
        self._outdated = False
        self._due_at, self._pause_s = 0.0, REFRESH_S
        self._owners: list[Address | None] = []
        self._silent: dict[Address, _Silence] = {}
        self._written: dict[int, int] = {}

    # -- the plan --------------------------------------------------------------------------

    def claim_refresh(self) -> bool:
        """Whether the caller is to ask for the owners now; true for one caller at a time."""
        if not self._outdated:
            return False
        with self._lock:
            now = self._clock.monotonic()
            if not self._outdated or now < self._due_at:
                return False
            self._due_at = now + self._pause_s
            return True

    def take(self, answer: HttpResponse) -> None:
        """Take the owners from the answer to ``question``, given by the service itself."""
        if answer.status != 200:
            self.not_told()
            return
        try:
            owners = msgspec.json.decode(answer.body, type=Owners)
        except msgspec.MsgspecError:
            self.not_told()
            return
        known: dict[str, Address | None] = {}
        for url in owners.services:
            if url is not None and url not in known and len(known) < _HOSTS_MAX:
                known[url] = self._base.sibling(url)
        with self._lock:
            self._owners = [known.get(url or "") for url in owners.services]
            self._plan = None if owners.plan is None else b"%d" % owners.plan
            self._outdated, self._pause_s = False, REFRESH_S

    def not_told(self) -> None:
        """The service did not say; ask again later."""
        with self._lock:
            self._pause_s = min(_LONGEST_S, 2 * self._pause_s)

    def heard(self, answer: HttpResponse) -> None:
        """Compare the plan that an answer names with the one known here."""
        plan = answer.headers.get(b"lastword-plan")
        if plan is not None and plan != self._plan:
            self._outdated = True

    # -- where to send ---------------------------------------------------------------------

    def owner_of(self, request: HttpRequest) -> Address | None:
        """The owner of the request's key; None to send it where the client was connected to."""
        owners = self._owners
        if request.key is None or not owners:
            return None
        owner = owners[Keyspace(len(owners)).partition_of(request.key)]
        if owner is None or owner.origin == self._base.origin:
            return None
        silence = self._silent.get(owner)
        return owner if silence is None or self._clock.monotonic() >= silence.until else None

    def answered(self, owner: Address) -> None:
        """The owner has answered."""
        self._silent.pop(owner, None)

    def failed(self, owner: Address) -> None:
        """The owner did not answer, or refused: avoid it for a while, and ask who it is now."""
        with self._lock:
            before = self._silent.get(owner)
            pause_s = AVOID_S if before is None else min(_LONGEST_S, 2 * before.pause_s)
            if before is None and len(self._silent) >= _HOSTS_MAX:
                self._silent.clear()
            self._silent[owner] = _Silence(self._clock.monotonic() + pause_s, pause_s)
        self._outdated = True

    # -- what was written ------------------------------------------------------------------

    def wrote(self, version: Version) -> None:
        """Have later reads reflect a write, wherever they are answered."""
        with self._lock:
            if version.offset >= self._written.get(version.partition, 0):
                self._written[version.partition] = version.offset

    def reflecting(self, request: HttpRequest) -> HttpRequest:
        """The request as it is sent now; a read names what it has to reflect."""
        at_least = self._at_least(request.key) if request.reflects else None
        if at_least is None:
            return request
        return replace(request, target=with_query(request.target, at_least=at_least))

    def _at_least(self, key: bytes | None) -> str | None:
        """What a read of the key, or of all keys, has to reflect, as the service takes it.

        None if the service remembers that itself: it does while it gets every request.
        """
        owners, written = self._owners, self._written
        if not owners or not written:
            return None
        if key is None:
            with self._lock:
                return ",".join(f"{p}:{offset}" for p, offset in sorted(written.items()))
        partition = Keyspace(len(owners)).partition_of(key)
        return f"{partition}:{written[partition]}" if partition in written else None
