"""Who may do what: every operation, asked by every kind of caller."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from lastword.jvm.ports import free_ports
from lastword.kafka.admin import Admin
from lastword.service import Mount, Service, ServiceConfig, TokenFile
from lastword.service.api.interface import OPERATIONS
from lastword.service.api.operations import Operation
from lastword.service.http.auth import Access
from lastword.table.table import Table
from lastword.testing import wait_until
from tests.service.conftest import Serve, Tokens
from tests.support.served.service_process import ServiceProcess

CALLERS: dict[str, Access] = {
    "nobody": Access.READ,  # on the loopback address
    "stranger": Access.NONE,
    "read": Access.READ,
    "write": Access.WRITE,
    "admin": Access.ADMIN,
}
PRESET = "from-the-settings-of-the-service"
WRONG_TOKEN = "lw_" + "x" * 43
PLACEHOLDERS = {"{key:path}": "auth", "{key}": "auth", "{window}": "60000"}
DELETION = b'{"records":[{"op":"delete","key":"auth"}]}'
LOOKUP = b'{"keys":["auth"]}'


def path_of(operation: Operation) -> str:
    table = "visits" if operation.serves == "windowed tables" else "users"
    path = operation.path.replace("{table}", table)
    for placeholder, value in PLACEHOLDERS.items():
        path = path.replace(placeholder, value)
    return path + ("?key=auth" if operation.id == "get_log" else "")


def ask(client: httpx.Client, operation: Operation) -> tuple[int, dict[str, Any]]:
    """The status, and the problem if there is one; a stream is left at once."""
    body = LOOKUP if operation.id == "lookup_keys" else DELETION
    content = body if operation.body else None
    headers = {"Content-Type": "application/json"} if operation.body else {}
    with client.stream(
        operation.method, path_of(operation), content=content, headers=headers
    ) as answer:
        if answer.headers["content-type"] != "application/problem+json":
            return answer.status_code, {}
        answer.read()
        return answer.status_code, answer.json()


def caller(server: ServiceProcess, tokens: Tokens, name: str) -> httpx.Client:
    token = {"nobody": None, "stranger": WRONG_TOKEN}.get(name) or getattr(tokens, name, None)
    return server.client(token)


@pytest.mark.parametrize("name", CALLERS)
@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda operation: operation.id)
def test_every_operation_asks_for_its_access(
    server: ServiceProcess, tokens: Tokens, operation: Operation, name: str
) -> None:
    with caller(server, tokens, name) as client:
        status, problem = ask(client, operation)
    if name == "stranger":
        assert (status, problem["name"]) == (401, "Unauthorized")
    elif CALLERS[name] >= operation.access:
        # Named operations are let in, and then refused by a table that has no owners.
        assert status in {200, 404} or problem["name"] == "NoOwners", problem
        assert problem.get("name") in {None, "KeyNotFound", "NoOwners"}
    elif name == "nobody":
        assert (status, problem["name"]) == (401, "Unauthorized")
    else:
        assert (status, problem["name"]) == (403, "Forbidden")


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda operation: operation.id)
def test_where_reads_need_a_token_only_health_is_public(
    locked: httpx.Client, operation: Operation
) -> None:
    status, problem = ask(locked, operation)
    if operation.access is Access.NONE:
        assert status == 200
    else:
        assert (status, problem["name"]) == (401, "Unauthorized")


@pytest.fixture(scope="module")
def locked(
    server: ServiceProcess, admin: Admin, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[httpx.Client]:
    """A client without a token, of a service that asks for one for everything."""
    config = ServiceConfig(
        tokens_file=tmp_path_factory.mktemp("locked") / "tokens.json",
        port=free_ports(1)[0],
        require_token=True,
    )
    tables = [
        Table("service-users", connection=admin.connection, name="users"),
        Table("service-visits", connection=admin.connection, name="visits"),
    ]
    with Service(config, [Mount(table) for table in tables]) as service:
        for table in tables:
            table.wait_ready()
        with httpx.Client(base_url=service.url, timeout=180, trust_env=False) as client:
            yield client


def test_a_token_for_one_table_is_not_valid_for_another(
    server: ServiceProcess, tokens: Tokens
) -> None:
    with server.client(tokens.users_only) as client:
        assert client.put("/users/auth", json=1).status_code == 200
        assert client.put("/tables/texts/keys/auth", json="x").status_code == 403
        assert client.put("/tables/nobody/keys/auth", json="x").status_code == 403
        # Known, but without rights there: what a stranger may read, it may not.
        assert client.get("/tables/texts/keys/auth").status_code == 403
        assert [t["name"] for t in client.get("/tables").json()["tables"]] == ["users"]
        assert client.get("/instances").json()["instances"][0]["tables"] == ["users"]
        assert [t["name"] for t in client.get("/ready").json()["tables"]] == ["users"]
        assert client.get("/metrics").status_code == 403  # they are of all tables


@pytest.mark.parametrize(
    "header",
    ["Bearer", "Basic dXNlcjpwYXNz", "lw_x", "Bearer \xff", "Bearer lw_" + "x" * 4000],
)
def test_an_invalid_token_is_refused(server: ServiceProcess, header: str) -> None:
    with server.client() as client:
        answer = client.get("/tables", headers={"Authorization": header.encode("latin-1")})
    assert answer.status_code == 401
    assert answer.headers["www-authenticate"].startswith("Bearer")


def test_a_revoked_token_is_worthless_within_a_moment(serve: Serve) -> None:
    serving = serve()
    tokens = TokenFile(serving.config.tokens_file)
    secret = tokens.create("temporary", {"*": "write"})
    with serving.client(secret) as client:
        wait_until(lambda: client.put("/table/a", json=1).status_code == 200, "a new token to work")
        tokens.revoke("temporary")
        wait_until(lambda: client.put("/table/a", json=1).status_code == 401, "it to be refused")


def test_a_token_from_the_settings_may_do_everything(serve: Serve) -> None:
    serving = serve(token=PRESET)
    with serving.client(PRESET) as client:
        assert client.put("/table/a", json=1).status_code == 200
        assert client.post("/tables/table/survey").status_code == 200
    with serving.client(PRESET[:-1]) as client:
        assert client.put("/table/a", json=1).status_code == 401


def test_no_answer_and_no_log_holds_a_token(server: ServiceProcess, tokens: Tokens) -> None:
    secrets = [tokens.admin, tokens.write, tokens.read]
    with server.client(tokens.admin) as client:
        for path in ("/metrics", "/instances", "/openapi.json", "/tables", "/tables/users"):
            text = client.get(path).text
            assert not any(secret in text for secret in secrets), path
    assert not any(secret in server.log for secret in secrets)
    kept = (server.home / "service" / "tokens.json").read_text()
    assert not any(secret in kept for secret in secrets)
