"""Numbers of thousands of digits, in paths and in Last-Event-ID, were answered with 500."""

from __future__ import annotations

import pytest

from lastword.codecs.windowed import windowed
from lastword.errors import ConfigError
from lastword.records import Position
from lastword.snapshots.travel.moments import parse_moment
from tests.service.conftest import Serve

# The first is just too large for Kafka; Python itself refuses to read the last one.
NUMBERS = ("9" * 20, "9" * 5000)


def test_positions_of_a_watch(serve: Serve) -> None:
    with serve().client() as client:
        for number in NUMBERS:
            for position in (f"0:{number}", f"{number}:0", f"0:0,1:{number}"):
                answer = client.get("/tables/table/watch", headers={"Last-Event-ID": position})
                assert (answer.status_code, answer.json()["name"]) == (400, "BadPosition")
                assert len(answer.content) < 1000
                query = client.get("/table/a", params={"at_least": position})
                assert query.status_code == 400


def test_windows_in_paths(serve: Serve) -> None:
    serving = serve(table_options={"key": windowed("string", 60_000)})
    with serving.client() as client:
        for number in (*NUMBERS, "9" * 19, "٣"):
            for method in ("GET", "PUT", "DELETE"):
                body = {"json": 1} if method == "PUT" else {}
                answer = client.request(method, f"/table/a/{number}", **body)
                assert (answer.status_code, answer.json()["name"]) == (400, "EncodeError"), number


@pytest.mark.parametrize("number", NUMBERS)
def test_positions_and_moments_anywhere(number: str) -> None:
    with pytest.raises(ConfigError, match="is not a version"):
        Position.parse(f"0:{number}")
    with pytest.raises(ConfigError, match="cannot read"):
        parse_moment(number)
