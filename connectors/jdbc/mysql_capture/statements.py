"""Which tables a statement of the log creates, alters, renames, drops or truncates. An index is a part of its table.

A statement that is not understood is no error here: whoever asks looks the table up in the catalog then.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from connectors.jdbc.mysql_capture.sql import NotUnderstood, Words, tokens

TableName = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Change:
    """What a statement does to one table.

    Attributes:
        kind: create, alter, drop, rename or truncate.
        table: its database and name.
        words: of an alteration or a creation: what follows the name.
        to: of a renaming: what it is called now.
        keeps: whether a table that is there already stays as it is.
    """

    kind: str
    table: TableName
    words: Words | None = None
    to: TableName | None = None
    keeps: bool = False

    def folded(self) -> Change:
        """The same with names in small letters."""
        return replace(self, table=folded(self.table), to=None if self.to is None else folded(self.to))


def folded(name: TableName) -> TableName:
    """A name in small letters."""
    return name[0].lower(), name[1].lower()


def changes(sql: str, database: str) -> list[Change]:
    """What a statement does to tables; nothing for statements of other kinds. Never raises."""
    head = sql.lstrip()[:20].upper()
    if not head.startswith(("ALTER", "CREATE", "DROP", "RENAME", "TRUNCATE", "SET STATEMENT", "/*", "--", "#")):
        return []
    words = Words(sql)
    try:
        return list(_changes(words, database))
    except NotUnderstood:
        return []


def _changes(words: Words, database: str) -> list[Change]:
    if words.skip("SET", "STATEMENT"):  # variables of MariaDB for what follows alone
        while words and not words.skip("FOR"):
            words.take()
    kind = words.any_of("ALTER", "CREATE", "DROP", "RENAME", "TRUNCATE")
    if kind == "TRUNCATE":
        words.skip("TABLE")
        return [Change("truncate", words.table(database))]
    if kind == "RENAME":
        if not words.any_of("TABLE", "TABLES"):
            return []
        words.skip("IF", "EXISTS")
        renamed = []
        for part in words.parts():
            table = part.table(database)
            _waits(part)
            part.expect("TO")
            renamed.append(Change("rename", table, to=part.table(database)))
        return renamed
    if kind == "DROP":
        if words.any_of("DATABASE", "SCHEMA"):
            words.skip("IF", "EXISTS")
            return [Change("drop", (words.name(), ""))]
        if words.skip("INDEX"):
            return [_index_change(words, database, replaces=True, unique=False)]
        if not words.any_of("TABLE", "TABLES"):  # DROP TEMPORARY TABLE: of a session alone
            return []
        words.skip("IF", "EXISTS")
        return [Change("drop", part.table(database)) for part in words.parts()]
    if kind == "ALTER":
        while words.any_of("ONLINE", "IGNORE"):
            pass
        if not words.skip("TABLE"):
            return []
        words.skip("IF", "EXISTS")
        table = words.table(database)
        _waits(words)
        return [Change("alter", table, words)]
    replaces = words.skip("OR", "REPLACE")
    unique = words.skip("UNIQUE")
    if words.skip("INDEX"):
        return [_index_change(words, database, replaces, unique)] if replaces or unique else []
    if not words.skip("TABLE"):
        return []
    keeps = words.skip("IF", "NOT", "EXISTS")
    return [Change("create", words.table(database), words, keeps=keeps)]


def _index_change(words: Words, database: str, replaces: bool, unique: bool) -> Change:
    """What CREATE INDEX and DROP INDEX do, as the alteration that does the same."""
    while words.any_of("IF", "NOT", "EXISTS"):
        pass
    name = words.take()
    if words.skip("USING"):
        words.take()
    words.expect("ON")
    table = words.table(database)
    parts = [*tokens("DROP INDEX IF EXISTS"), name] if replaces else []
    if unique:
        parts += [*tokens(", ADD UNIQUE" if replaces else "ADD UNIQUE"), name, *words.rest()]
    return Change("alter", table, Words(parts))


def _waits(words: Words) -> None:
    if not words.skip("NOWAIT") and words.skip("WAIT"):
        words.take()
