"""The agent in a broker's Java process that serves its metrics, protected by a password.

It cannot be configured to check the ``Host``, so any web page could read it through its visitor's
browser (DNS rebinding), and any user of this machine can reach the port. So each start makes a
password, in a file that only the broker's user can read; Prometheus takes it as ``password_file``.
"""

from __future__ import annotations

import secrets
from pathlib import Path

from lastword.jvm import ports
from lastword.private_files import make_private_directory, write_private

METRICS_USER = "lastword"
_METRICS = Path(__file__).with_name("jmx_exporter.yml")
_PASSWORD_FILE = "metrics-password"  # noqa: S105 - its name
_LOGIN = """
httpServer:
  authentication:
    basic: {{username: {user}, password: {password}}}
"""


def agent_option(agent: Path, directory: Path, port: int) -> str:
    """Java's argument for the agent of the node in ``directory``, with a new password."""
    password = secrets.token_hex(24)  # of letters and digits: YAML takes it as it is
    settings = directory / "metrics.yml"
    make_private_directory(directory)
    login = _LOGIN.format(user=METRICS_USER, password=f'"{password}"')
    write_private(settings, _METRICS.read_bytes() + login.encode())
    write_private(metrics_password_file(directory), password.encode())
    return f"-javaagent:{agent}={ports.LOOPBACK}:{port}:{settings}"


def metrics_password_file(directory: Path) -> Path:
    """Where the password of the node in ``directory`` is."""
    return directory / _PASSWORD_FILE


def read_metrics_password(directory: Path) -> str | None:
    """The password; None for a broker that an earlier version started."""
    try:
        return metrics_password_file(directory).read_text(encoding="ascii")
    except FileNotFoundError:
        return None
