"""The secure broker lets in who has the password or the certificate, and nobody else."""

from __future__ import annotations

from typing import Any

import pytest
from confluent_kafka.admin import AdminClient

from lastword.testing import wait_until
from lastword.testing.secure_broker import SecureBroker


def login(secure: SecureBroker, mechanism: str, password: str) -> dict[str, Any]:
    return {
        "bootstrap.servers": secure.login_servers,
        "security.protocol": "SASL_SSL",
        "ssl.ca.location": str(secure.certificates.authority),
        "sasl.mechanism": mechanism,
        "sasl.username": secure.username,
        "sasl.password": password,
    }


def mutual(secure: SecureBroker) -> dict[str, Any]:
    return {
        "bootstrap.servers": secure.mutual_servers,
        "security.protocol": "SSL",
        "ssl.ca.location": str(secure.certificates.authority),
    }


def brokers_seen(settings: dict[str, Any]) -> set[int]:
    return set(AdminClient(settings).list_topics(timeout=180).brokers)


def wait_until_refused(settings: dict[str, Any], reason: str) -> None:
    """Wait until the client says that it could not connect, and that this is why."""
    reasons: list[str] = []
    refused = {"error_cb": lambda error: reasons.append(error.name()), "log_level": 0}
    client = AdminClient(settings | refused)
    wait_until(lambda: client.poll(0.02) or reason in reasons, f"{reason} among {reasons}")


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-512"])
def test_a_user_logs_in_over_tls(secure_broker: SecureBroker, mechanism: str) -> None:
    assert brokers_seen(login(secure_broker, mechanism, secure_broker.password)) == {1}


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-512"])
def test_a_wrong_password_is_refused(secure_broker: SecureBroker, mechanism: str) -> None:
    wait_until_refused(login(secure_broker, mechanism, "wrong"), "_AUTHENTICATION")


def test_a_client_with_a_certificate_is_let_in(secure_broker: SecureBroker) -> None:
    certificate = {
        "ssl.certificate.location": str(secure_broker.certificates.client_certificate),
        "ssl.key.location": str(secure_broker.certificates.client_key),
    }
    assert brokers_seen(mutual(secure_broker) | certificate) == {1}


def test_a_client_without_a_certificate_is_refused(secure_broker: SecureBroker) -> None:
    wait_until_refused(mutual(secure_broker), "_SSL")


def test_a_client_that_does_not_trust_the_authority_refuses_the_broker(
    secure_broker: SecureBroker,
) -> None:
    settings = login(secure_broker, "PLAIN", secure_broker.password)
    del settings["ssl.ca.location"]
    wait_until_refused(settings, "_SSL")
