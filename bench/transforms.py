"""`python -m bench.transforms`: what each transformation takes for a record, on batches of 10,000.

Three forms of the same records: schemaless maps of eight fields; such maps with a schema; structs of that schema in
Arrow columns. What is measured is the CPU time of `apply_batch`: the median of several runs, in one process.

To add a transformation, add a line to `CASES`; what it may take says `bench.bars`.
"""

import gc
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pkgutil import resolve_name
from typing import Any

from bench import one
from bench.bars import bar_of, judge
from bench.document import Rows
from bench.machine import say, versions
from bench.part import Settings
from bench.tables import markdown, marked
from connect import Schema, SinkBatch, Transformation, Values
from connect.data.column import Plain
from connect.data.schema import BOOLEAN, FLOAT64, INT32, INT64, OPTIONAL_STRING, STRING
from tests.support.arrow_columns import of_rows

RECORDS = 10_000


@dataclass(frozen=True)
class Shape:
    """Records to measure with.

    Attributes:
        row: makes the record of a number.
        schema: of the records.
    """

    row: Callable[[int], dict[str, Any]]
    schema: Schema


def _flat_row(number: int) -> dict[str, Any]:
    return {
        "id": number,
        "name": f"name {number}",
        "city": "Lisbon",
        "price": number * 0.25,
        "active": number % 2 == 0,
        "count": number % 100,
        "seen": 1_700_000_000_000 + number,
        "note": None if number % 3 else "seldom",
    }


_FLAT_FIELDS = {
    "id": INT64,
    "name": STRING,
    "city": STRING,
    "price": FLOAT64,
    "active": BOOLEAN,
    "count": INT32,
    "seen": INT64,
    "note": OPTIONAL_STRING,
}

FLAT = Shape(_flat_row, Schema.struct(_FLAT_FIELDS))

#: The same with a time as text.
TIMES = Shape(
    lambda number: (
        _flat_row(number) | {"at": f"2024-02-{number % 28 + 1:02d}T12:{number % 60:02d}:05.{number % 1000:03d}Z"}
    ),
    Schema.struct(_FLAT_FIELDS | {"at": STRING}),
)

_ADDRESS = Schema.struct({"street": STRING, "city": STRING, "zip": INT32})
#: Eight fields as well, three of them in a struct.
NESTED = Shape(
    lambda number: {
        "id": number,
        "name": f"name {number}",
        "price": number * 0.25,
        "active": number % 2 == 0,
        "address": {"street": f"street {number}", "city": "Lisbon", "zip": number % 10_000},
        "note": None if number % 3 else "seldom",
    },
    Schema.struct(
        {
            "id": INT64,
            "name": STRING,
            "price": FLOAT64,
            "active": BOOLEAN,
            "address": _ADDRESS,
            "note": OPTIONAL_STRING,
        }
    ),
)

FORMS = ("no schema", "schema", "Arrow")


@dataclass(frozen=True)
class Case:
    """One transformation to measure.

    Attributes:
        name: what the table calls it.
        target: its class, "module:Class".
        config: its settings.
        shape: the records.
        part: the column that they are in.
        forms: those that it has; it refuses the others.
    """

    name: str
    target: str
    config: dict[str, str] = field(default_factory=dict)
    shape: Shape = FLAT
    part: str = "values"
    forms: tuple[str, ...] = FORMS


_V2 = {"field.syntax.version": "V2"}
_SCHEMA_ONLY = ("schema", "Arrow")

_CONTRACT = """{"type": "struct", "fields": [
    {"field": "id", "type": "int64"}, {"field": "name", "type": "string"}, {"field": "city", "type": "string"},
    {"field": "price", "type": "double"}, {"field": "active", "type": "boolean"}, {"field": "count", "type": "int64"},
    {"field": "seen", "type": "int64"}, {"field": "note", "type": "string", "optional": true}]}"""

