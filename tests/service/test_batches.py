"""Many writes at once, with an outcome for each."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from lastword.service.api.keys import to_base64url


def test_each_record_of_a_batch_has_its_outcome(http: httpx.Client, key: str) -> None:
    http.put(f"/users/{key}-old", json=1)
    records: list[dict[str, Any]] = [
        {"op": "put", "key": f"{key}-new", "value": {"deep": [None]}},
        {"op": "delete", "key": f"{key}-old"},
    ]
    answer = http.post("/users", json={"records": records}).json()
    assert [each["status"] for each in answer["outcomes"]] == ["ok", "ok"]
    assert answer["failed"] == 0
    new = http.get(f"/users/{key}-new")
    assert new.json() == {"deep": [None]}
    assert new.headers["etag"] == f'"{answer["outcomes"][0]["version"]}"'
    assert http.get(f"/users/{key}-old").status_code == 404


def test_a_record_that_cannot_be_written_fails_alone(http: httpx.Client) -> None:
    records = [
        {"op": "put", "key": "1", "value": 1},
        {"op": "put", "key": "x", "value": 2},
        {"op": "put", "key": "3", "value": "text"},
        {"op": "put", "key": "4", "value": 4},
    ]
    answer = http.post("/tables/numbers/keys", json={"records": records}).json()
    assert [each["status"] for each in answer["outcomes"]] == ["ok", "failed", "failed", "ok"]
    assert answer["failed"] == 2
    assert answer["outcomes"][1]["error"]["name"] == "EncodeError"
    assert http.get("/tables/numbers/keys/4").json() == 4


def test_the_last_of_several_writes_of_a_key_wins(http: httpx.Client, key: str) -> None:
    records = [{"op": "put", "key": key, "value": number} for number in range(100)]
    assert http.post("/users", json={"records": records}).json()["failed"] == 0
    assert http.get(f"/users/{key}").json() == 99


def test_records_of_a_batch_may_have_a_time_to_live(http: httpx.Client, key: str) -> None:
    records = [
        {"op": "put", "key": f"{key}-short", "value": 1, "ttl": "1h"},
        {"op": "put", "key": f"{key}-lasting", "value": 1},
    ]
    assert http.post("/users", json={"records": records}).json()["failed"] == 0
    assert "lastword-ttl" in http.get(f"/users/{key}-short").headers
    assert "lastword-ttl" not in http.get(f"/users/{key}-lasting").headers
    bad = [{"op": "put", "key": key, "value": 1, "ttl": "soon"}]
    assert http.post("/users", json={"records": bad}).status_code == 400


def test_keys_of_a_batch_may_be_base64url(http: httpx.Client) -> None:
    key = to_base64url(b"\x00\xff")
    records = [{"op": "put", "key": key, "value": "AA=="}]
    url = "/binary/blobs?encoding=base64url"
    assert http.post(url, json={"records": records}).json()["failed"] == 0
    assert http.get("/binary/blobs/%00%ff").json() == "AA=="


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"records": []},
        {"records": [{"key": "a"}]},
        {"records": [{"op": "put", "key": "a"}]},
        {"records": [{"op": "put", "key": "", "value": 1}]},
        {"records": [{"op": "delete", "key": "a", "value": 1}]},
        {"records": [{"op": "put", "key": "a", "value": 1}] * 1001},
        {"records": [{"op": "put", "key": "a", "value": 1}], "compression.type": "gzip"},
        [],
    ],
)
def test_an_invalid_batch_is_refused_as_a_whole(http: httpx.Client, body: Any) -> None:
    answer = http.post("/users", json=body)
    assert (answer.status_code, answer.json()["name"]) == (400, "BadBatch")
