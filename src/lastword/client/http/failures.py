"""The two ways in which a request can fail before it is answered.

A write depends on the difference: one that was never sent may be sent again.
"""

from __future__ import annotations

from lastword.errors import ConnectionFailedError


class NotSentError(ConnectionFailedError):
    """Nothing of the request has left this process."""


class AnswerLostError(ConnectionFailedError):
    """At least a part of the request was sent, and no answer arrived."""
