"""A node's settings: members on the loopback address, and the user's settings untouched."""

from __future__ import annotations

import pytest

from lastword.broker.info import NodeInfo
from lastword.broker.node_settings import (
    check_settings,
    default_settings,
    node_settings,
    to_properties,
)
from lastword.errors import ConfigError


def node(number: int, port: int) -> NodeInfo:
    return NodeInfo(
        id=number,
        directory=f"/b/node-{number}",
        listeners={"PLAINTEXT": port, "TLS": port + 1},
        controller_port=port + 2,
        metrics_port=port + 3,
    )


NODES = [node(1, 20000), node(2, 20010)]


def test_every_address_is_the_loopback_one() -> None:
    settings = node_settings(NODES[0], NODES, {"TLS": "SSL"})
    assert settings["listeners"] == (
        "PLAINTEXT://127.0.0.1:20000,TLS://127.0.0.1:20001,CONTROLLER://127.0.0.1:20002"
    )
    assert settings["advertised.listeners"] == "PLAINTEXT://127.0.0.1:20000,TLS://127.0.0.1:20001"
    assert settings["controller.quorum.voters"] == "1@127.0.0.1:20002,2@127.0.0.1:20012"
    assert settings["listener.security.protocol.map"] == (
        "PLAINTEXT:PLAINTEXT,TLS:SSL,CONTROLLER:PLAINTEXT"
    )


@pytest.mark.parametrize(("brokers", "replicas"), [(1, "1"), (2, "2"), (3, "3"), (5, "3")])
def test_internal_topics_are_replicated_as_far_as_there_are_brokers(
    brokers: int, replicas: str
) -> None:
    settings = default_settings(brokers)
    assert settings["offsets.topic.replication.factor"] == replicas
    assert settings["transaction.state.log.replication.factor"] == replicas
    assert int(settings["transaction.state.log.min.isr"]) <= int(replicas)


@pytest.mark.parametrize("name", ["listeners", "log.dirs", "node.id", "process.roles"])
def test_a_setting_the_embedded_broker_decides_is_refused_with_the_way_to_go(name: str) -> None:
    with pytest.raises(ConfigError, match=name) as caught:
        check_settings({"log.cleaner.threads": "2", name: "x"})
    assert caught.value.hint


def test_no_setting_that_is_decided_here_can_be_passed() -> None:
    for name in node_settings(NODES[0], NODES, {}):
        with pytest.raises(ConfigError):
            check_settings({name: "x"})


def test_values_are_escaped_as_java_reads_them() -> None:
    assert to_properties({"a": "C:\\logs", "b": "x\ny", "c": "a=b # c"}) == (
        "a=C:\\\\logs\nb=x\\ny\nc=a=b # c\n"
    )
