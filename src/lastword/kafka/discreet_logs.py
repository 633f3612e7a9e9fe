"""Libraries that write what they are told into their logs, secrets included."""

from __future__ import annotations

import logging


def keep_discreet(library: str) -> None:
    """Let the library's logger say nothing below INFO, whatever the level of the others.

    At DEBUG, kafka-python writes its settings and the bytes of a login, and Py4J all that Spark
    is told, which has the login in it. A level that is higher stays.
    """
    logger = logging.getLogger(library)
    if logger.level < logging.INFO:  # NOTSET, too: that would be the level of the root
        logger.setLevel(logging.INFO)
