"""What our transformations and predicates make of records, one by one and as a batch in each of its forms."""

import datetime as dt
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

from connect.api import Predicate
from connect.data import Batch, Record, Schema, SinkBatch, SinkRecord, SourceBatch, Type, Values, logical
from connect.data.arrow import from_python
from connect.data.column import NoArrowForm
from connect.data.struct_columns import StructColumns
from connect.data.values import GroupedValues
from connect.errors import ConnectError
from connect.plugins import PluginKind, Plugins, load
from tests.conformance.converters.oracle import describe, milliseconds

from .java import Case, Raised, Result, schema_form

_PLUGINS = Plugins.discover()


def plugin_class(name: str) -> type[Any]:
    """Our class for a Java name."""
    kind = PluginKind.PREDICATE if ".predicates." in name else PluginKind.TRANSFORMATION
    return load(_PLUGINS.find(kind, name))


def run(case: Case) -> list[Result]:
    """What ours makes of each record of a case, shown one by one, as `ask` gives it for Java."""
    made = configured(case)
    if isinstance(made, Raised):
        return [made for _ in case.records or [None]]
    return [_attempt(made, record) for record in case.records]


def configured(case: Case) -> Any:
    """Our class for the case, configured, or the error that this ended in."""
    made = plugin_class(case.cls)()
    try:
        made.configure(made.settings.parse(case.config))
    except ConnectError as error:
        return Raised(type(error).__name__, str(error), "configure")
    return made


def run_batch(made: Any, batch: Batch[Any]) -> list[Result] | Raised:
    """The same at once: what is left, or the error."""
    try:
        if isinstance(made, Predicate):
            return list(made.test_batch(batch))
        return [described(record) for record in made.apply_batch(batch)]
    except ConnectError as error:
        return Raised(type(error).__name__, str(error))


def batch_of(records: Sequence[Record]) -> Batch[Any]:
    """A batch of records that are all consumed, or all read."""
    made: Any = SinkBatch if isinstance(records[0], SinkRecord) else SourceBatch
    return made.of(records)  # type: ignore[no-any-return]


def _attempt(made: Any, record: Record) -> Result:
    try:
        if isinstance(made, Predicate):
            return made.test(record)
        changed = made.apply(record)
    except ConnectError as error:
        return Raised(type(error).__name__, str(error))
    return None if changed is None else described(changed)


def described(record: Record) -> dict[str, Any]:
    """All that a record says, as `ask` gives it for Java."""
    found = {
        "topic": record.topic,
        "partition": record.partition,
        "timestamp": record.timestamp,
        "keySchema": schema_form(describe(record.key_schema)),
        "key": value_form(record.key_schema, record.key),
        "valueSchema": schema_form(describe(record.value_schema)),
        "value": value_form(record.value_schema, record.value),
        "headers": [(h.key, schema_form(describe(h.schema)), value_form(h.schema, h.value)) for h in record.headers],
    }
    if isinstance(record, SinkRecord):
        found["offset"] = record.offset
        found["timestampType"] = record.timestamp_type
        found["origin"] = [record.original_topic, record.original_partition, record.original_offset]
    return found


def value_form(schema: Schema | None, value: Any) -> Any:
    """A value of ours as `java.form` gives Java's. A value of a logical type must be of that type's Python class."""
    if value is None or isinstance(value, bool):
        return value
    wanted = logical.python_type(schema) if schema is not None else None
    if wanted is not None and (not isinstance(value, wanted) or (wanted is dt.date and isinstance(value, dt.datetime))):
        return ("wrong class", type(value).__name__, wanted.__name__)
    kind = schema.type if schema is not None else None
    if isinstance(value, float) or (isinstance(value, int) and kind in (Type.FLOAT32, Type.FLOAT64)):
        return ("float", repr(float(value)))
    if isinstance(value, int):
        return ("int", str(value))
    if isinstance(value, str):
        return ("str", value)
    if isinstance(value, bytes | bytearray | memoryview):
        return ("bytes", bytes(value).hex())
    if isinstance(value, Decimal):
        sign, digits, exponent = value.as_tuple()
        assert isinstance(exponent, int)
        return ("decimal", str(int("".join(map(str, digits))) * (-1 if sign else 1)), -exponent)
    if isinstance(value, dt.date | dt.time):
        return ("date", str(milliseconds(value)))
    if isinstance(value, list | tuple):
        element = schema.value_schema if schema is not None else None
        return ("list", tuple(value_form(element, item) for item in value))
    assert isinstance(value, dict), f"{type(value)} is not a class that a value may have"
    if kind is Type.STRUCT:
        assert schema is not None
        unknown = [name for name in value if schema.field(name) is None]
        if unknown:
            return ("fields that the schema does not have", *unknown)
        return (
            "struct",
            frozenset((f.name, value_form(f.schema, value[f.name])) for f in schema if value.get(f.name) is not None),
        )
    keys, values = (schema.key_schema, schema.value_schema) if schema is not None else (None, None)
    return ("map", frozenset((value_form(keys, k), value_form(values, v)) for k, v in value.items()))


def as_columns(batch: Batch[Any], *, arrow: bool) -> Batch[Any]:
    """The same batch with the structs of each schema field by field: as lists, or in Arrow where that can be."""
    return batch.with_columns(keys=_grouped(batch.keys, arrow), values=_grouped(batch.values, arrow))


def _grouped(column: Values, arrow: bool) -> Values:
    items = column.to_list()
    groups: list[tuple[Sequence[int], Values]] = []
    for schema, rows in column.by_schema():
        nulls = [row for row in rows if items[row] is None]
        present = [row for row in rows if items[row] is not None]
        if nulls:
            groups.append((nulls, Values.nulls(len(nulls), schema)))
        if present:
            groups.append((present, _held(schema, [items[row] for row in present], arrow)))
    return groups[0][1] if len(groups) == 1 else GroupedValues(len(column), groups)


def _held(schema: Schema | None, items: list[Any], arrow: bool) -> Values:
    if schema is None or schema.type is not Type.STRUCT or not schema.fields:
        return Values(items, schema)
    columns = [[item.get(field.name) for item in items] for field in schema.fields]
    if not arrow:
        return StructColumns(schema, columns)
    return StructColumns(
        schema, [_in_arrow(f.schema, column) for f, column in zip(schema.fields, columns, strict=True)]
    )


def _in_arrow(schema: Schema, items: list[Any]) -> Any:
    try:
        return from_python(schema, items)
    except NoArrowForm:
        return items
