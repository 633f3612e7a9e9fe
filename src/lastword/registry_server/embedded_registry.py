"""A registry that runs as a process of this machine, on the loopback address only."""

from __future__ import annotations

import http.client
from pathlib import Path

from lastword.errors import RegistryServerError
from lastword.jvm.child_process import ServerKind
from lastword.jvm.embedded_server import EmbeddedServer
from lastword.jvm.java_server import SMALL_SERVER, JavaProgram, JavaServer
from lastword.jvm.ports import LOOPBACK, free_ports
from lastword.registry_server.runtime import RegistryRuntime

START_SECONDS = 300.0
STORE_TOPIC = "_lastword-registry"
_REGISTRY = ServerKind(
    "registry", stop_command="Ctrl-C of `lastword up`", error=RegistryServerError
)
_PATH = "/apis/ccompat/v7"
_ANSWER_SECONDS = 5.0


class EmbeddedRegistry(EmbeddedServer):
    """One registry. Its schemas are in memory, or in topics of ``bootstrap_servers``.

    It ends with this process. Its own port and that of its management listen on loopback, and the
    default compatibility is BACKWARD, as in Confluent's registry.
    """

    def __init__(
        self,
        directory: Path,
        runtime: RegistryRuntime,
        *,
        port: int | None = None,
        bootstrap_servers: str | None = None,
    ) -> None:
        self._runtime = runtime
        ports = free_ports(2)
        self.port = port or ports[0]
        self._management_port = ports[1]
        self._bootstrap_servers = bootstrap_servers
        super().__init__(
            JavaServer(
                _REGISTRY,
                directory,
                ports=(self.port, self._management_port),
                environ=self._environ(),
            )
        )

    @property
    def url(self) -> str:
        """Where clients of Confluent's interface find it."""
        return f"http://{LOOPBACK}:{self.port}{_PATH}"

    def start(self) -> None:
        """Start it, and return once it answers and checks compatibility."""
        program = JavaProgram(
            self._runtime.java, self._runtime.directory / "quarkus-run.jar", options=SMALL_SERVER
        )
        self._server.start(program, self._answers, START_SECONDS)
        status, answer = self._ask("PUT", "/config", b'{"compatibility":"BACKWARD"}')
        if status >= http.client.BAD_REQUEST:
            self.kill()
            raise RegistryServerError(f"the registry refuses its settings: {answer[:200]!r}")

    def _answers(self) -> bool:
        try:
            return self._ask("GET", "/subjects")[0] == http.client.OK
        except (OSError, http.client.HTTPException):
            return False

    def _ask(self, method: str, path: str, body: bytes | None = None) -> tuple[int, bytes]:
        connection = http.client.HTTPConnection(LOOPBACK, self.port, timeout=_ANSWER_SECONDS)
        try:
            connection.request(method, _PATH + path, body, {"Content-Type": "application/json"})
            response = connection.getresponse()
            return response.status, response.read()
        finally:
            connection.close()

    def _environ(self) -> dict[str, str]:
        environ = {
            "QUARKUS_HTTP_HOST": LOOPBACK,
            "QUARKUS_HTTP_PORT": str(self.port),
            # By default it listens on every address.
            "QUARKUS_MANAGEMENT_HOST": LOOPBACK,
            "QUARKUS_MANAGEMENT_PORT": str(self._management_port),
        }
        if self._bootstrap_servers is not None:
            environ |= {
                "APICURIO_STORAGE_KIND": "kafkasql",
                "APICURIO_KAFKASQL_BOOTSTRAP_SERVERS": self._bootstrap_servers,
                "APICURIO_KAFKASQL_TOPIC": STORE_TOPIC,
            }
        return environ
