"""What is configured for pip reaches uv, which reads none of it."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parent.parent.parent / "scripts" / "install_locked.py"
INSTALL = runpy.run_path(str(SCRIPT), run_name="install_locked")

LISTED = r"""
:env:.find-links='/srv/wheels /srv/more'
global.cert='/etc/ssl/corporate.pem'
global.index-url='https://registry.example.com/index'
global.extra-index-url='\nhttps://one.example.com/index\nhttps://two.example.com/index'
global.disable-pip-version-check='1'
install.index-url='https://user:secret=1@install.example.com/index'
download.index-url='https://download.example.com/index'
"""


@pytest.fixture(autouse=True)
def nothing_set_for_uv(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in INSTALL["_SETTINGS"].values():
        monkeypatch.delenv(name, raising=False)


def test_registries_certificates_and_wheels_are_handed_on() -> None:
    settings = INSTALL["uv_settings"](INSTALL["parse_settings"](LISTED.splitlines()))
    assert settings == {
        "UV_DEFAULT_INDEX": "https://user:secret=1@install.example.com/index",
        "UV_INDEX": "https://one.example.com/index https://two.example.com/index",
        "UV_FIND_LINKS": "/srv/wheels,/srv/more",
        "SSL_CERT_FILE": "/etc/ssl/corporate.pem",
    }


def test_settings_of_uv_itself_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UV_DEFAULT_INDEX", "https://mine.example.com/index")
    settings = INSTALL["uv_settings"](INSTALL["parse_settings"](LISTED.splitlines()))
    assert "UV_DEFAULT_INDEX" not in settings


def test_without_configuration_nothing_is_passed_on() -> None:
    assert INSTALL["uv_settings"](INSTALL["parse_settings"](["no setting", ""])) == {}
