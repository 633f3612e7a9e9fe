"""Small classes for common uses of compacted topics, each on top of one owned table."""

from lastword.patterns.cache import Cache
from lastword.patterns.config_store import ConfigStore
from lastword.patterns.materialized_view import MaterializedView
from lastword.patterns.session_store import Session, SessionStore

__all__ = ["Cache", "ConfigStore", "MaterializedView", "Session", "SessionStore"]
