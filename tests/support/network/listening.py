"""Where processes listen, as the kernel says it."""

from __future__ import annotations

import socket
from collections.abc import Iterable, Iterator
from ipaddress import IPv4Address, IPv6Address, ip_address
from pathlib import Path

_LISTENING = "0A"


def listening(processes: Iterable[int]) -> list[tuple[IPv4Address | IPv6Address, int]]:
    """The addresses and ports on which any of these processes listens."""
    theirs = {inode for process in processes for inode in _sockets_of(process)}
    found = []
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        for line in Path(table).read_text(encoding="ascii").splitlines()[1:]:
            local, state, inode = (line.split()[column] for column in (1, 3, 9))
            if state == _LISTENING and inode in theirs:
                address, _, port = local.partition(":")
                found.append((_address(address), int(port, 16)))
    return found


def beyond_loopback(processes: Iterable[int]) -> list[str]:
    """Those of the addresses that another machine could reach."""
    return [
        f"{address}:{port}" for address, port in listening(processes) if not address.is_loopback
    ]


def descendants(process: int) -> list[int]:
    """The process and all that it started, and that those started."""
    children: dict[int, list[int]] = {}
    for path in Path("/proc").glob("[0-9]*"):
        try:
            parent = int((path / "stat").read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue  # ended meanwhile
        children.setdefault(parent, []).append(int(path.name))
    found = [process]
    for each in found:
        found += children.get(each, [])
    return found


def _sockets_of(process: int) -> Iterator[str]:
    try:
        for fd in Path(f"/proc/{process}/fd").iterdir():
            target = str(fd.readlink())
            if target.startswith("socket:["):
                yield target.removeprefix("socket:[").removesuffix("]")
    except OSError:
        return  # ended meanwhile


def _address(text: str) -> IPv4Address | IPv6Address:
    """The kernel writes words of four bytes, each in the order of the machine."""
    words = [int(text[at : at + 8], 16) for at in range(0, len(text), 8)]
    packed = b"".join(socket.htonl(word).to_bytes(4, "big") for word in words)
    address = ip_address(packed)
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return mapped or address
