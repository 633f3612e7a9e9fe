"""Which instance gets a request and the token in it, without a network."""

from __future__ import annotations

from collections import deque

import msgspec
import pytest

from lastword.client.http.address import Address, address_of
from lastword.client.http.failures import AnswerLostError, NotSentError
from lastword.client.http.messages import HttpRequest, HttpResponse, Repeat
from lastword.client.plan_routes import AVOID_S, REFRESH_S, PlanRoutes
from lastword.client.retrying import Patience, answered
from lastword.client.routed_steps import routed
from lastword.client.steps import Exchange, run
from lastword.errors import IndeterminateError, NotOwnerError
from lastword.keyspace import Keyspace
from lastword.records import Version
from lastword.testing.fake_clock import FakeClock

BASE = "http://127.0.0.1:1"
A, B = "http://127.0.0.1:2", "http://127.0.0.1:3"
KEYS = {Keyspace(2).partition_of(key): key for key in (b"x", b"y", b"z", b"u")}
TOKEN = "of-no-service-at-all"  # noqa: S105


def reading(partition: int, repeat: Repeat = Repeat.FREELY) -> HttpRequest:
    return HttpRequest("GET", "/tables/t/keys/k", repeat=repeat, key=KEYS[partition])


class Instances:
    """A service that knows a plan, and the owners in it; each answers with what is scripted."""

    def __init__(self, *services: str | None) -> None:
        self.plan, self.services = 1, list(services)
        self.clock = FakeClock()
        self.sent: list[str] = []
        self.targets: list[str] = []
        self.script: dict[str, deque[HttpResponse | Exception]] = {}
        base = address_of(BASE, TOKEN)
        self.routes = PlanRoutes(base, "t", self.clock)

    def exchange(self, step: Exchange) -> HttpResponse:
        origin = BASE if step.address is None else step.address.origin
        if step.request is self.routes.question:
            assert step.address is None, "only the service that it was given names the owners"
            self.sent.append("owners")
            body = {"plan": self.plan, "services": self.services}
            return HttpResponse(200, {}, msgspec.json.encode(body))
        self.sent.append(origin)
        self.targets.append(step.request.target)
        if self.script.get(origin):
            answer = self.script[origin].popleft()
            if isinstance(answer, Exception):
                raise answer
            return answer
        return self.good

    @property
    def good(self) -> HttpResponse:
        return HttpResponse(200, {b"lastword-plan": b"%d" % self.plan})

    def ask(self, request: HttpRequest) -> HttpResponse:
        steps = answered(request, Patience(30.0, self.clock))
        return run(routed(steps, self.routes), self.exchange, self.clock.sleep)

    def sent_for(self, request: HttpRequest) -> list[str]:
        self.sent.clear()
        self.ask(request)
        return list(self.sent)


def problem(status: int, name: str) -> HttpResponse:
    body = {"name": name, "message": "no", "retriable": status == 503}
    return HttpResponse(status, {}, msgspec.json.encode(body))


@pytest.fixture
def instances() -> Instances:
    """The plan is known."""
    made = Instances(A, B)
    made.ask(reading(0))
    assert made.sent_for(reading(0))[0] == "owners"
    return made


def test_the_owners_are_asked_for_once_an_answer_names_a_plan(instances: Instances) -> None:
    assert instances.sent_for(reading(0)) == [A]
    assert instances.sent_for(reading(1)) == [B]
    assert instances.sent_for(HttpRequest("GET", "/tables/t/count")) == [BASE]


def test_a_table_without_a_plan_is_read_where_the_client_was_connected_to() -> None:
    alone = Instances(A, B)
    alone.script[BASE] = deque([HttpResponse(200, {}), HttpResponse(200, {})])
    assert alone.sent_for(reading(0)) == [BASE]
    assert alone.sent_for(reading(0)) == [BASE]


def test_an_owner_without_a_known_service_is_reached_through_the_first() -> None:
    partly = Instances(A, None)
    partly.ask(reading(0))
    partly.ask(reading(0))
    assert partly.sent_for(reading(1)) == [BASE]


@pytest.mark.parametrize(
    "failure",
    [NotSentError("refused"), AnswerLostError("cut"), problem(503, "ServiceStopping")],
    ids=["not reached", "no answer", "stopping"],
)
def test_a_read_falls_back_and_avoids_the_owner_for_a_while(
    instances: Instances, failure: HttpResponse | Exception
) -> None:
    instances.script[A] = deque([failure])
    assert instances.sent_for(reading(0)) == [A, BASE]
    assert A not in instances.sent_for(reading(0))
    instances.clock.advance(seconds=AVOID_S + REFRESH_S)
    assert instances.sent_for(reading(0))[-1] == A


def test_an_owner_that_keeps_failing_is_tried_less_and_less(instances: Instances) -> None:
    tried_at = []
    for second in range(40):
        instances.script[A] = deque([NotSentError("refused")])
        if A in instances.sent_for(reading(0)):
            tried_at.append(second)
        instances.clock.advance(seconds=1.0)
    assert tried_at == [0, 1, 3, 7, 15, 31]


@pytest.mark.parametrize("status", [401, 403, 404, 421])
def test_an_owner_that_does_not_know_the_client_or_the_table_is_left_out(
    instances: Instances, status: int
) -> None:
    instances.script[A] = deque([problem(status, "TableNotFound")])
    assert instances.sent_for(reading(0, Repeat.NEVER)) == [A, BASE]


