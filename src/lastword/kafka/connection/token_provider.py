"""OAuth tokens for kafka-python, which leaves fetching them to its user."""

from __future__ import annotations

import json
from base64 import b64encode
from urllib.error import HTTPError, URLError
from urllib.parse import quote, urlencode
from urllib.request import Request, urlopen

from kafka.net.sasl.oauth import AbstractTokenProvider

from lastword.clock import SYSTEM_CLOCK, Clock
from lastword.errors import ConnectionFailedError
from lastword.kafka.connection.oauth import ClientCredentials

_TIMEOUT_SECONDS = 10.0
_RENEW_AT = 0.8
"""The share of a token's lifetime after which it is renewed, as in librdkafka and Java."""


class TokenProvider(AbstractTokenProvider):  # type: ignore[misc]  # kafka-python has no types
    """Fetches a token with client credentials and keeps it until most of its life is over."""

    def __init__(self, credentials: ClientCredentials, *, clock: Clock = SYSTEM_CLOCK) -> None:
        super().__init__()
        self._credentials = credentials
        self._clock = clock
        self._token = ""
        self._renew_at = 0.0

    def token(self) -> str:
        """A token that is still valid; raises ConnectionFailedError if none can be fetched."""
        now = self._clock.monotonic()
        if not self._token or now >= self._renew_at:
            self._token, lifetime = self._fetch()
            self._renew_at = now + _RENEW_AT * lifetime
        return self._token

    def _fetch(self) -> tuple[str, float]:
        credentials = self._credentials
        form = {"grant_type": "client_credentials"}
        if credentials.scope is not None:
            form["scope"] = credentials.scope
        login = f"{quote(credentials.client_id)}:{quote(credentials.client_secret)}"
        request = Request(  # noqa: S310 - ClientCredentials lets only http and https through
            credentials.token_url,
            data=urlencode(form).encode(),
            headers={"Authorization": f"Basic {b64encode(login.encode()).decode()}"},
        )
        try:
            with urlopen(request, timeout=_TIMEOUT_SECONDS) as response:  # noqa: S310
                answer = json.load(response)
            return str(answer["access_token"]), float(answer.get("expires_in", 0))
        except (URLError, TimeoutError, ValueError, KeyError) as error:
            if isinstance(error, HTTPError):
                error.close()  # it is the response, too, and holds its socket
            raise ConnectionFailedError(
                f"no token from {credentials.token_url}: {error}",
                hint="check the token endpoint, the client id and the client secret",
            ) from error
