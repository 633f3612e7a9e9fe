"""Ports are picked where they stay free, and a taken one is explained."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator

import pytest

from lastword.errors import PortTakenError
from lastword.jvm.ports import free_ports, is_free, listener_of, require_free


@pytest.fixture
def taken() -> Iterator[int]:
    """A port this very process listens on."""
    with socket.create_server(("127.0.0.1", free_ports(1)[0])) as server:
        yield server.getsockname()[1]


def test_free_ports_differ_and_lie_below_those_of_outgoing_connections() -> None:
    ports = free_ports(50)
    assert len(set(ports)) == 50
    assert all(1024 <= port < 32768 for port in ports)


def test_a_port_that_was_given_is_not_picked_again() -> None:
    given = range(20_000, 30_000)
    assert all(port not in given for port in free_ports(5, besides=given))


def test_a_port_is_free_until_something_listens_there(taken: int) -> None:
    assert not is_free(taken)
    assert is_free(free_ports(1)[0])


def test_a_port_taken_on_all_addresses_is_not_free() -> None:
    with socket.create_server(("", free_ports(1)[0])) as server:
        assert not is_free(server.getsockname()[1])


def test_the_error_names_the_port_the_process_and_another_port(taken: int) -> None:
    with pytest.raises(
        PortTakenError, match=f"port {taken} is taken by process {os.getpid()} "
    ) as caught:
        require_free(taken)
    assert "--port" in (caught.value.hint or "")


def test_no_server_listens_on_a_free_port() -> None:
    (port,) = free_ports(1)
    require_free(port)
    assert listener_of(port) is None
