"""The OpenAPI document: complete, and kept by the service it describes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import httpx
import pytest

from lastword.service.api.interface import OPERATIONS
from lastword.service.api.interface_owned import OWNED_OPERATIONS
from lastword.service.api.operations import Operation
from tests.service.conftest import Serve, Serving

ROOT = Path(__file__).parent.parent.parent
HOOKS = "tests.support.served.schemathesis_hooks"
# An endless stream is no answer that can be checked; tests/service/test_watch.py does.
STREAM = "watch"
# At the edge of its limits a batch has a thousand records, of which schemathesis makes hundreds.
LARGE = ("put_batch", "put_batch_of_table")


@pytest.fixture
def serving(serve: Serve) -> Serving:
    """A service whose table has something in every partition."""
    serving = serve()
    serving.table.put_many([(f"key-{number}", number) for number in range(30)])
    return serving


def _excluded(operation: Operation) -> tuple[str, ...]:
    """What a named operation makes of a value depends on the value: test_owned.py has them."""
    flag = "--exclude-operation-id"
    of_table = (flag, f"{operation.id}_of_table") if operation.mounted is not None else ()
    return flag, operation.id, *of_table


def check_with_schemathesis(serving: Serving, directory: Path, *options: str) -> None:
    """All checks of schemathesis; the test fails with what it found.

    Callers bound it by examples. A bound in time would leave operations untried on a slow machine.
    """
    command = [Path(sys.executable).with_name("schemathesis"), "run", f"{serving.url}/openapi.json"]
    finished = subprocess.run(
        [
            *command,
            *("--checks", "all", "--no-color", "--suppress-health-check", "all", "--seed", "1"),
            *("--request-timeout", "20", "--header", f"Authorization: Bearer {serving.token}"),
            *("--generation-database", "none", "--exclude-operation-id", STREAM),
            *(option for each in OWNED_OPERATIONS for option in _excluded(each)),
            *options,
        ],
        cwd=directory,
        env=os.environ
        | {
            "SCHEMATHESIS_HOOKS": "tests.support.served.schemathesis_hooks",
            "PYTHONPATH": str(ROOT),
        },
        capture_output=True,
        text=True,
        timeout=1800,
        check=False,
    )
    assert finished.returncode == 0, finished.stdout[-8000:] + finished.stderr[-2000:]
    assert "No issues found" in finished.stdout


def test_no_request_that_schemathesis_thinks_of_finds_a_fault(
    serving: Serving, tmp_path: Path
) -> None:
    left_out = [option for each in LARGE for option in ("--exclude-operation-id", each)]
    check_with_schemathesis(serving, tmp_path, "--max-examples", "10", *left_out)


def test_no_batch_that_schemathesis_thinks_of_finds_a_fault(
    serving: Serving, tmp_path: Path
) -> None:
    only = [option for each in LARGE for option in ("--include-operation-id", each)]
    check_with_schemathesis(serving, tmp_path, "--phases", "fuzzing", "--max-examples", "3", *only)


def test_every_operation_is_in_the_document(http: httpx.Client) -> None:
    paths: dict[str, Any] = http.get("/openapi.json").json()["paths"]
    for operation in OPERATIONS:
        path = operation.path.replace(":path", "")
        assert operation.method.lower() in paths[path], operation.id
    assert {"get", "put", "delete"} <= paths["/users/{key}"].keys()
    assert {"get", "post"} <= paths["/users"].keys()
    assert "get" in paths["/visits/{key}/{window}"]


def test_the_conditions_of_writes_are_in_the_document(http: httpx.Client) -> None:
    paths: dict[str, Any] = http.get("/openapi.json").json()["paths"]

    def named(path: str, method: str) -> set[str]:
        return {
            each["name"] for each in paths[path][method]["parameters"] if each["in"] == "header"
        }

    conditions = {"If-Match", "If-None-Match"}
    for path in ("/users/{key}", "/visits/{key}/{window}"):
        assert named(path, "put") == conditions | {"Lastword-TTL"}
        assert named(path, "delete") == conditions
        assert named(path, "get") == {"If-None-Match"}


def test_names_of_operations_are_unique_and_references_lead_somewhere(http: httpx.Client) -> None:
    document = http.get("/openapi.json")
    names = [
        operation["operationId"]
        for path in document.json()["paths"].values()
        for operation in path.values()
    ]
    assert len(names) == len(set(names))
    schemas = document.json()["components"]["schemas"]
    references = {part.split('"')[0] for part in document.text.split("#/components/schemas/")[1:]}
    assert references <= schemas.keys()


def test_writes_are_documented_to_need_a_token(http: httpx.Client) -> None:
    paths = http.get("/openapi.json").json()["paths"]
    assert paths["/users/{key}"]["put"]["security"] == [{"bearer": []}]
    assert paths["/users/{key}"]["get"]["security"] == [{}, {"bearer": []}]
    assert paths["/health"]["get"]["security"] == []
