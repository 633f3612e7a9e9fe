"""Figures as the page words and draws them: its own modules, asked one by one."""

from __future__ import annotations

from typing import Any

from playwright.sync_api import Page

from tests.browser.conftest import Visitor

PARTITION = {
    "size_bytes": 1000,
    "contents": {
        "records": 10,
        "live_keys": 4,
        "duplicates": 5,
        "tombstones": 2,
        "keyless": 0,
        "record_bytes": 200,
        "live_bytes": 50,
    },
    "cleaner": {"dirty_ratio": 0.25, "oldest_dirty": 4000, "last_run": None, "given_up": False},
}


def ask(page: Page, module: str, expression: str, given: Any = None) -> Any:
    """The value of ``expression``, in which ``m`` is the module and ``given`` the argument."""
    script = (
        f"async (given) => {{ const m = await import('/assets/{module}'); return {expression}; }}"
    )
    return page.evaluate(script, given)


def test_unknown_figures_are_unknown_in_every_format(visit: Visitor) -> None:
    formats = "['exact', 'count', 'bytes', 'percent', 'rate', 'latency', 'duration', 'timeOfDay']"
    said = ask(
        visit(), "lib/format.js", f"{formats}.map((name) => [m[name](null), m[name](undefined)])"
    )
    assert said == [["unknown", "unknown"]] * 8


def test_figures_are_worded_for_people(visit: Visitor) -> None:
    page = visit()
    worded = {
        "m.count(98304)": "98,304",
        "m.count(1234567)": "1.23 M",
        "m.bytes(1536)": "1.5 KiB",
        "m.bytes(0)": "0 B",
        "m.percent(0.004)": "< 1 %",
        "m.percent(0.999)": "> 99 %",
        "m.percent(0)": "0 %",
        "m.rate(0.04)": "< 0.1/s",
        "m.latency(0.032)": "32 µs",
        "m.duration(250)": "4 min 10 s",
        "m.duration(0.25)": "250 ms",
        "m.ago(1000, 200000)": "3 min ago",
        "m.ago(-1, 200000)": "unknown",
        "m.plural(1, 'key')": "1 key",
    }
    assert {each: ask(page, "lib/format.js", each) for each in worded} == worded


def test_one_unknown_partition_makes_a_sum_unknown(visit: Visitor) -> None:
    page = visit()
    remote = PARTITION | {"contents": None, "cleaner": None, "size_bytes": None}
    known = ask(
        page, "table/figures.js", "m.wholeTable({partitions: [given, given]}, 9000)", PARTITION
    )
    assert (known["records"], known["diskBytes"], known["aliveBytes"]) == (20, 2000, 500)
    assert (known["dirtyRatio"], known["compactionLag"], known["lastClean"]) == (0.25, 5, None)
    part = ask(
        page, "table/figures.js", "m.wholeTable({partitions: given}, 9000)", [PARTITION, remote]
    )
    assert (part["records"], part["diskBytes"], part["aliveBytes"]) == (None, None, None)
    none = ask(page, "table/figures.js", "m.wholeTable({partitions: [given]}, 9000)", remote)
    assert (none["dirtyRatio"], none["compactionLag"], none["cleanerKnown"]) == (None, None, False)


def test_the_parts_of_a_log_make_up_the_whole(visit: Visitor) -> None:
    made = ask(visit(), "table/figures.js", "m.makeup(given)", PARTITION["contents"])
    assert made["current"] + made["superseded"] + made["deletes"] + made["keyless"] == 10
    assert made["deletes"] == 1  # of two tombstones, one is superseded itself


def test_a_line_ends_where_a_figure_is_unknown(visit: Visitor) -> None:
    page = visit()
    path = "m.linePath(given[0], given[1], (at) => at / 1000, (value) => value)"
    whole = ask(page, "charts/paths.js", path, [[0, 2000, 4000], [1, 2, 3]])
    assert whole == "M0.0 1.0L2.0 2.0L4.0 3.0"
    broken = ask(page, "charts/paths.js", path, [[0, 2000, 4000, 6000], [1, None, 3, 4]])
    assert broken.count("M") == 2
    late = ask(page, "charts/paths.js", path, [[0, 2000, 60000, 62000], [1, 1, 1, 1]])
    assert late.count("M") == 2


def test_an_axis_has_round_numbers_up_to_the_highest_figure(visit: Visitor) -> None:
    page = visit()
    assert ask(page, "charts/scale.js", "m.linearScale(1120, 'whole').ticks") == [
        0,
        500,
        1000,
        1500,
    ]
    assert ask(page, "charts/scale.js", "m.linearScale(0, 'whole').ticks") == [0, 1]
    assert ask(page, "charts/scale.js", "m.linearScale(5000, 'bytes').ticks") == [
        0,
        2048,
        4096,
        6144,
    ]
    assert ask(page, "charts/scale.js", "m.linearScale(80, 'seconds').ticks") == [0, 30, 60, 90]


def test_json_is_laid_out_as_it_was_written(visit: Visitor) -> None:
    page = visit()
    text = '{"a": [1.0, 12345678901234567890, -0], "b": {}, "c": "\\u003cb>"}'
    laid_out = ask(page, "lib/json.js", "m.layOut(given)", text)
    assert "1.0,\n    12345678901234567890,\n    -0" in laid_out
    assert '"b": {}' in laid_out
    deep = "[" * 5000 + "]" * 5000
    assert ask(page, "lib/json.js", "m.layOut(given)", deep) == deep
    assert ask(page, "lib/json.js", "m.brief(m.parseExactly(given))", deep).endswith("…")
