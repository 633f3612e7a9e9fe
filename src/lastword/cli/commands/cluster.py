"""``lastword cluster``: the instances of an application and the plan they follow."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import click

from lastword.cli.settings.instance_settings import instance_settings
from lastword.cli.support.app_context import AppContext, with_cluster
from lastword.cli.support.failure import UNREACHABLE_OR_TIMEOUT
from lastword.clock import SYSTEM_CLOCK
from lastword.cluster.cluster import Cluster
from lastword.cluster.control_topic import read_last_plan
from lastword.cluster.forecast import moves_between, settled
from lastword.cluster.offers import Traits
from lastword.cluster.plan import NO_OWNER, Plan, PlanMember
from lastword.durations import milliseconds
from lastword.errors import ClusterError, ConfigError
from lastword.kafka.admin import Admin

_JOIN_S = 30.0
_POLL_S = 0.05


@click.group()
def cluster() -> None:
    """Show the instances of an application and their partitions; drain one."""


@cluster.command()
@with_cluster
def status(app: AppContext) -> None:
    """List the instances: address, partitions owned, kept as standby, and about to be owned."""
    plan = _last_plan(app)
    app.output.info(f"plan {plan.number}, written by {plan.leader}")
    columns = ("instance", "state", "leads", "owns", "standby_of", "warms_up", "address", "rack")
    rows = (_row(plan, name, member) for name, member in plan.members.items())
    app.output.rows(columns, rows)


@cluster.command()
@with_cluster
def plan(app: AppContext) -> None:
    """List the partitions: who owns each, who keeps standbys, and who warms up to own it."""
    last = _last_plan(app)
    app.output.rows(("topic", "partition", "owner", "standbys", "next_owner"), _partitions(last))


@cluster.command()
@with_cluster
@click.argument("instance")
@click.option("--undo", is_flag=True, help="Let INSTANCE take partitions again.")
@click.option("--wait", is_flag=True, help="Return once INSTANCE keeps no partition.")
@click.option(
    "--timeout",
    default="10m",
    show_default=True,
    help="With --wait: exit with 3 if that takes longer.",
)
def drain(app: AppContext, instance: str, *, undo: bool, wait: bool, timeout: str) -> None:
    """Make INSTANCE hand over all its partitions, so that it can be stopped for good.

    It keeps answering, and each partition moves once its next owner has caught up. `lastword
    cluster status` shows what is left. The order lasts until the instance ends.
    """
    timeout_s = milliseconds(timeout, what="--timeout") / 1000
    if undo and wait:
        raise ConfigError("--undo does not wait", hint="use --undo without --wait")
    if instance not in _last_plan(app).members:
        raise ClusterError(
            f"there is no instance {instance!r}",
            hint="`lastword cluster status` lists those that are there",
        )
    with _guest(app) as guest:
        deadline = SYSTEM_CLOCK.monotonic() + _JOIN_S
        while instance not in guest.members and SYSTEM_CLOCK.monotonic() < deadline:
            SYSTEM_CLOCK.sleep(_POLL_S)
        guest.drain(instance, on=not undo)
        verb = "takes partitions again" if undo else "hands over its partitions"
        app.output.line(f"{instance} {verb}", {"instance": instance, "draining": not undo})
        if wait and not _is_drained(app, guest, instance, timeout_s):
            sys.exit(UNREACHABLE_OR_TIMEOUT)


@cluster.command()
@with_cluster
@click.option("--dry-run", is_flag=True, help="Only show what would move.")
def rebalance(app: AppContext, dry_run: bool) -> None:
    """List the partitions that still move if no instance joins or leaves.

    The leader balances automatically, as fast as copies catch up.
    """
    if not dry_run:
        raise ConfigError(
            "the leader balances automatically", hint="--dry-run shows what it is about to move"
        )
    now = _last_plan(app)
    moves = moves_between(now, settled(now))
    columns = ("topic", "partition", "from", "to")
    rows = (dict(zip(columns, move, strict=True)) for move in moves)
    if not app.output.rows(columns, rows):
        app.output.info("nothing moves")


def _last_plan(app: AppContext) -> Plan:
    with Admin(app.connection) as admin:
        found = read_last_plan(admin, app.application_id)
    if found is None:
        raise ClusterError(
            f"no instance of {app.application_id} has shared partitions yet",
            hint="start one with writes = 'owned' or layout = 'partitioned', or name another "
            "application: LASTWORD_APPLICATION_ID",
        )
    return found


def _is_drained(app: AppContext, guest: Cluster, instance: str, timeout_s: float) -> bool:
    """Print how much INSTANCE still keeps until that is nothing; False after the timeout."""
    deadline = SYSTEM_CLOCK.monotonic() + timeout_s
    told: tuple[int, int] | None = None
    while True:
        plan = guest.plan
        member = None if plan is None else plan.members.get(instance)
        if plan is not None and (member is None or member.draining):
            kept = len(plan.owned_by(instance)), _standby_of(plan, instance)
            if kept != told:
                told = kept
                app.output.line(
                    f"{instance} owns {kept[0]} partitions and is standby of {kept[1]}",
                    {"instance": instance, "owns": kept[0], "standby_of": kept[1]},
                )
            if kept == (0, 0):
                return True
        if SYSTEM_CLOCK.monotonic() >= deadline:
            app.output.info(f"{instance} is not drained yet; it goes on handing over partitions")
            return False
        SYSTEM_CLOCK.sleep(_POLL_S)


def _standby_of(plan: Plan, name: str) -> int:
    return sum(name in kept for topic in plan.standbys.values() for kept in topic)


def _guest(app: AppContext) -> Cluster:
    return Cluster(
        app.connection,
        app.application_id,
        peer=instance_settings(app, guest=True).peer,
        traits=Traits(guest=True),
    )


def _row(plan: Plan, name: str, member: PlanMember) -> dict[str, object]:
    return {
        "instance": name,
        "state": member.state,
        "leads": name == plan.leader,
        "owns": len(plan.owned_by(name)),
        "standby_of": _standby_of(plan, name),
        "warms_up": sum(named.count(name) for named in plan.moves.values()),
        "address": member.address,
        "rack": member.rack or None,
        "weight": member.weight,
    }


def _partitions(plan: Plan) -> Iterator[dict[str, object]]:
    for topic, owners in sorted(plan.owners.items()):
        for partition, owner in enumerate(owners):
            yield {
                "topic": topic,
                "partition": partition,
                "owner": None if owner == NO_OWNER else owner,
                "standbys": " ".join(plan.standbys_of(topic, partition)),
                "next_owner": plan.next_owner(topic, partition) or None,
            }