CASES = [
    Case("ExtractField", "transforms.extract_field:ExtractFieldValue", {"field": "id"}),
    Case("ExtractField of a struct", "transforms.extract_field:ExtractFieldValue", {"field": "address"}, shape=NESTED),
    Case(
        "ExtractField by path",
        "transforms.extract_field:ExtractFieldValue",
        {"field": "address.zip"} | _V2,
        shape=NESTED,
    ),
    Case("Cast, numbers", "transforms.cast:CastValue", {"spec": "count:int64,price:float32"}),
    Case("Cast, number to text", "transforms.cast:CastValue", {"spec": "count:string"}),
    Case("Cast, float to text", "transforms.cast:CastValue", {"spec": "price:string"}),
    Case("Cast, float to whole number", "transforms.cast:CastValue", {"spec": "price:int32"}),
    Case("Cast, text to boolean", "transforms.cast:CastValue", {"spec": "city:boolean"}),
    Case("Deduplicate", "transforms.deduplicate:Deduplicate", {"fields": "id"}),
    Case(
        "Expression",
        "transforms.expression:Expression",
        {"filter": "count > 10", "fields": "total = price * count, name = upper(name)"},
    ),
    Case("Filter", "transforms.filter:Filter"),
    Case("Flatten", "transforms.flatten:FlattenValue", shape=NESTED),
    Case("Flatten of what is flat", "transforms.flatten:FlattenValue"),
    Case(
        "HeaderFrom",
        "transforms.header_from:HeaderFromValue",
        {"fields": "city", "headers": "city", "operation": "move"},
    ),
    Case("HoistField", "transforms.hoist_field:HoistFieldValue", {"field": "inner"}),
    Case(
        "InsertField",
        "transforms.insert_field:InsertFieldValue",
        {"topic.field": "t", "partition.field": "p", "static.field": "s", "static.value": "x"},
    ),
    Case("InsertField, offset", "transforms.insert_field:InsertFieldValue", {"offset.field": "o"}),
    Case(
        "InsertField, timestamp",
        "transforms.insert_field:InsertFieldValue",
        {"timestamp.field": "at"},
    ),
    Case("MaskField", "transforms.mask_field:MaskFieldValue", {"fields": "name,price"}),
    Case("MaskField, replacement", "transforms.mask_field:MaskFieldValue", {"fields": "name", "replacement": "x"}),
    Case("RegexRouter", "transforms.regex_router:RegexRouter", {"regex": "(.*)", "replacement": "x-$1"}),
    Case("ReplaceField, exclude", "transforms.replace_field:ReplaceFieldValue", {"exclude": "note,seen"}),
    Case("ReplaceField, include", "transforms.replace_field:ReplaceFieldValue", {"include": "id,name,price"}),
    Case("ReplaceField, renames", "transforms.replace_field:ReplaceFieldValue", {"renames": "id:key,city:town"}),
    Case(
        "ReplaceField by path",
        "transforms.replace_field:ReplaceFieldValue",
        {"exclude": "address.city"} | _V2,
        shape=NESTED,
    ),
    Case("SchemaContract", "transforms.schema_contract:SchemaContractValue", {"schema.content": _CONTRACT}),
    Case(
        "SetSchemaMetadata",
        "transforms.set_schema_metadata:SetSchemaMetadataValue",
        {"schema.name": "order", "schema.version": "2"},
        forms=_SCHEMA_ONLY,
    ),
    Case(
        "TimestampConverter, text",
        "transforms.timestamp_converter:TimestampConverterValue",
        {"field": "seen", "target.type": "string", "format": "yyyy-MM-dd'T'HH:mm:ss.SSSXXX"},
    ),
    Case(
        "TimestampConverter, Timestamp",
        "transforms.timestamp_converter:TimestampConverterValue",
        {"field": "seen", "target.type": "Timestamp"},
    ),
    Case(
        "TimestampConverter from text",
        "transforms.timestamp_converter:TimestampConverterValue",
        {"field": "at", "target.type": "unix", "format": "yyyy-MM-dd'T'HH:mm:ss.SSSXXX"},
        shape=TIMES,
    ),
    Case("TimestampRouter", "transforms.timestamp_router:TimestampRouter"),
    Case("ValueToKey, one field", "transforms.value_to_key:ValueToKey", {"fields": "id"}),
    Case("ValueToKey, two fields", "transforms.value_to_key:ValueToKey", {"fields": "id,name"}),
]


def measure(settings: Settings) -> dict[str, Any]:
    """Every case in every form that it has, in rounds."""
    gc.set_threshold(100_000, 20, 100)  # as tasks have it
    rounds = settings.repeat()
    seconds = 0.02 if settings.quick else 0.2
    cases = [case for case in CASES if settings.wants(case.name)]
    rows = Rows({})
    for number in range(rounds):
        say(f"round {number + 1}")
        for case in cases:
            for form in case.forms:
                rows.add(case.name, form, _measure(case, form, seconds))
    return {
        "settings": {"rounds": rounds, "records": RECORDS},
        "versions": versions("connect-runtime", "pyarrow"),
        "rows": rows.as_json(),
    }


def _measure(case: Case, form: str, seconds: float) -> dict[str, float]:
    """Microseconds a record of one case in one form: the median and the least of at least five runs."""
    made: Transformation = resolve_name(case.target)()
    made.configure(made.settings.parse(case.config))
    runs: list[float] = []
    until = time.perf_counter() + seconds
    while len(runs) < 5 or time.perf_counter() < until:
        batch = batch_of(case.shape, form, case.part)
        began = time.process_time()
        changed = made.apply_batch(batch)
        runs.append(time.process_time() - began)
        del changed
    made.close()
    each = [1e6 * run / RECORDS for run in runs]
    return {"us": statistics.median(each), "least_us": min(each), "runs": len(runs)}


_TIMESTAMPS = Plain[int | None]([1_700_000_000_000 + 250 * number for number in range(RECORDS)])
_ROWS: dict[int, list[dict[str, Any]]] = {}
_ARROW: dict[int, Any] = {}


def batch_of(shape: Shape, form: str, part: str = "values") -> SinkBatch:
    """A fresh batch of `RECORDS`, so that nothing that an earlier run made is there already."""
    rows = _ROWS.setdefault(id(shape), [])
    if not rows:
        rows.extend(map(shape.row, range(RECORDS)))
        gc.freeze()
    if form == "Arrow":
        made = _ARROW.setdefault(id(shape), of_rows(shape.schema, rows))
        assert made is not None
        values: Values = type(made)(shape.schema, made.columns)
    else:
        values = Values(rows, shape.schema if form == "schema" else None)
    # The other part is a schemaless text.
    columns = {"keys": values, "values": Values(["x"] * RECORDS)} if part == "keys" else {"values": values}
    return SinkBatch("topic", **columns, offsets=range(RECORDS), timestamps=_TIMESTAMPS)


def table(document: dict[str, Any]) -> str:
    """The document as Markdown: microseconds of CPU a record, with the bar."""
    judged = judge(document)
    rows = [["transformation", *(f"{form} (bar)" for form in FORMS)]]
    for name, sides in document["rows"].items():
        cells = []
        for form in FORMS:
            found = sides.get(form, {}).get("median", {}).get("us")
            held = bar_of(judged, f"{name}/{form}/median/us")
            cells.append("" if found is None else marked(f"{found:.3f} ({held.bar.value if held else 0:g})", held))
        rows.append([name, *cells])
    return markdown(rows)


if __name__ == "__main__":
    sys.exit(one.main("bench.transforms", "transforms"))
