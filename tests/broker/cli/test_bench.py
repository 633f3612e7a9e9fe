"""``lastword bench topics`` at a small size: what it measures is true."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

from lastword.bench.change_stream import ChangeStream
from lastword.kafka.admin import Admin
from tests.broker.cli.conftest import Lastword


def test_the_compacted_topic_shrinks_and_all_three_restore_the_same_rows(
    lastword: Lastword, admin: Admin, tmp_path: Path
) -> None:
    drawing = tmp_path / "topics.svg"
    size = ("--records", "16000", "--keys", "300", "--value-size", "400")
    times = ("--duration", "1s", "--watch", "4s")
    (measured,) = lastword.json("bench", "topics", *size, *times, "--plot", str(drawing))

    live = ChangeStream(16_000, 300, 400).live_keys()
    by_policy = {each["policy"]: each for each in measured["topics"]}
    assert list(by_policy) == ["compact", "compact,delete", "delete"]
    assert 0 < live < 300 and measured["live_keys"] == live
    assert {each["rows"] for each in by_policy.values()} == {live}
    assert {each["records_written"] for each in by_policy.values()} == {16_000}
    everything, compacted = by_policy["delete"], by_policy["compact"]
    assert everything["records_read"] == 16_000
    assert everything["size_bytes"] >= 16_000 * 0.9 * 400
    assert compacted["records_read"] < 8_000
    assert compacted["size_bytes"] < everything["size_bytes"] / 2
    (_, stored), (_, kept) = compacted["samples"][-1], everything["samples"][-1]
    assert stored < kept / 2, "the samples do not show the cleaner at work"

    picture = ElementTree.parse(drawing).getroot()  # noqa: S314 - our own file
    texts = {each.text for each in picture.iter("{http://www.w3.org/2000/svg}text")}
    assert {f"cleanup.policy={policy}" for policy in by_policy} <= texts
    assert {"stored, MiB", "seconds since the first record", "time to restore, ms"} <= texts
    assert not [name for name in admin.topics() if name.startswith("lastword-bench-")]
