"""Without a token, 401 or 405 for a mount and 404 elsewhere revealed which mounts exist."""

from __future__ import annotations

import httpx
import pytest

from lastword.service import TokenFile
from tests.service.conftest import Serve

METHODS = ("GET", "HEAD", "PUT", "POST", "DELETE", "PATCH", "OPTIONS")
BELOW = ("", "/", "/key", "/count", "/a/b")


def seen(client: httpx.Client, method: str, path: str) -> tuple[int, dict[str, str], bytes]:
    answer = client.request(method, path)
    headers = {name: text for name, text in answer.headers.items() if name != "date"}
    return answer.status_code, headers, answer.content


@pytest.mark.parametrize("method", METHODS)
def test_a_mount_is_answered_as_a_path_that_is_not_there(serve: Serve, method: str) -> None:
    serving = serve(require_token=True)
    elsewhere = TokenFile(serving.config.tokens_file).create("elsewhere", {"another": "admin"})
    for token, status in ((None, 401), (elsewhere, 404)):
        with serving.client(token) as client:
            for below in BELOW:
                mount = seen(client, method, f"/table{below}")
                missing = seen(client, method, f"/tabla{below}")
                assert mount == missing, (token is None, below)
                assert mount[0] == status


def test_callers_with_read_access_still_get_the_reason(serve: Serve) -> None:
    serving = serve()
    with serving.client(None) as client:
        assert client.get("/tabla/key").json()["name"] == "PathNotFound"
        assert client.get("/table/key").json()["name"] == "KeyNotFound"
        assert client.put("/table/key", json=1).status_code == 401
        assert client.patch("/table/key").status_code == 405
