"""Puts, deletes and events: the paths a record can take into a topic, with an outcome each."""

from lastword.writer.outcome import Acknowledged, Failed, Indeterminate, Outcome, Unread
from lastword.writer.write_path import WritePath

__all__ = ["Acknowledged", "Failed", "Indeterminate", "Outcome", "Unread", "WritePath"]
