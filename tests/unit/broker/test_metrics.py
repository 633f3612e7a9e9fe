"""Prometheus' text format is read as it is written."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from lastword.broker.scrape import ScrapedSample, parse

TEXT = """# HELP kafka_log_Log_Size Attribute exposed for management
# TYPE kafka_log_Log_Size untyped
kafka_log_Log_Size{partition="0",topic="user-profiles"} 1584.0
kafka_log_LogCleaner_max_clean_time_secs -1.794779528E9
jvm_info{version="17 \\"x\\" } 1",vendor=""} 1
"""


def test_comments_are_skipped_and_labels_and_values_are_read() -> None:
    assert parse(TEXT) == [
        ScrapedSample("kafka_log_Log_Size", {"partition": "0", "topic": "user-profiles"}, 1584.0),
        ScrapedSample("kafka_log_LogCleaner_max_clean_time_secs", {}, -1794779528.0),
        ScrapedSample("jvm_info", {"version": '17 "x" } 1', "vendor": ""}, 1.0),
    ]


@given(
    value=st.text(st.characters(exclude_categories=["Cs", "Cc", "Zl", "Zp"])),
    number=st.floats(allow_nan=False),
)
def test_any_label_value_survives(value: str, number: float) -> None:
    written = value.replace("\\", "\\\\").replace('"', '\\"')
    assert parse(f'm{{name="{written}",other="x"}} {number}\n') == [
        ScrapedSample("m", {"name": value, "other": "x"}, number)
    ]
