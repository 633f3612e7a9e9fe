"""The metrics port of a pipeline answers only to who asks for this machine by its own name.

It answered any ``Host``, so that a page of any site could point a name at it and read it.
"""

from __future__ import annotations

import http.client

import pytest

from lastword.cli.support.metrics_endpoint import metrics_endpoint
from lastword.jvm.ports import free_ports
from lastword.metrics import Metrics


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("127.0.0.1:{port}", 200),
        ("localhost", 200),
        ("[::1]:{port}", 200),
        ("evil.example", 421),
        ("evil.example:{port}", 421),
        ("localhost.evil.example", 421),
        ("", 421),
    ],
)
def test_a_foreign_name_is_refused(host: str, status: int) -> None:
    (port,) = free_ports(1)
    with metrics_endpoint(Metrics(), port):
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=180)
        connection.request("GET", "/metrics", headers={"Host": host.format(port=port)})
        assert connection.getresponse().status == status
        connection.close()
