"""`python -m bench.converters`: what reading and writing Protobuf and JSON Schema takes for a record.

A record of eight fields, one of them optional and one a timestamp. Ours takes a column of 10,000 and gives fields as
columns, or dicts; beside it Google's protobuf alone (a message and its fields in a dict) and `json.loads`, record by
record. All ways run in turn.
"""

from __future__ import annotations

import json
import random
import sys
from typing import Any, Final

import msgspec

from bench import one
from bench.in_turn import Way, in_turn, table_of
from bench.machine import versions
from bench.part import Settings
from connect.converters.json_encode import lines
from connect.converters.jsonschema.converter import Validator
from connect.converters.jsonschema.documents import Documents
from connect.converters.jsonschema.keys import JsonSchemaOptions
from connect.converters.jsonschema.reading import Reader as JsonReader
from connect.converters.jsonschema.to_schema import schema_of
from connect.converters.jsonschema.writing import SchemaPreparer
from connect.converters.protobuf.descriptors import parse
from connect.converters.protobuf.keys import ProtobufOptions
from connect.converters.protobuf.reading import Reader
from connect.converters.protobuf.writing import Writer

RECORDS: Final = 10_000

PROTO: Final = """
syntax = "proto3";
import "google/protobuf/timestamp.proto";
message Order {
  int64 id = 1;
  string customer = 2;
  int32 quantity = 3;
  double price = 4;
  bool paid = 5;
  optional string note = 6;
  google.protobuf.Timestamp created = 7;
  string country = 8;
}
"""

JSON_SCHEMA: Final = {
    "type": "object",
    "title": "Order",
    "properties": {
        "id": {"type": "integer", "connect.index": 0},
        "customer": {"type": "string", "connect.index": 1},
        "quantity": {"type": "integer", "connect.index": 2, "connect.type": "int32"},
        "price": {"type": "number", "connect.index": 3},
        "paid": {"type": "boolean", "connect.index": 4},
        "note": {"oneOf": [{"type": "null"}, {"type": "string"}], "connect.index": 5},
        "created": {
            "type": "integer",
            "title": "org.apache.kafka.connect.data.Timestamp",
            "connect.index": 6,
            "connect.version": 1,
            "connect.type": "int64",
        },
        "country": {"type": "string", "connect.index": 7},
    },
}


def protobuf() -> dict[tuple[str, str], Way]:
    """The ways of Protobuf."""
    message = parse(PROTO).message_class("Order")
    rows = [_row(random.Random(number), number) for number in range(RECORDS)]
    data = [message(**{**row, "created": {"seconds": row["created"]}}).SerializeToString() for row in rows]
    reader = Reader(message, ProtobufOptions.parse({}))
    columns = reader.read(data)
    writer = Writer(columns.schemas[0], message, ProtobufOptions.parse({}))  # type: ignore[arg-type]
    names = [field.name for field in message.DESCRIPTOR.fields]

    def with_protobuf() -> list[Any]:
        found = []
        for item in data:
            each: Any = message.FromString(item)
            row = {name: getattr(each, name) for name in names}
            row["note"] = each.note if each.HasField("note") else None
            row["created"] = each.created.ToDatetime()
            found.append(row)
        return found

    return {
        ("protobuf, read", "alone"): with_protobuf,
        ("protobuf, read", "columns"): lambda: reader.read(data),
        ("protobuf, read", "dicts"): lambda: reader.read(data).to_list(),
        ("protobuf, write", "columns"): lambda: writer.write(columns),
    }


def json_schema() -> dict[tuple[str, str], Way]:
    """The ways of JSON Schema."""
    documents = Documents(json.dumps(JSON_SCHEMA))
    schema = schema_of(documents, JsonSchemaOptions.parse({}), lambda _, node: node)
    rows = [{**_row(random.Random(number), number)} for number in range(RECORDS)]
    for row in rows:
        row["created"] *= 1000
    data = [msgspec.json.encode(row) for row in rows]
    reader, validator, preparer = JsonReader(schema), Validator(documents), SchemaPreparer(JsonSchemaOptions.parse({}))
    values = reader.read(data).to_list()

    def validated() -> Any:
        for item in data:
            validator.check(item)
        return reader.read(data)

    return {
        ("json, read", "alone"): lambda: [json.loads(item) for item in data],
        ("json, read", "columns"): lambda: reader.read(data),
        ("json, read", "dicts"): lambda: reader.read(data).to_list(),
        ("json, read", "validated"): validated,
        ("json, write", "dicts"): lambda: lines(preparer.column(schema, values)),
    }


def measure(settings: Settings) -> dict[str, Any]:
    """Microseconds for a record, by each way."""
    rounds = settings.repeat(15)
    peers = {form: ["alone"] for form in ("columns", "dicts", "validated")}
    return {
        "settings": {"rounds": rounds, "records": RECORDS},
        "versions": versions("connect-runtime", "protobuf", "jsonschema-rs"),
        "rows": in_turn({**protobuf(), **json_schema()}, rounds, RECORDS, peers),
    }


def table(document: dict[str, Any]) -> str:
    """The document as Markdown."""
    return table_of(
        document,
        {
            "protobuf, read": "reading Protobuf",
            "protobuf, write": "writing Protobuf",
            "json, read": "reading JSON Schema",
            "json, write": "writing JSON Schema",
        },
        {
            "alone": "protobuf or json.loads alone",
            "columns": "ours, columns",
            "dicts": "ours, dicts",
            "validated": "ours, validated, columns",
        },
        "alone",
    )


def _row(chance: random.Random, number: int) -> dict[str, Any]:
    return {
        "id": chance.randrange(10**9),
        "customer": f"customer-{number}",
        "quantity": chance.randrange(1, 300),
        "price": round(chance.uniform(0, 100), 2),
        "paid": chance.random() < 0.5,
        "note": None if chance.random() < 0.5 else "please ring twice",
        "created": 1_767_225_600 + number,
        "country": chance.choice(["DE", "FR", "IT"]),
    }


if __name__ == "__main__":
    sys.exit(one.main("bench.converters", "converters"))
