"""An error that nobody thought of was answered with 500, and no line of the log said why."""

from __future__ import annotations

import pytest

from lastword.codecs import ValueCodec
from tests.service.conftest import Serve


class Broken(ValueCodec):
    """A codec of a user that raises what codecs should not."""

    name = "broken"

    def encode(self, value: object) -> bytes:
        return str(value).encode()

    def decode(self, data: bytes) -> object:
        raise RuntimeError("the codec is broken")


@pytest.mark.parametrize("query", ["", "?stale=true"], ids=["short cut", "route"])
def test_the_log_has_the_request_and_the_cause(
    serve: Serve, caplog: pytest.LogCaptureFixture, query: str
) -> None:
    serving = serve(table_options={"value": Broken()})
    serving.table.put("key", 1)
    with serving.client() as client:
        answer = client.get(f"/table/key{query}")
    assert (answer.status_code, answer.json()["name"]) == (500, "InternalError")
    assert "broken" not in answer.text
    (line,) = (each for each in caplog.records if each.levelname == "ERROR")
    assert line.getMessage() == "GET b'/table/key' failed"
    assert line.exc_info is not None
    assert "the codec is broken" in str(line.exc_info[1])
