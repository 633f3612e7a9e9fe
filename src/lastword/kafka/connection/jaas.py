"""JAAS login lines, the form in which Java clients take a user name and a password."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

from lastword.errors import ConfigError

PLAIN_MODULE = "org.apache.kafka.common.security.plain.PlainLoginModule"
SCRAM_MODULE = "org.apache.kafka.common.security.scram.ScramLoginModule"
OAUTH_MODULE = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule"

MODULE_OF_MECHANISM = {
    "PLAIN": PLAIN_MODULE,
    "SCRAM-SHA-256": SCRAM_MODULE,
    "SCRAM-SHA-512": SCRAM_MODULE,
    "OAUTHBEARER": OAUTH_MODULE,
}

_LINE = re.compile(
    r"\s*([\w.$]+)\s+(?:required|requisite|sufficient|optional)\b(.*);\s*", re.S | re.I
)
_OPTION = re.compile(
    r"""\s*([\w.\-]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|'((?:[^'\\]|\\.)*)'|([^\s"';]+))""", re.DOTALL
)


class JaasLogin(NamedTuple):
    """The login module's class and its options."""

    module: str
    options: dict[str, str]


def parse_login(text: str) -> JaasLogin:
    """Read ``MODULE required name="value" ...;``. No error message repeats a value."""
    line = _LINE.fullmatch(text)
    if line is None:
        raise _not_understood()
    options: dict[str, str] = {}
    rest = line[2].rstrip()
    while rest:
        option = _OPTION.match(rest)
        if option is None:
            raise _not_understood()
        quoted = next((part for part in option.groups()[1:] if part is not None), "")
        options[option[1]] = re.sub(r"\\(.)", r"\1", quoted, flags=re.DOTALL)
        rest = rest[option.end() :].rstrip()
    return JaasLogin(line[1], options)


def render_login(module: str, options: Mapping[str, str]) -> str:
    """The line that ``parse_login`` and Java read back as the same options."""
    written = []
    for name, value in options.items():
        escaped = value.replace("\\", "\\\\").replace('"', '\\"')
        written.append(f'{name}="{escaped}"')
    return f"{module} required {' '.join(written)};"


def _not_understood() -> ConfigError:
    return ConfigError(
        "sasl.jaas.config is not a login line that can be read",
        hint=f'it looks like: {PLAIN_MODULE} required username="NAME" password="SECRET";',
    )
