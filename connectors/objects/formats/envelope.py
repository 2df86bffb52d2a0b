"""Records with their coordinates: some of key, value, offset, timestamp and headers, as Aiven's sink writes them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from connect import DataError, Header, Schema, SinkBatch, Type, Values, schema
from connect.data import java_text
from connect.data.column import Plain

FIELDS: Final = ("key", "value", "offset", "timestamp", "headers")


def enveloped(batch: SinkBatch, fields: Sequence[str]) -> Values:
    """Structs of these fields of each record, for formats that need a schema.

    Args:
        batch: the records.
        fields: some of FIELDS.

    Raises:
        DataError: a key or value that is no text has no schema.
    """
    for field, values in (("key", batch.keys), ("value", batch.values)):
        if field in fields:
            _check_schemas(values, field)
    columns: dict[str, Sequence[Any]] = {
        "key": batch.keys,
        "value": batch.values,
        "offset": batch.offsets,
        "timestamp": batch.timestamps,
        "headers": [{each.key: text_of(each) for each in headers} for headers in batch.headers],
    }
    rows = [dict(zip(fields, row, strict=True)) for row in zip(*(columns[field] for field in fields), strict=True)]
    made: dict[tuple[int, int], Schema] = {}
    schemas: list[Schema | None] = []
    for key, value in zip(batch.keys.schemas, batch.values.schemas, strict=True):
        found = made.get((id(key), id(value)))
        if found is None:
            kinds = {
                "key": key or schema.OPTIONAL_STRING,
                "value": value or schema.OPTIONAL_STRING,
                "offset": schema.INT64,
                "timestamp": schema.OPTIONAL_INT64,
                "headers": Schema.map(schema.STRING, schema.OPTIONAL_STRING),
            }
            found = made[id(key), id(value)] = Schema.struct({field: kinds[field] for field in fields})
        schemas.append(found)
    return Values(rows, schemas[0] if len(made) == 1 else Plain(schemas))


def _check_schemas(values: Values, field: str) -> None:
    if values.schemas.constant and values.schemas[0] is not None:
        return
    for given, item in zip(values.schemas, values, strict=True):
        if given is None and item is not None and not isinstance(item, str):
            raise DataError(
                f"Parquet and Avro need a schema, and the record's {field} has none. Use a converter with schemas "
                "(JsonConverter with schemas.enable or schema.content, AvroConverter), or format.output.type=jsonl."
            )


def alone(values: Values, field: str) -> Values:
    """One field without an envelope, for formats whose files have columns, as Aiven's sink writes it.

    Structs stay as they are, the entries of a map become columns, and anything else a column with the field's name.
    """
    return values.each_schema(lambda some: _as_columns(some, field))


def _as_columns(values: Values, field: str) -> Values:
    given = values.schemas[0]
    if given is None or given.type is Type.STRUCT:
        return values
    items = values.to_list()
    key, value = given.key_schema, given.value_schema
    if key is None or value is None or key.type is not Type.STRING or None in items:
        return Values([{field: item} for item in items], Schema.struct({field: given}))
    structs: dict[tuple[str, ...], Schema] = {}
    schemas: list[Schema | None] = []
    for item in items:
        names = tuple(sorted(item))
        if names not in structs:
            structs[names] = Schema.struct(dict.fromkeys(names, value))
        schemas.append(structs[names])
    return Values(items, schemas[0] if len(structs) == 1 else Plain(schemas))


def text_of(header: Header) -> str | None:
    """A header's value as text: Java's, except that bytes are text."""
    value = header.value
    if value is None:
        return None
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else java_text(header.schema, value)
