"""The listening side: accepts peers that prove that they know the secret, and answers requests."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from lastword.cluster.peers.frames import (
    ANSWER,
    DEAF,
    FAILURE,
    FRAME_BYTES_MAX,
    PING,
    PONG,
    REQUEST,
    FrameProtocol,
    PeerRequest,
    pack_message,
    unpack_message,
    unpack_request,
)
from lastword.cluster.peers.handshake import (
    Refusal,
    challenge,
    judge_hello,
    refusal,
    welcome,
)
from lastword.cluster.peers.peer_errors import pack_failure
from lastword.cluster.peers.peer_settings import PeerSettings
from lastword.errors import (
    ClusterError,
    ConfigError,
    LastwordError,
    PeerRefusedError,
    PeerUnreachableError,
)

log = logging.getLogger(__name__)

CONNECTIONS_MAX = 1_024
REQUESTS_MAX = 1_024
HANDLER_THREADS = 32
_HEADROOM_BYTES = 1_024

Handler = Callable[[bytes], bytes]

_THREAD = threading.local()


def answers_a_peer() -> bool:
    """Whether this thread runs a handler. Handlers must not ask peers: one hop is the limit."""
    return getattr(_THREAD, "answering", False)


class Endpoint:
    """Listens for peers of one application. Its handlers run on a small pool of threads."""

    def __init__(
        self,
        settings: PeerSettings,
        application: str,
        instance_id: str,
        deaf: Callable[[], bool],
    ) -> None:
        self.application, self.instance_id = application, instance_id
        self.secret = settings.key()
        self.address = ""
        self.deaf = deaf
        self.refused = 0
        self.handlers: dict[str, Handler] = {}
        self.callers: set[IncomingLink] = set()
        self.requests = 0
        self._settings = settings
        self._server: asyncio.Server | None = None
        self._pool = ThreadPoolExecutor(HANDLER_THREADS, "peer-handler")

    async def listen(self) -> None:
        """Open the endpoint and set ``address``; raises ConfigError if it cannot listen."""
        loop = asyncio.get_running_loop()
        host, port = self._settings.host, self._settings.port
        try:
            self._server = await loop.create_server(
                lambda: IncomingLink(self), host, port, ssl=self._settings.server_context()
            )
        except OSError as error:
            raise ConfigError(
                f"the peer endpoint cannot listen on {host}, port {port}: {error}",
                hint="choose another port for peers, or 0 for a free one",
            ) from error
        self.address = self._settings.address(self._server.sockets[0].getsockname()[1])

    def close(self) -> None:
        """Stop listening and drop every connection. Called on the loop; idempotent."""
        if self._server is not None:
            self._server.close()
        for caller in list(self.callers):
            caller.cut("the instance is closing")
        self._pool.shutdown(wait=False, cancel_futures=True)

    def answer(self, request: PeerRequest, reply: Callable[[int, bytes], None]) -> None:
        """Run the handler; ``reply`` is called on the loop unless the caller stopped waiting."""
        handler = self.handlers.get(request.name)
        if handler is None:
            error = PeerRefusedError(
                f"{self.instance_id!r} does not answer {request.name!r}",
                hint="check that every instance runs the same version with the same tables",
            )
            reply(FAILURE, pack_failure(error))
        elif self.requests >= REQUESTS_MAX:
            busy = f"{self.instance_id!r} already has {REQUESTS_MAX} requests to answer"
            reply(FAILURE, pack_failure(PeerUnreachableError(busy, hint="try again in a moment")))
        else:
            self.requests += 1
            loop = asyncio.get_running_loop()
            deadline = loop.time() + request.timeout_ms / 1000

            def work() -> None:
                # The caller of a request that was queued for too long no longer waits.
                in_time = loop.time() < deadline
                kind, body = _handle(handler, request) if in_time else (FAILURE, b"")
                loop.call_soon_threadsafe(done, in_time, kind, body)

            def done(in_time: bool, kind: int, body: bytes) -> None:
                self.requests -= 1
                if in_time:
                    reply(kind, body)

            self._pool.submit(work)


def _handle(handler: Handler, request: PeerRequest) -> tuple[int, bytes]:
    _THREAD.answering = True
    try:
        answer = handler(request.payload)
        if len(answer) > FRAME_BYTES_MAX - _HEADROOM_BYTES:
            raise PeerRefusedError(
                f"the answer to {request.name!r} has {len(answer)} bytes, more than the limit",
                hint="ask for less at once",
            )
        return ANSWER, answer
    except LastwordError as error:
        return FAILURE, pack_failure(error)
    except Exception:
        log.exception("answering %r to a peer failed", request.name)
        failed = ClusterError(
            f"a peer failed to answer {request.name!r}", hint="see the log of that instance"
        )
        return FAILURE, pack_failure(failed)
    finally:
        _THREAD.answering = False


class IncomingLink(FrameProtocol):
    """A connection from a peer: the handshake, then requests in any number and order."""

    def __init__(self, endpoint: Endpoint) -> None:
        super().__init__()
        self._endpoint = endpoint
        self._challenge = challenge()
        self._name: str | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Send a challenge, unless there are too many connections."""
        super().connection_made(transport)
        if len(self._endpoint.callers) >= CONNECTIONS_MAX:
            self._refuse(Refusal.FULL)
            return
        self._endpoint.callers.add(self)
        self.send(self._challenge)

    def connection_lost(self, error: Exception | None) -> None:
        """Forget it."""
        super().connection_lost(error)
        self._endpoint.callers.discard(self)

    def cut_off(self, reason: str) -> None:
        """Log whose connection is dropped."""
        log.debug("dropping the connection from %s: %s", self._name or "an unknown peer", reason)

    def frame_received(self, frame: bytes) -> None:
        """Handle the hello, then the messages that follow it."""
        if self._name is None:
            self._greet(frame)
            return
        try:
            message = unpack_message(frame)
            if message.kind == PING:
                said = DEAF if self._endpoint.deaf() else b""
                self.send(pack_message(PONG, message.number, said))
            elif message.kind == REQUEST:
                number = message.number
                self._endpoint.answer(
                    unpack_request(message.body),
                    lambda kind, body: self.send(pack_message(kind, number, body)),
                )
            else:
                self.cut(f"a message of kind {message.kind}")
        except ValueError as error:
            self.cut(str(error))

    def _greet(self, frame: bytes) -> None:
        here = self._endpoint
        judged = judge_hello(
            here.secret, self._challenge, frame, here.application, here.instance_id
        )
        if isinstance(judged, Refusal):
            self._refuse(judged)
            return
        self._name = judged.caller
        self.proven()
        self.send(welcome(here.secret, self._challenge, frame))

    def _refuse(self, reason: Refusal) -> None:
        self._endpoint.refused += 1
        log.warning("refused a connection to the peer endpoint: %s", reason.name.lower())
        self.send(refusal(reason))
        self.finish()
