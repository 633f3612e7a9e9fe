"""The connections of a client: to the service that it was given, and to owners of partitions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, Protocol, TypeVar

from lastword.client.http.address import Address
from lastword.client.http.connection import OWNER_CONNECT_TIMEOUT_S
from lastword.clock import Clock

_POOLS_MAX = 256


class Pool(Protocol):
    """Connections to one address."""

    address: Address

    def close(self) -> None:
        """Close them."""


P = TypeVar("P", bound=Pool)


class Pools(Generic[P]):
    """A pool for each address, made by ``make`` when it is first used."""

    def __init__(self, make: Callable[..., P], address: Address, size: int, clock: Clock) -> None:
        self.base = make(address, size, clock)
        self._make = make
        self._options: tuple[Any, ...] = (size, clock)
        self._others: dict[Address, P] = {}
        self._closed = False

    def of(self, address: Address | None) -> P:
        """The pool of an address; the first one's for None, or once there are too many."""
        if address is None:
            return self.base
        pool = self._others.get(address)
        if pool is not None:
            return pool
        if self._closed or len(self._others) >= _POOLS_MAX:
            return self.base
        made = self._make(address, *self._options, connect_s=OWNER_CONNECT_TIMEOUT_S)
        return self._others.setdefault(address, made)

    def close(self) -> None:
        """Close every pool; idempotent."""
        self._closed = True
        for pool in (self.base, *self._others.values()):
            pool.close()
