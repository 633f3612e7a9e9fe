"""``lastword._native``, the loops over records in C, where it was built.

Everything works without it, and gives the same answers more slowly: there may have been no C
compiler when the package was installed.
"""

from __future__ import annotations

from importlib import import_module
from types import ModuleType


def _built() -> ModuleType | None:
    try:
        return import_module("lastword._native")
    except ImportError:
        return None


NATIVE = _built()
"""The module, or None."""
