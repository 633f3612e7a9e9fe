"""``lastword._native``, the loops over records in C, where it was built.

Everything works without it, and gives the same answers more slowly: there may have been no C
compiler when the package was installed. In a checkout, a module that was built from other sources
is ignored until ``make setup`` builds it again.
"""

from __future__ import annotations

from importlib import import_module
from types import ModuleType

_INTERFACE = 5


def _built() -> ModuleType | None:
    try:
        module = import_module("lastword._native")
    except ImportError:
        return None
    return module if getattr(module, "INTERFACE", 1) == _INTERFACE else None


NATIVE = _built()
"""The module, or None."""
