"""Reads settings from ``lastword.toml`` and the environment, refusing what it does not know."""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from lastword.cli.settings import (
    BY_NAME,
    CAPTURE_SETTINGS,
    FREE_SECTIONS,
    SETTINGS,
    TABLE_SETTINGS,
    Setting,
    SettingValue,
)
from lastword.cli.settings.trusted_file import read_trusted
from lastword.errors import ConfigError

DEFAULT_FILE = Path("lastword.toml")
_NAMED = {"tables": TABLE_SETTINGS, "cdc": CAPTURE_SETTINGS}
_SECTIONS = {*_NAMED, *(name.rpartition(".")[0] for name in BY_NAME)}
_FORM = "see docs/reference/settings.md for its form"
_TRUE, _FALSE = {"true", "1", "yes", "on"}, {"false", "0", "no", "off"}


@dataclass(frozen=True)
class Settings:
    """What was set, by full name; what was not has its default."""

    values: Mapping[str, SettingValue] = field(default_factory=dict)
    free: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    tables: Mapping[str, Mapping[str, SettingValue]] = field(default_factory=dict)
    captures: Mapping[str, Mapping[str, SettingValue]] = field(default_factory=dict)

    def __getitem__(self, name: str) -> SettingValue:
        return self.values.get(name, BY_NAME[name].default)

    def section(self, name: str) -> dict[str, SettingValue]:
        """The settings of one section by their short names, defaults included."""
        prefix = name + "."
        return {
            setting.name.removeprefix(prefix): self[setting.name]
            for setting in SETTINGS
            if setting.name.startswith(prefix)
        }

    def table(self, name: str) -> dict[str, SettingValue]:
        """The settings of a table; one that is not in the file is the topic of that name."""
        given = self.tables.get(name, {})
        values = {s.name: given.get(s.name, s.default) for s in TABLE_SETTINGS}
        return values | {"topic": values["topic"] or name}


def load_settings(
    file: Path | None, environ: Mapping[str, str], flags: Mapping[str, SettingValue]
) -> Settings:
    """Flags win over the environment, which wins over the file. A ``file`` of None means
    ``lastword.toml`` in the current directory, if there is one."""
    if file is not None:
        from_file = read_file(file)
    elif DEFAULT_FILE.exists():
        from_file = _parsed(DEFAULT_FILE, read_trusted(DEFAULT_FILE))
    else:
        from_file = Settings()
    from_environment = {
        setting.name: _from_text(setting, environ[variable])
        for setting in SETTINGS
        if environ.get(variable := setting.environment_variable)
    }
    given = {name: value for name, value in flags.items() if value is not None}
    return replace(from_file, values={**from_file.values, **from_environment, **given})


def read_file(path: Path) -> Settings:
    """Parse one ``lastword.toml``; relative paths in it are relative to it."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise ConfigError(f"cannot read {path}: {error}", hint=_FORM) from error
    return _parsed(path, content)


def _parsed(path: Path, content: bytes) -> Settings:
    try:
        document = tomllib.loads(content.decode())
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ConfigError(f"cannot read {path}: {error}", hint=_FORM) from error
    return _FileReader(path).read(document)


class _FileReader:
    """Walks a TOML document and checks every key against the list of settings."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def read(self, document: Mapping[str, Any]) -> Settings:
        tables, captures = (
            {
                name: self._named(f"{section}.{name}", body, _NAMED[section])
                for name, body in self._mapping(section, document.get(section, {})).items()
            }
            for section in ("tables", "cdc")
        )
        values: dict[str, SettingValue] = {}
        free: dict[str, dict[str, str]] = {}
        for name, value in _flatten(document):
            if name in BY_NAME:
                values[name] = self._checked(BY_NAME[name], name, value)
            elif name in FREE_SECTIONS:
                section = self._mapping(name, value)
                free[name] = {key: _as_kafka_text(each) for key, each in section.items()}
            elif name in _SECTIONS:
                self._mapping(name, value)  # an empty section, or not a section
            elif not name.startswith(tuple(f"{section}." for section in _NAMED)):
                raise self._unknown(name, [*BY_NAME, *FREE_SECTIONS, *_NAMED])
        return Settings(values, free, tables, captures)

    def _named(
        self, section: str, body: Any, settings: tuple[Setting, ...]
    ) -> dict[str, SettingValue]:
        """One of several sections with a name of the user's, such as ``tables.orders``."""
        known = {setting.name: setting for setting in settings}
        values: dict[str, SettingValue] = {}
        for key, value in self._mapping(section, body).items():
            if key not in known:
                raise self._unknown(f"{section}.{key}", [f"{section}.{k}" for k in known])
            values[key] = self._checked(known[key], f"{section}.{key}", value)
        return values

    def _checked(self, setting: Setting, name: str, value: SettingValue) -> SettingValue:
        # In Python a bool is an int; in a settings file it is not.
        wanted = str if setting.type is Path else setting.type
        if type(value) is not wanted:
            raise ConfigError(
                f"{name} in {self._path} is {value!r}", hint=f"it takes {_form(setting)}"
            )
        if setting.type is Path:
            return self._path.parent / Path(str(value)).expanduser()
        _check_choice(setting, value, f"{name} in {self._path}")
        return value

    def _mapping(self, name: str, value: Any) -> Mapping[str, Any]:
        if not isinstance(value, dict):
            raise ConfigError(f"{name} in {self._path} must be a section", hint=f"write [{name}]")
        return value

    def _unknown(self, name: str, known: Iterable[str]) -> ConfigError:
        nearest = difflib.get_close_matches(name, list(known), n=1, cutoff=0.4)
        hint = f"did you mean {nearest[0]}?" if nearest else "see docs/reference/settings.md"
        return ConfigError(f"{self._path} sets {name}, which is not a setting", hint=hint)


def _flatten(document: Mapping[str, Any], prefix: str = "") -> Iterable[tuple[str, Any]]:
    for key, value in document.items():
        name = f"{prefix}{key}"
        if isinstance(value, dict) and value and name not in FREE_SECTIONS:
            yield from _flatten(value, name + ".")
        else:
            yield name, value


def _from_text(setting: Setting, text: str) -> SettingValue:
    variable = setting.environment_variable
    if setting.type is Path:
        return Path(text).expanduser()
    if setting.type is int and text.isdecimal():
        return int(text)
    if setting.type is bool and text.lower() in _TRUE | _FALSE:
        return text.lower() in _TRUE
    if setting.type is str:
        _check_choice(setting, text, variable)
        return text
    raise ConfigError(f"{variable} is {text!r}", hint=f"it takes {_form(setting)}")


def _check_choice(setting: Setting, value: object, where: str) -> None:
    if setting.choices and value not in setting.choices:
        raise ConfigError(f"{where} is {value!r}", hint=f"it takes {_form(setting)}")


def _form(setting: Setting) -> str:
    if setting.choices:
        return "one of " + ", ".join(setting.choices)
    return {str: "text", int: "a whole number", bool: "true or false", Path: "a path as text"}[
        setting.type
    ]


def _as_kafka_text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
