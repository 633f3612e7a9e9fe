"""An asynchronous client behind the calls of a blocking one, so that one suite tests both."""

from __future__ import annotations

import asyncio
import inspect
import threading
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import contextmanager
from typing import Any

from lastword.client.async_queries import AsyncQueries
from lastword.client.async_table import AsyncTable

_WAIT_S = 180.0


class BlockingClient:
    """``call()`` instead of ``await call()``, and lists instead of asynchronous iterators."""

    def __init__(self, wrapped: Any, wait: Callable[[Coroutine[Any, Any, Any]], Any]) -> None:
        self._wrapped, self._wait = wrapped, wait

    @property
    def query(self) -> BlockingClient:
        return BlockingClient(self._wrapped.query, self._wait)

    def __getattr__(self, name: str) -> Callable[..., Any]:
        def call(*arguments: Any, **options: Any) -> Any:
            answer = getattr(self._wrapped, name)(*arguments, **options)
            if inspect.iscoroutine(answer):
                return self._wait(answer)
            if isinstance(answer, AsyncQueries):
                return BlockingClient(answer, self._wait)
            return self._wait(_all_of(answer)) if hasattr(answer, "__aiter__") else answer

        return call

    def __getitem__(self, key: Any) -> Any:
        entry = self.entry(key)
        if entry is None:
            raise KeyError(key)
        return entry.value

    def __contains__(self, key: Any) -> bool:
        return bool(self.contains(key))

    def __len__(self) -> int:
        return int(self.count())

    def __iter__(self) -> Iterator[Any]:
        return iter(self._wait(_all_of(self._wrapped)))


async def _all_of(source: AsyncIterator[Any]) -> list[Any]:
    return [each async for each in source]


@contextmanager
def blocking(client: AsyncTable) -> Iterator[BlockingClient]:
    """The client, connected in an event loop of its own."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, name="blocking-client", daemon=True)
    thread.start()

    def wait(coroutine: Coroutine[Any, Any, Any]) -> Any:
        return asyncio.run_coroutine_threadsafe(coroutine, loop).result(_WAIT_S)

    try:
        wait(client.__aenter__())
        try:
            yield BlockingClient(client, wait)
        finally:
            wait(client.__aexit__(None, None, None))
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join(_WAIT_S)
        loop.close()
