"""Requests as bytes, answers from bytes that come in any pieces, and where the token may appear."""

from __future__ import annotations

import itertools
import logging

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lastword.client.calls.watching import EventReader
from lastword.client.http.address import address_of
from lastword.client.http.failures import AnswerLostError
from lastword.client.http.messages import HttpRequest, rendered
from lastword.client.http.response_reader import HEAD_BYTES_MAX, ResponseReader
from lastword.errors import ConfigError

LENGTH = b'HTTP/1.1 200 OK\r\nContent-Length: 5\r\nETag: "1:2"\r\n\r\nhello'
CHUNKED = (
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhe\r\n3;x=y\r\nllo\r\n0\r\n\r\n"
)
CONTINUED = b"HTTP/1.1 100 Continue\r\n\r\n" + LENGTH
UNTIL_THE_END = b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nhello"
EVENTS = b": hi\nretry: 1\nid: 0:1\nevent: put\ndata: {\ndata: }\n\nid: 0:2\n: still here\n\n"
SECRET = "s3cret-token"  # noqa: S105 - of no service


def pieces(data: bytes, cuts: list[int]) -> list[bytes]:
    edges = [0, *sorted(cut % (len(data) + 1) for cut in cuts), len(data)]
    return [data[a:b] for a, b in itertools.pairwise(edges)]


@pytest.mark.parametrize("answer", [LENGTH, CHUNKED, CONTINUED, UNTIL_THE_END])
@given(cuts=st.lists(st.integers(0, 200), max_size=8))
def test_an_answer_is_the_same_in_any_pieces(answer: bytes, cuts: list[int]) -> None:
    reader = ResponseReader()
    body = b""
    for piece in pieces(answer, cuts):
        reader.feed(piece)
        body += reader.take()
    if answer is UNTIL_THE_END:
        assert not reader.done
        reader.end()
    assert (reader.status, reader.done, body) == (200, True, b"hello")
    assert reader.keeps_connection == (answer is not UNTIL_THE_END)


@pytest.mark.parametrize("answer", [LENGTH, CHUNKED])
def test_an_answer_that_breaks_off_is_lost(answer: bytes) -> None:
    for length in range(len(answer) - 1):
        reader = ResponseReader()
        reader.feed(answer[:length])
        with pytest.raises(AnswerLostError):
            reader.end()


@pytest.mark.parametrize(
    "answer",
    [
        b"SSH-2.0-OpenSSH\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n",
        b"HTTP/1.1 200 OK\r\nA: " + b"a" * HEAD_BYTES_MAX,
    ],
)
def test_bytes_that_are_not_an_answer_are_refused(answer: bytes) -> None:
    with pytest.raises(AnswerLostError):
        ResponseReader().feed(answer)


@given(cuts=st.lists(st.integers(0, 200), max_size=8))
def test_events_are_the_same_in_any_pieces(cuts: list[int]) -> None:
    reader = EventReader("")
    events = [event for piece in pieces(EVENTS, cuts) for event in reader.feed(piece)]
    assert events == [("put", b"{\n}", "0:1")]
    assert reader.id == "0:2"


def test_a_line_break_never_gets_into_a_request() -> None:
    for request in (
        HttpRequest("GET", "/a\r\nX: 1"),
        HttpRequest("GET", "/", headers=(("last-event-id", "1\r\nX: 1"),)),
    ):
        with pytest.raises(ConfigError):
            rendered(request, b"host: a\r\n")


@pytest.mark.parametrize(
    "url",
    [
        "localhost:8090",
        "ftp://localhost",
        "http://",
        "http://localhost:99999",
        "http://localhost/users?x=1",
        f"http://me:{SECRET}@localhost/users",
    ],
)
def test_an_invalid_address_is_refused_without_its_secret(url: str) -> None:
    with pytest.raises(ConfigError) as caught:
        address_of(url, None)
    assert SECRET not in str(caught.value)


def test_the_token_is_sent_and_shown_nowhere(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG):
        address = address_of("http://service.example:80/users", SECRET)
    assert SECRET.encode() in rendered(HttpRequest("GET", "/"), address.fixed_headers)
    assert SECRET not in repr(address)
    assert "without TLS" in caplog.text
    assert SECRET not in caplog.text


@pytest.mark.parametrize("token", ["", f"{SECRET}\n", f"{SECRET}\r\nX: 1", f"{SECRET} b", "tökén"])
def test_an_invalid_token_is_refused_without_repeating_it(token: str) -> None:
    with pytest.raises(ConfigError) as caught:
        address_of("http://localhost", token)
    assert SECRET not in str(caught.value)


def test_certificates_are_for_tls_only() -> None:
    with pytest.raises(ConfigError, match="https"):
        address_of("http://localhost", None, ca="ca.pem")
    with pytest.raises(ConfigError, match="cannot be loaded"):
        address_of("https://localhost", None, ca="/does/not/exist.pem")
