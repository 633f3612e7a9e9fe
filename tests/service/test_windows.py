"""Windowed tables by key and time range."""

from __future__ import annotations

import httpx
import pytest


def test_the_windows_of_a_key_in_a_range_of_time(http: httpx.Client, key: str) -> None:
    for minute in range(5):
        assert http.put(f"/visits/{key}/{minute * 60_000}", json=minute).status_code == 200
    http.put(f"/visits/{key}-longer/60000", json="another key")
    page = http.get(f"/visits/{key}", params={"from": 60_000, "to": 240_000}).json()
    assert [item["value"] for item in page["items"]] == [1, 2, 3]
    assert page["items"][0]["key"] == key
    assert page["items"][0]["window"] == {"start": 60_000, "end": 120_000}
    everything = http.get(f"/tables/visits/windows/{key}").json()["items"]
    assert [item["value"] for item in everything] == [0, 1, 2, 3, 4]


def test_windows_come_in_pages(http: httpx.Client, key: str) -> None:
    for minute in range(5):
        http.put(f"/visits/{key}/{minute * 60_000}", json=minute)
    seen: list[int] = []
    parameters = {"limit": "2"}
    for _ in range(3):
        page = http.get(f"/visits/{key}", params=parameters).json()
        seen += [item["value"] for item in page["items"]]
        parameters["cursor"] = page["next"]
    assert (seen, page["next"]) == ([0, 1, 2, 3, 4], None)


def test_one_window_is_read_written_and_deleted(http: httpx.Client, key: str) -> None:
    path = f"/tables/visits/windows/{key}/120000"
    etag = http.put(path, json={"visits": 3}).headers["etag"]
    read = http.get(path)
    assert (read.json(), read.headers["etag"]) == ({"visits": 3}, etag)
    assert http.get(path, headers={"If-None-Match": etag}).status_code == 304
    assert http.get(f"/tables/visits/windows/{key}/180000").status_code == 404
    http.delete(path)
    assert http.get(path).status_code == 404


def test_sessions_have_a_start_and_an_end(http: httpx.Client, key: str) -> None:
    for start, end in ((1_000, 5_000), (9_000, 9_000), (20_000, 30_000)):
        path = f"/tables/sessions/windows/{key}/{start}-{end}"
        assert http.put(path, json=end - start).status_code == 200
    page = http.get(f"/tables/sessions/windows/{key}", params={"from": 5_000, "to": 30_000}).json()
    assert [(i["window"]["start"], i["window"]["end"], i["value"]) for i in page["items"]] == [
        (1_000, 5_000, 4_000),
        (9_000, 9_000, 0),
    ]
    assert http.get(f"/tables/sessions/windows/{key}/20000-30000").json() == 10_000


@pytest.mark.parametrize(
    ("table", "window"),
    [("visits", "x"), ("visits", "-1"), ("visits", "1-2"), ("sessions", "5"), ("sessions", "9-1")],
)
def test_an_invalid_window_is_refused(http: httpx.Client, table: str, window: str) -> None:
    answer = http.get(f"/tables/{table}/windows/key/{window}")
    assert (answer.status_code, answer.json()["name"]) == (400, "EncodeError")


def test_all_entries_of_a_windowed_table_come_in_pages_too(http: httpx.Client, key: str) -> None:
    http.put(f"/visits/{key}/60000", json=1)
    items = http.get("/visits", params={"prefix": key}).json()["items"]
    assert [(item["key"], item["window"]["start"]) for item in items] == [(key, 60_000)]
