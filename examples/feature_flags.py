"""Feature flags for many processes: each has its own copy and sees every change at once.

Run it with a broker at hand (``make up``): python examples/feature_flags.py [HOST:PORT]
"""

from __future__ import annotations

import sys
import threading

import lastword as lw

FLAGS = {"new-checkout": {"enabled": False}, "dark-mode": {"enabled": True}}


def main(bootstrap_servers: str) -> None:
    """Two copies of one table: what the operator switches, the service sees."""
    cluster = lw.Connection(bootstrap_servers=bootstrap_servers)
    with lw.Admin(cluster) as admin:
        if "example-flags" not in admin.topics():
            lw.create_topic(admin, "example-flags", partitions=1)

    with (
        lw.Table("example-flags", connection=cluster, name="operator") as operator,
        lw.Table("example-flags", connection=cluster, name="service") as service,
    ):
        operator.put_many(FLAGS)
        with service.watch() as changes:
            switch = threading.Timer(0.5, operator.put, ["new-checkout", {"enabled": True}])
            switch.start()
            for change in changes:
                print(f"{change.key} changed to {change.value} at {change.version}")
                if change.value == {"enabled": True} and change.key == "new-checkout":
                    break
            switch.join()
        assert service["new-checkout"] == {"enabled": True}


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "localhost:9092")
