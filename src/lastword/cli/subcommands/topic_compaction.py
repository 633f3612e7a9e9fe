"""``lastword topic compaction``: how far it has come, what is left, and why."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict

import click

from lastword.broker.info import NodeInfo, find_running
from lastword.cli.support.app_context import AppContext, with_cluster
from lastword.cli.support.output import as_time
from lastword.cli.support.sizes import as_size
from lastword.cli.support.surveying import survey_with_progress
from lastword.kafka.admin import Admin
from lastword.topics.compaction import CleanerState, PartitionCompaction
from lastword.topics.compaction import compaction as compaction_of
from lastword.topics.diagnosis import Reason, diagnose_topic

_UNKNOWN = "unknown"
_COLUMNS = (
    *("partition", "start", "end", "size", "records", "live_keys", "duplicates", "tombstones"),
    *("segments", "cleaned_to", "dirty", "recopied", "last_clean"),
)


@click.command()
@with_cluster
@click.argument("name")
@click.option("--why", is_flag=True, help="Show why each partition is not compacted further.")
@click.option("--fast", is_flag=True, help="Do not read the log, and count no records.")
def compaction(app: AppContext, name: str, why: bool, fast: bool) -> None:
    """Show how far compaction of the topic NAME has come, partition by partition.

    Reads the whole log once, to count its records and keys. The cleaner's progress is known only
    for a broker on this machine.
    """
    with Admin(app.connection) as admin:
        nodes = local_nodes(app, admin.cluster_id())
        survey = None if fast else survey_with_progress(app, admin, name)
        found = compaction_of(admin, name, local_nodes=nodes, survey=survey)
        reasons = diagnose_topic(admin, name, found, local_nodes=nodes) if why else []
    if app.json_lines:
        for each in found:
            app.output.details(_as_json(each, reasons if why else None))
        return
    app.output.rows(_COLUMNS, [_as_row(each) for each in found])
    for reason in reasons:
        app.output.line(f"\npartition {reason.partition}: {reason.cause}\n  {reason.evidence}", {})
        if reason.remedy:
            app.output.line(f"  remedy: {reason.remedy}", {})


def local_nodes(app: AppContext, cluster_id: str) -> Sequence[NodeInfo]:
    """The brokers on this machine, if they are those of the cluster that was asked about."""
    running = find_running(app.home)
    if running is None or running.cluster_id != cluster_id:
        return ()
    return running.running_nodes()


def _as_row(each: PartitionCompaction) -> dict[str, object]:
    contents, state = each.contents, each.cleaner
    counted = asdict(contents) if contents is not None else {}
    cleaner = dict.fromkeys(_COLUMNS[8:], _UNKNOWN) if state is None else _cleaner_cells(state)
    return {
        "partition": each.partition,
        "start": each.log_start,
        "end": each.log_end,
        "size": _UNKNOWN if each.size_bytes is None else as_size(each.size_bytes),
        **{column: counted.get(column, _UNKNOWN) for column in _COLUMNS[4:8]},
        **cleaner,
    }


def _cleaner_cells(state: CleanerState) -> dict[str, object]:
    cleaned, run = state.files.cleaned_until, state.last_run
    return {
        "segments": state.segments,
        "cleaned_to": "never" if cleaned is None else cleaned,
        "dirty": f"{state.now.dirty_ratio:.0%}",
        "recopied": "-" if run is None else f"{run.recopy_percent:.0f}%",
        "last_clean": "-" if run is None else as_time(run.ended_ms),
    }


def _as_json(each: PartitionCompaction, reasons: Sequence[Reason] | None) -> dict[str, object]:
    """The documented shape: null is unknown; ``cleaned_until`` null means never."""
    shown: dict[str, object] = {
        "partition": each.partition,
        "leader": each.leader,
        "log_start": each.log_start,
        "log_end": each.log_end,
        "stable_end": each.stable_end,
        "size_bytes": each.size_bytes,
        "contents": None if each.contents is None else asdict(each.contents),
        "cleaner": None if each.cleaner is None else _cleaner_json(each.cleaner),
    }
    if reasons is not None:
        shown["reasons"] = [
            {"cause": reason.cause, "evidence": reason.evidence, "remedy": reason.remedy}
            for reason in reasons
            if reason.partition == each.partition
        ]
    return shown


def _cleaner_json(state: CleanerState) -> dict[str, object]:
    return {
        "cleaned_until": state.files.cleaned_until,
        "segments": state.segments,
        **asdict(state.now),
        "last_run": None if state.last_run is None else state.last_run._asdict(),
        "given_up": state.given_up,
    }
