"""The names of consumer groups and of owners' transactional ids: no two uses share one.

A pipeline's group is its application id, as with Kafka Streams: lag tools find it there, and its
positions decide where the pipeline continues. Every other group of an application has a suffix
after a colon. No application id contains a colon, so no other group can be a pipeline's.

The transactional ids of a pipeline are `<application-id>:<topics>:<partition>`. Those of owners
have one more part, and neither application ids nor topics contain a colon, so no two are equal.
"""

from __future__ import annotations

from lastword.errors import ConfigError

_SEPARATOR = ":"

READER_GROUP = f"lastword{_SEPARATOR}readers"
"""The group of every reader of a log: librdkafka wants one, but readers neither join it nor commit
to it. So a reader can never begin at a committed offset."""


def pipeline_group(application_id: str) -> str:
    """The group of a pipeline: its driver is the only member, its tasks commit positions.

    >>> pipeline_group("shop")
    'shop'
    """
    return _checked(application_id)


def table_group(application_id: str) -> str:
    """The group under which tables publish their positions; nothing ever reads them back.

    >>> table_group("shop")
    'shop:tables'
    """
    return f"{_checked(application_id)}{_SEPARATOR}tables"


def reading_group(application_id: str) -> str:
    """The group of Spark's consumers when they read spans; nobody commits to it.

    >>> reading_group("shop")
    'shop:sources'
    """
    return f"{_checked(application_id)}{_SEPARATOR}sources"


def owner_transactional_id(application_id: str, topic: str, partition: int) -> str:
    """The transactional id whose epoch fences the owners of a partition.

    >>> owner_transactional_id("shop", "orders", 3)
    'shop:owner:orders:3'
    """
    return _SEPARATOR.join((_checked(application_id), "owner", topic, str(partition)))


def cluster_group(application_id: str) -> str:
    """The group that the instances of an application join.

    >>> cluster_group("shop")
    'shop:cluster'
    """
    return f"{_checked(application_id)}{_SEPARATOR}cluster"


def copy_group(target: str) -> str:
    """The group that holds the positions of a copy into ``target``.

    >>> copy_group("orders-wide")
    'lastword:copy:orders-wide'
    """
    return _SEPARATOR.join(("lastword", "copy", target))


def copy_transactional_id(source: str, target: str) -> str:
    """The transactional id of a copy: if two run at once, the later one fences the other.

    >>> copy_transactional_id("orders", "orders-wide")
    'lastword:copy:orders:orders-wide'
    """
    return _SEPARATOR.join(("lastword", "copy", source, target))


def control_topic(application_id: str) -> str:
    """The topic to which the leader of an application's instances writes plans.

    Changelogs have the application id as their prefix, too, and another suffix.

    >>> control_topic("shop")
    'shop-cluster-control'
    """
    return f"{_checked(application_id)}-cluster-control"


def lease_topic(application_id: str) -> str:
    """The topic that keeps the locks of an application.

    >>> lease_topic("shop")
    'shop-leases'
    """
    return f"{_checked(application_id)}-leases"


def _checked(application_id: str) -> str:
    if _SEPARATOR in application_id:
        raise ConfigError(
            f"an application id cannot be named {application_id!r}: a colon separates it from "
            "the use of a consumer group",
            hint="use letters, digits, '.', '_' and '-'",
        )
    return application_id
