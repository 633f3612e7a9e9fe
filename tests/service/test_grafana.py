"""The Grafana dashboard and the alert rules ask for figures that the service has."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from lastword.cluster.movements import CAUSES
from lastword.metric_names import HELP, NAMESPACE, kind_of

DEPLOY = Path(__file__).parent.parent.parent / "deploy"
DASHBOARD: dict[str, Any] = json.loads((DEPLOY / "grafana" / "lastword.json").read_text())
ALERTS = (DEPLOY / "alerts.yaml").read_text()
PANELS = [panel for panel in DASHBOARD["panels"] if panel["type"] != "row"]
# What Prometheus itself adds to every sample that it scrapes.
ADDED_LABELS = {"instance", "job"}


def queries() -> Iterator[str]:
    for panel in PANELS:
        for target in panel["targets"]:
            yield target["expr"]
    for variable in DASHBOARD["templating"]["list"]:
        yield from re.findall(r"label_values\((.*)\)", str(variable.get("definition", "")))


def metric_of(name: str) -> str:
    """The metric of a sample: histograms have three kinds."""
    base = re.sub("_(bucket|sum|count)$", "", name)
    return base if base in HELP and kind_of(base) == "histogram" else name


NAMED = {
    name for query in (*queries(), ALERTS) for name in re.findall(rf"\b{NAMESPACE}(\w+)", query)
}


@pytest.mark.parametrize("name", sorted(NAMED))
def test_a_metric_that_is_named_exists(name: str) -> None:
    assert metric_of(name) in HELP
    if kind_of(metric_of(name)) == "histogram":
        assert name != metric_of(name), "a histogram has samples _bucket, _sum and _count only"


def test_a_counter_is_shown_as_a_rate_and_a_gauge_as_it_is() -> None:
    for query in queries():
        for function, name in re.findall(rf"(\w+)\({NAMESPACE}(\w+)", query):
            is_counter = kind_of(metric_of(name)) in ("counter", "histogram")
            assert (function in ("rate", "increase")) == is_counter, query


def test_an_alert_names_causes_that_are_counted() -> None:
    (named,) = re.findall('cause=~"([^"]*)"', ALERTS)
    assert set(named.split("|")) < set(CAUSES)


def test_labels_that_are_asked_for_are_there(http: httpx.Client) -> None:
    labels: dict[str, set[str]] = {}
    for name, given in re.findall(rf"^{NAMESPACE}(\w+)\{{(.*)\}}", http.get("/metrics").text, re.M):
        labels.setdefault(name, set()).update(re.findall(r'(\w+)="', given))
    for query in queries():
        wanted = {
            label for group in re.findall(r"by \(([^)]*)\)", query) for label in group.split(", ")
        }
        wanted |= set(re.findall(r"(\w+)=~", query))
        for name in re.findall(rf"{NAMESPACE}(\w+)", query):
            if name in labels:
                assert wanted <= labels[name] | ADDED_LABELS, query


def test_no_two_panels_share_a_place_or_an_id() -> None:
    places = [(panel["gridPos"]["x"], panel["gridPos"]["y"]) for panel in DASHBOARD["panels"]]
    ids = [panel["id"] for panel in DASHBOARD["panels"]]
    assert len(set(places)) == len(places)
    assert len(set(ids)) == len(ids)
    assert all(panel["gridPos"]["x"] + panel["gridPos"]["w"] <= 24 for panel in PANELS)
