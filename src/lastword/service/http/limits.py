"""How much of anything one client may take: bytes, seconds, connections."""

from __future__ import annotations

from dataclasses import dataclass

PAGE_ITEMS_MAX = 1000
PAGE_ITEMS_DEFAULT = 100
BATCH_RECORDS_MAX = 1000
LOOKUP_KEYS_MAX = 1000
HISTORY_RECORDS_MAX = 1000


@dataclass(frozen=True, kw_only=True)
class Limits:
    """The defaults are for one instance that also has its tables in the same process.

    connections          open at once; further ones wait unaccepted
    header_bytes         the request line and all headers together
    path_bytes           the path alone, as it is escaped
    body_bytes           of a request
    arrival_s            how long the headers of a request may take, and then its body; a
                         connection that is kept alive without a request is closed after it, and
                         so is one whose client takes nothing of its answer for so long
    page_bytes           values in one page; a page may therefore hold fewer items than asked for
    at_least_s           how long a read waits for the position it asks for
    history_s            how long a search for the history of one key may read the log
    as_of_s              how long reading a past state may take
    as_of_bytes          keys and rows of a past state; and of all that are kept for later requests
    waiting_calls        calls that wait for a thread; further ones are refused with 503
    watchers             open at once; one that was cut off counts until its connection is closed
    watchers_backlog_bytes  changes that wait for all watchers together; beyond it, the one that
                         is furthest behind is cut off. Besides, a connection is being sent at
                         most 384 KiB, or one change that is larger
    heartbeat_s          how often a watcher without changes gets a sign of life
    """

    connections: int = 1024
    header_bytes: int = 16 << 10
    path_bytes: int = 8 << 10
    body_bytes: int = 8 << 20
    arrival_s: float = 10.0
    page_bytes: int = 4 << 20
    at_least_s: float = 10.0
    history_s: float = 10.0
    as_of_s: float = 30.0
    as_of_bytes: int = 256 << 20
    waiting_calls: int = 256
    watchers: int = 512
    watchers_backlog_bytes: int = 64 << 20
    heartbeat_s: float = 15.0
