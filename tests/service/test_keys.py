"""Reading and writing one key over HTTP."""

from __future__ import annotations

import base64
import http.client
import json
from typing import Any
from urllib.parse import quote

import httpx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lastword.service.api.keys import to_base64url
from lastword.testing import wait_until
from tests.support.served.service_process import ServiceProcess

OCTETS = "application/octet-stream"
# Characters with a meaning in URLs, HTML, shells, terminals and file systems.
HOSTILE = [
    "a/b",
    "/",
    "..",
    "../../etc/passwd",
    ".",
    "%2e%2e%2f",
    "a?b=c#d",
    "a b+c",
    "\x00",
    "\r\nX-Injected: 1",
    "<script>alert(1)</script>",
    "'; DROP TABLE users; --",
    "\u202eabc",
    "\U0001f600",
    "count",
    "é",
    "e\u0301",
    "x" * 2000,
]
HOSTILE_VALUES: list[Any] = [
    None,
    False,
    0,
    "",
    {},
    [],
    "</script><script>alert(1)</script>",
    "\u2028\u2029\x00",
    {"__proto__": {"admin": True}, "constructor": None},
    2**63,
    -0.0,
    1e308,
    [[[[[[[[[[1]]]]]]]]]],
    {"": {"": ""}},
]


def path_of(key: str, table: str = "users") -> str:
    return f"/tables/{table}/keys/{quote(key, safe='')}"


def put_json(http: httpx.Client, path: str, value: Any) -> httpx.Response:
    """Unlike ``json=``, this sends None as a value, too."""
    headers = {"Content-Type": "application/json"}
    return http.put(path, content=json.dumps(value), headers=headers)


def test_a_put_answers_with_the_version_that_a_read_has(http: httpx.Client, key: str) -> None:
    written = http.put(path_of(key), json={"name": "Alice"})
    assert written.status_code == 200
    read = http.get(path_of(key))
    assert read.json() == {"name": "Alice"}
    assert read.headers["etag"] == written.headers["etag"] == f'"{written.json()["version"]}"'


def test_a_value_with_a_time_to_live_says_how_much_is_left_of_it(
    http: httpx.Client, key: str
) -> None:
    put = http.put(path_of(key), json=1, headers={"Lastword-TTL": "1h"})
    assert put.status_code == 200
    answer = http.get(path_of(key))
    left = answer.headers["lastword-ttl"]
    assert left.endswith("ms")
    assert 0 < int(left[:-2]) <= 3_600_000
    unchanged = http.get(path_of(key), headers={"If-None-Match": answer.headers["etag"]})
    assert (unchanged.status_code, "lastword-ttl" in unchanged.headers) == (304, True)
    (item,) = http.get("/tables/users/keys", params={"prefix": key}).json()["items"]
    assert item["timestamp"] < item["expires_at"] <= item["timestamp"] + 3_700_000
    http.put(path_of(key), json=2)
    assert "lastword-ttl" not in http.get(path_of(key)).headers


def test_a_value_whose_time_is_over_is_not_found(http: httpx.Client, key: str) -> None:
    http.put(path_of(key), json=1, headers={"Lastword-TTL": "1ms"})
    wait_until(lambda: http.get(path_of(key)).status_code == 404, "the value to expire")
    assert http.get("/tables/users/keys", params={"prefix": key}).json()["items"] == []


@pytest.mark.parametrize("ttl", ["0s", "-1s", "3600", "soon", "", "1h2m", "\xe9", "9" * 500 + "s"])
def test_an_invalid_time_to_live_is_refused(http: httpx.Client, key: str, ttl: str) -> None:
    headers = httpx.Headers([(b"Lastword-TTL", ttl.encode("latin-1"))])
    answer = http.put(path_of(key), json=1, headers=headers)
    assert (answer.status_code, answer.json()["name"]) == (400, "ConfigError")
    assert http.get(path_of(key)).status_code == 404


def test_json_is_answered_as_it_was_stored(http: httpx.Client, key: str) -> None:
    stored = b'{"b": 1.50,\n  "a" : [1,2 ] }'
    http.put(path_of(key), content=stored, headers={"Content-Type": "application/json"})
    assert http.get(path_of(key)).content == stored


def test_a_mounted_table_is_the_same_table(http: httpx.Client, key: str) -> None:
    http.put(f"/users/{key}", json=1)
    assert http.get(path_of(key)).json() == 1
    http.put(path_of(key), json=2)
    assert http.get(f"/users/{key}").json() == 2
    http.delete(f"/users/{key}")
    assert http.get(path_of(key)).status_code == 404


