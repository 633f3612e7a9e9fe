"""What ``lastword up`` runs when ``lastword.toml`` names neither tables nor pipelines."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from lastword.topics.profiles import profile_named

if TYPE_CHECKING:
    from lastword.pipelines import Pipeline

PROFILES = "user-profiles"
UPDATES = "demo-updates-per-user-changelog"
DEMO_MOUNTS: Mapping[str, str] = {PROFILES: "/users", UPDATES: "/updates"}

# The demo is there to be watched, so its topic compacts within seconds.
DEMO_PROFILE = "aggressive"


def demo_pipeline() -> Pipeline:
    """Counts the updates of each user; its result is the table UPDATES."""
    from lastword.pipelines import Pipeline

    app = Pipeline("demo")
    profiles = app.stream(PROFILES, value="bytes")
    profiles.group_by_key().count(
        "updates-per-user", changelog=profile_named(DEMO_PROFILE).settings
    )
    return app
