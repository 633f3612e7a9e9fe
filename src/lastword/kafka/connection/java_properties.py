"""The syntax of Java's ``.properties`` files, as ``java.util.Properties`` reads them."""

from __future__ import annotations

import re
from collections.abc import Iterator

from lastword.errors import ConfigError

_NATURAL_LINE = re.compile(r"\r\n|\r|\n")
_BLANK = " \t\f"
_NAMED_ESCAPES = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}


def parse_java_properties(text: str) -> dict[str, str]:
    r"""The properties in ``text``; the last one of a name wins, as in Java.

    >>> parse_java_properties("a=1\nb: two \\\n  words\nc\\=d = \\u0041")
    {'a': '1', 'b': 'two words', 'c=d': 'A'}
    """
    properties = {}
    for line in _logical_lines(text):
        name_end = _end_of_name(line)
        value_start = _start_of_value(line, name_end)
        properties[_unescape(line[:name_end])] = _unescape(line[value_start:])
    return properties


def _logical_lines(text: str) -> Iterator[str]:
    """Lines without comments and blanks; a line that ends in an odd number of \\ goes on."""
    continued = ""
    for natural in _NATURAL_LINE.split(text):
        line = natural.lstrip(_BLANK)
        if not continued and (not line or line[0] in "#!"):
            continue
        trailing = len(line) - len(line.rstrip("\\"))
        if trailing % 2:
            continued += line[:-1]
            continue
        yield continued + line
        continued = ""
    if continued:
        yield continued


def _end_of_name(line: str) -> int:
    index = 0
    while index < len(line) and line[index] not in "=:" + _BLANK:
        index += 2 if line[index] == "\\" else 1
    return min(index, len(line))


def _start_of_value(line: str, name_end: int) -> int:
    """Past blanks, at most one separator, and blanks again."""
    index = name_end
    separator_seen = False
    while index < len(line):
        if line[index] in "=:" and not separator_seen:
            separator_seen = True
        elif line[index] not in _BLANK:
            break
        index += 1
    return index


def _unescape(text: str) -> str:
    if "\\" not in text:
        return text
    out = []
    characters = iter(text)
    for character in characters:
        if character != "\\":
            out.append(character)
            continue
        escaped = next(characters, "")
        if escaped == "u":
            out.append(_unicode("".join(next(characters, "") for _ in range(4))))
        else:
            out.append(_NAMED_ESCAPES.get(escaped, escaped))
    return "".join(out).encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _unicode(digits: str) -> str:
    if not re.fullmatch(r"[0-9a-fA-F]{4}", digits):
        raise ConfigError(
            f"\\u{digits} in a properties file is not a character",
            hint="write \\u and four hexadecimal digits, or double the backslash",
        )
    return chr(int(digits, 16))
