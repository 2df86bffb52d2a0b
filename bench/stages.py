"""`python -m bench.stages`: where the CPU of a record goes: converter, chain, and what each sink makes of the values.

Batches of 5,000 records of `bench.shapes` with their schema declared, and without one; no broker, no target. For the
sinks: the file's lines, JSON lines and Parquet's arrays for S3, documents for Elasticsearch, rows for Delta, CSV for a
database. `values` are dicts of Python values, as a task or transformation sees them that knows nothing of columns.
What is not in columns of Arrow behind the chain is counted.
"""

from __future__ import annotations

import gc
import json
import statistics
import sys
import time
from collections.abc import Callable, Mapping
from itertools import pairwise
from pkgutil import resolve_name
from typing import Any, Final
from zoneinfo import ZoneInfo

import pyarrow as pa
from pyarrow import csv

from bench import one
from bench.document import Rows
from bench.machine import say, versions
from bench.part import Settings
from bench.shapes import CLASSES, Shape, shape
from bench.tables import markdown
from connect import SinkBatch, Transformation, Values
from connect.converters.json_converter import JsonConverter
from connect.data.column import Constant
from connect.data.tables import rows_of
from connectors.elasticsearch.sink.documents import Documents
from connectors.jdbc.database.types_to_sql import column_type, meaning_of
from connectors.jdbc.sink.cells import Zones, cells
from connectors.objects.formats import parquet_file
from connectors.objects.formats.lines import JsonLines

RECORDS: Final = 5_000
FORMS: Final = ("declared", "schemaless")
_CLASSES: Final = {
    "Flatten$Value": "transforms.flatten:FlattenValue",
    "ReplaceField$Value": "transforms.replace_field:ReplaceFieldValue",
    "InsertField$Value": "transforms.insert_field:InsertFieldValue",
    "Cast$Value": "transforms.cast:CastValue",
}
_UTC: Final = Zones(ZoneInfo("UTC"), dates=False)
_STAGES: Final = ("converter", "chain")


def _jdbc(batch: SinkBatch) -> Any:
    held = batch.values.struct_columns
    assert held is not None
    arrays = []
    for field, column in zip(held.struct.fields, held.fields, strict=True):
        meaning = meaning_of(field.schema)
        arrays.append(cells(meaning, column, column_type(meaning, "postgresql"), _UTC))
    rows = pa.RecordBatch.from_arrays(arrays, [field.name for field in held.struct.fields])
    csv.write_csv(rows, pa.BufferOutputStream())


def _delta(batch: SinkBatch) -> Any:
    schema = batch.values.schema
    assert schema is not None
    return rows_of(batch.values, schema)


_JSON_LINES: Final = JsonLines()
_DOCUMENTS: Final = Documents(compact_maps=True)
#: What sinks make of a batch, by name.
TARGETS: Final[Mapping[str, Callable[[SinkBatch], Any]]] = {
    "file": lambda batch: batch.values.encoded_lines(),
    "JSON lines": lambda batch: _JSON_LINES.encode(batch, batch.values),
    "Elasticsearch": lambda batch: _DOCUMENTS.of(batch.values),
    "values": lambda batch: batch.values.to_list(),
    "Parquet": lambda batch: parquet_file.encode(batch.values),
    "Delta": _delta,
    "JDBC": _jdbc,
}
_NEED_SCHEMA: Final = frozenset({"Parquet", "Delta", "JDBC"})


def measure(settings: Settings) -> dict[str, Any]:
    """Microseconds of CPU a record of each stage, for each class and form."""
    gc.set_threshold(100_000, 20, 100)  # as tasks have it
    rounds = settings.repeat(5)
    rows = Rows({})
    for name in CLASSES:
        for form in FORMS:
            if settings.wants(f"{name}-{form}"):
                _measure(shape(name), form, rounds, rows)
                say(f"{name}-{form}")
    return {
        "settings": {"rounds": rounds, "records": RECORDS},
        "versions": versions("connect-runtime", "pyarrow", "msgspec", "orjson"),
        "rows": rows.as_json(),
    }


def _measure(drawn: Shape, form: str, rounds: int, rows: Rows) -> None:
    data = list(drawn.payloads(RECORDS))
    converter = JsonConverter()
    declared = form == "declared"
    config = {"schema.content": json.dumps(drawn.schema)} if declared else {"schemas.enable": "false"}
    converter.configure(config, is_key=False)
    chain = chain_of(drawn.transforms)
    for number in range(-2, rounds):  # the first two warm up
        for target, make in TARGETS.items():
            if target in _NEED_SCHEMA and not declared:
                continue
            moments = [time.process_time()]
            values = converter.to_connect_batch(Constant("t", RECORDS), data)
            moments.append(time.process_time())
            batch = SinkBatch("t", values=values, offsets=range(RECORDS))
            for transformation in chain:
                batch = transformation.apply_batch(batch)
            moments.append(time.process_time())
            lists = _in_lists(batch.values)
            moments.append(time.process_time())
            make(batch)
            moments.append(time.process_time())
            if number >= 0:
                took = [(after - before) / RECORDS * 1e6 for before, after in pairwise(moments)]
                row = f"{drawn.name}-{form}"
                rows.add(row, target, {"us": took[3]}, number)
                if target == "file":
                    rows.add(row, "converter", {"us": took[0]}, number)
                    rows.add(row, "chain", {"us": took[1], "lists": lists}, number)


def chain_of(properties: Mapping[str, str]) -> list[Transformation]:
    """The transformations of a connector's properties."""
    chain = []
    for alias in properties["transforms"].split(","):
        prefix = f"transforms.{alias}."
        config = {key.removeprefix(prefix): value for key, value in properties.items() if key.startswith(prefix)}
        made: Transformation = resolve_name(_CLASSES[config.pop("type").rpartition(".")[2]])()
        made.configure(made.settings.parse(config))
        chain.append(made)
    return chain


def _in_lists(values: Values) -> int:
    """How many fields are not in Arrow."""
    held, maps = values.struct_columns, values.maps
    if held is not None:
        return sum(not field.is_arrow for field in held.fields)
    return len(maps.columns) if maps is not None else max(map(len, values.to_list()))


def table(document: dict[str, Any]) -> str:
    """The document as Markdown."""
    sides = [*_STAGES, *TARGETS]
    lines = [["µs of CPU a record", *sides, "fields in lists"]]
    for form in FORMS:
        for name in CLASSES:
            found = document["rows"].get(f"{name}-{form}")
            if found is not None:
                micros = [found.get(side, {}).get("median", {}).get("us") for side in sides]
                cells = ["" if each is None else f"{each:.2f}" for each in micros]
                lists = statistics.median_high([each["lists"] for each in found["chain"]["rounds"]])
                title = name if form == "declared" else f"{name}, no schema"
                lines.append([title, *cells, f"{lists:.0f}"])
    return markdown(lines)


if __name__ == "__main__":
    sys.exit(one.main("bench.stages", "stages"))
