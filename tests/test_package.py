"""The built wheel: complete, and working where nothing else of the repository is."""

from __future__ import annotations

import json
import os
import runpy
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest

import lastword

ROOT = Path(__file__).parent.parent


def build(directory: Path, **environment: str) -> Path:
    """A wheel, built offline with the backend that the lock has."""
    options = ["--no-deps", "--no-build-isolation", "--no-index", "--quiet"]
    command = [sys.executable, "-m", "pip", "wheel", *options, "--wheel-dir", directory, ROOT]
    subprocess.run(command, check=True, capture_output=True, env=os.environ | environment)
    (built,) = directory.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def python(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return installed(wheel, tmp_path_factory.mktemp("environment"))


def installed(wheel: Path, environment: Path) -> Path:
    """A Python that has the wheel and the dependencies, and not the repository."""
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


HAS_NATIVE = (
    "from lastword.native import NATIVE; from lastword.keyspace import Keyspace;"
    "print(NATIVE is not None, Keyspace(3).partition_of(b'user-1'))"
)


def said_by(python: Path, script: str, directory: Path) -> str:
    command = [python, "-W", "error", "-c", script]
    answer = subprocess.run(command, cwd=directory, capture_output=True, text=True, check=False)
    assert answer.returncode == 0, answer.stderr
    return answer.stdout.strip()


def test_the_wheel_has_the_native_module_wherever_it_can_be_built(
    wheel: Path, python: Path, tmp_path: Path
) -> None:
    can_be_built = runpy.run_path(str(ROOT / "hatch_build.py"))["why_not"]() is None
    assert ("-cp311-abi3-" in wheel.name) == can_be_built
    assert said_by(python, HAS_NATIVE, tmp_path) == f"{can_be_built} 2"


def test_without_a_c_compiler_the_wheel_is_pure_python_and_works(tmp_path: Path) -> None:
    wheel = build(tmp_path / "wheel", CC="/no/such/compiler")
    assert wheel.name.endswith("-py3-none-any.whl")
    python = installed(wheel, tmp_path / "environment")
    assert said_by(python, HAS_NATIVE, tmp_path) == "False 2"
