"""What one instance knows of its cluster, put into the documents that answer it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from lastword.cluster.cluster import Cluster
from lastword.cluster.leadership import Report
from lastword.cluster.plan import Plan
from lastword.service.api.served import ServedTable
from lastword.service.api.shapes_status import Instance
from lastword.service.cluster.shapes_cluster import (
    ClusterMember,
    ClusterStatus,
    Copy,
    OwnerChange,
    SharedPartition,
    SharedTable,
    TableOwners,
)

Reports = Mapping[str, Report]
_EMPTY = Plan(0, leader="")


def cluster_status(cluster: Cluster, tables: Sequence[ServedTable]) -> ClusterStatus:
    """The cluster with these tables of it; asks every member, and waits a quarter second at most.

    Movements of other tables are omitted: the caller may not know of them.
    """
    plan = cluster.plan or _EMPTY
    reports = cluster.reports()
    return ClusterStatus(
        application=cluster.application_id,
        instance=cluster.instance_id,
        plan=None if cluster.plan is None else plan.number,
        leader=plan.leader,
        members=[
            _member(plan, name, cluster.instance_id, reports) for name in sorted(plan.members)
        ],
        tables=[_table(plan, served, reports) for served in tables],
        movements=list(_movements(cluster, tables)),
    )


def table_owners(served: ServedTable) -> TableOwners:
    """Where to find the owners of the partitions, as the last plan has it."""
    cluster = served.table.cluster
    plan = None if cluster is None else cluster.plan
    if plan is None:
        return TableOwners(None, [])
    return TableOwners(plan.number, [url or None for url in plan.services(served.table.topic)])


def other_instances(tables: Sequence[ServedTable]) -> Iterator[Instance]:
    """The other members that serve some of these tables over HTTP, as the last plans have them."""
    joined = {id(each): each for served in tables if (each := served.table.cluster) is not None}
    for cluster in joined.values():
        plan = cluster.plan or _EMPTY
        for name, member in sorted(plan.members.items()):
            offered = [served.name for served in tables if served.table.topic in member.offers]
            if name != cluster.instance_id and member.service and offered:
                yield Instance(id=name, url=member.service, tables=offered, this=False)


def _member(plan: Plan, name: str, here: str, reports: Reports) -> ClusterMember:
    member = plan.members[name]
    return ClusterMember(
        instance=name,
        address=member.address,
        service=member.service or None,
        rack=member.rack,
        weight=member.weight,
        state=member.state,
        away_until=member.away_until_ms or None,
        leads=name == plan.leader,
        this=name == here,
        answers=name in reports,
        owns=len(plan.owned_by(name)),
        standby_of=sum(name in kept for topic in plan.standbys.values() for kept in topic),
        warms_up=sum(named.count(name) for named in plan.moves.values()),
    )


def _table(plan: Plan, served: ServedTable, reports: Reports) -> SharedTable:
    topic = served.table.topic
    wanted = [m.standbys[topic] for m in plan.members.values() if topic in m.standbys]
    return SharedTable(
        table=served.name,
        topic=topic,
        standbys=max(wanted, default=None),
        partitions=[
            SharedPartition(partition, list(_copies(plan, topic, partition, reports)))
            for partition in range(len(plan.owners.get(topic, ())))
        ],
    )


def _copies(plan: Plan, topic: str, partition: int, reports: Reports) -> Iterator[Copy]:
    owner = plan.owner(topic, partition)
    standbys = plan.standbys_of(topic, partition)
    for copy in plan.copies(topic, partition):
        name = copy.instance_id
        report = reports.get(name)
        lag = None if report is None else report.lags.get(topic, {}).get(partition)
        if owner is not None and name == owner.instance_id:
            yield Copy(name, "owner", lag)
        elif name == plan.next_owner(topic, partition):
            yield Copy(name, "next_owner", lag)
        elif name in standbys:
            yield Copy(name, "standby", lag)


def _movements(cluster: Cluster, tables: Sequence[ServedTable]) -> Iterator[OwnerChange]:
    names = {served.table.topic: served.name for served in tables}
    for at_ms, number, move, cause in cluster.movements:
        if move.topic in names:
            name = names[move.topic]
            yield OwnerChange(at_ms, number, name, move.partition, move.source, move.target, cause)
