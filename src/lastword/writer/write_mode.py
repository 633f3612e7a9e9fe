"""How the writes of a table are decided."""

from __future__ import annotations

from typing import Literal

WriteMode = Literal["direct", "conditional", "owned"]
"""Which writes the owner of a partition decides: none, those with a condition, or all."""
