"""Freed memory goes back to the system."""

from __future__ import annotations

import ctypes
from pathlib import Path

from lastword.service.trimming import trim

BLOCK_BYTES = 1000
BLOCKS = 40_000


def resident_bytes() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096


def test_memory_that_was_freed_between_what_is_in_use_goes_back() -> None:
    libc = ctypes.CDLL(None)
    libc.malloc.restype = ctypes.c_void_p
    libc.free.argtypes = [ctypes.c_void_p]
    blocks = [libc.malloc(BLOCK_BYTES) for _ in range(BLOCKS)]
    for block in blocks:
        ctypes.memset(block, 1, BLOCK_BYTES)
    for block in blocks[:-1]:  # the last one keeps the heap from shrinking by itself
        libc.free(block)
    before = resident_bytes()
    trim()
    given_back = before - resident_bytes()
    libc.free(blocks[-1])
    assert given_back > BLOCKS * BLOCK_BYTES / 2
