"""Which message of a Protobuf file a record is: a path of indexes in front of it.

``[1, 0]`` is the first message within the second one of the file. The first message of a file,
``[0]``, is one zero byte; other paths are their length and their indexes as zigzag varints.
"""

from __future__ import annotations

from lastword.errors import DecodeError

DEPTH_MAX = 100


def path_bytes(path: tuple[int, ...]) -> bytes:
    """The path as it stands before a message."""
    if path == (0,):
        return b"\x00"  # the short form of the usual case
    return b"".join(_varint(each << 1) for each in (len(path), *path))


def _varint(number: int) -> bytes:
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


def read_path(data: bytes, start: int) -> tuple[tuple[int, ...], int]:
    """The path that begins at ``start``, and where the message begins; raises DecodeError."""
    if data[start : start + 1] == b"\x00":
        return (0,), start + 1
    count, at = _zigzag(data, start)
    if not 0 < count <= DEPTH_MAX:
        raise _no_path()
    path = []
    for _ in range(count):
        index, at = _zigzag(data, at)
        path.append(index)
    return tuple(path), at


def _zigzag(data: bytes, at: int) -> tuple[int, int]:
    number = shift = 0
    while True:
        if at >= len(data) or shift > 28:
            raise _no_path()
        byte = data[at]
        number |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return (number >> 1) ^ -(number & 1), at


def _no_path() -> DecodeError:
    return DecodeError(
        "the record does not say which message of its schema it is",
        hint="the record is truncated, or was not written with a schema registry",
    )
