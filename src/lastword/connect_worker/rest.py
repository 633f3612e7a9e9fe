"""Speaks with a worker of Kafka Connect, ours or anybody's, over its REST interface."""

from __future__ import annotations

import http.client
from base64 import b64encode
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote, unquote, urlsplit

import msgspec

from lastword.errors import ConfigError, ConnectorError, ConnectWorkerError

ANSWER_SECONDS = 30.0
_FAILED = "FAILED"


class TaskStatus(msgspec.Struct, frozen=True):
    """One task of a connector; ``trace`` is the Java stack of one that failed."""

    id: int
    state: str
    trace: str = ""


class ConnectorStatus(msgspec.Struct, frozen=True):
    """A connector and its tasks, as the worker sees them."""

    state: str
    trace: str
    tasks: tuple[TaskStatus, ...]

    @property
    def is_running(self) -> bool:
        """Whether the connector and all of its tasks run, and there is one."""
        states = {self.state, *(task.state for task in self.tasks)}
        return bool(self.tasks) and states == {"RUNNING"}

    @property
    def failure(self) -> str | None:
        """Why it failed, in one line; None when it did not."""
        traces = {self.trace: self.state} | {task.trace: task.state for task in self.tasks}
        failed = [trace for trace, state in traces.items() if state == _FAILED]
        return _root_cause(failed[0]) if failed else None


class ConnectClient:
    """One worker at ``url``; a user and password in it are used to log in, and never shown."""

    def __init__(self, url: str, *, timeout: float = ANSWER_SECONDS) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ConfigError(
                "this is no address of a Connect worker", hint="http://localhost:8083"
            )
        self._secure = parts.scheme == "https"
        self._host, self._port = parts.hostname, parts.port
        self._path = parts.path.rstrip("/")
        self._timeout = timeout
        self._headers = {"Content-Type": "application/json", "Accept": "application/json"}
        if parts.username is not None:
            login = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
            self._headers["Authorization"] = f"Basic {b64encode(login.encode()).decode()}"

    def is_healthy(self) -> bool:
        """Whether the worker has joined its group and read its configuration."""
        return self._ask("GET", "/health")[0] == http.client.OK

    def kafka_cluster_id(self) -> str:
        """The cluster in which it keeps its offsets and writes its records."""
        return str(self._answer("GET", "/")["kafka_cluster_id"])

    def plugins(self) -> frozenset[str]:
        """The classes of the connectors it can run."""
        return frozenset(each["class"] for each in self._answer("GET", "/connector-plugins"))

    def connectors(self) -> list[str]:
        """The names of all connectors."""
        return sorted(self._answer("GET", "/connectors"))

    def put(self, name: str, config: Mapping[str, str]) -> None:
        """Create a connector, or give it another configuration."""
        self._answer("PUT", f"/connectors/{quote(name, safe='')}/config", dict(config))

    def config(self, name: str) -> dict[str, str] | None:
        """The configuration of a connector; None when there is none of this name."""
        status, answer = self._ask("GET", f"/connectors/{quote(name, safe='')}/config")
        if status == http.client.NOT_FOUND:
            return None
        return dict(self._checked(status, answer))

    def status(self, name: str) -> ConnectorStatus | None:
        """How a connector is; None when there is none, or nobody has taken it yet."""
        status, answer = self._ask("GET", f"/connectors/{quote(name, safe='')}/status")
        if status == http.client.NOT_FOUND:
            return None
        found = self._checked(status, answer)
        return ConnectorStatus(
            found["connector"]["state"],
            found["connector"].get("trace", ""),
            tuple(msgspec.convert(task, TaskStatus) for task in found["tasks"]),
        )

    def pause(self, name: str) -> None:
        """Have it stop reading without giving up its resources."""
        self._answer("PUT", f"/connectors/{quote(name, safe='')}/pause")

    def stop(self, name: str) -> None:
        """Have it end its tasks; its offsets stay, and can then be deleted."""
        self._answer("PUT", f"/connectors/{quote(name, safe='')}/stop")

    def resume(self, name: str) -> None:
        """Have a paused or stopped one go on."""
        self._answer("PUT", f"/connectors/{quote(name, safe='')}/resume")

    def restart(self, name: str) -> None:
        """Restart what has failed of it."""
        path = f"/connectors/{quote(name, safe='')}/restart?includeTasks=true&onlyFailed=true"
        self._answer("POST", path)

    def delete(self, name: str) -> None:
        """Remove a connector; nothing happens when there is none."""
        status, answer = self._ask("DELETE", f"/connectors/{quote(name, safe='')}")
        if status != http.client.NOT_FOUND:
            self._checked(status, answer)

    def offsets(self, name: str) -> list[dict[str, Any]]:
        """How far a connector says it has come; empty before its first record, or without one."""
        status, answer = self._ask("GET", f"/connectors/{quote(name, safe='')}/offsets")
        if status == http.client.NOT_FOUND:
            return []
        return [each["offset"] for each in self._checked(status, answer)["offsets"]]

    def delete_offsets(self, name: str) -> None:
        """Have a stopped connector forget how far it was."""
        self._answer("DELETE", f"/connectors/{quote(name, safe='')}/offsets")

    def _answer(self, method: str, path: str, body: object = None) -> Any:
        return self._checked(*self._ask(method, path, body))

    def _ask(self, method: str, path: str, body: object = None) -> tuple[int, bytes]:
        kind = http.client.HTTPSConnection if self._secure else http.client.HTTPConnection
        connection = kind(self._host, self._port, timeout=self._timeout)
        try:
            data = None if body is None else msgspec.json.encode(body)
            connection.request(method, self._path + path, data, self._headers)
            response = connection.getresponse()
            return response.status, response.read()
        except (OSError, http.client.HTTPException) as error:
            raise ConnectWorkerError(
                f"the Connect worker at {self._host}:{self._port} does not answer ({error})",
                hint="see whether it runs: lastword connect status",
            ) from error
        finally:
            connection.close()

    def _checked(self, status: int, answer: bytes) -> Any:
        if status < http.client.BAD_REQUEST:
            return msgspec.json.decode(answer) if answer else None
        try:
            message = str(msgspec.json.decode(answer)["message"])
        except (msgspec.DecodeError, KeyError, TypeError):
            message = answer[:200].decode(errors="replace")
        raise ConnectorError(f"Kafka Connect answers {status}: {message}")


def _root_cause(trace: str) -> str:
    """The innermost cause of a Java stack trace: the one that says what happened."""
    lines = [line.strip() for line in trace.splitlines() if line.strip()]
    causes = [line.removeprefix("Caused by: ") for line in lines if line.startswith("Caused by: ")]
    return (causes or lines or ["no reason given"])[-1 if causes else 0]
