"""``np``: numpy, loaded by the first use of one of its names.

Loading it takes a third of the time that ``lastword.Table`` takes to import. A table whose log is
read in C opens, and answers, without it.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
else:

    class _Numpy:
        """Keeps each name after its first use, so that later ones cost what a module's do."""

        def __getattr__(self, name: str) -> Any:
            value = getattr(import_module("numpy"), name)
            setattr(self, name, value)
            return value

    np = _Numpy()

__all__ = ["np"]
