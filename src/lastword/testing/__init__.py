"""What users need to test their own code and stores."""

from lastword.testing.waiting import wait_until

__all__ = ["wait_until"]
