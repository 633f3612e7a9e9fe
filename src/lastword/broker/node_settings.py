"""The settings of a broker node: those Lastword sets, and those that can be changed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from lastword.broker.info import CLIENT_LISTENER, NodeInfo
from lastword.broker.login import MECHANISM, PROTOCOL, BrokerLogin
from lastword.errors import ConfigError
from lastword.jvm.ports import LOOPBACK

_CONTROLLER_LISTENER = "CONTROLLER"

# Where each of these goes instead of into ``settings``.
_DECIDED_HERE = {
    "process.roles": "every node is broker and controller",
    "node.id": "nodes are numbered from 1",
    "controller.quorum.voters": "all nodes vote",
    "controller.quorum.bootstrap.servers": "all nodes vote",
    "controller.listener.names": "it follows from the ports",
    "listeners": "pass port= or listeners= (on the command line: --port)",
    "advertised.listeners": "pass port= or listeners= (on the command line: --port)",
    "listener.security.protocol.map": "pass listeners=",
    "inter.broker.listener.name": "brokers talk on the loopback listener",
    "log.dir": "it is below the broker's directory",
    "log.dirs": "it is below the broker's directory",
}


def node_settings(
    node: NodeInfo,
    cluster: Sequence[NodeInfo],
    listeners: Mapping[str, str],
    login: BrokerLogin | None = None,
) -> dict[str, str]:
    """What makes ``node`` a member of ``cluster``; ``listeners`` maps further names to protocols.

    Every address is the loopback one: nothing outside this machine can connect. With a ``login``
    clients need it, and so do the nodes among themselves.
    """
    own = "PLAINTEXT" if login is None else PROTOCOL
    protocols = {CLIENT_LISTENER: own, **listeners}
    client = ",".join(f"{name}://{LOOPBACK}:{node.listeners[name]}" for name in protocols)
    return {
        "process.roles": "broker,controller",
        "node.id": str(node.id),
        "controller.quorum.voters": ",".join(
            f"{each.id}@{LOOPBACK}:{each.controller_port}" for each in cluster
        ),
        "controller.listener.names": _CONTROLLER_LISTENER,
        "listeners": f"{client},{_CONTROLLER_LISTENER}://{LOOPBACK}:{node.controller_port}",
        "advertised.listeners": client,
        "listener.security.protocol.map": ",".join(
            f"{name}:{protocol}"
            for name, protocol in {**protocols, _CONTROLLER_LISTENER: own}.items()
        ),
        "inter.broker.listener.name": CLIENT_LISTENER,
        "log.dirs": str(node.data_dir),
        **({} if login is None else _login_settings(login)),
    }


def _login_settings(login: BrokerLogin) -> dict[str, str]:
    # The controller's listener, too: any client of it can create and delete topics.
    listeners = (CLIENT_LISTENER, _CONTROLLER_LISTENER)
    return {
        "sasl.enabled.mechanisms": MECHANISM,
        "sasl.mechanism.inter.broker.protocol": MECHANISM,
        "sasl.mechanism.controller.protocol": MECHANISM,
        **{
            f"listener.name.{name.lower()}.{MECHANISM.lower()}.sasl.jaas.config": login.for_broker()
            for name in listeners
        },
    }


def default_settings(brokers: int) -> dict[str, str]:
    """Defaults for one machine; each can be overridden."""
    replicas = str(min(brokers, 3))
    return {
        "offsets.topic.replication.factor": replicas,
        "offsets.topic.num.partitions": "1",
        "transaction.state.log.replication.factor": replicas,
        "transaction.state.log.min.isr": str(1 if brokers == 1 else 2),
        "transaction.state.log.num.partitions": "1",
        "share.coordinator.state.topic.replication.factor": replicas,
        "share.coordinator.state.topic.min.isr": "1",
        "default.replication.factor": replicas,
        # The first member of a group need not wait for others that will not come.
        "group.initial.rebalance.delay.ms": "0",
        # A misspelt topic must be an error, not an empty topic that is not even compacted.
        "auto.create.topics.enable": "false",
    }


def check_settings(settings: Mapping[str, str]) -> None:
    """Refuse settings that the embedded broker sets itself."""
    for name in settings:
        if name in _DECIDED_HERE:
            raise ConfigError(
                f"the broker setting {name} is set by Lastword and cannot be changed",
                hint=_DECIDED_HERE[name],
            )


def to_properties(settings: Mapping[str, str]) -> str:
    """The settings in the format of Java's properties files."""
    return "".join(f"{name}={_escaped(value)}\n" for name, value in settings.items())


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace("\n", "\\n")
