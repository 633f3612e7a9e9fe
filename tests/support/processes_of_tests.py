"""How ``pytest -n`` shares the tests among its processes, and goes on when one of them crashes."""

from __future__ import annotations

from xdist.scheduler import LoadScopeScheduling
from xdist.workermanage import WorkerController

# What these start (a Spark session, a browser, brokers) is worth sharing across their files.
SHARING = {
    # Brokers cost processor time for as long as their process runs tests.
    "tests/broker/embedded/test_embedded_broker_cluster.py": "cluster",
    "tests/broker/topics/test_topics_cluster.py": "cluster",
    "tests/regressions/tables/test_a_silent_broker_costs_no_rows.py": "cluster",
    "tests/regressions/tables/test_an_unanswered_offset_is_no_offset.py": "cluster",
    "tests/robustness/test_fence_of_a_lost_leader.py": "cluster",
    "tests/robustness/test_partitioned_faults.py": "cluster",
    "tests/spark/test_pipeline_on_a_cluster.py": "cluster",
    "tests/broker/connections/test_connection_secure.py": "secure broker",
    "tests/broker/embedded/test_embedded_broker_security.py": "secure broker",
    "tests/broker/connections/test_table_connections.py": "secure broker",
    "tests/regressions/commands/test_no_command_prints_the_password.py": "secure broker",
    "tests/broker/schemas": "registry",
    "tests/broker/cli/test_schema_commands.py": "registry",
    "tests/broker/cli/test_schemas.py": "registry",
    "tests/contracts/test_registry_codecs.py": "registry",
    # It starts Sparks of its own, and would only make the longest process longer.
    "tests/spark/test_cdc_kills.py": "kills of a capture",
    "tests/browser": "browser",
    "tests/service": "service",
    "tests/spark": "spark",
    "tests/regressions/pipelines": "spark",
}


class Together(LoadScopeScheduling):
    """Tests of one file, or of those that share something, run in one process (``pytest -n 3``).

    A crashed process costs one test. xdist 3.8 runs that test again, crash after crash, and hands
    out what had already passed; a process that gets nothing else waits forever.
    """

    def _split_scope(self, nodeid: str) -> str:
        file = nodeid.split("::", 1)[0]
        return next((shared for place, shared in SHARING.items() if file.startswith(place)), file)

    def schedule(self) -> None:
        """Share out what waits; a process runs its last test only after it was told to end."""
        super().schedule()
        if not self.workqueue:
            for node in self.nodes:
                node.shutdown()

    def remove_node(self, node: WorkerController) -> str | None:
        """Share out what a process had yet to run; returns the test in which it crashed."""
        tests = {
            test: scope
            for scope, unit in self.assigned_work.pop(node).items()
            for test, is_done in unit.items()
            if not is_done
        }
        crashed = next(iter(tests), None)
        for test, scope in tests.items():
            if test != crashed:
                self.workqueue.setdefault(scope, {})[test] = False
        for other in self.assigned_work if tests else ():
            self._reschedule(other)
        return crashed
