"""The same records in each form that a batch can hold them in."""

from typing import Any

from connect import Batch, Schema, SinkBatch, SinkRecord, Transformation, Type, Values
from connect.data.arrow import from_python
from connect.data.column import NoArrowForm
from connect.data.map_columns import MapColumns
from connect.data.struct_columns import StructColumns
from connect.data.values import GroupedValues


def configured(kind: type[Transformation], **config: str) -> Transformation:
    """A transformation with settings whose dots are written as underscores."""
    return with_config(kind, {key.replace("_", "."): value for key, value in config.items()})


def with_config(kind: type[Transformation], config: dict[str, str]) -> Transformation:
    made = kind()
    made.configure(made.settings.parse(config))
    return made


def field_by_field(values: Values, *, arrow: bool = False) -> Values:
    """The values with structs of a schema held as columns, tombstones and others beside them.

    Args:
        values: in any form.
        arrow: whether the columns are Arrow's, where they can be, or lists; then schemaless maps are columns, too.
    """
    groups: list[Any] = []
    for members, group in values.groups():
        schema, items = group.schemas[0], group.to_list()
        live = [row for row, item in enumerate(items) if item is not None]
        if schema is None and not arrow:
            groups += [([members[row] for row in rows], part) for rows, part in _key_by_key(group)]
            continue
        if schema is None or schema.type is not Type.STRUCT or not schema.fields or not live:
            groups.append((members, group))
            continue
        columns = [
            _column(field.schema, [items[row].get(field.name) for row in live], arrow=arrow) for field in schema.fields
        ]
        groups.append(([members[row] for row in live], StructColumns(schema, columns)))
        nulls = [row for row, item in enumerate(items) if item is None]
        if nulls:
            groups.append(([members[row] for row in nulls], group.take(nulls)))
    if len(groups) == 1:
        return groups[0][1]  # type: ignore[no-any-return]
    return GroupedValues(len(values), groups)


def _key_by_key(values: Values) -> list[tuple[list[int], Values]]:
    """Schemaless maps as columns, those with the same keys together, and what is left."""
    items = values.to_list()
    alike: dict[Any, list[int]] = {}
    for row, item in enumerate(items):
        is_map = type(item) is dict and set(map(type, item)) == {str}
        alike.setdefault(tuple(item) if is_map else None, []).append(row)
    return [
        (rows, MapColumns({name: [items[row][name] for row in rows] for name in names}) if names else values.take(rows))
        for names, rows in alike.items()
    ]


def _column(schema: Schema, items: list[Any], *, arrow: bool) -> Any:
    if arrow:
        try:
            return from_python(schema, items)
        except NoArrowForm:
            return items
    return items


def forms(records: list[SinkRecord]) -> list[Batch[Any]]:
    """Batches of these records: values and keys as lists, field by field as lists, and field by field in Arrow."""
    batch = SinkBatch.of(records)
    return [
        batch,
        *(
            batch.with_columns(
                values=field_by_field(batch.values, arrow=arrow), keys=field_by_field(batch.keys, arrow=arrow)
            )
            for arrow in (False, True)
        ),
    ]


def told(record: SinkRecord) -> tuple[Any, ...]:
    """What a record says; a field that was never set reads as null."""
    return (
        record.topic,
        record.original_offset,
        record.key_schema,
        _complete(record.key_schema, record.key),
        record.value_schema,
        _complete(record.value_schema, record.value),
        record.timestamp,
        record.headers,
    )


def _complete(schema: Schema | None, value: Any) -> Any:
    if schema is not None and schema.type is Type.STRUCT and isinstance(value, dict):
        return {field.name: _complete(field.schema, value.get(field.name)) for field in schema.fields}
    return (type(value).__name__, repr(value)) if isinstance(value, int | float) else value
