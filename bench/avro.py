"""`python -m bench.avro`: what reading and writing Avro takes for a record, beside fastavro alone.

A record of eight fields, one of them optional and one of a logical type. fastavro reads and writes record by record, as
whoever uses it on messages must; ours takes a column of 10,000, with the id of the schema before each record, and gives
fields as columns, or dicts as fastavro does. All ways run in turn, so that what the machine does meanwhile meets all of
them; the medians are printed.
"""

import argparse
import gc
import io
import json
import random
import statistics
import time
from collections.abc import Callable
from typing import Any

import fastavro

from connect.converters.avro.options import Options
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


def measure(runs: int) -> dict[str, float]:
    """Microseconds for a record, by what was done."""
    theirs = fastavro.parse_schema(json.loads(json.dumps(SCHEMA)))
    assert isinstance(theirs, dict)
    options = Options()
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
    ways: dict[str, Callable[[], Any]] = {
        "read, fastavro": lambda: [fastavro.schemaless_reader(io.BytesIO(item[5:]), theirs, None) for item in data],
        "read, ours, columns": lambda: read(data, len(PREFIX)),
        "read, ours, dicts": lambda: StructColumns(schema, read(data, len(PREFIX))).to_list(),
        "write, fastavro": with_fastavro,
        "write, ours, columns": lambda: write.columns([field.items for field in columns.fields], PREFIX),
        "write, ours, dicts": lambda: write.values(rows, PREFIX),
    }
    assert ways["read, fastavro"]() == ways["read, ours, dicts"]()
    assert data == ways["write, ours, columns"]() == ways["write, ours, dicts"]()
    taken: dict[str, list[float]] = {name: [] for name in ways}
    gc.disable()
    for _ in range(runs):
        for name, way in ways.items():
            began = time.perf_counter()
            way()
            taken[name].append(time.perf_counter() - began)
            gc.collect()
    gc.enable()
    return {name: statistics.median(each) / RECORDS * 1e6 for name, each in taken.items()}


def _row(chance: random.Random, number: int) -> dict[str, Any]:
    from datetime import UTC, datetime, timedelta

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


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m bench.avro", description=__doc__)
    parser.add_argument("--runs", type=int, default=15)
    found = measure(parser.parse_args().runs)
    for name, micros in found.items():
        theirs = found[name.partition(",")[0] + ", fastavro"]
        print(f"{name:22} {micros:6.2f} us a record   {micros / theirs:5.2f} of fastavro")


if __name__ == "__main__":
    main()
