"""Secrets of connectors: private files, and references to them."""

from __future__ import annotations

from pathlib import Path

import pytest

from lastword.connect_worker.secrets import forget_secret, keep_secret
from lastword.kafka.connection.java_properties import parse_java_properties


@pytest.mark.parametrize("secret", ["plain", " leading", "a=b:c#d!", "back\\slash", "é\t", ""])
def test_a_secret_is_read_back_as_it_was(tmp_path: Path, secret: str) -> None:
    keep_secret(tmp_path / "secrets", "cdc-orders", secret)
    text = (tmp_path / "secrets" / "cdc-orders.properties").read_text(encoding="utf-8")
    assert parse_java_properties(text) == {"secret": secret}


def test_only_the_owner_can_read_it_and_the_reference_does_not_hold_it(tmp_path: Path) -> None:
    reference = keep_secret(tmp_path / "secrets", "cdc-orders", "sesame")
    file = tmp_path / "secrets" / "cdc-orders.properties"
    assert reference == f"${{file:{file}:secret}}"
    assert file.stat().st_mode & 0o077 == 0
    assert file.parent.stat().st_mode & 0o077 == 0


def test_a_forgotten_secret_is_gone(tmp_path: Path) -> None:
    keep_secret(tmp_path, "cdc-orders", "sesame")
    forget_secret(tmp_path, "cdc-orders")
    forget_secret(tmp_path, "cdc-orders")
    assert list(tmp_path.iterdir()) == []
