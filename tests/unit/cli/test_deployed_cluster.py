"""The manifest of deploy/cluster.yaml has settings that exist, and probes that are answered."""

from __future__ import annotations

import re
from pathlib import Path
from textwrap import dedent

from lastword.cli.settings import SETTINGS
from lastword.cli.settings.settings_file import load_settings

MANIFEST = (Path(__file__).parents[3] / "deploy" / "cluster.yaml").read_text()
VARIABLES = set(re.findall(r"name: (LASTWORD_\w+)", MANIFEST))
BEYOND_SETTINGS = {"LASTWORD_CONFIG"}


def settings_file(directory: Path) -> Path:
    (text,) = re.findall(r"^  lastword\.toml: \|\n(.*?)^---", MANIFEST, re.DOTALL | re.MULTILINE)
    path = directory / "lastword.toml"
    path.write_text(dedent(text))
    return path


def test_its_settings_are_valid_and_its_variables_are_settings(tmp_path: Path) -> None:
    environ = dict.fromkeys(VARIABLES - BEYOND_SETTINGS, "of-sixteen-letters")
    loaded = load_settings(settings_file(tmp_path), environ, {})
    assert loaded.tables["carts"]["layout"] == "partitioned"
    set_by_environment = {each.name for each in SETTINGS if each.environment_variable in VARIABLES}
    assert len(set_by_environment) == len(environ)
    assert {"cluster.instance_id", "cluster.secret", "service.token"} <= set_by_environment


def test_its_probes_use_a_host_name_that_the_service_answers_to(tmp_path: Path) -> None:
    """Without one, Kubernetes uses the address of the pod, and every answer would be 421."""
    probes = re.findall(r"(\w+)Probe:\n(?: {12,}.*\n)+", MANIFEST)
    assert sorted(probes) == ["liveness", "readiness"]
    hosts = re.findall(r"name: Host, value: (\S+) }", MANIFEST)
    assert hosts == [load_settings(settings_file(tmp_path), {}, {})["service.allowed_hosts"]] * 2


def test_its_pods_start_at_the_same_time() -> None:
    """Else the first one is alone on a cold start, and restores the whole table."""
    assert "\n  podManagementPolicy: Parallel\n" in MANIFEST
