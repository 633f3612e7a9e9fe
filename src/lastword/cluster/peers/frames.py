"""Frames over a connection: a length, then as many bytes. All limits are enforced here."""

from __future__ import annotations

import asyncio
import struct
from typing import NamedTuple, cast

HANDSHAKE_BYTES_MAX = 2_048
FRAME_BYTES_MAX = 16 << 20
HANDSHAKE_S = 5.0
FRAME_S = 10.0
"""How long one frame may take to arrive, and how long a peer may leave sent bytes unread."""

_LENGTH = struct.Struct(">I")
_HEAD = struct.Struct(">BQ")
_REQUEST = struct.Struct(">IB")

REQUEST, ANSWER, FAILURE, PING, PONG = range(1, 6)
DEAF = b"deaf"
"""The body of a PONG of an instance that no broker answers; earlier versions ignore it."""


class Message(NamedTuple):
    """A frame after the handshake; an answer carries the number of its request."""

    kind: int
    number: int
    body: bytes


class PeerRequest(NamedTuple):
    """A request; the caller stops waiting for the answer after ``timeout_ms``."""

    timeout_ms: int
    name: str
    payload: bytes


def pack_message(kind: int, number: int, body: bytes = b"") -> bytes:
    """Pack a message into a frame."""
    return _HEAD.pack(kind, number) + body


def unpack_message(frame: bytes) -> Message:
    """Unpack the message of a frame; raises ValueError."""
    if len(frame) < _HEAD.size:
        raise ValueError(f"a frame of {len(frame)} bytes is too short")
    kind, number = _HEAD.unpack_from(frame)
    return Message(kind, number, frame[_HEAD.size :])


def pack_request(request: PeerRequest) -> bytes:
    """Pack a request into the body of a message."""
    name = request.name.encode()
    return _REQUEST.pack(request.timeout_ms, len(name)) + name + request.payload


def unpack_request(body: bytes) -> PeerRequest:
    """Unpack the request of a body; raises ValueError."""
    if len(body) < _REQUEST.size:
        raise ValueError(f"a request of {len(body)} bytes is too short")
    timeout_ms, length = _REQUEST.unpack_from(body)
    rest = body[_REQUEST.size :]
    return PeerRequest(timeout_ms, rest[:length].decode(), rest[length:])


class FrameProtocol(asyncio.Protocol):
    """One end of a connection, on the peers' event loop: splits incoming bytes into frames.

    A connection that exceeds a limit is dropped. ``heard_at`` is the loop time of the last bytes
    received, 0 if there were none: the kernel accepts connections even for a frozen process.
    """

    def __init__(self) -> None:
        self.heard_at = 0.0
        self.open = False
        self.frame_bytes_max = HANDSHAKE_BYTES_MAX
        self._loop = asyncio.get_running_loop()
        self._buffer = bytearray()
        self._transport: asyncio.Transport | None = None
        self._frame_timer: asyncio.TimerHandle | None = None
        self._unread_timer: asyncio.TimerHandle | None = None
        self._handshake_timer: asyncio.TimerHandle | None = None

    def frame_received(self, frame: bytes) -> None:
        """Called with each whole frame."""

    def cut_off(self, reason: str) -> None:
        """Called before the connection is dropped for breaking a rule."""

    # -- asyncio's side -----------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Give the other side a few seconds to complete the handshake."""
        self._transport, self.open = cast("asyncio.Transport", transport), True
        self._handshake_timer = self._loop.call_later(HANDSHAKE_S, self.cut, "no handshake")

    def data_received(self, data: bytes) -> None:
        """Pass on every complete frame."""
        self.heard_at = self._loop.time()
        self._buffer += data
        while self.open and (frame := self._next_frame()) is not None:
            self._stop_timer("_frame_timer")
            self.frame_received(frame)
        if self._buffer and self.open and self._frame_timer is None:
            self._frame_timer = self._loop.call_later(FRAME_S, self.cut, "a frame took too long")

    def pause_writing(self) -> None:
        """The other side does not read: stop reading from it, and drop it after a timeout."""
        if self._transport is not None:
            self._transport.pause_reading()
        self._unread_timer = self._loop.call_later(FRAME_S, self.cut, "it does not read answers")

    def resume_writing(self) -> None:
        """The other side reads again."""
        self._stop_timer("_unread_timer")
        if self._transport is not None and self.open:
            self._transport.resume_reading()

    def connection_lost(self, _error: Exception | None) -> None:
        """The connection is closed: stop the timers."""
        self.open = False
        for timer in ("_frame_timer", "_unread_timer", "_handshake_timer"):
            self._stop_timer(timer)

    # -- for subclasses ------------------------------------------------------------------------

    def send(self, frame: bytes) -> None:
        """Send one frame; does nothing on a closed connection."""
        if self._transport is not None and self.open and not self._transport.is_closing():
            self._transport.write(_LENGTH.pack(len(frame)) + frame)

    def proven(self) -> None:
        """The handshake is complete: allow larger frames from here on."""
        self._stop_timer("_handshake_timer")
        self.frame_bytes_max = FRAME_BYTES_MAX

    def cut(self, reason: str) -> None:
        """Drop the connection and everything buffered for it."""
        if self._transport is not None and self.open:
            self.open = False
            self.cut_off(reason)
            self._transport.abort()

    def finish(self) -> None:
        """Close the connection once everything is sent."""
        if self._transport is not None and self.open:
            self.open = False
            self._transport.close()

    def _next_frame(self) -> bytes | None:
        if len(self._buffer) < _LENGTH.size:
            return None
        (length,) = _LENGTH.unpack_from(self._buffer)
        if length > self.frame_bytes_max:
            self.cut(f"a frame of {length} bytes, but at most {self.frame_bytes_max} are allowed")
            return None
        end = _LENGTH.size + length
        if len(self._buffer) < end:
            return None
        frame = bytes(self._buffer[_LENGTH.size : end])
        del self._buffer[:end]
        return frame

    def _stop_timer(self, name: str) -> None:
        timer: asyncio.TimerHandle | None = getattr(self, name)
        if timer is not None:
            timer.cancel()
            setattr(self, name, None)
