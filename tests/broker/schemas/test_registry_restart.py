"""A registry that keeps its schemas in the cluster: killed, and started again."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from lastword.codecs.registry import Registry
from lastword.codecs.registry.client import Schema
from lastword.errors import RegistryError
from lastword.kafka.connection import Connection
from lastword.registry_server.embedded_registry import EmbeddedRegistry
from lastword.registry_server.runtime import RegistryRuntime
from lastword.service.api.key_reads import read_key
from lastword.service.api.served import Mount, ServedTable
from lastword.service.http.problems import problem_of
from lastword.testing import wait_until
from tests.support.local_tables.tables import Tables

pytestmark = pytest.mark.broker

WAIT_S = 180.0
V1 = '{"type":"record","name":"User","fields":[{"name":"name","type":"string"}]}'
AGE = '{"name":"age","type":"int","default":-1}'
V2 = V1.replace("]}", f",{AGE}]}}")
USERS = {"a": {"name": "Ada", "age": -1}, "b": {"name": "Bob", "age": 7}}


@pytest.fixture
def kept(connection: Connection, prepared: Path, tmp_path: Path) -> Iterator[EmbeddedRegistry]:
    """A registry of the test's own, with its schemas in topics of the session's broker."""
    runtime = RegistryRuntime.prepare(prepared, os.environ)
    registry = EmbeddedRegistry(
        tmp_path / "registry", runtime, bootstrap_servers=connection.bootstrap_servers
    )
    registry.start()
    yield registry
    registry.kill()


def test_schemas_survive_a_killed_registry_and_a_table_is_restored_without_it(
    kept: EmbeddedRegistry, tables: Tables, topic: str
) -> None:
    schemas = Registry(kept.url, auto_register=True)
    for version, key in ((V1, "a"), (V2, "b")):
        table = tables.open(topic, value=schemas.avro(version), application_id=f"{topic}-{key}")
        table.put(key, USERS[key] if version == V2 else {"name": "Ada"})
    before = _known(schemas, topic)
    assert [number for number, *_ in before] == [1, 2]
    assert dict(table.items()) == USERS

    kept.kill()
    assert dict(table.items()) == USERS, "known ids are read without the registry"
    table.put("b", USERS["b"])
    # A cache of its own, as in another process: the ids are unknown to it.
    restarted = Registry(f"{kept.url}/", auto_register=True)
    blind = tables.open(
        topic, value=restarted.avro(V2), on_bad="quarantine", application_id=f"{topic}-blind"
    )
    assert len(blind) == 2
    with pytest.raises(RegistryError, match="does not answer"):
        blind.get("a")
    with pytest.raises(RegistryError) as refused:
        read_key(ServedTable(Mount(blind)), b"a", {})
    answer = problem_of(refused.value)
    assert (answer.status, answer.retriable) == (503, True)

    kept.start()

    def read() -> Any:
        with suppress(RegistryError):  # it is not asked again for a few seconds
            return dict(blind.items())

    wait_until(lambda: read() == USERS, "the values can be read again", timeout=WAIT_S)
    assert not blind.quarantined()
    assert _known(restarted, topic) == before
    with pytest.raises(RegistryError, match="409"):
        restarted.client.register(f"{topic}-value", Schema('"string"'))
    blind.put("c", {"name": "Cy", "age": 3})
    assert restarted.client.versions(f"{topic}-value") == [1, 2], "the schema is known as version 2"


def _known(schemas: Registry, topic: str) -> list[tuple[int, int, str]]:
    """Number, id and text of each version."""
    subject = f"{topic}-value"
    found = [schemas.client.version(subject, each) for each in schemas.client.versions(subject)]
    return [(each.version, each.id, each.schema) for each in found if each is not None]
