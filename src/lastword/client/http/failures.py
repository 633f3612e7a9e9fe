"""The two ways in which a request can go wrong before it is answered.

A write depends on the difference: one that was never sent may be sent again.
"""

from __future__ import annotations

from lastword.errors import ConnectionFailedError


class NotSentError(ConnectionFailedError):
    """Nothing of the request has left this process."""


class AnswerLostError(ConnectionFailedError):
    """The request was sent, in part at least, and no answer came."""
