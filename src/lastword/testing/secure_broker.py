"""A broker that asks for TLS and a login, to prove that a connection is described rightly."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from lastword.broker.embedded import EmbeddedBroker
from lastword.broker.runtime import KafkaRuntime
from lastword.testing.certificates import Certificates, make_certificates

_LOGIN, _MUTUAL = "SASL_SSL", "MUTUAL_TLS"
_PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule"
_SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule"


@dataclass(frozen=True, slots=True)
class SecureBroker:
    """A broker with three listeners.

    login_servers    TLS, and a login as ``username`` by PLAIN or SCRAM-SHA-512
    mutual_servers   TLS with the client's certificate, no login
    broker           the broker itself, with its plaintext listener for comparison
    """

    broker: EmbeddedBroker
    certificates: Certificates
    username: str
    password: str = field(repr=False)

    @property
    def login_servers(self) -> str:
        """Bootstrap servers that ask for a login over TLS."""
        return self.broker.info.addresses(_LOGIN)

    @property
    def mutual_servers(self) -> str:
        """Bootstrap servers that ask for the client's certificate."""
        return self.broker.info.addresses(_MUTUAL)


def make_secure_broker(directory: Path, runtime: KafkaRuntime) -> SecureBroker:
    """A broker with new keys and one user, not started yet."""
    certificates = make_certificates(directory / "certificates")
    username, password = "alice", 'alice\'s "secret" = pa$$\\word'
    broker = EmbeddedBroker(
        directory,
        runtime,
        listeners={_LOGIN: "SASL_SSL", _MUTUAL: "SSL"},
        settings=_settings(certificates, username, password),
        scram_users={username: password},
    )
    return SecureBroker(broker, certificates, username, password)


def _settings(certificates: Certificates, username: str, password: str) -> dict[str, str]:
    login = f"listener.name.{_LOGIN.lower()}"
    quoted = password.replace("\\", "\\\\").replace('"', '\\"')
    return {
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": str(certificates.server),
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": str(certificates.authority),
        f"listener.name.{_MUTUAL.lower()}.ssl.client.auth": "required",
        "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-512",
        f"{login}.plain.sasl.jaas.config": f'{_PLAIN} required user_{username}="{quoted}";',
        f"{login}.scram-sha-512.sasl.jaas.config": f"{_SCRAM} required;",
        # Rights can be taken away by whoever comes without a login; until then all have all.
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "allow.everyone.if.no.acl.found": "true",
        "super.users": "User:ANONYMOUS",
    }
