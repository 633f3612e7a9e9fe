"""Walking through keys in order, a page at a time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from lastword.kafka.connection import Connection
from lastword.service import Limits
from lastword.service.api.keys import to_base64url
from tests.service.conftest import Serve
from tests.support.local_tables.tables import write_raw

KEYS = [f"{region}:user-{number:02d}" for region in ("eu", "eu-west", "us") for number in range(20)]


@pytest.fixture
def filled(serve: Serve) -> Iterator[httpx.Client]:
    """A client of a service whose table has KEYS."""
    serving = serve()
    serving.table.put_many([(key, {"n": number}) for number, key in enumerate(KEYS)])
    with serving.client() as client:
        yield client


def walk(client: httpx.Client, **parameters: Any) -> Iterator[dict[str, Any]]:
    """Every item of every page."""
    while True:
        answer = client.get("/table", params=parameters)
        assert answer.status_code == 200, answer.text
        page = answer.json()
        yield from page["items"]
        if page["next"] is None:
            return
        parameters["cursor"] = page["next"]


@pytest.mark.parametrize("limit", [1, 7, 60, 1000])
def test_pages_hold_every_key_once_and_in_order(filled: httpx.Client, limit: int) -> None:
    items = list(walk(filled, limit=limit))
    assert [item["key"] for item in items] == sorted(KEYS)
    assert {item["key"]: item["value"]["n"] for item in items} == {k: i for i, k in enumerate(KEYS)}


def test_pages_go_backwards_too(filled: httpx.Client) -> None:
    assert [item["key"] for item in walk(filled, limit=7, reverse="true")] == sorted(KEYS)[::-1]


@pytest.mark.parametrize("reverse", ["false", "true"])
@pytest.mark.parametrize("limit", [3, 100])
def test_prefix_and_range_hold_together(filled: httpx.Client, limit: int, reverse: str) -> None:
    def keys(**parameters: str) -> list[str]:
        found = [item["key"] for item in walk(filled, limit=limit, reverse=reverse, **parameters)]
        return found[::-1] if reverse == "true" else found

    ordered = sorted(KEYS)
    assert keys(prefix="eu:") == [k for k in ordered if k.startswith("eu:")]
    assert keys(**{"from": "eu:user-05", "to": "us:"}) == [
        k for k in ordered if "eu:user-05" <= k < "us:"
    ]
    both = {"prefix": "eu:", "from": "eu:user-05", "to": "us:"}
    assert keys(**both) == [k for k in ordered if k.startswith("eu:") and k >= "eu:user-05"]
    assert keys(prefix="") == ordered


@pytest.mark.parametrize(
    "parameters",
    [{"from": "z", "to": "a"}, {"prefix": "nothing"}, {"cursor": to_base64url(b"\xff" * 20)}],
)
def test_a_range_without_keys_is_an_empty_page(
    filled: httpx.Client, parameters: dict[str, str]
) -> None:
    page = filled.get("/table", params=parameters).json()
    assert (page["items"], page["next"]) == ([], None)


def test_a_cursor_never_leads_out_of_its_range(filled: httpx.Client) -> None:
    for cursor in (to_base64url(b"a"), to_base64url(b"us:user-10"), ""):
        found = [i["key"] for i in walk(filled, prefix="eu:", cursor=cursor)]
        assert all(key.startswith("eu:") for key in found), cursor


@pytest.mark.parametrize(
    "parameters",
    [{"limit": "0"}, {"limit": "1001"}, {"limit": "x"}, {"cursor": "!"}, {"cursor": "abcde"}],
)
def test_parameters_out_of_bounds_are_refused(
    filled: httpx.Client, parameters: dict[str, str]
) -> None:
    answer = filled.get("/table", params=parameters)
    assert (answer.status_code, answer.json()["name"]) == (400, "BadParameter")


def test_a_page_of_large_values_is_cut_and_the_next_one_continues(serve: Serve) -> None:
    serving = serve(limits=Limits(page_bytes=50_000))
    serving.table.put_many([(f"k{number}", "x" * 20_000) for number in range(10)])
    with serving.client() as client:
        first = client.get("/table").json()
        assert 1 <= len(first["items"]) <= 3
        assert [item["key"] for item in walk(client)] == [f"k{number}" for number in range(10)]


def test_keys_in_base64url_on_request(filled: httpx.Client) -> None:
    item = filled.get("/table", params={"encoding": "base64url", "limit": 1}).json()["items"][0]
    assert (item["key"], item["raw_key"]) == (None, to_base64url(min(KEYS).encode()))
    path = f"/table/{item['raw_key']}"
    assert filled.get(path, params={"encoding": "base64url"}).json() == item["value"]
    since = {"encoding": "base64url", "from": to_base64url(b"us:user-19")}
    assert len(filled.get("/table", params=since).json()["items"]) == 1


def test_a_bad_value_is_shown_as_bad_and_breaks_no_page(
    serve: Serve, connection: Connection, topic: str
) -> None:
    # A value that would end the document and begin another one, if it were pasted in.
    write_raw(connection, topic, [(b"a", b'1},{"key":"forged"'), (b"b", b'"\xff"'), (b"c", b"3")])
    with serve().client() as client:
        items = client.get("/table").json()["items"]
        assert [item["key"] for item in items] == ["a", "b", "c"]
        assert [item["value"] for item in items] == [None, None, 3]
        assert all("json" in item["error"] and item["raw_value"] for item in items[:2])
        single = client.get("/table/a")
        assert (single.status_code, single.json()["name"]) == (500, "DecodeError")
        raw = client.get("/table/a", headers={"Accept": "application/octet-stream"})
        assert raw.content == b'1},{"key":"forged"'


def test_a_bad_value_is_dropped_if_the_policy_skips_it(
    serve: Serve, connection: Connection, topic: str
) -> None:
    write_raw(connection, topic, [(b"a", b"{"), (b"b", b"2")])
    serving = serve(table_options={"on_bad": "skip"})
    with serving.client() as client:
        assert [item["key"] for item in client.get("/table").json()["items"]] == ["b"]
        assert client.get("/table/a").status_code == 404


def test_a_key_that_no_text_leads_to_is_reached_by_its_bytes(
    serve: Serve, connection: Connection, topic: str
) -> None:
    write_raw(connection, topic, [(b"\xff\xfe", b"1")])
    with serve().client() as client:
        item = client.get("/table").json()["items"][0]
        assert (item["key"], item["raw_key"]) == (None, to_base64url(b"\xff\xfe"))
        path = f"/table/{item['raw_key']}?encoding=base64url"
        assert client.get(path).json() == 1
        refused = client.put(path, json=2)
        assert (refused.status_code, refused.json()["name"]) == (400, "EncodeError")
        assert client.delete(path).status_code == 200
        assert client.get("/table").json()["items"] == []
