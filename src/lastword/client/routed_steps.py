"""Sends each request of a call to the owner of its key, and elsewhere when that fails."""

from __future__ import annotations

from typing import TypeVar

from lastword.client.http.address import Address
from lastword.client.http.failures import AnswerLostError, NotSentError
from lastword.client.http.messages import HttpRequest, HttpResponse, Repeat
from lastword.client.plan_routes import PlanRoutes
from lastword.client.problems import problem_in
from lastword.client.steps import Exchange, Pause, Steps
from lastword.errors import ConnectionFailedError, LastwordError

T = TypeVar("T")

OWNER_S = {Repeat.FREELY: 0.5, Repeat.CONDITIONAL: 5.0, Repeat.NEVER: None}
"""How long an owner may take to answer; a write that is sent only once waits as long as it may."""
OWNERS_S = 2.0
"""How long the question for the owners may hold up a request."""
# The owner has not processed the request: it lacks the token, the table or the name.
_NOT_SERVED = (401, 403, 404, 421)


def routed(steps: Steps[T], routes: PlanRoutes) -> Steps[T]:
    """The same steps; a request goes to the owner of its key as far as ``routes`` knows it."""
    answer: HttpResponse | None = None
    failure: LastwordError | None = None
    while True:
        try:
            step = steps.send(answer) if failure is None else steps.throw(failure)
        except StopIteration as stop:
            result: T = stop.value
            return result
        answer, failure = None, None
        try:
            if isinstance(step, Pause):
                yield step
            else:
                answer = yield from _exchanged(step, routes)
        except LastwordError as error:
            failure = error


def _exchanged(step: Exchange, routes: PlanRoutes) -> Steps[HttpResponse]:
    if routes.claim_refresh():
        yield from _refreshed(step, routes)
    # Not earlier: with the owners just learned, a read may go to one that knows of no write.
    step = step._replace(request=routes.reflecting(step.request))
    owner = routes.owner_of(step.request)
    if owner is not None:
        answer = yield from _from_owner(step, owner, routes)
        if answer is not None:
            return answer
    answer = yield step
    if answer is None:
        raise RuntimeError("an exchange brings an answer")
    routes.heard(answer)
    return answer


def _refreshed(step: Exchange, routes: PlanRoutes) -> Steps[None]:
    """Ask the service for the owners; without an answer the call goes on as before."""
    try:
        answer = yield Exchange(routes.question, step.deadline, patience_s=OWNERS_S)
    except ConnectionFailedError:
        routes.not_told()
        return
    if answer is not None:
        routes.take(answer)


def _from_owner(step: Exchange, owner: Address, routes: PlanRoutes) -> Steps[HttpResponse | None]:
    """The answer of the owner; None if the request certainly can be sent elsewhere instead."""
    request = step.request
    freely = request.repeat is Repeat.FREELY
    try:
        answer = yield Exchange(request, step.deadline, owner, OWNER_S[request.repeat])
    except NotSentError:
        routes.failed(owner)
        return None
    except AnswerLostError:
        routes.failed(owner)
        if freely:
            return None
        raise
    if answer is None or _is_turned_away(request, answer):
        routes.failed(owner)
        return None
    if answer.status == 503:
        routes.failed(owner)  # if it is sent again, then not to this one
    else:
        routes.answered(owner)
    routes.heard(answer)
    return answer


def _is_turned_away(request: HttpRequest, answer: HttpResponse) -> bool:
    if answer.status in _NOT_SERVED:
        return problem_in(answer).name != "KeyNotFound"
    return answer.status == 503 and request.repeat is Repeat.FREELY
