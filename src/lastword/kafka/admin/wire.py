"""The admin requests that librdkafka lacks, made through kafka-python."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from lastword.errors import ConfigError, ConnectionFailedError, TopicError, TopicNotFoundError
from lastword.kafka.connection import Connection
from lastword.kafka.connection.discreet_logs import keep_discreet

REQUEST_TIMEOUT_SECONDS = 10.0


@contextmanager
def wire_admin(
    connection: Connection, *, doing: str, timeout_seconds: float = REQUEST_TIMEOUT_SECONDS
) -> Iterator[Any]:
    """A kafka-python admin client; its errors leave the block as Lastword's own."""
    with warnings.catch_warnings():
        # kafka-python reads its own files with a call that Python 3.11 deprecates.
        warnings.simplefilter("ignore", DeprecationWarning)
        # Loaded only here: it takes a quarter of a second that few commands need.
        from kafka import KafkaAdminClient  # noqa: PLC0415
        from kafka.errors import KafkaError  # noqa: PLC0415

    keep_discreet("kafka")
    settings = connection.kafka_python()
    timeout_ms = int(timeout_seconds * 1000)
    settings |= {"request_timeout_ms": timeout_ms, "bootstrap_timeout_ms": timeout_ms}
    if connection.oauth is not None:
        from lastword.kafka.connection.token_provider import TokenProvider  # noqa: PLC0415

        settings["sasl_oauth_token_provider"] = TokenProvider(connection.oauth)
    client: Any = None
    try:
        client = KafkaAdminClient(**settings)
        yield client
    except KafkaError as error:
        raise _failure(error, doing, connection.bootstrap_servers) from error
    finally:
        if client is not None:
            client.close()


def _failure(error: Any, doing: str, servers: str) -> Exception:
    from kafka import errors  # noqa: PLC0415

    if isinstance(error, errors.UnknownTopicOrPartitionError):
        return TopicNotFoundError(
            f"no such topic while {doing}: {error}", hint="see what there is: lastword topic list"
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
