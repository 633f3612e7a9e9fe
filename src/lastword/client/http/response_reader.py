"""Turns the bytes of a connection into an answer: with a length, in chunks, or until the end."""

from __future__ import annotations

from lastword.client.http.failures import AnswerLostError

HEAD_BYTES_MAX = 64 << 10
BODY_BYTES_MAX = 256 << 20
_UNTIL_THE_END = -1


class ResponseReader:
    """Reads one answer from bytes as they arrive, without a socket.

    ``status`` is 0 until the head is complete. ``take`` returns the part of the body received so
    far, so that an endless body can be read, too.
    """

    def __init__(self) -> None:
        self.status = 0
        self.headers: dict[bytes, bytes] = {}
        self.done = False
        self._buffer = b""
        self._body: list[bytes] = []
        self._body_bytes = 0
        self._left = 0
        self._chunked = False

    @property
    def keeps_connection(self) -> bool:
        """Whether another request may follow on the same connection."""
        ended_by_itself = self._chunked or self._left != _UNTIL_THE_END
        return ended_by_itself and self.headers.get(b"connection", b"").lower() != b"close"

    def feed(self, data: bytes) -> None:
        """Add received bytes."""
        self._buffer += data
        if self.status == 0 and not self._read_head():
            return
        self._read_body()

    def end(self) -> None:
        """The connection has ended; raises AnswerLostError unless the answer is whole."""
        if self.status and self._left == _UNTIL_THE_END and not self._chunked:
            self.done = True
        if not self.done:
            raise AnswerLostError("the service closed the connection before the end of its answer")

    def take(self) -> bytes:
        """The part of the body received since the last call."""
        body = self._body[0] if len(self._body) == 1 else b"".join(self._body)
        self._body.clear()
        self._body_bytes = 0
        return body

    def _read_head(self) -> bool:
        while True:
            head, separator, rest = self._buffer.partition(b"\r\n\r\n")
            if not separator:
                if len(self._buffer) > HEAD_BYTES_MAX:
                    raise AnswerLostError(f"the answer has over {HEAD_BYTES_MAX} bytes of headers")
                return False
            self._buffer = rest
            status = self._parse_head(head)
            if status >= 200:
                break
        self.status = status
        self._chunked = self.headers.get(b"transfer-encoding", b"").lower() == b"chunked"
        length = self.headers.get(b"content-length")
        if status in (204, 304):
            self._left = 0
        elif length is not None and not self._chunked:
            self._left = _length(length)
        else:
            self._left = 0 if self._chunked else _UNTIL_THE_END
        return True

    def _parse_head(self, head: bytes) -> int:
        first, *lines = head.split(b"\r\n")
        version, _, rest = first.partition(b" ")
        status = rest[:3]
        if not version.startswith(b"HTTP/1.") or not status.isdigit():
            raise AnswerLostError("the answer is not HTTP/1.1: another program listens there")
        self.headers = {}
        for line in lines:
            name, _, value = line.partition(b":")
            self.headers[name.strip().lower()] = value.strip()
        return int(status)

    def _read_body(self) -> None:
        if self._chunked:
            while self._read_chunk():
                pass
        elif self._left == _UNTIL_THE_END:
            self._keep(self._buffer)
            self._buffer = b""
        else:
            piece = self._buffer[: self._left]
            self._buffer = self._buffer[len(piece) :]
            self._keep(piece)
            self._left -= len(piece)
            self.done = self._left == 0

    def _read_chunk(self) -> bool:
        """Take one piece of a chunk; False when more bytes are needed."""
        if self._left:
            piece = self._buffer[: self._left]
            self._buffer = self._buffer[len(piece) :]
            self._keep(piece)
            self._left -= len(piece)
            return bool(piece)
        line, separator, rest = self._buffer.lstrip(b"\r\n").partition(b"\r\n")
        if not separator or self.done:
            return False
        size = _length(line.partition(b";")[0].strip(), base=16)
        if size == 0:
            if not rest.startswith(b"\r\n"):
                return False  # the line after the last chunk has not come yet
            self.done = True
        self._buffer = rest
        self._left = size
        return True

    def _keep(self, piece: bytes) -> None:
        if not piece:
            return
        self._body.append(piece)
        self._body_bytes += len(piece)
        if self._body_bytes > BODY_BYTES_MAX:
            raise AnswerLostError(f"the answer has over {BODY_BYTES_MAX >> 20} MiB")


def _length(text: bytes, base: int = 10) -> int:
    try:
        length = int(text, base)
    except ValueError:
        length = -1
    if length < 0:
        raise AnswerLostError("the length of the answer is not a number")
    return length