def test_the_count_hides_a_key_of_that_name_at_the_mount_only(http: httpx.Client) -> None:
    http.put(path_of("count"), json="a value")
    assert http.get(path_of("count")).json() == "a value"
    mounted, below = (http.get(f"{at}/count").json()["count"] for at in ("/users", "/tables/users"))
    assert mounted == below >= 1


def test_a_read_with_the_current_version_has_no_body(http: httpx.Client, key: str) -> None:
    etag = http.put(path_of(key), json=1).headers["etag"]
    for header in (etag, f'W/{etag}, "9:9"', "*"):
        answer = http.get(path_of(key), headers={"If-None-Match": header})
        assert (answer.status_code, answer.content) == (304, b""), header
        assert answer.headers["etag"] == etag
    http.put(path_of(key), json=2)
    changed = http.get(path_of(key), headers={"If-None-Match": etag})
    assert (changed.status_code, changed.json()) == (200, 2)


def test_a_deleted_key_is_not_found_and_can_be_deleted_again(http: httpx.Client, key: str) -> None:
    http.put(path_of(key), json=1)
    for _ in range(2):
        assert http.delete(path_of(key)).status_code == 200
        missing = http.get(path_of(key))
        assert missing.status_code == 404
        assert missing.json()["name"] == "KeyNotFound"


def test_head_answers_as_get_without_a_body(http: httpx.Client, key: str) -> None:
    http.put(path_of(key), json={"name": "Alice"})
    head, get = http.head(path_of(key)), http.get(path_of(key))
    assert (head.status_code, head.content) == (200, b"")
    assert head.headers["etag"] == get.headers["etag"]
    assert head.headers["content-length"] == get.headers["content-length"]


@pytest.mark.parametrize("value", HOSTILE_VALUES, ids=repr)
def test_any_json_value_comes_back_as_it_is(http: httpx.Client, key: str, value: Any) -> None:
    assert put_json(http, path_of(key), value).status_code == 200
    answer = http.get(path_of(key))
    assert json.loads(answer.content) == value
    assert answer.headers["content-type"] == "application/json"
    assert answer.headers["x-content-type-options"] == "nosniff"


@pytest.mark.parametrize("key", HOSTILE, ids=lambda key: repr(key)[:20])
def test_a_hostile_key_is_just_a_key(server: ServiceProcess, http: httpx.Client, key: str) -> None:
    token = http.headers["authorization"]
    headers = {"Authorization": token, "Content-Type": "application/json"}
    assert _request(server, "PUT", path_of(key), headers, json.dumps(key)) == (200, None)
    assert _request(server, "GET", path_of(key), {}) == (200, key)
    page = http.get("/users", params={"from": key, "limit": 1}).json()
    assert (page["items"][0]["key"], page["items"][0]["value"]) == (key, key)
    assert _request(server, "DELETE", path_of(key), headers)[0] == 200
    assert _request(server, "GET", path_of(key), {})[0] == 404


def _request(
    server: ServiceProcess, method: str, path: str, headers: dict[str, str], body: str | None = None
) -> tuple[int, Any]:
    """Unlike friendlier clients, this one sends the path exactly as it is."""
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=180)
    try:
        connection.request(method, path, body, headers)
        answer = connection.getresponse()
        content = answer.read()
        return answer.status, json.loads(content) if method == "GET" else None
    finally:
        connection.close()


@settings(max_examples=25, deadline=None, suppress_health_check=[*HealthCheck])
@given(key=st.text(min_size=1, max_size=50).filter(lambda text: text not in {".", ".."}))
def test_any_text_is_a_key(http: httpx.Client, key: str) -> None:
    if not key.isprintable():  # what `str` cannot hold in UTF-8 cannot be in a URL either
        key = key.encode("utf-8", "replace").decode()
    assert http.put(path_of(key), json=key).status_code == 200
    assert http.get(path_of(key)).json() == key


@settings(max_examples=25, deadline=None, suppress_health_check=[*HealthCheck])
@given(key=st.binary(min_size=1, max_size=50), value=st.binary(max_size=200))
def test_any_bytes_are_a_key_and_a_value(
    server: ServiceProcess, http: httpx.Client, key: bytes, value: bytes
) -> None:
    path = f"/tables/blobs/keys/{to_base64url(key)}?encoding=base64url"
    put = http.put(path, content=value, headers={"Content-Type": OCTETS})
    assert put.status_code == 200
    assert http.get(path, headers={"Accept": OCTETS}).content == value
    shown = base64.b64encode(value).decode()
    assert _request(server, "GET", "/binary/blobs/" + quote(key, safe=""), {}) == (200, shown)


