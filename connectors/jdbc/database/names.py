"""Names of tables: parsed as users write them, quoted for the database."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from sqlalchemy.sql.compiler import IdentifierPreparer

from connect import ConfigError

_QUOTES: Final = {'"': '"', "`": "`", "[": "]"}


@dataclass(frozen=True, slots=True)
class TableName:
    """A table. Parts that are None have the connection's defaults."""

    name: str
    schema: str | None = None
    catalog: str | None = None

    @classmethod
    def parse(cls, written: str, *, key: str = "table.name.format") -> TableName:
        """Parse `table`, `schema.table` or `catalog.schema.table`; parts in quotes may contain dots.

        Raises:
            ConfigError: it has no or more than three parts. `key` is the key in the error.
        """
        parts = split(written)
        if not 1 <= len(parts) <= 3 or not all(parts):
            raise ConfigError(key, f'"{written}" is not the name of a table. Write table, or schema.table.')
        return cls(parts[-1], *reversed(parts[:-1]))

    @property
    def parts(self) -> tuple[str, ...]:
        """Catalog, schema and name, without missing ones."""
        return tuple(part for part in (self.catalog, self.schema, self.name) if part is not None)

    @property
    def sqlalchemy_schema(self) -> str | None:
        """What SQLAlchemy calls a table's schema; a catalog stands before the dot."""
        return f"{self.catalog}.{self.schema}" if self.catalog and self.schema else self.schema or self.catalog

    def quoted(self, preparer: IdentifierPreparer, always: bool = True) -> str:
        """Its form in a statement. `always=False` leaves the database's own folding of names to it."""
        return ".".join(quoted(part, preparer, always) for part in self.parts)

    def __str__(self) -> str:
        return ".".join(self.parts)


def pattern(name: str) -> str:
    """A regular expression for a name. A dot stands for itself, as users write it, though it matches more."""
    return re.sub(r"[\\^$|?*+()\[\]{}]", r"\\\g<0>", name)


def quoted(name: str, preparer: IdentifierPreparer, always: bool = True) -> str:
    """A column's or table's name in a statement; see `TableName.quoted`."""
    return preparer.quote_identifier(name) if always else name


def split(written: str) -> list[str]:
    """The parts between dots, without their quotes; a doubled quote within quotes is one."""
    parts, part, close, index = [], "", "", 0
    while index < len(written):
        char = written[index]
        if close:
            if char != close:
                part += char
            elif written[index + 1 : index + 2] == close:
                part += close
                index += 1
            else:
                close = ""
        elif char in _QUOTES and not part:
            close = _QUOTES[char]
        elif char == ".":
            parts.append(part)
            part = ""
        else:
            part += char
        index += 1
    return [*parts, part]
