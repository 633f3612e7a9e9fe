"""The metrics of a broker on this machine, read from its metrics port.

The names, as ``jmx_exporter.yml`` makes them (gauges of the log cleaner are per broker):

    kafka_log_Log_Size, _LogStartOffset, _LogEndOffset, _NumLogSegments   {topic, partition}
    kafka_cluster_Partition_LastStableOffsetLag                           {topic, partition}
    kafka_log_LogCleaner_max_clean_time_secs, _cleaner_recopy_percent, _DeadThreadCount, ...
    kafka_log_LogCleanerManager_max_dirty_percent, _time_since_last_run_ms, ...

``max_clean_time_secs`` is a large negative number before the first cleaning.
"""

from __future__ import annotations

import http.client
import re
from base64 import b64encode
from typing import NamedTuple

from lastword.broker.metrics_agent import METRICS_USER
from lastword.errors import BrokerError
from lastword.jvm.ports import LOOPBACK

_LINE = re.compile(r"([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)")
_LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')
_ESCAPES = {r"\\": "\\", r"\"": '"', r"\n": "\n"}


class ScrapedSample(NamedTuple):
    """One measured value."""

    name: str
    labels: dict[str, str]
    value: float


def scrape(port: int, password: str | None, timeout: float = 5.0) -> list[ScrapedSample]:
    """Everything the broker measures now; BrokerError when it does not answer."""
    # Straight to the loopback address: a proxy from the environment must not be used.
    connection = http.client.HTTPConnection(LOOPBACK, port, timeout=timeout)
    try:
        connection.request("GET", "/metrics", headers=_authorization(password))
        response = connection.getresponse()
        body = response.read().decode()
    except (OSError, http.client.HTTPException) as error:
        raise BrokerError(
            f"the broker's metrics port {port} does not answer ({error})",
            hint="See whether the broker runs: lastword broker status",
        ) from error
    finally:
        connection.close()
    if response.status != http.client.OK:
        raise BrokerError(f"the broker's metrics port {port} answers {response.status}")
    return parse(body)


def _authorization(password: str | None) -> dict[str, str]:
    if password is None:
        return {}
    login = b64encode(f"{METRICS_USER}:{password}".encode()).decode()
    return {"Authorization": f"Basic {login}"}


def parse(text: str) -> list[ScrapedSample]:
    """The samples of Prometheus' text format."""
    samples = []
    for line in text.splitlines():
        if match := _LINE.match(line):  # comments start with "#" and match no name
            name, labels, value = match.groups()
            samples.append(ScrapedSample(name, _labels(labels or ""), float(value)))
    return samples


def _labels(text: str) -> dict[str, str]:
    return {
        name: re.sub(r"\\.", lambda escape: _ESCAPES.get(escape[0], escape[0]), value)
        for name, value in _LABEL.findall(text)
    }
