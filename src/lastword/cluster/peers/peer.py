"""One peer, as seen from here: a persistent connection, and when it last sent anything."""

from __future__ import annotations

import asyncio
import logging
import ssl
from collections import deque
from collections.abc import Callable
from typing import NamedTuple

from lastword.cluster.peers.handshake import SomebodyElseError
from lastword.cluster.peers.link import Link, Question
from lastword.errors import LastwordError, PeerRefusedError, PeerUnreachableError

log = logging.getLogger(__name__)

CONNECT_S = 2.0
WAITING_MAX = 1_024


class Identity(NamedTuple):
    """The application and instance id that this instance proves to its peers."""

    secret: bytes
    application: str
    instance_id: str
    tls: ssl.SSLContext | None


class Health(NamedTuple):
    """The state of a peer. ``refused``: nobody, or another instance, listens at its address.

    ``heard_at`` is when it last sent anything, or when watching began. ``deaf``: it said that no
    broker answers it.
    """

    refused: bool
    heard_at: float
    deaf: bool = False


class Peer:
    """Keeps a connection to one member; used only on the peers' event loop.

    ``changed`` is called when the member no longer listens at its address.
    """

    def __init__(
        self, identity: Identity, instance_id: str, address: str, changed: Callable[[], None]
    ) -> None:
        self.address = address
        self._identity = identity
        self._instance_id = instance_id
        self._changed = changed
        self._loop = asyncio.get_running_loop()
        self._link: Link | None = None
        self._ready = False
        self._connecting: asyncio.Task[None] | None = None
        self._waiting: deque[Question] = deque()
        self._refused = False
        self._heard_at = self._loop.time()
        self._watched = False
        self._closed = False

    @property
    def health(self) -> Health:
        """The state of the peer now."""
        if self._link is None:
            return Health(self._refused, self._heard_at)
        heard_at = max(self._heard_at, self._link.heard_at)
        return Health(self._refused, heard_at, self._link.deaf)

    def ask(self, question: Question) -> None:
        """Send the request now, or once there is a connection."""
        if self._ready and self._link is not None:
            self._link.ask(question)
        elif len(self._waiting) >= WAITING_MAX:
            question.fail(
                PeerUnreachableError(
                    f"{WAITING_MAX} requests wait for a connection to {self._instance_id!r}",
                    hint="try again in a moment",
                )
            )
        else:
            self._waiting.append(question)
            self._connect()

    def watch(self) -> None:
        """Send a ping; called repeatedly while the peer is watched."""
        if not self._watched:
            self._watched = True
            self._heard_at = self._loop.time()
        if self._ready and self._link is not None:
            self._link.ping()
        else:
            self._connect()

    def unwatch(self) -> None:
        """Stop judging the peer; the connection is kept."""
        self._watched = False

    def close(self) -> None:
        """Drop the connection."""
        self._closed = True
        if self._connecting is not None:
            self._connecting.cancel()
        if self._link is not None:
            self._link.cut("it is no longer a member")
        self._fail_waiting(
            PeerUnreachableError(
                f"{self._instance_id!r} is no longer a member", hint="look up the owner again"
            )
        )

    def _connect(self) -> None:
        if self._link is None and self._connecting is None and not self._closed:
            self._connecting = self._loop.create_task(self._open())

    async def _open(self) -> None:
        host, port = split_address(self.address)
        opening = self._loop.create_connection(self._make_link, host, port, ssl=self._identity.tls)
        try:
            await asyncio.wait_for(opening, CONNECT_S)
        except (OSError, TimeoutError) as error:
            self._failed(error)
        finally:
            self._connecting = None

    def _make_link(self) -> Link:
        me = self._identity
        self._link = Link(
            me.secret,
            me.application,
            me.instance_id,
            self._instance_id,
            ready=self._is_ready,
            gone=self._is_gone,
        )
        return self._link

    def _failed(self, error: OSError) -> None:
        self._link = None
        if isinstance(error, ssl.SSLError):
            # A peer with a certificate that we do not trust is not dead.
            self._heard_at = self._loop.time()
        self._note_refused(isinstance(error, ConnectionRefusedError))
        self._fail_waiting(
            PeerUnreachableError(
                f"cannot connect to {self._instance_id!r} at {self.address}: {error}",
                hint="it may be starting or gone; try again in a moment",
            )
        )

    def _is_ready(self) -> None:
        self._ready, self._refused = True, False
        while self._waiting and self._link is not None:
            self._link.ask(self._waiting.popleft())

    def _is_gone(self, reason: LastwordError) -> None:
        if self._link is not None:
            self._heard_at = max(self._heard_at, self._link.heard_at)
        was_ready, self._ready, self._link = self._ready, False, None
        if isinstance(reason, PeerRefusedError):
            log.error("%s at %s: %s", self._instance_id, self.address, reason)
        self._fail_waiting(reason)
        if self._closed:
            return
        self._note_refused(isinstance(reason, SomebodyElseError))
        if was_ready and self._watched:
            self._connect()  # at once: only a refused connection tells dead from cut off

    def _note_refused(self, refused: bool) -> None:
        self._refused = refused
        if refused and self._watched:
            self._changed()

    def _fail_waiting(self, error: LastwordError) -> None:
        waiting, self._waiting = self._waiting, deque()
        for question in waiting:
            question.fail(error)


def split_address(address: str) -> tuple[str, int]:
    """Host and port; brackets are those of IPv6.

    >>> split_address("[::1]:80")
    ('::1', 80)
    """
    host, _, port = address.rpartition(":")
    return host.strip("[]"), int(port)
