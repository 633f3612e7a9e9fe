"""What ``describe`` shows of a pipeline: sources, operators, stores, and the topics it writes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from lastword.cli.main import lastword
from lastword.errors import ConfigError
from lastword.pipelines import Pipeline, tumbling

MODULE = """
from lastword.pipelines import Pipeline

app = Pipeline("shop")
app.stream("clicks").group_by_key().count("per-user")
"""


def shop() -> Pipeline:
    app = Pipeline("shop")
    clicks = app.stream("clicks").filter(lambda key, value: value)
    views = app.stream("views").map_values(lambda value: value)
    both = clicks.merge(views).join("users", lambda event, user: user, "profiles", left=True)
    both.select_key(lambda key, value: value).group_by_key().lru(10).latest("recent")
    windows = clicks.group_by_key().windowed_by(tumbling("1m", grace="5s"))
    windows.count("per-minute").suppress()
    clicks.group_by_key().count("total", changelog=None)
    clicks.to_table("copy")
    return app


def test_the_text_has_every_node_with_its_inputs_and_stores() -> None:
    assert shop().describe().splitlines() == [
        "pipeline shop",
        "",
        "part 1, reads clicks, views",
        "  source clicks",
        "  filter 1 <- source clicks",
        "  source views",
        "  map_values 1 <- source views",
        "  merge 1 <- filter 1, map_values 1",
        "  profiles (left join) <- merge 1",
        "    store profiles, follows users",
        "  select_key 1 <- profiles",
        "  encode_values 1 <- select_key 1",
        "  to shop-recent-repartition (repartition) <- encode_values 1",
        "  per-minute (count in tumbling windows of 60s, grace 5s, final) <- filter 1",
        "    store per-minute, changelog shop-per-minute-changelog",
        "    store per-minute-suppress, changelog shop-per-minute-suppress-changelog",
        "  to shop-per-minute-final (final) <- per-minute",
        "  total (count) <- filter 1",
        "    store total, not backed up",
        "  encode_values 2 <- filter 1",
        "  to copy (table) <- encode_values 2",
        "",
        "part 2, reads shop-recent-repartition",
        "  source shop-recent-repartition",
        "  recent (latest of 10 keys) <- source shop-recent-repartition",
        "    store recent, changelog shop-recent-changelog",
        "",
        "topics it writes",
        "  shop-recent-changelog (changelog)",
        "  shop-recent-repartition (repartition)",
        "  shop-per-minute-changelog (changelog)",
        "  shop-per-minute-suppress-changelog (changelog)",
        "  shop-per-minute-final (final)",
        "  copy (table)",
        "  shop-quarantine (quarantine)",
        "  shop-control (control)",
    ]


def test_the_diagram_connects_parts_by_the_topic_between_them() -> None:
    app = Pipeline("shop")
    rekeyed = app.stream("clicks").select_key(lambda key, value: value)
    rekeyed.group_by_key().count("per-page")
    assert app.describe("mermaid").splitlines() == [
        "flowchart LR",
        '  subgraph part1["part 1"]',
        '    n1["select_key 1"]',
        '    n2["encode_values 1"]',
        "  end",
        '  subgraph part2["part 2"]',
        '    n5["per-page: count"]',
        '    n5s0[("per-page")]',
        "  end",
        '  t0(["clicks"])',
        '  t1(["shop-per-page-repartition"])',
        '  t2(["shop-per-page-changelog"])',
        "  t0 --> n1",
        "  n1 --> n2",
        "  n2 --> t1",
        "  t1 --> n5",
        "  n5 --- n5s0",
        "  n5s0 -.-> t2",
    ]


def test_a_pipeline_that_cannot_run_is_not_described() -> None:
    app = Pipeline("shop")
    app.stream("clicks").to_table("clicks")
    with pytest.raises(ConfigError, match="cycle"):
        app.describe()


def test_the_command_prints_text_a_diagram_or_json(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "described_shop.py").write_text(MODULE)
    monkeypatch.chdir(tmp_path)

    def printed(*options: str) -> str:
        command = ["pipeline", "describe", "described_shop:app", *options]
        result = CliRunner().invoke(lastword, command, catch_exceptions=False)
        assert result.exit_code == 0, result.output
        return result.output

    assert "per-user (count) <- source clicks" in printed()
    assert printed("--mermaid").startswith("flowchart LR")
    (part,) = json.loads(printed("--json"))["parts"]
    assert [node["name"] for node in part["nodes"]] == ["source clicks", "per-user"]
