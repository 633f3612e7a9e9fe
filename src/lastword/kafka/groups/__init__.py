"""Consumer groups: their names, members and committed positions."""

from lastword.kafka.groups.groups import Committed, Groups, Member

__all__ = ["Committed", "Groups", "Member"]
