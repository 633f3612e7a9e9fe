"""An empty ``service.token`` made every caller an admin.

``[service] token = ""`` was accepted, and a header of one non-breaking space was stripped to the
same empty text. Short tokens are refused with it: they can be guessed.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from lastword.cli.main import lastword as command_line
from lastword.errors import ConfigError
from lastword.service import ServiceConfig
from tests.service.conftest import Serve

GOOD = "x" * 16


@pytest.mark.parametrize(
    "token", ["", " ", "\xa0", "short", "x" * 15, "sixteen letters!", GOOD + "\xa0", GOOD + "\n"]
)
def test_a_token_that_is_short_or_not_visible_is_refused(token: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"service\.token has"):
        ServiceConfig(tokens_file=tmp_path / "tokens.json", token=token)


def test_the_command_refuses_an_empty_token_in_the_settings(tmp_path: Path) -> None:
    settings = tmp_path / "lastword.toml"
    settings.write_text('[service]\ntoken = ""\n[tables.users]\n')
    environment = {
        "LASTWORD_HOME": str(tmp_path / "home"),
        "LASTWORD_BOOTSTRAP_SERVERS": "127.0.0.1:9",  # nothing is asked of it
    }
    answer = CliRunner().invoke(command_line, ["serve", "--config", str(settings)], env=environment)
    assert answer.exit_code == 2
    assert "service.token has 0 characters" in answer.output


def test_a_header_without_visible_ascii_identifies_no_caller(serve: Serve) -> None:
    serving = serve(token=GOOD)
    with serving.client(None) as client:
        for secret in (b"\xa0", b"\x85", b"\xa0" + GOOD.encode(), GOOD.encode() + b"\xa0"):
            answer = client.get("/tables", headers={"Authorization": b"Bearer " + secret})
            assert (answer.status_code, answer.json()["name"]) == (401, "Unauthorized"), secret
        spaced = client.get("/tables", headers={"Authorization": f"bearer  {GOOD}"})
        assert spaced.status_code == 200
