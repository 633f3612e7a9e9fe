"""Libraries that log their configuration, secrets included."""

from __future__ import annotations

import logging


def keep_discreet(library: str) -> None:
    """Keep the library's logger at INFO or above, even if others log at DEBUG.

    At DEBUG, kafka-python logs its settings and the bytes of a login, and Py4J every call to Spark,
    login included. Called before each such use, because the level of the others may have changed.
    """
    logger = logging.getLogger(library)
    if logger.getEffectiveLevel() < logging.INFO:
        logger.setLevel(logging.INFO)
