"""The requests to a schema registry with Confluent's REST interface, each with a limit."""

from __future__ import annotations

import http.client
import ssl
import threading
from base64 import b64encode
from dataclasses import dataclass, field
from typing import Any, TypeVar
from urllib.parse import quote, urlsplit
from uuid import UUID

import msgspec

from lastword.clock import SYSTEM_CLOCK, Clock
from lastword.codecs.registry.wire_format import SchemaId
from lastword.errors import ConfigError, RegistryError

SCHEMA_BYTES_MAX = 4 << 20
REST_AFTER_FAILURE_S = 5.0
"""How long an unreachable registry is not asked again, since a restore meets many records."""

T = TypeVar("T")

_MEDIA_TYPE = "application/vnd.schemaregistry.v1+json"
_NOT_FOUND = 404


@dataclass(frozen=True, kw_only=True)
class RegistrySettings:
    """Where a registry is and how to log in; its repr shows no secrets.

    ``ca``, ``certificate`` and ``key`` are PEM files: the authorities to trust, the client
    certificate, and its key unless that is in the same file.
    """

    url: str
    username: str | None = None
    password: str | None = field(default=None, repr=False)
    token: str | None = field(default=None, repr=False)
    ca: str | None = None
    certificate: str | None = None
    key: str | None = None
    key_password: str | None = field(default=None, repr=False)
    timeout_s: float = 10.0

    def __post_init__(self) -> None:
        parts = urlsplit(self.url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ConfigError(
                "the URL of a registry must begin with http:// or https://",
                hint="for example http://localhost:8081, or http://localhost:8080/apis/ccompat/v7",
            )
        if parts.username or parts.password:
            raise ConfigError(
                "the URL of a registry contains a login", hint="set username and password instead"
            )
        if self.key is not None and self.certificate is None:
            raise ConfigError(
                "the key of the registry's client certificate is set without the certificate",
                hint="set certificate, too",
            )


class Reference(msgspec.Struct, frozen=True):
    """A schema that another schema refers to by ``name``."""

    name: str
    subject: str
    version: int


class Schema(msgspec.Struct, frozen=True, rename="camel"):
    """The text of a schema, its type, and its references. Registries omit the type AVRO."""

    schema: str
    schema_type: str = "AVRO"
    references: tuple[Reference, ...] = ()


class SchemaVersion(msgspec.Struct, frozen=True, rename="camel"):
    """A schema under a subject; not every registry has GUIDs."""

    subject: str
    version: int
    id: int
    schema: str
    schema_type: str = "AVRO"
    references: tuple[Reference, ...] = ()
    guid: UUID | None = None

    @property
    def content(self) -> Schema:
        """The schema itself."""
        return Schema(self.schema, self.schema_type, self.references)


class RegisteredId(msgspec.Struct, frozen=True):
    """The id of a registered schema; not every registry has GUIDs."""

    id: int
    guid: UUID | None = None


class _Config(msgspec.Struct, rename="camel"):
    compatibility_level: str = ""


class _Compatibility(msgspec.Struct):
    is_compatible: bool
    messages: list[str] | None = None


class RegistryClient:
    """Sends requests to one registry. Safe from any thread; it remembers only a recent failure.

    Raises RegistryError if the registry does not answer or refuses.
    """

    def __init__(self, settings: RegistrySettings, clock: Clock = SYSTEM_CLOCK) -> None:
        self._settings = settings
        self._url = urlsplit(settings.url)
        self._clock = clock
        self._lock = threading.Lock()
        self._failed: tuple[float, RegistryError] | None = None

    def schema(self, schema_id: SchemaId) -> Schema | None:
        """The schema with that id or GUID, or None when the registry has none."""
        kind = "ids" if isinstance(schema_id, int) else "guids"
        return self._ask("GET", f"/schemas/{kind}/{schema_id}", Schema)

    def version(self, subject: str, version: int | str = "latest") -> SchemaVersion | None:
        """A version of a subject, or None."""
        return self._ask(
            "GET", f"/subjects/{quote(subject, safe='')}/versions/{version}", SchemaVersion
        )

    def versions(self, subject: str) -> list[int]:
        """The versions of a subject; empty when there is no such subject."""
        return self._ask("GET", f"/subjects/{quote(subject, safe='')}/versions", list[int]) or []

    def subjects(self) -> list[str]:
        """Every subject."""
        return sorted(self._ask("GET", "/subjects", list[str]) or [])

    def find(self, subject: str, schema: Schema) -> RegisteredId | None:
        """The id of ``schema`` if it is registered under ``subject``."""
        return self._ask("POST", f"/subjects/{quote(subject, safe='')}", RegisteredId, schema)

    def register(self, subject: str, schema: Schema) -> RegisteredId:
        """Register ``schema`` as the newest version of ``subject``; returns its id."""
        path = f"/subjects/{quote(subject, safe='')}/versions"
        found = self._ask("POST", path, RegisteredId, schema)
        if found is None:
            raise RegistryError(f"the registry cannot register the subject {subject}")
        return found

    def compatibility(self, subject: str) -> str:
        """Which versions must be able to read which: ``BACKWARD``, ``FULL_TRANSITIVE``, ``NONE``…

        The subject's own setting, else that of the registry.
        """
        own = f"/config/{quote(subject, safe='')}?defaultToGlobal=true"
        found = self._ask("GET", own, _Config) or self._ask("GET", "/config", _Config)
        return "" if found is None else found.compatibility_level

    def why_incompatible(self, subject: str, schema: Schema) -> str | None:
        """Why the registry would reject ``schema`` as the next version; None if it would not."""
        level = self.compatibility(subject)
        # By its version a registry compares with that one alone, whatever the level is.
        versions = "versions" if level.endswith("_TRANSITIVE") else "versions/latest"
        path = f"/compatibility/subjects/{quote(subject, safe='')}/{versions}?verbose=true"
        found = self._ask("POST", path, _Compatibility, schema)
        if found is None or found.is_compatible:
            return None  # the first version of a subject has nothing to be compatible with
        reason = "; ".join(found.messages or []) or "the registry does not say what differs"
        return f"{level} compatibility is required; {reason}"

    def set_compatibility(self, subject: str, level: str) -> None:
        """Which later versions of a subject the registry takes: ``NONE`` for all of them."""
        body = {"compatibility": level}
        self._ask("PUT", f"/config/{quote(subject, safe='')}", dict[str, Any], body)

    def _ask(self, method: str, path: str, kind: type[T], body: Any = None) -> T | None:
        """The answer, or None for 404."""
        self._refuse_soon_after_a_failure()
        try:
            status, answer = self._exchange(method, path, body)
        except (OSError, http.client.HTTPException) as error:
            raise self._unreachable(error) from error
        if status == _NOT_FOUND:
            return None
        if status >= http.client.BAD_REQUEST:
            raise _refusal(status, answer)
        try:
            return msgspec.json.decode(answer, type=kind)
        except (msgspec.MsgspecError, ValueError, RecursionError) as error:
            raise RegistryError(
                f"cannot read the registry's answer: {error}",
                hint="check registry.url: it ends where /subjects begins",
            ) from error

    def _exchange(self, method: str, path: str, body: Any) -> tuple[int, bytes]:
        connection = self._connection()
        try:
            connection.request(
                method,
                self._url.path.rstrip("/") + path,
                body=None if body is None else msgspec.json.encode(body),
                headers=self._headers(),
            )
            response = connection.getresponse()
            answer = response.read(SCHEMA_BYTES_MAX + 1)
        finally:
            connection.close()
        if len(answer) > SCHEMA_BYTES_MAX:
            raise RegistryError(
                f"the registry's answer is larger than {SCHEMA_BYTES_MAX >> 20} MiB",
                hint="check registry.url: no schema is that large",
            )
        return response.status, answer

    def _connection(self) -> http.client.HTTPConnection:
        host, port = self._url.hostname or "", self._url.port
        timeout = self._settings.timeout_s
        if self._url.scheme == "http":
            return http.client.HTTPConnection(host, port, timeout=timeout)
        context = self._tls()
        return http.client.HTTPSConnection(host, port, timeout=timeout, context=context)

    def _tls(self) -> ssl.SSLContext:
        given = self._settings
        try:
            context = ssl.create_default_context(cafile=given.ca)
            if given.certificate is not None:
                # Without a password OpenSSL would ask for one on the terminal.
                context.load_cert_chain(given.certificate, given.key, given.key_password or "")
        except OSError as error:
            raise RegistryError(
                f"the certificates for the registry cannot be used: {error}",
                hint="check ca, certificate, key and key_password in [registry]",
            ) from error
        return context

    def _headers(self) -> dict[str, str]:
        headers = {"Accept": f"{_MEDIA_TYPE}, application/json", "Content-Type": _MEDIA_TYPE}
        given = self._settings
        if given.token is not None:
            headers["Authorization"] = f"Bearer {given.token}"
        elif given.username is not None:
            login = f"{given.username}:{given.password or ''}".encode()
            headers["Authorization"] = f"Basic {b64encode(login).decode()}"
        return headers

    def _refuse_soon_after_a_failure(self) -> None:
        with self._lock:
            if self._failed is None:
                return
            at, error = self._failed
            if self._clock.monotonic() - at < REST_AFTER_FAILURE_S:
                raise error.with_traceback(None)
            self._failed = None

    def _unreachable(self, error: Exception) -> RegistryError:
        host = self._url.hostname
        found = RegistryError(
            f"the registry at {host} does not answer: {error or type(error).__name__}",
            hint="check registry.url and the network; what was written stays in the topic",
        )
        with self._lock:
            self._failed = (self._clock.monotonic(), found)
        return found


def _refusal(status: int, answer: bytes) -> RegistryError:
    try:
        message = str(msgspec.json.decode(answer).get("message", ""))
    except (msgspec.MsgspecError, ValueError, AttributeError, RecursionError):
        message = ""
    error = RegistryError(
        f"the registry refused the request with status {status}: {message[:500]}",
        hint="check the login in [registry]" if status in (401, 403) else None,
    )
    error.retriable = status >= http.client.INTERNAL_SERVER_ERROR
    return error
