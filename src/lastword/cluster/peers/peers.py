"""The peers of this instance: one thread with an event loop that listens, calls and watches."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine, Iterable, Mapping
from concurrent.futures import Future, wait
from typing import Any, TypeVar

from lastword.clock import SYSTEM_CLOCK
from lastword.cluster.peers.endpoint import Endpoint, Handler, answers_a_peer
from lastword.cluster.peers.frames import FRAME_BYTES_MAX, PeerRequest
from lastword.cluster.peers.link import Question
from lastword.cluster.peers.peer import Health, Identity, Peer
from lastword.cluster.peers.peer_settings import PeerSettings
from lastword.errors import (
    ConfigError,
    IndeterminateError,
    PeerRefusedError,
    PeerUnreachableError,
)

PING_S = 0.1
_CHECK_S = 0.1
_START_S = 10.0
_HEADROOM_BYTES = 1_024
T = TypeVar("T")

Watch = Callable[[float, Mapping[str, Health]], None]
"""Called on the loop every 100 ms, and when a peer stops listening: (now, watched peers)."""


class Peers:
    """Asks the members in its list, and no others; safe from any thread.

    ``watch`` gets the health of the watched members, on the event loop: it must not block. Those
    that ping this instance learn whether it is ``deaf``: no broker answers it.
    """

    def __init__(
        self,
        settings: PeerSettings,
        application: str,
        instance_id: str,
        *,
        watch: Watch,
        deaf: Callable[[], bool] = lambda: False,
    ) -> None:
        self._endpoint = Endpoint(settings, application, instance_id, deaf)
        self._me = Identity(
            self._endpoint.secret, application, instance_id, settings.client_context()
        )
        self._watch = watch
        self._peers: dict[str, Peer] = {}
        self._watched: frozenset[str] = frozenset()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stopping: asyncio.Event | None = None
        self._thread = threading.Thread(target=self._run, name="peers", daemon=True)
        self._started: Future[str] = Future()

    @property
    def address(self) -> str:
        """Where this instance listens."""
        return self._endpoint.address

    @property
    def refused(self) -> int:
        """How many connections were not let in."""
        return self._endpoint.refused

    def handle(self, name: str, handler: Handler) -> None:
        """Answer requests of that name from now on."""
        self._endpoint.handlers[name] = handler

    def start(self) -> str:
        """Listen, and return the address. Raises ConfigError if that is impossible."""
        self._thread.start()
        return self._started.result(_START_S)

    def close(self) -> None:
        """Stop listening, drop every connection and end the thread; idempotent."""
        loop, stopping = self._loop, self._stopping
        if loop is not None and stopping is not None and self._thread.is_alive():
            loop.call_soon_threadsafe(stopping.set)
            self._thread.join()

    def set_members(self, addresses: Mapping[str, str], watched: frozenset[str]) -> None:
        """Set the members that may be asked; those in ``watched`` are pinged as well."""
        self._call(self._set_members, dict(addresses), watched)

    def ask(
        self,
        instance_id: str,
        name: str,
        payload: bytes,
        timeout_s: float,
        still: Callable[[], bool] | None = None,
    ) -> bytes:
        """Ask a member and return its answer; an error raised by its handler is raised here.

        The wait ends early once ``still`` returns False; it is called every 100 ms.

        PeerUnreachableError  it is not a member, or there is no connection: nothing was done
        PeerRefusedError      it refused the request: nothing was done
        IndeterminateError    it did not answer in time: the request may have been carried out
        """
        if answers_a_peer():
            raise PeerRefusedError(
                f"{name!r} came from a peer and must not be forwarded to {instance_id!r}",
                hint="answer that the owner has moved; the caller then looks up the owner again",
            )
        if len(payload) > FRAME_BYTES_MAX - _HEADROOM_BYTES:
            raise PeerRefusedError(
                f"{len(payload)} bytes are more than a peer accepts in one request",
                hint=f"send less than {FRAME_BYTES_MAX >> 20} MiB",
            )
        question = self._put(instance_id, name, payload, timeout_s)
        began = SYSTEM_CLOCK.monotonic()
        while (left_s := began + timeout_s - SYSTEM_CLOCK.monotonic()) > 0:
            try:
                return question.answer.result(left_s if still is None else min(left_s, _CHECK_S))
            except TimeoutError:
                if still is not None and not still():
                    break
        raise _no_answer(instance_id, question, SYSTEM_CLOCK.monotonic() - began)

    def ask_all(
        self, instance_ids: Iterable[str], name: str, payload: bytes, timeout_s: float
    ) -> dict[str, bytes]:
        """The answers of those members that answer in time and without an error."""
        asked = {each: self._put(each, name, payload, timeout_s) for each in instance_ids}
        wait([question.answer for question in asked.values()], timeout_s)
        answers = {}
        for each, question in asked.items():
            if not question.answer.done():
                question.give_up()
            elif question.answer.exception() is None:
                answers[each] = question.answer.result()
        return answers

    # -- on the loop --------------------------------------------------------------------------

    def _run(self) -> None:
        asyncio.run(self._serve())

    async def _serve(self) -> None:
        self._loop, self._stopping = asyncio.get_running_loop(), asyncio.Event()
        try:
            await self._endpoint.listen()
        except ConfigError as error:
            self._started.set_exception(error)
            return
        self._started.set_result(self._endpoint.address)
        try:
            while not self._stopping.is_set():
                self._tick()
                await _wait(self._stopping.wait(), PING_S)
        finally:
            self._endpoint.close()
            for peer in self._peers.values():
                peer.close()
            self._peers.clear()
            await asyncio.sleep(0)  # lets dropped connections run their callbacks

    def _tick(self) -> None:
        for name in self._watched & self._peers.keys():
            self._peers[name].watch()
        self._judge()

    def _judge(self) -> None:
        watched = self._watched & self._peers.keys()
        now = asyncio.get_running_loop().time()
        self._watch(now, {name: self._peers[name].health for name in watched})

    def _set_members(self, addresses: dict[str, str], watched: frozenset[str]) -> None:
        for name, peer in list(self._peers.items()):
            if addresses.get(name) != peer.address:
                del self._peers[name]
                peer.close()
            elif name not in watched:
                peer.unwatch()
        for name in addresses.keys() - self._peers.keys() - {self._me.instance_id}:
            self._peers[name] = Peer(self._me, name, addresses[name], self._judge)
        self._watched = watched

    def _ask(self, instance_id: str, question: Question) -> None:
        peer = self._peers.get(instance_id)
        if peer is None:
            question.fail(
                PeerUnreachableError(
                    f"{instance_id!r} is not another member of the application",
                    hint="look up the owner again: it may have moved",
                )
            )
        else:
            peer.ask(question)

    def _put(self, instance_id: str, name: str, payload: bytes, timeout_s: float) -> Question:
        question = Question(PeerRequest(int(timeout_s * 1000), name, payload))
        self._call(self._ask, instance_id, question)
        return question

    def _call(self, call: Callable[..., None], *arguments: Any) -> None:
        closed = PeerUnreachableError(
            "this instance is not connected to its peers", hint="check that it is not closed"
        )
        if self._loop is None:
            raise closed
        try:
            self._loop.call_soon_threadsafe(call, *arguments)
        except RuntimeError as error:  # the loop has ended
            raise closed from error


async def _wait(waiting: Coroutine[Any, Any, T], timeout_s: float) -> None:
    try:
        await asyncio.wait_for(waiting, timeout_s)
    except TimeoutError:
        return


def _no_answer(
    instance_id: str, question: Question, waited_s: float
) -> PeerUnreachableError | IndeterminateError:
    name = question.request.name
    if question.give_up():
        return IndeterminateError(
            f"{instance_id!r} did not answer {name!r} within {waited_s:.3g} s",
            hint="the request may or may not have been carried out",
        )
    return PeerUnreachableError(
        f"{name!r} could not be sent to {instance_id!r} within {waited_s:.3g} s",
        hint="nothing was done; try again in a moment",
    )
