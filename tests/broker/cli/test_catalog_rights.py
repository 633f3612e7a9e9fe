"""Commands of a user who may neither read nor write the catalog."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka.admin import (
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    AdminClient,
    ResourcePatternType,
    ResourceType,
)

from lastword.catalog.catalog import CATALOG_TOPIC, write_entries
from lastword.catalog.catalog_entry import CatalogEntry
from lastword.kafka.admin import Admin
from lastword.kafka.connection import Connection
from lastword.kafka.log.kafka_log import KafkaLog
from lastword.testing.secure_broker import SecureBroker
from lastword.topics.creation import create_topic
from tests.broker.cli.conftest import Lastword

pytestmark = pytest.mark.broker


@pytest.fixture
def alice(secure_broker: SecureBroker, topic_name: str, tmp_path: Path) -> Iterator[Lastword]:
    """Commands of alice, on a cluster whose catalog is not for her."""
    anybody = Connection(bootstrap_servers=secure_broker.broker.bootstrap_servers)
    with Admin(anybody) as admin:
        create_topic(admin, topic_name, partitions=1)
    write_entries(anybody, KafkaLog(anybody), {topic_name: CatalogEntry(value="int64")})
    rights = AdminClient(anybody.librdkafka())
    denied = (
        *(ResourceType.TOPIC, CATALOG_TOPIC, ResourcePatternType.LITERAL),
        *("User:alice", "*", AclOperation.ALL, AclPermissionType.DENY),
    )
    for done in rights.create_acls([AclBinding(*denied)]).values():
        done.result()
    yield Lastword(
        {
            "LASTWORD_BOOTSTRAP_SERVERS": secure_broker.login_servers,
            "LASTWORD_SECURITY_PROTOCOL": "SASL_SSL",
            "LASTWORD_SSL_CA": str(secure_broker.certificates.authority),
            "LASTWORD_SASL_MECHANISM": "PLAIN",
            "LASTWORD_SASL_USERNAME": secure_broker.username,
            "LASTWORD_SASL_PASSWORD": secure_broker.password,
            "LASTWORD_HOME": str(tmp_path / "home"),
        }
    )
    for gone in rights.delete_acls([AclBindingFilter(*denied)]).values():
        gone.result()


def test_everything_works_without_rights_to_the_catalog(alice: Lastword, topic_name: str) -> None:
    put = alice("put", topic_name, "user-1", "42")
    assert put.exit_code == 0, put.output
    assert "the catalog cannot be read and is not used" in put.stderr
    assert alice.ok("get", topic_name, "user-1") == "42\n", "as JSON, which is the default"
    assert alice.json("get", topic_name, "user-1", "--value-codec", "bytes")[0]["value"] == "NDI="
    made = alice("topic", "create", f"{topic_name}-more", "--value-codec", "int64")
    assert made.exit_code == 0, made.output
    assert f"could not add {topic_name}-more to the catalog" in made.stderr
    refused = alice("describe", topic_name, "--description", "d", "--save")
    assert refused.exit_code != 0
