"""OAUTHBEARER: tokens from an identity provider, to a broker that asks for them."""

# ruff: noqa: S106 - the secrets are made up

from __future__ import annotations

import base64
import json
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs

import pytest

from lastword.broker.embedded import EmbeddedBroker
from lastword.broker.runtime import KafkaRuntime
from lastword.clock import SYSTEM_CLOCK
from lastword.errors import ConfigError
from lastword.kafka.admin import Admin
from lastword.kafka.admin.log_dirs import replica_sizes
from lastword.kafka.connection import Connection
from lastword.kafka.connection.oauth import ClientCredentials
from lastword.topics.creation import create_topic

MODULE = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule"


@dataclass
class IdentityProvider:
    """Hands out unsigned tokens, which Kafka accepts when nothing else is configured."""

    url: str = ""
    asked: list[dict[str, list[str]]] = field(default_factory=list)

    def answer(self, authorization: str, form: dict[str, list[str]]) -> tuple[int, bytes]:
        self.asked.append(form)
        login = base64.b64decode(authorization.removeprefix("Basic ")).decode()
        if login != "lastword:hush":
            return 401, b"{}"
        now = SYSTEM_CLOCK.now_ms() // 1000
        token = ".".join(
            base64.urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=")
            for part in ({"alg": "none"}, {"sub": "lastword", "iat": now, "exp": now + 300})
        )
        return 200, json.dumps({"access_token": token + ".", "expires_in": 300}).encode()


@pytest.fixture
def provider() -> Iterator[IdentityProvider]:
    provider = IdentityProvider()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"])).decode()
            status, answer = provider.answer(self.headers["Authorization"], parse_qs(body))
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, *_: object) -> None:
            """Stay quiet."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        provider.url = f"http://127.0.0.1:{server.server_port}/token"
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield provider
        server.shutdown()
        thread.join()


@pytest.fixture
def oauth_broker(kafka_runtime: KafkaRuntime, tmp_path: Path) -> Iterator[EmbeddedBroker]:
    listener = "listener.name.oauth.oauthbearer"
    with EmbeddedBroker(
        tmp_path,
        kafka_runtime,
        listeners={"OAUTH": "SASL_PLAINTEXT"},
        settings={
            "sasl.enabled.mechanisms": "OAUTHBEARER",
            f"{listener}.sasl.jaas.config": f'{MODULE} required unsecuredLoginStringClaim_sub="b";',
        },
    ) as broker:
        yield broker


def test_both_clients_get_in_with_a_token(
    oauth_broker: EmbeddedBroker, provider: IdentityProvider
) -> None:
    connection = Connection(
        bootstrap_servers=oauth_broker.info.addresses("OAUTH"),
        security_protocol="SASL_PLAINTEXT",
        sasl_mechanism="OAUTHBEARER",
        oauth=ClientCredentials(
            token_url=provider.url, client_id="lastword", client_secret="hush", scope="kafka"
        ),
    )
    with Admin(connection) as admin:
        create_topic(admin, "users", partitions=1)
    assert provider.asked[0] == {"grant_type": ["client_credentials"], "scope": ["kafka"]}
    (size,) = replica_sizes(connection, "users", 1)
    assert size.partition == 0
    assert connection.oauth is not None
    wrong = replace(connection, oauth=replace(connection.oauth, client_secret="s3cr3t-but-wrong"))
    with pytest.raises(ConfigError, match="OAUTHBEARER token") as caught:
        Admin(wrong).cluster_id()
    assert "s3cr3t" not in f"{caught.value} {caught.value.hint}"
