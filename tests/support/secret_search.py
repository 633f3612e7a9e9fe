"""A cluster that asks for a password, and the search for that password in what was printed."""

from __future__ import annotations

from base64 import b64encode

from lastword.testing.secure_broker import SecureBroker


def environment_of(secure: SecureBroker) -> dict[str, str]:
    """The login of the command line."""
    return {
        "LASTWORD_BOOTSTRAP_SERVERS": secure.login_servers,
        "LASTWORD_SECURITY_PROTOCOL": "SASL_SSL",
        "LASTWORD_SSL_CA": str(secure.certificates.authority),
        "LASTWORD_SASL_MECHANISM": "PLAIN",
        "LASTWORD_SASL_USERNAME": secure.username,
        "LASTWORD_SASL_PASSWORD": secure.password,
    }


def lines_with(password: str, printed: str) -> list[str]:
    """The lines that contain it, with any escaping of quotes, or as the bytes of a login."""
    part = max(password.replace("\\", '"').replace("'", '"').split('"'), key=len)
    encoded = b64encode(password.encode()).decode().rstrip("=")[:-1]
    return [line for line in printed.splitlines() if part in line or encoded in line]
