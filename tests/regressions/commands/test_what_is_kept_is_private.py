"""What is below LASTWORD_HOME can be neither read nor locked by other users.

Directories and files were made with the usual modes: everybody on the machine could read the
records, and hold the lock of the tokens for as long as they liked.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from lastword.cli.support.app_context import AppContext
from lastword.home import tighten_home
from lastword.jvm.file_lock import locked
from lastword.private_files import make_private_directory, write_private
from tests.broker.cli.conftest import Lastword


def mode(path: Path) -> int:
    return path.stat().st_mode & 0o777


@pytest.fixture
def old_home(tmp_path: Path) -> Path:
    """As earlier versions left it, in a directory with something else in it."""
    home = tmp_path / "home"
    for directory in ("state/app/users/0", "service", "spark-java/bin", "photos"):
        (home / directory).mkdir(parents=True)
    for name in ("service/tokens.lock", "state/app/users/0/.lock", "photos/cat.png"):
        (home / name).touch(0o644)
    (home / "spark-java/bin/java").touch(0o755)
    (home / "state/elsewhere").symlink_to(home / "photos")
    return home


def test_an_existing_home_is_tightened_when_it_is_used(old_home: Path, lastword: Lastword) -> None:
    Lastword({**lastword.environ, "LASTWORD_HOME": str(old_home)}).ok("token", "list")
    assert mode(old_home / "state") == mode(old_home / "state/app/users/0") == 0o700
    assert mode(old_home / "service/tokens.lock") == 0o600
    assert mode(old_home / "spark-java/bin/java") == 0o700, "it can still be run"


def test_files_of_others_are_not_changed(old_home: Path) -> None:
    tighten_home(old_home)
    assert mode(old_home / "photos") == 0o755, "not by way of a link, either"
    assert mode(old_home / "photos/cat.png") == 0o644


def test_a_lock_cannot_be_opened_by_others(tmp_path: Path) -> None:
    old = tmp_path / "tokens.lock"
    old.touch(0o644)
    for path in (old, tmp_path / "service" / "new.lock"):
        with locked(path, 1.0):
            assert mode(path) == 0o600
    assert mode(tmp_path / "service") == 0o700


def test_a_file_in_the_way_of_a_directory_is_said(tmp_path: Path) -> None:
    (tmp_path / "a").touch()
    with pytest.raises(FileExistsError):
        make_private_directory(tmp_path / "a")


def test_files_and_directories_are_made_private(tmp_path: Path) -> None:
    make_private_directory(tmp_path / "a" / "b")
    (tmp_path / "a" / "b" / "secret.new").touch(0o644)  # left by one that was killed
    write_private(tmp_path / "a" / "b" / "secret", b"1")
    assert mode(tmp_path / "a") == mode(tmp_path / "a" / "b") == 0o700
    assert mode(tmp_path / "a" / "b" / "secret") == 0o600


def test_snapshots_in_a_place_of_the_users_own_have_their_permissions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LASTWORD_HOME", str(tmp_path / "home"))
    app = AppContext()
    app.users_umask = 0o027
    before = os.umask(0o077)
    try:
        app.write_for_others(str(tmp_path / "home" / "snapshots"))
        assert os.umask(0o077) == 0o077
        app.write_for_others(str(tmp_path / "for-analysts"))
        assert os.umask(0o077) == 0o027
    finally:
        os.umask(before)
