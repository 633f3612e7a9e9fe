"""OAUTHBEARER: the client credentials for the identity provider that issues tokens."""

from __future__ import annotations

from dataclasses import dataclass, field

from lastword.errors import ConfigError


@dataclass(frozen=True, kw_only=True)
class ClientCredentials:
    """OAuth 2 client credentials; the client fetches and renews its tokens from ``token_url``."""

    token_url: str
    client_id: str
    client_secret: str = field(repr=False)
    scope: str | None = None

    def __post_init__(self) -> None:
        if not self.token_url.startswith(("https://", "http://")):
            raise ConfigError(
                f"the token endpoint {self.token_url!r} is not a URL",
                hint="it looks like https://identity.example.com/oauth2/token",
            )

    def librdkafka(self) -> dict[str, str]:
        """librdkafka's OIDC method."""
        settings = {
            "sasl.oauthbearer.method": "oidc",
            "sasl.oauthbearer.token.endpoint.url": self.token_url,
            "sasl.oauthbearer.client.id": self.client_id,
            "sasl.oauthbearer.client.secret": self.client_secret,
        }
        return settings if self.scope is None else settings | {"sasl.oauthbearer.scope": self.scope}

    def jaas_options(self) -> dict[str, str]:
        """The options of Java's OAuthBearerLoginModule."""
        options = {"clientId": self.client_id, "clientSecret": self.client_secret}
        return options if self.scope is None else options | {"scope": self.scope}
