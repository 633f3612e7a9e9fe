"""Installs a lock file into this virtual environment: by uv, or by pip where uv cannot.

python scripts/install_locked.py requirements/lock.txt

uv downloads in parallel, and reads no configuration of pip: which registry, which certificates and
which proxy pip uses is handed on to it. Both check every file against its hash.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterable, Mapping

# pip's setting -> uv's environment variable.
_SETTINGS = {
    "index-url": "UV_DEFAULT_INDEX",
    "extra-index-url": "UV_INDEX",
    "find-links": "UV_FIND_LINKS",
    "cert": "SSL_CERT_FILE",
    "client-cert": "SSL_CLIENT_CERT",
    "proxy": "ALL_PROXY",
    "trusted-host": "UV_INSECURE_HOST",
    "no-index": "UV_NO_INDEX",
    "default-timeout": "UV_HTTP_TIMEOUT",
    "timeout": "UV_HTTP_TIMEOUT",
}
_COMMA_SEPARATED = {"UV_FIND_LINKS"}
# pip's settings by section, from those for everything to those of one run.
_SECTIONS = ("global", "install", ":env:")


def main() -> int:
    """Install what the arguments name; the exit code of whoever did it."""
    (lock,) = sys.argv[1:]
    options = ["--require-hashes", "--no-build-isolation", "-r", lock]
    uv = [sys.executable, "-m", "uv", "pip", "install", "--python", sys.executable]
    environment = os.environ | uv_settings(pip_settings())
    if subprocess.run([*uv, *options], env=environment, check=False).returncode == 0:
        return 0
    print("uv could not install; trying with pip", file=sys.stderr)
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "install"]
    return subprocess.run([*pip, *options], check=False).returncode


def pip_settings() -> dict[str, str]:
    """The configuration of pip: from files and from the environment, the stronger one last."""
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "config", "list"]
    listed = subprocess.run(command, capture_output=True, text=True, check=False)
    return parse_settings(listed.stdout.splitlines())


def parse_settings(lines: Iterable[str]) -> dict[str, str]:
    """What ``pip config list`` prints: lines such as ``global.index-url='https://…'``."""
    found = [line.partition("=") for line in lines if "=" in line]
    settings: dict[str, str] = {}
    for section in _SECTIONS:
        for name, _, value in found:
            if name.rpartition(".")[0] == section:
                settings[name.rpartition(".")[2]] = value.strip("'\"").replace("\\n", " ").strip()
    return settings


def uv_settings(settings: Mapping[str, str]) -> dict[str, str]:
    """The same for uv; what somebody has set for uv itself stays."""
    given = {_SETTINGS[name]: value for name, value in settings.items() if name in _SETTINGS}
    return {
        name: ",".join(value.split()) if name in _COMMA_SEPARATED else value
        for name, value in given.items()
        if value and name not in os.environ
    }


if __name__ == "__main__":
    sys.exit(main())
