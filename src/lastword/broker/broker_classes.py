"""The broker's classes in an archive, because loading them takes half of the time of a start."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path

from lastword.broker.embedded import EmbeddedBroker
from lastword.broker.runtime import KafkaRuntime, broker_archive
from lastword.jvm.jar_set import Progress

_STOP_S = 1_800.0  # Java writes the archive before it ends: minutes on a busy machine


def prepare_broker(
    home: Path, runtime: KafkaRuntime, *, progress: Progress | None = None
) -> KafkaRuntime:
    """A runtime whose brokers start from an archive, which a broker that runs briefly writes.

    Returns at once when it was done before. A Java that cannot write one starts brokers without.
    """
    archive = broker_archive(home, runtime.java, runtime.class_path)
    if not archive.path.exists():
        if progress is not None:
            progress(0, 1, "writing classes")
        archive.make_base(progress)
        made = archive.unfinished()
        # Java writes no archive while an agent may change its classes.
        writing = replace(runtime, metrics_agent=None, class_options=archive.options_to_make(made))
        with tempfile.TemporaryDirectory(prefix="lastword-") as directory:
            broker = EmbeddedBroker(Path(directory), writing)
            broker.start()
            broker.stop(_STOP_S)
            if any(node.was_killed for node in broker.nodes):
                made.unlink(missing_ok=True)  # perhaps only half of it
        archive.put_in_place(made)
    return replace(runtime, class_options=archive.options())
