"""What statements do to the definitions of tables, for rows of a log that has no names of columns."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Final

from connectors.jdbc.mysql_capture.facts import ColumnFacts, TableFacts, column, default
from connectors.jdbc.mysql_capture.sql import NotUnderstood, Words
from connectors.jdbc.mysql_capture.statements import Change, TableName


def created(
    change: Change, other: Callable[[TableName], TableFacts | None], charset: str | None, mariadb: bool
) -> TableFacts:
    """The table that CREATE TABLE makes.

    Args:
        other: gives the definition of another table, for LIKE.
        charset: of texts when the statement names none.

    Raises:
        NotUnderstood: its columns are not all in the statement, or in another form.
    """
    words = change.words
    assert words is not None
    database, name = change.table
    like = words.brackets() if words.peek() == "(" and words.peek(1) == "LIKE" else words
    if like.skip("LIKE"):
        model = other(like.table(database))
        if model is None:
            raise NotUnderstood("the table that it is like is not known")
        return replace(model, database=database, name=name)
    defined = words.brackets()
    charset = _charset(words) or charset
    if words.any_of("AS", "SELECT", "IGNORE", "REPLACE"):
        raise NotUnderstood("columns come from a query")
    table = TableFacts(database, name, (), charset=charset)
    for part in defined.parts():
        table = _added(table, part, mariadb)
    return table


def _charset(words: Words) -> str | None:
    """The character set among the options of a table."""
    found = None
    while words and words.peek() not in ("AS", "SELECT", "PARTITION"):
        if words.any_of("CHARSET") or words.skip("CHARACTER", "SET"):
            words.skip("=")
            found = words.name().lower()
        elif words.skip("COLLATE"):
            words.skip("=")
            named = words.name().lower().partition("_")[0]
            found = found or (None if named in ("uca1400", "default") else named)
        else:
            words.take()
    return found


#: Stands before the new name of a column while another one still has it, which the same statement renames later.
_NOT_YET: Final = "\0"
#: Words that no column is called without quotes, and what others are followed by when they are not a column's name.
_RESERVED: Final = ("INDEX", "KEY", "FULLTEXT", "SPATIAL", "FOREIGN", "CHECK", "PARTITION")
_FOLLOWED: Final = {"PERIOD": ("FOR",), "SYSTEM": ("VERSIONING",), "VECTOR": ("INDEX", "KEY")}


def _is_no_column(words: Words) -> bool:
    word = words.peek()
    return word in _RESERVED or words.peek(1) in _FOLLOWED.get(word, ())


def _added(table: TableFacts, words: Words, mariadb: bool) -> TableFacts:
    """With one more column or index: what stands between two commas of CREATE TABLE, or behind ADD."""
    if words.skip("CONSTRAINT"):
        if words.peek() not in ("PRIMARY", "UNIQUE", "FOREIGN", "CHECK"):
            words.name()
        if words.peek() not in ("PRIMARY", "UNIQUE"):
            return table
    if _is_no_column(words):
        return table
    if words.skip("PRIMARY", "KEY"):
        names = _index(words, table)[1]
        columns = (replace(each, not_null=True) if each.name in names else each for each in table.columns)
        return replace(table, columns=tuple(columns), primary=names)
    if words.skip("UNIQUE"):
        words.any_of("INDEX", "KEY")
        name, names = _index(words, table)
        if any(_same(each, name) for each, _ in table.uniques):  # with IF NOT EXISTS
            return table
        return replace(table, uniques=(*table.uniques, (name or names[0], names)))
    words.skip("IF", "NOT", "EXISTS")
    made, primary, unique, place = column(words, table.charset, mariadb)
    if _find(table, made.name) is not None:
        raise NotUnderstood(f"{made.name} is there already")
    table = _placed(table, made, len(table.columns) if place is None else place)
    if primary:
        return replace(table, primary=(made.name,))
    return replace(table, uniques=(*table.uniques, (made.name, (made.name,)))) if unique else table


def _same(one: str, other: str) -> bool:
    """Whether two names of columns or indexes are the same to the server."""
    return one.lower() == other.lower()


def _index(words: Words, table: TableFacts) -> tuple[str, tuple[str, ...]]:
    """An index's name, which may be empty, and its columns."""
    name = ""
    while words and words.peek() != "(":
        if words.skip("USING"):
            words.take()
        elif words.skip("IF", "NOT", "EXISTS"):
            pass
        else:
            name = words.name()
    names = []
    for part in words.brackets().parts():
        written = part.name()
        place = _find(table, written)
        names.append(written if place is None else table.columns[place].name)
    return name, tuple(names)


def _find(table: TableFacts, name: str) -> int | None:
    return next((place for place, each in enumerate(table.columns) if _same(each.name, name)), None)


def _there(table: TableFacts, name: str) -> int:
    place = _find(table, name)
    if place is None:
        raise NotUnderstood(f"{table.full_name} has no column {name}")
    return place


def _placed(table: TableFacts, made: ColumnFacts, place: int | str) -> TableFacts:
    columns = list(table.columns)
    if isinstance(place, str):
        place = _there(table, place) + 1 if place else 0
    columns.insert(place, made)
    return replace(table, columns=tuple(columns))


