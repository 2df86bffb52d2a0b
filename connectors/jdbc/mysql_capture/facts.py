"""What is known of a table: its columns, with their types and defaults, and its key.

The same is read from information_schema and from the statements that define tables and columns.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from connectors.jdbc.mysql_capture.sql import Words

TEXTS: Final = frozenset(("char", "varchar", "tinytext", "text", "mediumtext", "longtext", "enum", "set"))


@dataclass(frozen=True, slots=True)
class ColumnFacts:
    """A column's definition.

    Attributes:
        base: the type's name as information_schema has it, in small letters.
        length: the number in brackets behind it: digits, bits, characters or digits of a second's fraction.
        scale: the second one.
        charset: of texts; None for other types.
        labels: of an enum or a set.
        default: a constant one, as text; None for none, or for one that is computed.
        now: whether the default is the time of the statement.
    """

    name: str
    base: str
    length: int | None = None
    scale: int | None = None
    unsigned: bool = False
    charset: str | None = None
    labels: tuple[str, ...] = ()
    not_null: bool = False
    default: bytes | None = None
    now: bool = False

    @property
    def precision(self) -> tuple[int, int]:
        """Of a decimal: how many digits, and how many of them behind the point."""
        return 10 if self.length is None else self.length, self.scale or 0


@dataclass(frozen=True, slots=True)
class TableFacts:
    """A table's definition.

    Attributes:
        primary: the columns of the primary key; may be empty.
        uniques: the other unique indexes, by their names.
        charset: of texts in columns to come.
    """

    database: str
    name: str
    columns: tuple[ColumnFacts, ...]
    primary: tuple[str, ...] = ()
    uniques: tuple[tuple[str, tuple[str, ...]], ...] = ()
    charset: str | None = None

    @property
    def full_name(self) -> str:
        """`database.table`."""
        return f"{self.database}.{self.name}"

    @property
    def key(self) -> tuple[str, ...]:
        """The primary key, or else the first unique index without nulls; may be empty."""
        if self.primary:
            return self.primary
        strict = {column.name for column in self.columns if column.not_null}
        return next((names for _, names in self.uniques if strict.issuperset(names)), ())


#: Other names of types.
_ALIASES: Final = {
    "integer": "int",
    "int1": "tinyint",
    "int2": "smallint",
    "int3": "mediumint",
    "middleint": "mediumint",
    "int4": "int",
    "int8": "bigint",
    "dec": "decimal",
    "numeric": "decimal",
    "fixed": "decimal",
    "number": "decimal",
    "real": "double",
    "float4": "float",
    "float8": "double",
    "character": "char",
    "varchar2": "varchar",
    "varcharacter": "varchar",
    "nvarchar": "varchar",
    "nchar": "char",
    "clob": "longtext",
    "geomcollection": "geometrycollection",
}


def column_type(words: Words, name: str = "", charset: str | None = None, mariadb: bool = True) -> ColumnFacts:
    """The type that comes next, as a column that may be null.

    Args:
        charset: of texts that name none.
        mariadb: whether JSON is a text.

    Raises:
        NotUnderstood: it is not one.
    """
    base = words.name().lower()
    if base == "national":
        base = words.name().lower()
    if base == "double":
        words.skip("PRECISION")
    if base in ("char", "character"):
        base = "varchar" if words.any_of("VARYING") else "char"
    if base == "long":
        base = "mediumblob" if words.skip("VARBINARY") else "mediumtext"
        words.any_of("VARCHAR", "VARCHARACTER")
    base = _ALIASES.get(base, base)
    if base in ("bool", "boolean"):
        return ColumnFacts(name, "tinyint", 1)
    if base == "serial":
        return ColumnFacts(name, "bigint", 20, unsigned=True, not_null=True)
    made = ColumnFacts(name, base)
    if base == "json" and mariadb:
        return replace(made, base="longtext", charset="utf8mb4")
    if words.peek() == "(":
        inner = words.brackets()
        if base in ("enum", "set"):
            labels = [part.take().text for part in inner.parts()]
            made = replace(made, labels=tuple(label.rstrip(" ") for label in labels))
        else:
            numbers = [int(part.take().text) for part in inner.parts()]
            made = replace(made, length=numbers[0], scale=numbers[1] if len(numbers) > 1 else None)
    if base == "float" and made.scale is None and made.length is not None:
        made = replace(made, base="double" if made.length > 24 else "float", length=None)
    unsigned = False
    while found := words.any_of("UNSIGNED", "SIGNED", "ZEROFILL"):
        unsigned = unsigned or found != "SIGNED"
    return replace(made, unsigned=unsigned, charset=charset if base in TEXTS else None)


def column(words: Words, charset: str | None, mariadb: bool) -> tuple[ColumnFacts, bool, bool, str | None]:
    """A column's whole definition, as CREATE TABLE and ALTER TABLE have it.

    Returns:
        the column; whether it is the primary key, or a unique index; and what it stands behind now: the name of another
        column, an empty one for none, None where it is not said.

    Raises:
        NotUnderstood: it is not one.
    """
    made = column_type(words, words.name(), charset, mariadb)
    primary = unique = False
    place: str | None = None
    if made.not_null:  # SERIAL
        unique = True
    while words:
        if words.skip("NOT", "NULL"):
            made = replace(made, not_null=True)
        elif words.skip("NULL"):
            made = replace(made, not_null=False)
        elif words.skip("DEFAULT"):
            made = default(words, made)
        elif words.skip("PRIMARY"):
            primary = True
        elif words.skip("UNIQUE"):
            unique = True
        elif words.any_of("CHARSET") or words.skip("CHARACTER", "SET") or words.skip("CHAR", "SET"):
            made = _with_charset(made, words.name().lower())
        elif words.skip("COLLATE"):
            made = _collated(made, words.name().lower())
        elif words.skip("BYTE"):
            made = _with_charset(made, "binary")
        elif words.skip("ASCII"):
            made = _with_charset(made, "latin1")
        elif words.skip("UNICODE"):
            made = _with_charset(made, "ucs2")
        elif words.skip("COMMENT"):
            words.take()
        elif words.skip("ON", "UPDATE"):
            words.take()
            if words.peek() == "(":
                words.brackets()
        elif words.skip("FIRST"):
            place = ""
        elif words.skip("AFTER"):
            place = words.name()
        elif words.peek() == "(":
            words.brackets()  # of a check, of what a column is generated from
        elif words.skip("KEY"):
            primary = primary or not unique
        else:
            words.take()
    return replace(made, not_null=made.not_null or primary), primary, unique and not primary, place


def default(words: Words, of: ColumnFacts) -> ColumnFacts:
    """The column with the default that comes next."""
    sign = words.any_of("-", "+")
    word = words.peek()
    if word == "(":
        words.brackets()
        return replace(of, default=None, now=False)
    if word in ("B", "X", "N") or word.startswith("_"):
        words.take()  # what the string that follows is written in
    token = words.take()
    literal: bytes | None
    if token.kind == "string":
        literal = (
            _bits(token.text) if word == "B" else bytes.fromhex(token.text) if word == "X" else token.text.encode()
        )
    elif token.kind == "number":
        literal = (sign.strip("+") + token.text).encode()
        if of.base == "bit":
            literal = int(token.text).to_bytes(8, "big")
    elif word.startswith("0X"):
        literal = bytes.fromhex(word[2:])
    elif word in ("TRUE", "FALSE"):
        literal = b"1" if word == "TRUE" else b"0"
    else:
        literal = None
    now = word in ("CURRENT_TIMESTAMP", "NOW", "LOCALTIME", "LOCALTIMESTAMP")
    if literal is None and words.peek() == "(":
        words.brackets()
    return replace(of, default=literal, now=now)


def _bits(digits: str) -> bytes:
    return int(digits or "0", 2).to_bytes(max((len(digits) + 7) // 8, 1), "big")


def _with_charset(of: ColumnFacts, charset: str) -> ColumnFacts:
    if of.base not in TEXTS:
        return of
    binary = {"char": "binary", "varchar": "varbinary", "text": "blob"}
    if charset == "binary" and of.base not in ("enum", "set"):
        base = binary.get(of.base) or of.base.replace("text", "blob")
        return replace(of, base=base, charset=None)
    return replace(of, charset=charset)


def _collated(of: ColumnFacts, collation: str) -> ColumnFacts:
    charset = collation.partition("_")[0]
    return of if charset in ("uca1400", "default") else _with_charset(of, charset)


def of_type(text: str, name: str, charset: str | None) -> ColumnFacts:
    """A column of a type as information_schema writes it. Raises NotUnderstood."""
    return column_type(Words(text), name, charset, mariadb=False)
