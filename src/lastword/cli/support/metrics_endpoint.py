"""Figures over HTTP, for a process that serves nothing else: ``/metrics`` on loopback."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from lastword.errors import ServiceError
from lastword.exposition import MEDIA_TYPE, exposition
from lastword.host_names import LOOPBACK_NAMES, host_name
from lastword.metrics import Metrics

_HOST = "127.0.0.1"


@contextmanager
def metrics_endpoint(metrics: Metrics, port: int) -> Iterator[str]:
    """Serve the figures while the block runs; gives the address."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            # Any page can point a name of its own here, and have a visitor's browser ask.
            if host_name(self.headers.get("Host", "")) not in LOOPBACK_NAMES:
                self._answer(HTTPStatus.MISDIRECTED_REQUEST, b"ask for localhost\n")
            elif self.path != "/metrics":
                self._answer(HTTPStatus.NOT_FOUND, b"see /metrics\n")
            else:
                self._answer(HTTPStatus.OK, exposition(metrics.samples()).encode())

        def _answer(self, status: HTTPStatus, body: bytes) -> None:
            self.send_response(status)
            self.send_header("Content-Type", MEDIA_TYPE.decode())
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            """Do not log scrapes."""

    try:
        server = ThreadingHTTPServer((_HOST, port), Handler)
    except OSError as error:
        raise ServiceError(
            f"cannot listen on {_HOST}:{port}: {error.strerror}",
            hint="stop the program that listens there, or choose another port: --metrics-port",
        ) from error
    with server:
        thread = threading.Thread(target=server.serve_forever, name="metrics", daemon=True)
        thread.start()
        try:
            yield f"http://{_HOST}:{port}/metrics"
        finally:
            server.shutdown()
            thread.join()
