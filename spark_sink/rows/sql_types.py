"""Types as Spark's SQL writes them, such as decimal(18,2), as Connect's.

https://spark.apache.org/docs/latest/sql-ref-datatypes.html
"""

from __future__ import annotations

import re
from typing import Final

from connect.data import logical
from connect.data.schema import Schema, Type
from connect.data.widening import PRECISION

_PLAIN: Final = {
    "boolean": Schema(Type.BOOLEAN),
    "tinyint": Schema(Type.INT8),
    "byte": Schema(Type.INT8),
    "smallint": Schema(Type.INT16),
    "short": Schema(Type.INT16),
    "int": Schema(Type.INT32),
    "integer": Schema(Type.INT32),
    "bigint": Schema(Type.INT64),
    "long": Schema(Type.INT64),
    "float": Schema(Type.FLOAT32),
    "real": Schema(Type.FLOAT32),
    "double": Schema(Type.FLOAT64),
    "string": Schema(Type.STRING),
    "binary": Schema(Type.BYTES),
    "date": logical.DATE,
    "timestamp": logical.TIMESTAMP,
    "timestamp_ltz": logical.TIMESTAMP,
}
_DECIMAL: Final = frozenset({"decimal", "dec", "numeric"})
_WORD: Final = re.compile(r"`(?:[^`]|``)+`|\w+|[<>(),:]")


def schema_of_sql(written: str) -> Schema:
    """The schema of a type; what is in an array, a map or a struct is optional.

    Raises:
        ValueError: it is no type, or one that rows without Spark cannot have.
    """
    words = _Words(written)
    kind = words.kind()
    if (more := words.next()) != "":
        raise ValueError(f'"{more}" is not understood')
    return kind


class _Words:
    """The words of a type, read from left to right."""

    def __init__(self, written: str) -> None:
        self._left: list[str] = []
        rest = written.strip()
        while rest:
            if (match := _WORD.match(rest)) is None:
                raise ValueError(f'"{rest}" is not understood')
            self._left.append(match.group())
            rest = rest[match.end() :].lstrip()

    def next(self) -> str:
        """The next word; empty behind the last."""
        return self._left.pop(0) if self._left else ""

    def comes(self, sign: str) -> bool:
        """Whether the next word is this one, which is taken then."""
        there = self._left[:1] == [sign]
        del self._left[:there]
        return there

    def expect(self, sign: str) -> None:
        if (word := self.next()) != sign:
            raise ValueError(f'"{sign}" is expected in place of "{word}"')

    def kind(self) -> Schema:
        word = self.next()
        name = word.lower()
        if name in _PLAIN:
            return _PLAIN[name]
        if name in _DECIMAL:
            return self._decimal()
        if name not in ("array", "map", "struct"):
            raise ValueError(f'"{word}" is not a type here')
        self.expect("<")
        if name == "struct":
            return self._struct()
        first = self.kind()
        if name == "map":
            self.expect(",")
            made = Schema.map(first, self.kind().as_optional())
        else:
            made = Schema.array(first.as_optional())
        self.expect(">")
        return made

    def _decimal(self) -> Schema:
        digits, scale = 10, 0
        if self.comes("("):
            digits = self._number()
            scale = self._number() if self.comes(",") else 0
            self.expect(")")
        if not 0 <= scale <= digits <= 38 or not digits:
            raise ValueError(f"a decimal has 1 to 38 digits, and decimal({digits},{scale}) is none")
        return logical.decimal(scale).replace(parameters={logical.SCALE: str(scale), PRECISION: str(digits)})

    def _number(self) -> int:
        word = self.next()
        if not word.isdecimal():
            raise ValueError(f'"{word}" is not a number of digits')
        return int(word)

    def _struct(self) -> Schema:
        fields: dict[str, Schema] = {}
        while not self.comes(">"):
            if fields:
                self.expect(",")
            name = self.next()
            name = name[1:-1].replace("``", "`") if name.startswith("`") else name
            self.comes(":")
            fields[name] = self.kind().as_optional()
        return Schema.struct(fields)
