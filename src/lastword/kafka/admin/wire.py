"""The requests that librdkafka lacks, made through kafka-python."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

from lastword.errors import (
    ConfigError,
    ConnectionFailedError,
    LastwordError,
    TopicError,
    TopicNotFoundError,
)
from lastword.kafka.connection import Connection
from lastword.kafka.connection.discreet_logs import keep_discreet

REQUEST_TIMEOUT_SECONDS = 10.0
_CONSUMERS = "consumer"


@contextmanager
def wire_admin(
    connection: Connection, *, doing: str, timeout_seconds: float = REQUEST_TIMEOUT_SECONDS
) -> Iterator[Any]:
    """A kafka-python admin client; its errors leave the block as Lastword's own."""
    client: Any = None
    with wire_errors(connection, doing=doing):
        try:
            client = open_wire_admin(connection, timeout_seconds=timeout_seconds)
            yield client
        finally:
            if client is not None:
                client.close()


def open_wire_admin(connection: Connection, *, timeout_seconds: float) -> Any:
    """The same client, to be kept and closed by the caller; one thread uses it."""
    timeout_ms = int(timeout_seconds * 1000)
    limits = {"request_timeout_ms": timeout_ms, "bootstrap_timeout_ms": timeout_ms}
    return _started(_admin_class(), wire_settings(connection) | limits)


@cache
def _admin_class() -> Any:
    """The library's admin client, for groups of any kind of member.

    The library reads what the members of a Connect cluster say of themselves as if they were
    consumers, and fails.
    """

    class AnyGroupAdmin(kafka_python().KafkaAdminClient):  # type: ignore[misc]
        def _describe_groups_process_response(self, response: Any) -> Any:
            for group in response.groups:
                if group.protocol_type != _CONSUMERS:
                    for member in group.members:
                        member.member_metadata = member.member_assignment = b""
            return super()._describe_groups_process_response(response)

    return AnyGroupAdmin


def _started(kind: Any, settings: dict[str, Any]) -> Any:
    """A connected client; or its error, whose thread the library leaves running."""
    client = kind.__new__(kind)
    try:
        client.__init__(**settings)
    except BaseException:
        client._closed = False
        if hasattr(client, "_net"):
            client.close()
        raise
    return client


def wire_settings(connection: Connection) -> dict[str, Any]:
    """The settings of a kafka-python client; its log shows no secrets from now on."""
    keep_discreet("kafka")
    settings = connection.kafka_python()
    if connection.oauth is not None:
        from lastword.kafka.connection.token_provider import TokenProvider  # noqa: PLC0415

        settings["sasl_oauth_token_provider"] = TokenProvider(connection.oauth)
    return settings


@contextmanager
def wire_errors(connection: Connection, *, doing: str) -> Iterator[None]:
    """Errors of kafka-python leave the block as Lastword's own."""
    try:
        yield
    except kafka_python().errors.KafkaError as error:
        raise wire_failure(error, doing, connection.bootstrap_servers) from error


def kafka_python() -> Any:
    """The package, loaded when it is first needed."""
    with kafka_python_imported():
        # Loaded only here: it takes a quarter of a second that few commands need.
        import kafka  # noqa: PLC0415
        import kafka.admin  # noqa: PLC0415
        import kafka.errors  # noqa: PLC0415
    return kafka


@contextmanager
def kafka_python_imported() -> Iterator[None]:
    """Import kafka-python in this block: it reads files with a call that Python 3.11 deprecates."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        yield


def wire_failure(error: Any, doing: str, servers: str) -> LastwordError:
    """The error to raise when ``doing`` ended in an error of kafka-python."""
    from kafka import errors  # noqa: PLC0415

    if isinstance(error, errors.UnknownTopicOrPartitionError):
        return TopicNotFoundError(
            f"no such topic while {doing}: {error}", hint="list the topics: lastword topic list"
        )
    refused = (
        errors.SaslAuthenticationFailedError,
        errors.UnsupportedSaslMechanismError,
        errors.AuthorizationError,
        errors.ClusterAuthorizationFailedError,
        errors.TopicAuthorizationFailedError,
        errors.TransactionalIdAuthorizationFailedError,
        errors.KafkaConfigurationError,
    )
    if isinstance(error, refused):
        return ConfigError(
            f"{servers} refuses this while {doing}: {error}",
            hint="check user name, password, certificates and the cluster's ACLs",
        )
    if error.retriable:
        return ConnectionFailedError(
            f"{servers} did not answer while {doing}: {error}",
            hint="check the address and that the broker runs: lastword broker status",
        )
    return TopicError(f"failed while {doing}: {error}")
