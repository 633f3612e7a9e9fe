"""Makes a Python function that reads the documents of one Avro schema.

fastavro takes a file and asks it for every single byte. The function made here indexes the bytes of
the document, and is 1.4 to 1.7 times as fast. Schemas that it does not cover are left to fastavro.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any

from fastavro.read import LOGICAL_READERS

from lastword.codecs.registry.avro_resolution import PairedType, UncoveredSchema, pair_of

Read = Callable[[bytes, int], Any]
"""(data, start of the document) -> the value. Raises an error of ``UNREADABLE`` if the bytes do not
fit, and LongerError if some are left."""

PARTS_MAX = 1000
"""How many values a document may have by its schema, items of lists aside: it bounds the code."""
_LONG_BITS = 64


class LongerError(ValueError):
    """There are more bytes than the schema describes."""


def made_reader(writer: Any, reader: Any) -> Read | None:
    """What reads documents of ``writer`` as ``reader`` sees them; None if fastavro must do it.

    Both are as fastavro parsed them, without references to themselves; ``reader`` may be None.
    """
    source = _Source()
    try:
        value = source.value(pair_of(writer, reader), 1)
        code = compile(source.text(value), "<avro>", "exec")
    except (UncoveredSchema, SyntaxError, RecursionError, MemoryError):
        return None  # Python limits how deeply blocks may be nested
    made: dict[str, Any] = dict(source.given)
    # Everything that comes from the schema is a constant in ``given``, never a part of the text.
    exec(code, made)  # noqa: S102
    return made["read"]  # type: ignore[no-any-return]


class _Source:
    """The lines of the function. ``data`` is the record, ``p`` the position in it, ``end`` its
    length; values are in variables of their own."""

    def __init__(self) -> None:
        self.given: dict[str, Any] = {
            "more": _more,
            "float4": struct.Struct("<f").unpack_from,
            "float8": struct.Struct("<d").unpack_from,
            "LongerError": LongerError,
        }
        self._lines: list[str] = []
        self._parts = 0
        self._variables = 0

    def text(self, value: str) -> str:
        end = "    if p != end:\n        raise LongerError if p < end else EOFError(p)\n"
        body = "\n".join(self._lines)
        return f"def read(data, p):\n    end = len(data)\n{body}\n{end}    return {value}\n"

    def value(self, pair: PairedType, depth: int) -> str:
        """Add the lines that read one value; returns the expression of it."""
        self._parts += 1
        if self._parts > PARTS_MAX:
            raise UncoveredSchema
        found: str = getattr(self, f"_{pair.kind}")(pair, depth)
        if pair.promoted:
            return f"float({found})"
        logical = LOGICAL_READERS.get(pair.logical) if pair.logical else None
        if logical is None or pair.skipped:
            return found
        name = self._variable()
        function, schema = self._constant(logical), self._constant(pair.writer)
        self._add(depth, f"{name} = {function}({found}, {schema}, None)")
        return name

    def _null(self, _pair: PairedType, _depth: int) -> str:
        return "None"

    def _boolean(self, _pair: PairedType, depth: int) -> str:
        name = self._variable()
        self._add(depth, f"{name} = data[p] != 0", "p += 1")
        return name

    def _int(self, _pair: PairedType, depth: int) -> str:
        name = self._variable()
        self._number(name, depth)
        return name

    _long = _int

    def _float(self, _pair: PairedType, depth: int) -> str:
        name = self._variable()
        self._add(depth, f"{name}, = float4(data, p)", "p += 4")
        return name

    def _double(self, _pair: PairedType, depth: int) -> str:
        name = self._variable()
        self._add(depth, f"{name}, = float8(data, p)", "p += 8")
        return name

    def _bytes(self, _pair: PairedType, depth: int) -> str:
        name = self._variable()
        self._number("n", depth)
        self._add(
            depth, "if n < 0:", "    raise ValueError(n)", f"{name} = data[p:p + n]", "p += n"
        )
        return name

    def _string(self, pair: PairedType, depth: int) -> str:
        name = self._bytes(pair, depth)
        if not pair.skipped:
            self._add(depth, f"{name} = {name}.decode()")
        return name

    def _fixed(self, pair: PairedType, depth: int) -> str:
        name = self._variable()
        size = int(pair.writer["size"])
        self._add(depth, f"{name} = data[p:p + {size}]", f"p += {size}")
        return name

    def _enum(self, pair: PairedType, depth: int) -> str:
        name = self._variable()
        symbols = tuple(pair.writer["symbols"])
        self._number("n", depth)
        self._add(depth, "if n < 0:", "    raise ValueError(n)")
        self._add(depth, f"{name} = {self._constant(symbols)}[n]")
        return name

    def _record(self, pair: PairedType, depth: int) -> str:
        members = [(each.name, self.value(each.pair, depth)) for each in pair.fields]
        named = [(name, value) for name, value in members if name is not None]
        named += [(name, self._constant(default)) for name, default in pair.defaults]
        name = self._variable()
        shown = ", ".join(f"{self._constant(key)}: {value}" for key, value in named)
        self._add(depth, f"{name} = {{{shown}}}")
        return name

    _error = _record

    def _array(self, pair: PairedType, depth: int) -> str:
        name = self._variable()
        self._add(depth, f"{name} = []")
        inner = self._blocks(depth)
        item = self.value(pair.inner, inner)
        self._add(inner, "if p > end:", "    raise EOFError(p)", f"{name}.append({item})")
        return name

    def _map(self, pair: PairedType, depth: int) -> str:
        name = self._variable()
        self._add(depth, f"{name} = {{}}")
        inner = self._blocks(depth)
        key = self._string(pair, inner)
        item = self.value(pair.inner, inner)
        self._add(inner, "if p > end:", "    raise EOFError(p)", f"{name}[{key}] = {item}")
        return name

    def _union(self, pair: PairedType, depth: int) -> str:
        name, index = self._variable(), self._variable()
        self._number(index, depth)
        for i, branch in enumerate(pair.branches):
            self._add(depth, f"{'elif' if i else 'if'} {index} == {i}:")
            self._add(depth + 1, f"{name} = {self.value(branch, depth + 1)}")
        self._add(depth, "else:", f"    raise ValueError({index})")
        return name

    def _blocks(self, depth: int) -> int:
        """Open the loops over the items of an array or map; returns the depth in them."""
        count = self._variable()
        self._add(depth, "while True:")
        self._number(count, depth + 1)
        self._add(depth + 1, f"if not {count}:", "    break", f"if {count} < 0:")
        self._number("n", depth + 2)  # the block's size in bytes
        self._add(depth + 2, f"{count} = -{count}")
        self._add(depth + 1, f"for _ in range({count}):")
        return depth + 2

    def _number(self, name: str, depth: int) -> None:
        """Read a number: zigzag, seven bits a byte. Most have one byte or two."""
        self._add(
            depth,
            f"{name} = data[p]",
            "p += 1",
            f"if {name} > 127:",
            "    m = data[p]",
            "    p += 1",
            f"    {name} += (m << 7) - 128",
            "    if m > 127:",
            f"        {name}, p = more(data, p, {name} - 16384)",
            f"{name} = {name} >> 1 ^ -({name} & 1)",
        )

    def _add(self, depth: int, *lines: str) -> None:
        self._lines += ["    " * depth + line for line in lines]

    def _variable(self) -> str:
        self._variables += 1
        return f"v{self._variables}"

    def _constant(self, value: Any) -> str:
        name = f"c{len(self.given)}"
        self.given[name] = value
        return name


def _more(data: bytes, p: int, low: int) -> tuple[int, int]:
    """The rest of a number whose first two bytes gave ``low``, and the position after it."""
    shift = 14
    while True:
        byte = data[p]
        p += 1
        low += (byte & 127) << shift
        if byte < 128:
            return low, p
        shift += 7
        if shift >= _LONG_BITS:
            raise OverflowError("a number has more than 64 bits")
