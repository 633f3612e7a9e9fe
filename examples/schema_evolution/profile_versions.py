"""The three versions of a profile. Spark's executors import them, so they have their own module."""

from __future__ import annotations

from typing import Any

import msgspec

from lastword.codecs import upgrade


class ProfileV1(msgspec.Struct):
    """The first program."""

    user_name: str
    age: str


class ProfileV2(msgspec.Struct):
    """The second: a shorter name for the name, and an address."""

    name: str
    age: str
    email: str | None = None

    @upgrade(from_version=1)
    def _shorter_name(old: dict[str, Any]) -> dict[str, Any]:  # noqa: N805
        return {"name": old.pop("user_name"), **old}


class Profile(msgspec.Struct):
    """The third: the age is a number, and there is a language, with a default."""

    name: str
    age: int
    email: str | None = None
    language: str = "en"

    _shorter_name = ProfileV2._shorter_name

    @upgrade(from_version=2)
    def _age_is_a_number(old: dict[str, Any]) -> dict[str, Any]:  # noqa: N805
        return {**old, "age": int(old["age"])}
