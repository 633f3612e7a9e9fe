"""What a capture leaves behind when its connector, slot and publication are gone."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from lastword.cdc.postgres.capture_spec import CaptureSpec
from lastword.cli.captures.capture_mirror import mirror_of
from lastword.cli.captures.capture_watch import registry_of
from lastword.cli.support.app_context import AppContext
from lastword.errors import LastwordError, TopicNotFoundError
from lastword.kafka.admin import Admin
from lastword.kafka.groups import Groups
from lastword.kafka.groups.names import pipeline_group


@dataclass(frozen=True)
class Leftovers:
    """What there is, by name; None for what there is not.

    topics   each with what it holds
    group    with the positions of the pipeline
    state    the directory of the pipeline's stores on this machine
    subject  of the registry, with the versions of the columns
    """

    topics: dict[str, str]
    group: str | None
    state: Path | None
    subject: str | None

    def lines(self) -> list[str]:
        """Each with the command that deletes it, or with what becomes of it."""
        found = [
            f"lastword topic delete {topic}    {holds}" for topic, holds in self.topics.items()
        ]
        if self.group is not None:
            found.append(
                f"the consumer group {self.group}: Kafka deletes its positions with the topic of "
                "the change events"
            )
        if self.state is not None:
            found.append(f"{self.state}: the pipeline's stores, rebuilt from the topics if needed")
        if self.subject is not None:
            found.append(
                f"the subject {self.subject} in the registry: a new capture continues its versions"
            )
        return found


def leftovers_of(app: AppContext, spec: CaptureSpec) -> Leftovers:
    """What stays of a capture that was removed; a registry that does not answer is a message."""
    connector = spec.source.connector
    with Admin(app.connection) as admin:
        topics = {
            topic: holds for topic, holds in _possible_topics(spec).items() if _exists(admin, topic)
        }
    group = pipeline_group(connector)
    with closing(Groups(app.connection)) as groups:
        has_group = group in groups.names()
    state = app.state_dir / connector
    return Leftovers(
        topics,
        group if has_group else None,
        state if state.is_dir() else None,
        _subject(app, f"{spec.name}-value"),
    )


def _possible_topics(spec: CaptureSpec) -> dict[str, str]:
    connector = spec.source.connector
    pipeline = mirror_of(spec).topics - {spec.name}
    return {
        spec.source.topic: "the change events",
        spec.name: "the table",
        **dict.fromkeys(sorted(pipeline), "the pipeline's own state"),
        f"{connector}-quarantine": "change events that could not be applied",
        f"{connector}-control": "the pipeline's own state",
        f"__debezium-heartbeat.{connector}": "the connector's heartbeats",
    }


def _exists(admin: Admin, topic: str) -> bool:
    try:
        admin.describe(topic)
    except TopicNotFoundError:
        return False
    return True


def _subject(app: AppContext, subject: str) -> str | None:
    try:
        registry = registry_of(app)
        return subject if registry is not None and registry.versions(subject) else None
    except LastwordError as error:
        app.output.info(f"the registry may have the subject {subject}: {error}")
        return None