def altered(table: TableFacts, change: Change, mariadb: bool) -> TableFacts:
    """The table after ALTER TABLE, of which it may have another name.

    Raises:
        NotUnderstood: the statement does not fit the definition, or has a form that is not known.
    """
    assert change.words is not None
    for part in change.words.parts():
        kind = part.any_of("ADD", "DROP", "MODIFY", "CHANGE", "ALTER", "RENAME", "CONVERT")
        if step := _STEPS.get(kind):
            table = step(table, part, mariadb)
        elif not kind:
            charset = _charset(part)
            table = replace(table, charset=charset) if charset else table
    for each in table.columns:
        if each.name.startswith(_NOT_YET):
            table = _renamed(table, each.name, each.name.removeprefix(_NOT_YET))
    return table


def _add(table: TableFacts, words: Words, mariadb: bool) -> TableFacts:
    words.skip("COLUMN")
    if words.peek() != "(":
        words.skip("IF", "NOT", "EXISTS")
        return _added(table, words, mariadb)
    for part in words.brackets().parts():
        table = _added(table, part, mariadb)
    return table


def _drop(table: TableFacts, words: Words, mariadb: bool) -> TableFacts:
    if words.skip("PRIMARY", "KEY"):
        return replace(table, primary=())
    if words.any_of("INDEX", "KEY", "CONSTRAINT"):
        words.skip("IF", "EXISTS")
        name = words.name()
        if _same(name, "PRIMARY"):
            return replace(table, primary=())
        return replace(table, uniques=tuple(each for each in table.uniques if not _same(each[0], name)))
    if _is_no_column(words):
        return table
    words.skip("COLUMN")
    optional = words.skip("IF", "EXISTS")
    name = words.name()
    if optional and _find(table, name) is None:
        return table
    gone = table.columns[_there(table, name)]
    uniques = ((index, tuple(part for part in names if part != gone.name)) for index, names in table.uniques)
    return replace(
        table,
        columns=tuple(each for each in table.columns if each is not gone),
        primary=tuple(part for part in table.primary if part != gone.name),
        uniques=tuple((index, names) for index, names in uniques if names),
    )


def _modify(table: TableFacts, words: Words, mariadb: bool) -> TableFacts:
    words.skip("COLUMN")
    words.skip("IF", "EXISTS")
    made, primary, unique, place = column(words, table.charset, mariadb)
    return _redefined(table, made.name, made, place, primary, unique)


def _change(table: TableFacts, words: Words, mariadb: bool) -> TableFacts:
    words.skip("COLUMN")
    words.skip("IF", "EXISTS")
    old = words.name()
    made, primary, unique, place = column(words, table.charset, mariadb)
    return _redefined(table, old, made, place, primary, unique)


def _redefined(
    table: TableFacts, old: str, made: ColumnFacts, place: str | None, primary: bool, unique: bool
) -> TableFacts:
    at = _there(table, old)
    was = table.columns[at].name
    if was in table.primary:
        made = replace(made, not_null=True)
    rest = replace(table, columns=table.columns[:at] + table.columns[at + 1 :])
    if _find(rest, made.name) is not None:
        made = replace(made, name=_NOT_YET + made.name)
    table = _placed(_renamed_parts(rest, was, made.name), made, at if place is None else place)
    if primary:
        table = replace(table, primary=(made.name,))
    return replace(table, uniques=(*table.uniques, (made.name, (made.name,)))) if unique else table


def _renamed(table: TableFacts, old: str, new: str) -> TableFacts:
    columns = (replace(each, name=new) if each.name == old else each for each in table.columns)
    return _renamed_parts(replace(table, columns=tuple(columns)), old, new)


def _renamed_parts(table: TableFacts, old: str, new: str) -> TableFacts:
    def renamed(names: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(new if name == old else name for name in names)

    return replace(
        table, primary=renamed(table.primary), uniques=tuple((index, renamed(names)) for index, names in table.uniques)
    )


def _alter_column(table: TableFacts, words: Words, mariadb: bool) -> TableFacts:
    if words.any_of("INDEX", "KEY", "CHECK", "CONSTRAINT"):
        return table
    words.skip("COLUMN")
    words.skip("IF", "EXISTS")
    at = _there(table, words.name())
    made = table.columns[at]
    if words.skip("SET", "DEFAULT"):
        made = default(words, made)
    elif words.skip("DROP", "DEFAULT"):
        made = replace(made, default=None, now=False)
    return replace(table, columns=(*table.columns[:at], made, *table.columns[at + 1 :]))


def _rename(table: TableFacts, words: Words, mariadb: bool) -> TableFacts:
    if words.any_of("INDEX", "KEY"):
        old = words.name()
        words.expect("TO")
        new = words.name()
        return replace(table, uniques=tuple((new if _same(n, old) else n, names) for n, names in table.uniques))
    if words.skip("COLUMN"):
        words.skip("IF", "EXISTS")
        at = _there(table, words.name())
        words.expect("TO")
        new = words.name()
        return _renamed(table, table.columns[at].name, new if _find(table, new) in (None, at) else _NOT_YET + new)
    if not words.any_of("TO", "AS"):
        words.skip("=")
    database, name = words.table(table.database)
    return replace(table, database=database, name=name)


def _convert(table: TableFacts, words: Words, mariadb: bool) -> TableFacts:
    words.expect("TO")
    charset = _charset(words)
    if charset is None or charset == "binary":
        raise NotUnderstood("the character set is not said")
    columns = (replace(each, charset=charset) if each.charset is not None else each for each in table.columns)
    return replace(table, columns=tuple(columns), charset=charset)


_STEPS: Final = {
    "ADD": _add,
    "DROP": _drop,
    "MODIFY": _modify,
    "CHANGE": _change,
    "ALTER": _alter_column,
    "RENAME": _rename,
    "CONVERT": _convert,
}
