"""The dashboard's files over HTTP: without a token, revalidated, and nothing but them."""

from __future__ import annotations

import httpx
import pytest

from tests.service.conftest import Serve
from tests.support.served.service_process import ServiceProcess


def test_a_browser_that_has_a_file_is_not_sent_it_again(server: ServiceProcess) -> None:
    with server.client() as client:
        first = client.get("/assets/app.js")
        again = client.get("/assets/app.js", headers={"If-None-Match": first.headers["etag"]})
    assert first.headers["content-type"] == "text/javascript; charset=utf-8"
    assert first.headers["cache-control"] == "no-cache"
    assert (again.status_code, again.content) == (304, b"")


@pytest.mark.parametrize("name", ["nothing.js", "..%2Fapp.py", "%2e%2e%2fapp.py", "index.html%00"])
def test_only_the_files_of_the_page_are_served(server: ServiceProcess, name: str) -> None:
    with server.client() as client:
        answer = client.get(f"/assets/{name}")
    assert answer.status_code in (400, 404)
    assert answer.headers["content-type"] == "application/problem+json"


def test_the_page_needs_no_token_where_everything_else_does(serve: Serve) -> None:
    locked = serve(require_token=True)
    with locked.client(None) as client:
        assert client.get("/").headers["content-type"] == "text/html; charset=utf-8"
        assert client.get("/assets/styles/base.css").status_code == 200
        assert client.get("/tables").status_code == 401


def test_the_page_cannot_be_framed_or_run_anything_inline(server: ServiceProcess) -> None:
    answer = httpx.get(server.url, timeout=180, trust_env=False)
    policy = answer.headers["content-security-policy"]
    assert "frame-ancestors 'none'" in policy
    assert "unsafe-inline" not in policy
    assert answer.headers.get_list("content-security-policy") == [policy]
