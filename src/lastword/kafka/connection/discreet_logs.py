"""Libraries that log their configuration, secrets included."""

from __future__ import annotations

import logging


def keep_discreet(library: str) -> None:
    """Let the library's logger say nothing below INFO, whatever the level of the others.

    At DEBUG, kafka-python writes its settings and the bytes of a login, and Py4J all that Spark
    is told, which has the login in it. Called whenever it is about to be told: the level of
    the others may have changed.
    """
    logger = logging.getLogger(library)
    if logger.getEffectiveLevel() < logging.INFO:
        logger.setLevel(logging.INFO)
