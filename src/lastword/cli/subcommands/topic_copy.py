"""``lastword topic copy``: a compacted topic into one with more partitions, while it is written."""

from __future__ import annotations

import time

import click

from lastword.cli.support.app_context import AppContext, with_cluster
from lastword.cli.support.cataloging import put_into_catalog
from lastword.cli.support.output import printable
from lastword.cli.support.progress_bar import progress_bar
from lastword.cli.support.window_keys import windowed_codec
from lastword.codecs.resolve import key_codec
from lastword.errors import ConfigError, TopicUnfitError
from lastword.kafka.admin import Admin
from lastword.kafka.groups import Groups
from lastword.topics.copying.comparison import Comparison, compare
from lastword.topics.copying.target import Endpoints, positions_of, prepare
from lastword.topics.copying.topic_copy import TopicCopy

_TELL_EVERY_S = 10.0


@click.command()
@with_cluster
@click.argument("source", metavar="FROM")
@click.argument("target", metavar="TO")
@click.option(
    "--partitions",
    type=click.IntRange(min=1),
    help="How many partitions TO gets; needed when there is no such topic yet.",
)
@click.option(
    "--window",
    metavar="MS|session",
    help="Keys are those of windows or sessions: their times do not choose the partition.",
)
@click.option("--once", is_flag=True, help="End when TO has caught up and every key was compared.")
@click.option("--verify", is_flag=True, help="Copy nothing; compare what was copied before.")
def copy(
    app: AppContext,
    source: str,
    target: str,
    *,
    partitions: int | None,
    window: str | None,
    once: bool,
    verify: bool,
) -> None:
    """Copy the compacted topic FROM into TO, with another number of partitions.

    Creates TO with the settings of FROM, copies every committed record until TO has caught up,
    compares key by key, and keeps copying until Ctrl-C. Producers may keep writing. Run it again to
    continue where it stopped.

    To switch: stop the writers of FROM, run it with --once, and start them on TO when it reports
    that all keys are equal. For example: lastword topic copy users users-wide --partitions 24
    """
    suffix_bytes = _suffix_bytes(app, source, window)
    with Admin(app.connection) as admin:
        ends = prepare(admin, source, target, partitions)
        if verify:
            _verify_only(app, admin, ends, suffix_bytes)
            return
        with TopicCopy(
            admin, app.connection, app.log_source, ends, key_suffix_bytes=suffix_bytes
        ) as copying:
            try:
                _copy(app, admin, copying, suffix_bytes, follow=not once)
            except KeyboardInterrupt:
                app.output.info(f"\nstopped; run the same command to continue copying to {target}")
    if source in app.catalog and target not in app.catalog:
        put_into_catalog(app, target, app.catalog[source])


def _copy(
    app: AppContext, admin: Admin, copying: TopicCopy, suffix_bytes: int, *, follow: bool
) -> None:
    ends = copying.ends
    source, target = ends.source.name, ends.target.name
    with progress_bar(app.output, f"copying {source}", announce=True) as bar:
        copying.catch_up(lambda done, total: bar(done, total, ""))
    counts = copying.counts
    app.output.line(
        f"{target} has caught up with {source}: {counts.copied} records copied, "
        f"{counts.left_out} skipped",
        {"event": "level", "copied": counts.copied, "left_out": counts.left_out},
    )
    with progress_bar(app.output, f"comparing {target}", announce=True) as bar:
        result = compare(
            admin,
            app.log_source,
            ends,
            copying.positions,
            lambda done, total: bar(done, total, ""),
            key_suffix_bytes=suffix_bytes,
        )
    _tell(app, ends, result)
    if follow:
        _follow(app, copying)


def _follow(app: AppContext, copying: TopicCopy) -> None:
    """Keep copying, and print from time to time how far behind it is, until Ctrl-C."""
    source, target = copying.ends.source.name, copying.ends.target.name
    app.output.info(
        f"still copying; to switch, stop the writers of {source}, press Ctrl-C, and run "
        f"`lastword topic copy {source} {target} --once`"
    )
    told_at = 0.0
    while True:
        copying.advance()
        if time.monotonic() - told_at >= _TELL_EVERY_S:
            told_at = time.monotonic()
            lag, _ = copying.lag()
            app.output.line(
                f"{lag} offsets behind, {copying.counts.copied} records copied",
                {"event": "following", "lag": lag, "copied": copying.counts.copied},
            )


def _verify_only(app: AppContext, admin: Admin, ends: Endpoints, suffix_bytes: int) -> None:
    groups = Groups(app.connection)
    try:
        positions = positions_of(admin, groups, ends)
    finally:
        groups.close()
    if positions is None:
        raise ConfigError(
            f"nothing was copied into {ends.target.name} yet", hint="run it without --verify"
        )
    with progress_bar(app.output, f"comparing {ends.target.name}", announce=True) as bar:
        result = compare(
            admin,
            app.log_source,
            ends,
            positions,
            lambda done, total: bar(done, total, ""),
            key_suffix_bytes=suffix_bytes,
        )
    _tell(app, ends, result)


def _tell(app: AppContext, ends: Endpoints, result: Comparison) -> None:
    """Say how the comparison ended; raises TopicUnfitError if keys differ."""
    source, target = ends.source.name, ends.target.name
    shown = {
        "event": "compared",
        "equal": result.equal,
        "moving": result.moving,
        "missing": result.missing,
        "extra": result.extra,
        "different": result.different,
    }
    if result.faults:
        app.output.line(f"{result.equal} keys are equal, {result.faults} are not", shown)
        examples = ", ".join(printable(key.decode(errors="replace")) for key in result.examples)
        raise TopicUnfitError(
            f"{target} is not a copy of {source}: {result.missing} keys are missing, "
            f"{result.extra} are only there, {result.different} differ; for example: {examples}",
            hint=f"somebody else writes {target}, or the copy was stopped for longer than "
            f"delete.retention.ms: delete {target} and copy again",
        )
    if result.moving:
        text = (
            f"{result.equal} keys are equal; {result.moving} are being written and are copied next"
        )
    else:
        text = f"all {result.equal} keys are equal: {target} can take over from {source}"
    app.output.line(text, shown)


def _suffix_bytes(app: AppContext, source: str, window: str | None) -> int:
    """How many bytes of a key are the times of a window; by default what the catalog knows."""
    known = app.catalog[source].window if source in app.catalog else None
    chosen = known if window is None else window
    if chosen is None:
        return 0
    return key_codec(windowed_codec("bytes", chosen)).suffix_bytes
