"""Parses the condition of a filter: a small part of SQL, with SQL's meaning.

Columns, literals, comparisons, ``IS NULL``, ``IN``, ``BETWEEN``, ``LIKE``, ``AND``, ``OR``, ``NOT``
and parentheses. No functions, no arithmetic, no subqueries: nothing here can run code.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any, NoReturn

from lastword.cdc.filter_values import Truth, compare
from lastword.errors import ConfigError

Columns = Mapping[str, Any]
Condition = Callable[[Columns], Truth]
Operand = Callable[[Columns], Any]

LENGTH_MAX = 10_000
_DEPTH_MAX = 50
_TOKEN = re.compile(
    r"""\s*(?:
    (?P<number>-?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)
  | (?P<text>'(?:[^']|'')*')
  | (?P<quoted>"(?:[^"]|"")+")
  | (?P<word>[^\W\d][\w$]*)
  | (?P<sign><>|!=|<=|>=|[=<>(),])
    )""",
    re.VERBOSE,
)
_SIGNS = frozenset(("=", "<>", "!=", "<", "<=", ">", ">="))
_WORDS = frozenset(
    (
        *("and", "or", "not", "is", "null", "in", "between", "like", "true", "false"),
        *("select", "from", "where", "case", "exists", "any", "all"),  # no column, and refused
    )
)
_HINT = (
    "write it as after WHERE in SQL: status <> 'draft' AND total >= 100; functions and arithmetic "
    "are not supported"
)


class FilterParser:
    """One pass over one condition; ``columns`` has the names it found."""

    def __init__(self, text: str) -> None:
        if len(text) > LENGTH_MAX:
            raise ConfigError(f"the filter has more than {LENGTH_MAX} characters", hint=_HINT)
        self._text = text
        self._tokens = _tokens(text)
        self._at = 0
        self._depth = 0
        self.columns: list[str] = []

    def parse(self) -> Condition:
        """The whole condition; raises ConfigError for any other text."""
        condition = self._either()
        if self._at < len(self._tokens):
            self._refuse()
        return condition

    def names(self) -> list[str]:
        """The text as a list of columns instead: ``id, "Total"``."""
        names = [self._name()]
        while self._accept(","):
            names.append(self._name())
        if self._at < len(self._tokens):
            self._refuse()
        return names

    def _either(self) -> Condition:
        parts = [self._both()]
        while self._accept("or"):
            parts.append(self._both())
        return parts[0] if len(parts) == 1 else lambda row: _any(part(row) for part in parts)

    def _both(self) -> Condition:
        parts = [self._negated()]
        while self._accept("and"):
            parts.append(self._negated())
        if len(parts) == 1:
            return parts[0]
        return lambda row: _not(_any(_not(part(row)) for part in parts))

    def _negated(self) -> Condition:
        self._depth += 1
        if self._depth > _DEPTH_MAX:
            raise ConfigError("the filter is nested too deeply", hint=_HINT)
        try:
            if self._accept("not"):
                inner = self._negated()
                return lambda row: _not(inner(row))
            if self._accept("("):
                inner = self._either()
                self._expect(")")
                return inner
            return self._predicate()
        finally:
            self._depth -= 1

    def _predicate(self) -> Condition:
        left = self._operand()
        if (sign := self._peek()) in _SIGNS:
            self._at += 1
            right = self._operand()
            return lambda row: compare(sign, left(row), right(row))
        if self._accept("is"):
            return self._is(left)
        if self._accept("not"):
            inner = self._special(left) or self._refuse()
            return lambda row: _not(inner(row))
        return self._special(left) or (lambda row: _truth(left(row)))

    def _is(self, left: Operand) -> Condition:
        wanted = not self._accept("not")
        if self._accept("null"):
            return lambda row: (left(row) is None) is wanted
        truth = self._accept("true")
        if not truth:
            self._expect("false")
        return lambda row: (left(row) is truth) is wanted

    def _special(self, left: Operand) -> Condition | None:
        if self._accept("in"):
            self._expect("(")
            choices = [self._operand()]
            while self._accept(","):
                choices.append(self._operand())
            self._expect(")")
            return lambda row: _any(compare("=", left(row), each(row)) for each in choices)
        if self._accept("between"):
            low = self._operand()
            self._expect("and")
            high = self._operand()
            return lambda row: _not(
                _any((compare("<", left(row), low(row)), compare(">", left(row), high(row))))
            )
        if self._accept("like"):
            kind, pattern = self._next()
            if kind != "text":
                self._refuse(back=1)
            matches = _like(pattern).fullmatch
            return lambda row: None if (v := left(row)) is None else bool(matches(str(v)))
        return None

    def _operand(self) -> Operand:
        kind, token = self._next()
        if kind in ("number", "text") or token in ("true", "false", "null"):
            value = _literal(kind, token)
            return lambda _: value
        self._at -= 1
        name = self._name()
        self.columns.append(name)
        return lambda row: row.get(name)

    def _name(self) -> str:
        kind, token = self._next()
        if kind not in ("word", "quoted") or (kind == "word" and token in _WORDS):
            self._refuse(back=1)
        return token

    def _peek(self) -> str:
        kind, token = self._tokens[self._at] if self._at < len(self._tokens) else ("", "")
        return token if kind in ("word", "sign") else ""

    def _next(self) -> tuple[str, str]:
        self._at += 1
        if self._at > len(self._tokens):
            self._refuse()
        return self._tokens[self._at - 1]

    def _accept(self, token: str) -> bool:
        found = self._peek() == token
        self._at += found
        return found

    def _expect(self, token: str) -> None:
        if not self._accept(token):
            self._refuse(f", where {token.upper()} was expected")

    def _refuse(self, wanted: str = "", *, back: int = 0) -> NoReturn:
        at = self._at - back
        found = repr(self._tokens[at][1]) if at < len(self._tokens) else "the end"
        raise ConfigError(f"cannot parse {self._text!r} at {found}{wanted}", hint=_HINT)


def _tokens(text: str) -> list[tuple[str, str]]:
    """(kind, token) with quotes taken off; words are in lower case, as PostgreSQL reads them."""
    tokens, at, end = [], 0, len(text.rstrip())
    while at < end:
        match = _TOKEN.match(text, at)
        if match is None:
            raise ConfigError(f"cannot parse {text!r} at {text[at:end][:20]!r}", hint=_HINT)
        kind, token, at = str(match.lastgroup), match[match.lastgroup or 0], match.end()
        if kind in ("text", "quoted"):
            token = token[1:-1].replace(token[0] * 2, token[0])
        tokens.append((kind, token.lower() if kind == "word" else token))
    return tokens


def _literal(kind: str, token: str) -> Any:
    if kind == "number":
        return int(token) if token.lstrip("-").isdecimal() else Decimal(token)
    return token if kind == "text" else {"true": True, "false": False}.get(token)


def _like(pattern: str) -> re.Pattern[str]:
    """``%`` is any text, ``_`` any character; a backslash takes the next one literally."""
    parts = re.findall(r"\\.|.", pattern, re.DOTALL)
    wild = {"%": ".*", "_": "."}
    return re.compile("".join(wild.get(p) or re.escape(p[-1]) for p in parts), re.DOTALL)


def _truth(value: Any) -> Truth:
    return None if value is None else compare("=", value, True)


def _any(truths: Any) -> Truth:
    """True if one is, else unknown if one is, else false."""
    unknown = False
    for truth in truths:
        if truth:
            return True
        unknown = unknown or truth is None
    return None if unknown else False


def _not(truth: Truth) -> Truth:
    return None if truth is None else not truth
