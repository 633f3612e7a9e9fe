"""Every answer about a table says how long ago its cluster answered, and marks what is too old.

A service that was cut off from its cluster answered as if nothing was wrong.
"""

from __future__ import annotations

from lastword.replicas.sweep.soundness import CONTACT_MAX_S
from tests.service.conftest import Serve
from tests.support.shifted_clock import ShiftedClock


def test_reads_status_and_metrics_of_a_table_without_contact(serve: Serve) -> None:
    clock = ShiftedClock()
    serving = serve(table_options={"clock": clock})
    with serving.client() as client:
        assert client.put("/table/a", json=1).status_code == 200
        fresh = client.get("/table/a")
        assert float(fresh.headers["lastword-contact-age"]) < CONTACT_MAX_S
        assert "lastword-stale" not in fresh.headers
        serving.table._lifecycle.parts.replicas._following.monitor.stop()
        clock.shift_s = 2 * CONTACT_MAX_S
        for path, status in (("/table/a", 200), ("/table/nobody", 404)):
            answer = client.get(path)
            assert (answer.status_code, answer.headers["lastword-stale"]) == (status, "true")
            assert float(answer.headers["lastword-contact-age"]) > CONTACT_MAX_S
        for path in ("/table", "/table/count", "/tables/table"):
            shown = client.get(path).json()
            assert shown["stale"] is True
            assert shown["contact_age_seconds"] > CONTACT_MAX_S
        (line,) = (
            line
            for line in client.get("/metrics").text.splitlines()
            if line.startswith("lastword_contact_age_seconds{")
        )
        assert float(line.split()[-1]) > CONTACT_MAX_S
