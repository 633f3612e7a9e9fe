"""Protects Spark's ports: on one machine they are reachable only there, and only with a secret.

A driver listens for executors and for blocks of data, and Java deserializes what arrives there:
anybody who can connect can run code.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping

from pyspark.sql import SparkSession

log = logging.getLogger(__name__)

_LOCAL = re.compile(r"local(\[.*\])?")
_LOOPBACK: Mapping[str, str] = {
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    # Spark makes a secret of its own for each session and keeps it in memory. It must not be
    # given one: settings are seen in process arguments, logs and the web page.
    "spark.authenticate": "true",
}


def network_settings(master: str) -> Mapping[str, str]:
    """The settings that protect a session on this machine; on a cluster the user sets them."""
    return _LOOPBACK if is_local(master) else {}


def is_local(master: str) -> bool:
    """Whether everything runs in one Java process; ``local-cluster`` starts others."""
    return _LOCAL.fullmatch(master) is not None


def is_open(master: str, authenticate: str | None) -> bool:
    """Whether anybody who reaches the machines of a cluster may run code there."""
    return not is_local(master) and authenticate != "true"


def warn_if_open(spark: SparkSession) -> None:
    """Warn about an unprotected session on a cluster."""
    context = spark.sparkContext
    if is_open(context.master, context.getConf().get("spark.authenticate")):
        log.warning(
            "spark.authenticate is not set for %s: whoever reaches the ports of the driver or of "
            "an executor can run code there; see docs/guides/pipelines-cluster.md",
            context.master,
        )
