r"""Field paths: how a setting names a field, also a nested one (KIP-821).

`field.syntax.version` decides how names are read:

V1  a name is the name of a top-level field, whatever it contains. The default, as in Kafka Connect.
V2  dots lead into structs and maps: ``address.city``. A name that contains dots is put between backticks:
    ``order.`unit.price` ``. A backtick followed by a dot or by the end closes the name, unless a backslash is before
    it: ``\```. Everywhere else backticks and backslashes are ordinary characters.

Kafka Connect supports V2 only for ExtractField; here every transformation that names fields does. A transformation

1. declares `settings = define(...) | SYNTAX`,
2. reads each name in `configure` with `path = parse(name, config[VERSION], key)`: a tuple of names, never empty,
3. looks fields up with `schema_at`, `values_at` (of Python values) and `column_at` (of structs held field by field),
4. changes fields, also nested ones, as `transforms.fields` describes.

Looking up follows Java's rule: a missing or null value on the path gives null; a path through something that is not a
struct or map is a `DataError`.

https://cwiki.apache.org/confluence/display/KAFKA/KIP-821%3A+Connect+Transforms+support+for+nested+structures
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Final

from connect import ConfigError, DataError, Schema, Type, settings

if TYPE_CHECKING:
    import pyarrow as pa

    from connect.data.struct_columns import FieldColumn, StructColumns

#: The names that lead to a field, from the top. Never empty.
Path = tuple[str, ...]

VERSION: Final = "field.syntax.version"

#: The setting that a transformation adds if it names fields.
SYNTAX: Final = settings.define(
    settings.String(
        VERSION,
        default="V1",
        importance="HIGH",
        doc="How fields are named. V1: a name is a top-level field. V2: dots lead into structs and maps, as in "
        "address.city; a name that contains dots is put between backticks.",
        validator=settings.one_of("V1", "V2", ignore_case=True),
    )
)


def parse(text: str, version: str, key: str) -> Path:
    """The path that a user wrote.

    Args:
        text: the path as written.
        version: the value of `field.syntax.version`.
        key: the setting that holds it, for the message.

    Raises:
        ConfigError: a backtick is not closed, or (V2) the text is empty.
    """
    if version.upper() == "V1":
        return (text,)
    if not text:
        raise ConfigError(key, "must name a field.")
    names = []
    at = 0
    while True:
        if text.startswith("`", at):
            name, at = _between_backticks(text, at, key)
        else:
            end = text.find(".", at)
            name, at = (text[at:], len(text)) if end < 0 else (text[at:end], end)
        names.append(name)
        if at >= len(text):
            return tuple(names)
        at += 1  # the dot


def _between_backticks(text: str, opened: int, key: str) -> tuple[str, int]:
    """The name that begins with the backtick at `opened`, and where it ends."""
    name = ""
    at = opened + 1
    while (tick := text.find("`", at)) >= 0:
        part, at = text[at:tick], tick + 1
        if text[at : at + 1] not in ("", "."):
            name += part + "`"
        elif part.endswith("\\"):
            name += part[:-1] + "`"
        else:
            return name + part, at
    raise ConfigError(
        key,
        f'the backtick at position {opened} of "{text}" is not closed before a dot or the end. '
        "Close it, or write a backslash before it.",
    )


def written(path: Path) -> str:
    """A path as messages show it."""
    return ".".join(f"`{name}`" if "." in name and len(path) > 1 else name for name in path)


def by_parent(paths: Iterable[Path]) -> dict[Path, list[str]]:
    """The last names of paths, grouped by the path of their parent; () for top-level fields."""
    found: dict[Path, list[str]] = {}
    for path in paths:
        found.setdefault(path[:-1], []).append(path[-1])
    return found


# Looking up.


def schema_at(schema: Schema, path: Path) -> Schema | None:
    """The schema of a field; None when there is no such field.

    Raises:
        DataError: the path leads through something that is not a struct.
    """
    found: Schema | None = schema
    for name in path:
        if found is None:
            return None
        if found.type is not Type.STRUCT:
            raise DataError(
                f'The path {written(path)} looks for "{name}" in {found.type.name}, but only a STRUCT has fields.'
            )
        field = found.field(name)
        found = field.schema if field is not None else None
    return found


def values_at(
    schema: Schema | None, items: list[Any], path: Path, *, replace_null: bool = True, struct_defaults: bool = True
) -> list[Any]:
    """The value at a path in each of the values; None where it, or a parent of it, is missing or null.

    Args:
        schema: of the values; None for schemaless ones.
        items: dicts and nulls.
        path: with a schema one for which `schema_at` finds a field.
        replace_null: whether to return the default of the field's schema for null (`replace.null.with.default`).
        struct_defaults: whether a null struct on the path is replaced by its default. Java's ExtractField always does
            that, whatever `replace_null` is.

    Raises:
        DataError: something on the path is not a struct or map.
    """
    above = schema if struct_defaults else None
    for name in path[:-1]:
        outer, items = items, _step(items, name, path)
        member = above.field(name) if above is not None else None
        above = member.schema if member is not None else None
        if above is not None and above.default is not None and None in items:
            pairs = zip(outer, items, strict=True)
            items = [above.default if item is None and struct is not None else item for struct, item in pairs]
    last = schema_at(schema, path) if schema is not None and replace_null else None
    if last is None or last.default is None:
        return _step(items, path[-1], path)
    name, default = path[-1], last.default
    found = []
    for item in items:
        value = item if item is None else item.get(name)
        found.append(default if value is None and item is not None else value)
    return found


def _step(items: list[Any], name: str, path: Path) -> list[Any]:
    try:
        return [item.get(name) for item in items]
    except (AttributeError, TypeError):
        return [_get(item, name, path) for item in items]


def _get(item: Any, name: str, path: Path) -> Any:
    if item is None:
        return None
    if isinstance(item, dict):
        return item.get(name)
    raise DataError(f'The path {written(path)} looks for "{name}" in a value of type {type(item).__name__}, not a map.')


def column_at(
    column: StructColumns, path: Path, *, replace_null: bool = True, struct_defaults: bool = True
) -> FieldColumn:
    """The same for structs held field by field, in Arrow where the field at the top is.

    Args:
        column: structs.
        path: one for which `schema_at` finds a field.
        replace_null: as in `values_at`.
        struct_defaults: as in `values_at`.

    Raises:
        NoArrowForm: a default cannot be represented in Arrow.
    """
    top = column.field(path[0])
    if len(path) == 1 and (not replace_null or top.schema.default is None):
        return top
    from connect.data.struct_columns import FieldColumn

    schema = schema_at(column.struct, path)
    assert schema is not None
    above = top.schema
    for name in path[1:]:
        if struct_defaults and above.default is not None:
            # Rare, so it is done row by row.
            rows = values_at(column.struct, column.to_list(), path, replace_null=replace_null)
            return FieldColumn(schema, rows)
        above = _member(above, name)
    if top.is_arrow:
        return FieldColumn(schema, array=_array_at(top, path, schema.default if replace_null else None))
    if len(path) == 1:
        return FieldColumn(schema, [schema.default if item is None else item for item in top.items])
    below = values_at(top.schema, top.items, path[1:], replace_null=replace_null, struct_defaults=struct_defaults)
    return FieldColumn(schema, below)


def _array_at(top: FieldColumn, path: Path, default: Any) -> pa.Array:
    import pyarrow.compute as pc

    from connect.data.arrow import filled

    found, schema = top.array, top.schema
    above = None
    for name in path[1:]:
        above = found if found.null_count else None
        found = pc.struct_field(found, [name])
        schema = _member(schema, name)
    if default is None or not found.null_count:
        return found
    with_default = filled(found, schema)
    return with_default if above is None else pc.if_else(above.is_valid(), with_default, found)


def _member(schema: Schema, name: str) -> Schema:
    field = schema.field(name)
    assert field is not None
    return field.schema
