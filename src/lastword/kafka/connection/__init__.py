"""How to reach a cluster, in the words of every client that needs it."""

from lastword.kafka.connection.connection import (
    Connection,
    SaslMechanism,
    SecurityProtocol,
    choose_connection,
)

__all__ = ["Connection", "SaslMechanism", "SecurityProtocol", "choose_connection"]
