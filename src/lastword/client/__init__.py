"""Tables of a running service, used over HTTP without holding any data."""

from lastword.client.async_table import AsyncTable
from lastword.client.connecting import connect, connect_async
from lastword.client.remote_table import RemoteTable

__all__ = ["AsyncTable", "RemoteTable", "connect", "connect_async"]
