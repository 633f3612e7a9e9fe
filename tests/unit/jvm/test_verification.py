"""Files are compared with their SHA-256, and unchanged ones are not read twice."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest

from lastword.errors import JavaError
from lastword.jvm.jar_set import CHECKSUMS
from lastword.jvm.verification import missing, read_checksums, verify

GOOD, EVIL = b"good content", b"evil content"
EXPECTED = {"a.jar": hashlib.sha256(GOOD).hexdigest()}


def test_a_file_with_its_checksum_passes_and_any_other_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.jar").write_bytes(GOOD)
    verify(tmp_path, EXPECTED, hint="")
    (tmp_path / "a.jar").write_bytes(EVIL)
    with pytest.raises(JavaError, match=hashlib.sha256(EVIL).hexdigest()):
        verify(tmp_path, EXPECTED, hint="")


def test_a_verified_file_of_unchanged_size_and_time_is_not_read_again(tmp_path: Path) -> None:
    jar = tmp_path / "a.jar"
    jar.write_bytes(GOOD)
    verify(tmp_path, EXPECTED, hint="")
    before = jar.stat()
    jar.write_bytes(EVIL)
    os.utime(jar, ns=(before.st_atime_ns, before.st_mtime_ns))
    verify(tmp_path, EXPECTED, hint="")  # would raise if it looked inside
    (tmp_path / "verified.json").write_bytes(b"no JSON")
    with pytest.raises(JavaError):
        verify(tmp_path, EXPECTED, hint="")


def test_a_new_list_of_checksums_is_not_satisfied_by_what_was_verified_before(
    tmp_path: Path,
) -> None:
    (tmp_path / "a.jar").write_bytes(GOOD)
    verify(tmp_path, EXPECTED, hint="")
    with pytest.raises(JavaError):
        verify(tmp_path, {"a.jar": hashlib.sha256(EVIL).hexdigest()}, hint="")


def test_missing_files_are_listed(tmp_path: Path) -> None:
    (tmp_path / "a.jar").write_bytes(GOOD)
    assert missing(tmp_path, {"a.jar": "", "b.jar": ""}) == ["b.jar"]


def test_every_committed_list_is_well_formed() -> None:
    lists = list(CHECKSUMS.glob("*.sha256"))
    assert "kafka-4.3.1.sha256" in {path.name for path in lists}
    for path in lists:
        checksums = read_checksums(path)
        assert checksums
        assert all(name.endswith((".jar", ".tar.gz")) and "/" not in name for name in checksums)
        assert all(len(bytes.fromhex(digest)) == 32 for digest in checksums.values())
