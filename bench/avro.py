"""`python -m bench.avro`: what reading and writing Avro takes for a record, beside fastavro alone.

A record of eight fields, one of them optional and one of a logical type. fastavro reads and writes record by record, as
whoever uses it on messages must; ours takes a column of 10,000, with the id of the schema before each record, and gives
fields as columns, or dicts as fastavro does. All ways run in turn, so that what the machine does meanwhile meets all of
them.
"""

import io
import json
import random
import sys
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

from bench import one
from bench.in_turn import in_turn, table_of
from bench.machine import versions
from bench.part import Settings
from connect.converters.avro.keys import AvroOptions
from connect.converters.avro.reading import make_reader
from connect.converters.avro.to_connect import ToConnect
from connect.converters.avro.types import parse
from connect.converters.avro.writing import MadeWriter
from connect.data.struct_columns import StructColumns

RECORDS = 10_000
PREFIX = b"\x00\x00\x00\x00\x07"
SCHEMA = {
    "type": "record",
    "name": "Order",
    "namespace": "shop",
    "fields": [
        {"name": "id", "type": "long"},
        {"name": "customer", "type": "string"},
        {"name": "quantity", "type": "int"},
        {"name": "price", "type": "double"},
        {"name": "paid", "type": "boolean"},
        {"name": "note", "type": ["null", "string"], "default": None},
        {"name": "created", "type": {"type": "long", "logicalType": "timestamp-millis"}},
        {"name": "country", "type": "string"},
    ],
}


def measure(settings: Settings) -> dict[str, Any]:
    """Microseconds for a record, reading and writing, by each way."""
    import fastavro

    rounds = settings.repeat(15)
    theirs = fastavro.parse_schema(json.loads(json.dumps(SCHEMA)))
    assert isinstance(theirs, dict)
    options = AvroOptions.parse({})
    avro = parse(json.dumps(SCHEMA))
    schema = ToConnect(options).schema(avro)
    read, write = make_reader(avro, schema, options), MadeWriter(avro, schema, options)
    rows = [_row(random.Random(number), number) for number in range(RECORDS)]

    def with_fastavro() -> list[bytes]:
        found = []
        for row in rows:
            out = io.BytesIO()
            fastavro.schemaless_writer(out, theirs, row)
            found.append(PREFIX + out.getvalue())
        return found

    data = with_fastavro()
    columns = StructColumns(schema, read(data, len(PREFIX)))
    ways: dict[tuple[str, str], Callable[[], Any]] = {
        ("read", "fastavro"): lambda: [fastavro.schemaless_reader(io.BytesIO(item[5:]), theirs, None) for item in data],
        ("read", "columns"): lambda: read(data, len(PREFIX)),
        ("read", "dicts"): lambda: StructColumns(schema, read(data, len(PREFIX))).to_list(),
        ("write", "fastavro"): with_fastavro,
        ("write", "columns"): lambda: write.columns([field.items for field in columns.fields], PREFIX),
        ("write", "dicts"): lambda: write.values(rows, PREFIX),
    }
    assert ways["read", "fastavro"]() == ways["read", "dicts"]()
    assert data == ways["write", "columns"]() == ways["write", "dicts"]()
    return {
        "settings": {"rounds": rounds, "records": RECORDS},
        "versions": versions("connect-runtime", "fastavro"),
        "rows": in_turn(ways, rounds, RECORDS, {"columns": ["fastavro"], "dicts": ["fastavro"]}),
    }


def table(document: dict[str, Any]) -> str:
    """The document as Markdown."""
    return table_of(
        document,
        {"read": "reading Avro", "write": "writing Avro"},
        {"fastavro": "fastavro alone", "columns": "ours, columns", "dicts": "ours, dicts"},
        "fastavro",
    )


def _row(chance: random.Random, number: int) -> dict[str, Any]:
    return {
        "id": chance.randrange(10**9),
        "customer": f"customer-{number}",
        "quantity": chance.randrange(1, 300),
        "price": round(chance.uniform(0, 100), 2),
        "paid": chance.random() < 0.5,
        "note": None if chance.random() < 0.5 else "please ring twice",
        "created": datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=number),
        "country": chance.choice(["DE", "FR", "IT"]),
    }


if __name__ == "__main__":
    sys.exit(one.main("bench.avro", "avro"))
