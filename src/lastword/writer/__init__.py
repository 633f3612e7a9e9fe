"""Puts, deletes and events: the write paths into a topic, with an outcome per record."""

from lastword.writer.outcome import Acknowledged, Failed, Indeterminate, Outcome, Unread
from lastword.writer.write_path import WritePath

__all__ = ["Acknowledged", "Failed", "Indeterminate", "Outcome", "Unread", "WritePath"]
