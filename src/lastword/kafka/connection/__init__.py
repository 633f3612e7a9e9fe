"""How to reach a cluster, as settings for every client library."""

from lastword.kafka.connection.connection import (
    Connection,
    SaslMechanism,
    SecurityProtocol,
    choose_connection,
)

__all__ = ["Connection", "SaslMechanism", "SecurityProtocol", "choose_connection"]
