"""Unexpected errors: answered with 500, and logged with their cause."""

from __future__ import annotations

import logging

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from lastword.service.http.answers import HttpAnswer, problem_answer
from lastword.service.http.problems import RefusedError

log = logging.getLogger(__name__)


class LastResort:
    """Wraps an application and answers for it if it fails before it has started to answer."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on."""
        started = False

        async def send_and_record(message: Message) -> None:
            nonlocal started
            started = True
            await send(message)

        try:
            await self._app(scope, receive, send_and_record)
        except Exception as error:  # noqa: BLE001 - answered and logged
            answer = internal_error(scope, error)
            if not started:
                await answer(scope, receive, send)


def internal_error(scope: Scope, error: Exception) -> HttpAnswer:
    """Log ``error`` with its request; the answer does not reveal the cause."""
    log.error("%s %r failed", scope["method"], scope["raw_path"], exc_info=error)
    return problem_answer(
        RefusedError(500, "InternalError", "this should not have happened", hint="see the log")
    )