def test_a_missing_key_is_an_answer_of_the_owner(instances: Instances) -> None:
    instances.script[A] = deque([problem(404, "KeyNotFound")])
    assert instances.sent_for(reading(0)) == [A]


def test_a_write_whose_answer_the_owner_lost_is_not_sent_elsewhere(instances: Instances) -> None:
    instances.script[A] = deque([AnswerLostError("cut")])
    instances.sent.clear()
    with pytest.raises(IndeterminateError):
        instances.ask(reading(0, Repeat.NEVER))
    assert instances.sent == [A]


def test_a_write_that_was_not_sent_goes_elsewhere(instances: Instances) -> None:
    instances.script[A] = deque([NotSentError("refused")])
    assert instances.sent_for(reading(0, Repeat.NEVER)) == [A, BASE]


def test_a_write_that_an_owner_refused_is_sent_to_another_instance(instances: Instances) -> None:
    instances.script[A] = deque([problem(503, NotOwnerError.__name__)])
    assert instances.sent_for(reading(0, Repeat.NEVER)) == [A, BASE]


def test_another_plan_in_an_answer_makes_the_client_ask_again(instances: Instances) -> None:
    instances.plan, instances.services = 2, [B, A]
    assert instances.sent_for(reading(0)) == [A], "its answer names the new plan"
    instances.clock.advance(seconds=REFRESH_S)
    assert instances.sent_for(reading(0)) == ["owners", B]
    assert instances.sent_for(reading(1)) == [A]


def test_the_owners_are_not_asked_for_all_the_time(instances: Instances) -> None:
    for plan in range(2, 12):
        instances.plan = plan
        instances.ask(reading(0))
    assert instances.sent.count("owners") == 1


def test_a_read_reflects_what_the_client_wrote_elsewhere(instances: Instances) -> None:
    instances.routes.wrote(Version(1, 7))
    instances.routes.wrote(Version(1, 5))
    instances.routes.wrote(Version(0, 0))
    one = HttpRequest("GET", "/tables/t/keys/k", key=KEYS[1], reflects=True)
    assert instances.sent_for(one) == [B]
    assert instances.targets[-1] == "/tables/t/keys/k?at_least=1%3A7"
    assert instances.sent_for(HttpRequest("GET", "/tables/t/keys?a=1", reflects=True)) == [BASE]
    assert instances.targets[-1] == "/tables/t/keys?a=1&at_least=0%3A0%2C1%3A7"
    assert instances.sent_for(HttpRequest("GET", "/tables/t/keys?as_of=1")) == [BASE]
    assert instances.targets[-1] == "/tables/t/keys?as_of=1"


def test_a_service_that_gets_every_request_knows_what_the_client_wrote() -> None:
    alone = Instances(A, B)
    alone.script[BASE] = deque([HttpResponse(200, {})])
    alone.routes.wrote(Version(1, 7))
    alone.ask(HttpRequest("GET", "/tables/t/keys/k", key=KEYS[1], reflects=True))
    assert alone.targets == ["/tables/t/keys/k"]


def test_a_read_that_learns_the_owners_reflects_what_the_first_service_forwarded() -> None:
    instances = Instances(A, B)
    instances.ask(HttpRequest("PUT", "/tables/t/keys/k", key=KEYS[1]))
    instances.routes.wrote(Version(1, 7))
    one = HttpRequest("GET", "/tables/t/keys/k", key=KEYS[1], reflects=True)
    assert instances.sent_for(one) == ["owners", B]
    assert instances.targets[-1] == "/tables/t/keys/k?at_least=1%3A7"


def sibling(base: str, url: str) -> Address | None:
    return address_of(base, TOKEN).sibling(url)


@pytest.mark.parametrize(
    ("base", "url"),
    [
        ("https://shop.example", "http://shop-1.example:8090"),
        ("https://shop.example", "https://127.0.0.1:8090"),
        ("https://shop.example", "https://localhost:8090"),
        ("https://shop.example", "https://user@shop-1.example"),
        ("https://shop.example", "https://shop-1.example/path"),
        ("https://shop.example", "https://shop-1.example?query"),
        ("https://shop.example", "https://shop-1 .example"),
        ("https://shop.example", "https://shop-1.example:99999"),
        ("https://shop.example", "ftp://shop-1.example"),
        ("https://shop.example", "shop-1.example"),
        ("https://shop.example", "https://"),
        ("http://shop.example", "http://shop-1.example:8090"),
        ("http://shop.example", "https://shop-1.example:8090"),
        ("http://localhost:8090", "http://shop-1.example:8090"),
        ("http://localhost:8090", "https://shop-1.example:8090"),
    ],
)
def test_a_token_is_never_sent_where_it_is_less_safe(base: str, url: str) -> None:
    assert sibling(base, url) is None


def test_an_owner_gets_the_token_over_the_same_tls() -> None:
    base = address_of("https://shop.example", TOKEN)
    found = base.sibling("https://shop-1.example:8090")
    assert found is not None
    assert found.tls is base.tls
    assert found.origin == "https://shop-1.example:8090"
    assert found.fixed_headers.startswith(b"host: shop-1.example:8090\r\n")
    assert TOKEN.encode() in found.fixed_headers
    assert TOKEN not in repr(found)
    local = sibling("http://localhost:1", "http://[::1]:2")
    assert local is not None
    assert local.fixed_headers.startswith(b"host: [::1]:2\r\n")
