"""The calling side: one connection to one peer, with many requests in flight."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from itertools import count

from lastword.cluster.peers.frames import (
    ANSWER,
    DEAF,
    FAILURE,
    PING,
    PONG,
    REQUEST,
    FrameProtocol,
    PeerRequest,
    pack_message,
    pack_request,
    unpack_message,
)
from lastword.cluster.peers.handshake import hello, is_challenge, judge_welcome
from lastword.cluster.peers.peer_errors import unpack_failure
from lastword.errors import ClusterError, IndeterminateError, LastwordError, PeerUnreachableError


class Question:
    """A request of some thread, and its future answer.

    The flags decide whether a peer may have seen it. The loop sets ``sent`` and then reads
    ``abandoned``; the thread that gives up sets ``abandoned`` and then reads ``sent``.
    """

    __slots__ = ("abandoned", "answer", "request", "sent")

    def __init__(self, request: PeerRequest) -> None:
        self.request = request
        self.answer: Future[bytes] = Future()
        self.sent = False
        self.abandoned = False

    def give_up(self) -> bool:
        """Stop waiting; returns whether the peer may have seen the request."""
        self.abandoned = True
        return self.sent

    def fail(self, error: LastwordError) -> None:
        """Raise the error in the thread that waits for the answer."""
        if not self.answer.done():
            self.answer.set_exception(error)


class Link(FrameProtocol):
    """A connection to ``listener``. ``ready`` is called once both sides have proven themselves.

    ``gone`` is called with the reason when the connection ends, in whatever state it was.
    """

    def __init__(
        self,
        secret: bytes,
        application: str,
        caller: str,
        listener: str,
        *,
        ready: Callable[[], None],
        gone: Callable[[LastwordError], None],
    ) -> None:
        super().__init__()
        self.deaf = False
        """Whether the listener said last that no broker answers it."""
        self._secret, self._names = secret, (application, caller, listener)
        self._listener = listener
        self._ready, self._gone = ready, gone
        self._challenge: bytes | None = None
        self._hello = b""
        self._welcomed = False
        self._numbers = count(1)
        self._asked: dict[int, Question] = {}
        self._reason: LastwordError | None = None

    def ask(self, question: Question) -> None:
        """Send the request, unless its caller has stopped waiting."""
        question.sent = True
        if question.abandoned:
            question.sent = False
            return
        self._forget_abandoned()
        number = next(self._numbers)
        self._asked[number] = question
        self.send(pack_message(REQUEST, number, pack_request(question.request)))

    def ping(self) -> None:
        """Send a ping."""
        self.send(pack_message(PING, next(self._numbers)))

    def frame_received(self, frame: bytes) -> None:
        """Handle a step of the handshake, or an answer."""
        try:
            if self._welcomed:
                self._take(frame)
            else:
                self._shake_hands(frame)
        except LastwordError as error:
            self._reason = error
            self.cut(str(error))
        except ValueError as error:
            self.cut(str(error))

    def connection_lost(self, error: Exception | None) -> None:
        """Fail the open requests: they may or may not have been carried out."""
        super().connection_lost(error)
        asked, self._asked = self._asked, {}
        for question in asked.values():
            question.fail(
                IndeterminateError(
                    f"the connection to {self._listener!r} broke before it answered "
                    f"{question.request.name!r}",
                    hint="the request may or may not have been carried out",
                )
            )
        self._gone(
            self._reason
            or PeerUnreachableError(
                f"the connection to {self._listener!r} broke", hint="try again in a moment"
            )
        )

    def _shake_hands(self, frame: bytes) -> None:
        if self._challenge is None:
            if not is_challenge(frame):
                judge_welcome(self._secret, b"", b"", frame)
            self._challenge = frame
            self._hello = hello(self._secret, frame, *self._names)
            self.send(self._hello)
            return
        judge_welcome(self._secret, self._challenge, self._hello, frame)
        self._welcomed = True
        self.proven()
        self._ready()

    def _take(self, frame: bytes) -> None:
        message = unpack_message(frame)
        if message.kind == PONG:
            self.deaf = message.body == DEAF
            return
        question = self._asked.pop(message.number, None)
        if question is None or question.answer.done():
            return
        if message.kind == ANSWER:
            question.answer.set_result(message.body)
        elif message.kind == FAILURE:
            question.fail(unpack_failure(message.body))
        else:
            question.fail(ClusterError(f"{self._listener!r} sent a message of kind {message.kind}"))

    def _forget_abandoned(self) -> None:
        """Drop abandoned questions, whose answers may never come."""
        while self._asked:
            oldest = next(iter(self._asked))
            if not self._asked[oldest].abandoned:
                return
            del self._asked[oldest]