@pytest.mark.parametrize(
    ("table", "key", "value"),
    [
        ("numbers", "42", 7),
        ("numbers", "-9223372036854775808", 9223372036854775807),
        ("texts", "name", "Zoë\n"),
        ("blobs", "raw", "AP8="),
        ("documents", '{"a":1,"b":[2]}', {"any": ["thing", None, 1.5]}),
        ("documents", '"text"', None),
    ],
)
def test_each_codec_has_its_text(http: httpx.Client, table: str, key: str, value: Any) -> None:
    assert put_json(http, path_of(key, table), value).status_code == 200
    assert http.get(path_of(key, table)).json() == value
    items = {
        item["key"]: item["value"] for item in http.get(f"/tables/{table}/keys").json()["items"]
    }
    assert items[key] == value


def test_json_keys_are_equal_in_every_notation(http: httpx.Client) -> None:
    http.put(path_of('{"a":1,"b":2}', "documents"), json="x")
    assert http.get(path_of('{ "b": 2, "a": 1 }', "documents")).json() == "x"


@pytest.mark.parametrize(
    ("table", "key"),
    [("numbers", "abc"), ("numbers", "007"), ("numbers", str(2**63)), ("documents", "bare")],
)
def test_an_invalid_key_of_the_codec_is_refused(http: httpx.Client, table: str, key: str) -> None:
    answer = http.get(path_of(key, table))
    assert (answer.status_code, answer.json()["name"]) == (400, "EncodeError")


@pytest.mark.parametrize(
    ("table", "body"),
    [
        ("users", b""),
        ("users", b"{"),
        ("users", b'{"a":1} trailing'),
        ("users", b'"\xff"'),
        ("users", b"[" * 5000),
        ("numbers", b'"text"'),
        ("numbers", b"1e30"),
        ("texts", b"1"),
        ("blobs", b'"not base64!"'),
    ],
)
def test_an_invalid_value_of_the_codec_is_refused(
    http: httpx.Client, table: str, body: bytes
) -> None:
    key = "1" if table == "numbers" else "refused-value"
    before = http.get(path_of(key, table)).content
    answer = http.put(
        path_of(key, table), content=body, headers={"Content-Type": "application/json"}
    )
    assert (answer.status_code, answer.json()["name"]) == (400, "EncodeError")
    assert http.get(path_of(key, table)).content == before


def test_raw_bytes_must_be_readable_by_the_codec(http: httpx.Client, key: str) -> None:
    raw = {"Content-Type": OCTETS}
    assert http.put(path_of(key), content=b"not json", headers=raw).status_code == 400
    assert http.put(path_of(key), content=b'{"json":1}', headers=raw).status_code == 200
    assert http.get(path_of(key)).json() == {"json": 1}


@pytest.mark.parametrize("media_type", ["text/plain", "application/x-www-form-urlencoded", None])
def test_a_value_of_another_media_type_is_refused(
    http: httpx.Client, key: str, media_type: str | None
) -> None:
    headers = {} if media_type is None else {"Content-Type": media_type}
    answer = http.put(path_of(key), content=b"1", headers=headers)
    assert (answer.status_code, answer.json()["name"]) == (415, "UnsupportedMediaType")


@pytest.mark.parametrize("header", [{"If-Match": '"1:2"'}, {"If-None-Match": "*"}])
@pytest.mark.parametrize("method", ["PUT", "DELETE"])
def test_a_conditional_write_is_refused_and_not_ignored(
    http: httpx.Client, key: str, method: str, header: dict[str, str]
) -> None:
    http.put(path_of(key), json="before")
    answer = http.request(method, path_of(key), headers=header, json="after")
    assert (answer.status_code, answer.json()["name"]) == (400, "NoOwners")
    assert http.get(path_of(key)).json() == "before"


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("/tables/nobody/keys/a", "TableNotFound"),
        ("/nowhere", "PathNotFound"),
        ("/tables/visits/keys/a", "Windowed"),
        ("/tables/users/windows/a", "NotWindowed"),
    ],
)
def test_a_missing_path_or_key_is_a_named_problem(http: httpx.Client, path: str, name: str) -> None:
    answer = http.get(path)
    assert (answer.status_code, answer.json()["name"]) == (404, name)
    assert answer.headers["content-type"] == "application/problem+json"


def test_a_method_that_a_path_lacks_is_refused_with_those_it_has(http: httpx.Client) -> None:
    answer = http.post(path_of("a"))
    assert answer.status_code == 405
    assert answer.headers["allow"] == "DELETE, GET, HEAD, PUT"


@pytest.mark.parametrize(
    "query", ["at_least=x", "stale=yes", "unknown=1", "stale=true&stale=true", "encoding=hex"]
)
def test_a_query_that_is_not_valid_is_refused(http: httpx.Client, query: str) -> None:
    answer = http.get(f"{path_of('a')}?{query}")
    assert (answer.status_code, answer.json()["name"]) == (400, "BadParameter")
    assert "at_least" in answer.json()["hint"]
