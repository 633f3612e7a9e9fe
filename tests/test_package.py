"""The built wheel: complete, and working where nothing else of the repository is."""

from __future__ import annotations

import json
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest

import lastword

ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built offline, with the backend that the lock has."""
    directory = tmp_path_factory.mktemp("wheel")
    options = ["--no-deps", "--no-build-isolation", "--no-index", "--quiet"]
    command = [sys.executable, "-m", "pip", "wheel", *options, "--wheel-dir", directory, ROOT]
    subprocess.run(command, check=True, capture_output=True)
    (built,) = directory.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def python(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A Python that has the wheel and the dependencies, and not the repository."""
    environment = tmp_path_factory.mktemp("environment")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", environment], check=True)
    python = environment / "bin" / "python"
    (site,) = environment.glob("lib/*/site-packages")
    with zipfile.ZipFile(wheel) as files:
        files.extractall(site)
    # After the wheel in the search order, and without its .pth files: no editable install.
    (site / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return python


def test_the_wheel_holds_every_file_of_the_package(wheel: Path) -> None:
    listing = [
        "git",
        "ls-files",
        "--cached",
        "--others",
        "--exclude-standard",
        "--",
        "src/lastword",
    ]
    tracked = subprocess.run(listing, cwd=ROOT, capture_output=True, text=True, check=True)
    expected = {line.removeprefix("src/") for line in tracked.stdout.split()}
    with zipfile.ZipFile(wheel) as files:
        packed = {name for name in files.namelist() if name.startswith("lastword/")}
    present = {name for name in expected if (ROOT / "src" / name).is_file()}
    assert present <= packed, "these files are missing in the wheel"
    assert "lastword/py.typed" in packed


def test_the_installed_package_needs_nothing_of_the_repository(
    python: Path, tmp_path: Path
) -> None:
    script = (
        "import json, lastword; from lastword.jvm.jar_set import CHECKSUMS;"
        "from lastword.cli.main import COMMANDS;"
        "[getattr(lastword, name) for name in lastword.__all__];"
        "print(json.dumps([lastword.__file__, lastword.__version__,"
        " sorted(each.name for each in CHECKSUMS.iterdir()), len(COMMANDS)]))"
    )
    answer = subprocess.run(
        [python, "-W", "error", "-c", script],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert answer.returncode == 0, answer.stderr
    file, version, checksums, commands = json.loads(answer.stdout)
    assert Path(file).is_relative_to(python.parent.parent)
    assert version == lastword.__version__
    assert any(name.startswith("kafka-") for name in checksums)
    assert commands > 10
