"""Tokens: made once, kept as hashes, found by the secret alone."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from lastword.errors import ConfigError
from lastword.service import TokenFile
from lastword.service.http.tokens import parse_scope


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "service" / "tokens.json"


def test_a_token_is_kept_as_a_hash_that_only_the_owner_can_read(path: Path) -> None:
    secret = TokenFile(path).create("ci", {"users": "write"})
    assert secret.startswith("lw_")
    assert len(secret) >= 40
    assert secret not in path.read_text()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_token_is_found_by_its_secret_also_by_another_process(path: Path) -> None:
    secret = TokenFile(path).create("ci", {"users": "write"})
    found = TokenFile(path).find(secret)
    assert found is not None
    assert (found.name, found.scopes) == ("ci", {"users": "write"})
    assert TokenFile(path).find(secret[:-1]) is None
    assert TokenFile(path).find("") is None


def test_a_running_service_takes_a_new_token_at_once(path: Path) -> None:
    service = TokenFile(path)
    assert service.find(TokenFile(path).create("first", {"*": "read"})) is not None
    assert service.find(TokenFile(path).create("second", {"*": "read"})) is not None


def test_every_token_is_another_one(path: Path) -> None:
    tokens = TokenFile(path)
    assert len({tokens.create(f"t{n}", {"*": "read"}) for n in range(20)}) == 20


def test_a_name_is_unique_until_its_token_is_revoked(path: Path) -> None:
    tokens = TokenFile(path)
    first = tokens.create("ci", {"*": "read"})
    with pytest.raises(ConfigError, match="already"):
        tokens.create("ci", {"*": "admin"})
    tokens.revoke("ci")
    assert TokenFile(path).find(first) is None
    assert tokens.create("ci", {"*": "read"}) != first
    with pytest.raises(ConfigError, match="no token"):
        tokens.revoke("other")


@pytest.mark.parametrize("name", ["", "a b", "x" * 65, "a\n"])
def test_a_bad_name_is_refused(path: Path, name: str) -> None:
    with pytest.raises(ConfigError, match="name"):
        TokenFile(path).create(name, {"*": "read"})


def test_scopes_are_for_one_table_or_for_all() -> None:
    assert parse_scope("read") == ("*", "read")
    assert parse_scope("users=write") == ("users", "write")
    for text in ("", "owner", "users=", "=read", "users=all"):
        if text != "=read":
            with pytest.raises(ConfigError):
                parse_scope(text)


def test_a_file_that_holds_no_tokens_is_an_error_and_not_an_open_door(path: Path) -> None:
    path.parent.mkdir()
    path.write_text("{")
    with pytest.raises(ConfigError, match="does not hold tokens"):
        TokenFile(path).find("lw_x")
