"""Builds ``lastword._native`` where there is a C compiler; without one, the package is pure Python.

The module uses Python's stable ABI: one file serves every version from 3.11 on.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

ROOT = Path(__file__).parent
SOURCES = ROOT / "native"
IN_PLACE = ROOT / "src" / "lastword" / "_native.abi3.so"

_FLAGS = ("-std=c11", "-O2", "-fPIC", "-fvisibility=hidden", "-Wall", "-Wextra", "-D_GNU_SOURCE")
_ABI = "-DPy_LIMITED_API=0x030B0000"


class NativeModule(BuildHookInterface):  # type: ignore[type-arg]
    """Hatchling's hook. An editable install has the module among its sources, a wheel within."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile, and put the module into the wheel; say so when that is not possible."""
        if version == "editable":
            IN_PLACE.unlink(missing_ok=True)
            self._compile(IN_PLACE)
            return
        self._scratch = TemporaryDirectory()
        built = Path(self._scratch.name) / IN_PLACE.name
        if self._compile(built):
            build_data["pure_python"] = False
            build_data["tag"] = f"cp311-abi3-{_platform_tag()}"
            build_data["force_include"][str(built)] = f"lastword/{IN_PLACE.name}"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """The wheel is written: what was compiled for it is no longer needed."""
        if version != "editable":
            self._scratch.cleanup()

    def _compile(self, target: Path) -> bool:
        failure = why_not() or compile_module(target)
        if failure is not None:
            self.app.display_warning(f"without lastword._native, so reading is slower: {failure}")
        return failure is None


def compiler() -> str | None:
    """The C compiler: what CC names, or the system's."""
    return shutil.which(os.environ.get("CC") or "cc")


def why_not() -> str | None:
    """Why the module cannot be built here, or None."""
    if sys.platform not in ("linux", "darwin"):
        return f"not on {sys.platform}"
    if compiler() is None:
        return "there is no C compiler"
    if not (Path(sysconfig.get_path("include")) / "Python.h").exists():
        return "there are no headers of Python (on Debian and Ubuntu: apt install python3-dev)"
    return None


def compile_module(target: Path, *more_flags: str) -> str | None:
    """Compile into ``target``; returns the reason if that fails."""
    link = ["-bundle", "-undefined", "dynamic_lookup"] if sys.platform == "darwin" else ["-shared"]
    sources = sorted(map(str, SOURCES.glob("*.c")))
    include = f"-I{sysconfig.get_path('include')}"
    command = [str(compiler()), *_FLAGS, *more_flags, _ABI, include, *link, *sources]
    # Elsewhere first: a process that has the module loaded keeps the file it has.
    made = target.with_suffix(f".{os.getpid()}")
    command += ["-o", str(made), "-ldl"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        made.unlink(missing_ok=True)
        return done.stderr.strip()[-500:]
    made.replace(target)
    return None


def _platform_tag() -> str:
    return sysconfig.get_platform().replace("-", "_").replace(".", "_")
