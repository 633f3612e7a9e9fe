"""Settings from flags, environment and ``lastword.toml``, and what is built from them."""

from lastword.cli.settings.capture_section import CAPTURE_SETTINGS
from lastword.cli.settings.settings import (
    BY_NAME,
    FREE_SECTIONS,
    SETTINGS,
    TABLE_SETTINGS,
    Setting,
    SettingValue,
)

__all__ = [
    "BY_NAME",
    "CAPTURE_SETTINGS",
    "FREE_SECTIONS",
    "SETTINGS",
    "TABLE_SETTINGS",
    "Setting",
    "SettingValue",
]
