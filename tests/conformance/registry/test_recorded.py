"""Protobuf and JSON Schema beside recorded answers of Confluent's own converters.

Those are on no public registry of packages. The answers were recorded from version 8.5.0, built of its public sources,
with its registry in memory: what it wrote of a value (bytes after the id, and the schema that it registered), and what
it read of bytes under a schema. `recorded/*.jsonl` has one case a line; values are tagged as `oracle.tagged` has them.
"""

import base64
import datetime as dt
import json
import re
import struct
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from connect.converters.jsonschema import JsonSchemaConverter
from connect.converters.protobuf import ProtobufConverter
from connect.converters.registry.converter import RegistryConverter
from connect.data import Schema, Type, logical
from tests.unit.converters.registry.memory_registry import MemoryRegistry

CONVERTERS: dict[str, type[RegistryConverter]] = {"protobuf": ProtobufConverter, "json_schema": JsonSchemaConverter}
TYPES = {"protobuf": "PROTOBUF", "json_schema": "JSON"}


def cases(op: str) -> list[Any]:
    found = []
    for kind in CONVERTERS:
        lines = Path(__file__).with_name("recorded").joinpath(f"{kind}.jsonl").read_text().splitlines()
        for number, line in enumerate(lines, 1):
            case = json.loads(line)
            if case["op"] == op:
                found.append(pytest.param(kind, case, id=f"{kind}-{number}"))
    return found


def converter(kind: str, case: dict[str, Any], registry: MemoryRegistry) -> RegistryConverter:
    made = CONVERTERS[kind]()
    made.configure({"schema.registry.url": registry.url, **case["config"]}, is_key=False)
    return made


@pytest.mark.parametrize(("kind", "case"), cases("write"))
def test_values_are_written_and_read_again_as_confluents_converter_does(kind: str, case: dict[str, Any]) -> None:
    with MemoryRegistry() as registry:
        each = converter(kind, case, registry)
        of = schema_of(case["schema"])
        data = each.from_connect_data("topic", of, value_of(of, case.get("value")))
        assert data is not None
        assert data[5:] == base64.b64decode(case["data"])
        assert registry.text(1) == in_our_order(case["text"])
        _check_read(each, data, case)


@pytest.mark.parametrize(("kind", "case"), cases("read"))
def test_bytes_are_read_as_confluents_converter_does(kind: str, case: dict[str, Any]) -> None:
    with MemoryRegistry() as registry:
        references = []
        for name, text in case.get("references", {}).items():
            registry.register(name, text, TYPES[kind])
            references.append({"name": name, "subject": name, "version": 1})
        number = registry.register("topic-value", case["text"], TYPES[kind], references)
        data = b"\0" + number.to_bytes(4, "big") + base64.b64decode(case["data"])
        _check_read(converter(kind, case, registry), data, case)


def _check_read(each: RegistryConverter, data: bytes, case: dict[str, Any]) -> None:
    found = each.to_connect_data("topic", data)
    expected = schema_of(case["read_schema"])
    assert found.schema is not None
    # The version under the subject depends on what was registered before.
    assert found.schema.replace(version=None) == expected.replace(version=None)
    assert found.value == value_of(expected, case.get("read_value"))


def in_our_order(text: str) -> str:
    """Java writes the two halves of an option's entry in the order of a hash that changes from run to run."""
    return re.sub(r'value: "([^"]*)",\n(\s*)key: "([^"]*)"', r'key: "\3",\n\2value: "\1"', text)


def schema_of(node: dict[str, Any]) -> Schema:
    made = Schema(
        Type[node["type"]],
        optional=node.get("optional", False),
        name=node.get("name"),
        version=node.get("version"),
        doc=node.get("doc"),
        parameters=node.get("parameters"),
        fields={name: schema_of(field) for name, field in node.get("fields", ())},
        key_schema=schema_of(node["keys"]) if "keys" in node else None,
        value_schema=schema_of(node["values"]) if "values" in node else None,
    )
    return made.replace(default=value_of(made, node["default"])) if "default" in node else made


def value_of(of: Schema, node: Any) -> Any:
    if not isinstance(node, list):
        return node
    match node[0]:
        case "struct":
            items = dict(node[1])
            return {field.name: value_of(field.schema, items.get(field.name)) for field in of.fields}
        case "list":
            assert of.value_schema is not None
            return [value_of(of.value_schema, item) for item in (node[1] if len(node) > 1 else ())]
        case "map":
            assert of.key_schema is not None
            assert of.value_schema is not None
            pairs = node[1] if len(node) > 1 else ()
            return {value_of(of.key_schema, key): value_of(of.value_schema, item) for key, item in pairs}
    return _SIMPLE[node[0]](of, *node[1:])


def _date(of: Schema, text: str) -> Any:
    moment = dt.datetime(1970, 1, 1, tzinfo=dt.UTC) + dt.timedelta(milliseconds=int(text))
    if of.name == logical.DATE_NAME:
        return moment.date()
    return moment.time() if of.name == logical.TIME_NAME else moment


_SIMPLE: dict[str, Callable[..., Any]] = {
    **dict.fromkeys(("i8", "i16", "i32", "i64"), lambda _, text: int(text)),
    "f32": lambda _, bits: struct.unpack(">f", struct.pack(">i", int(bits)))[0],
    "f64": lambda _, bits: struct.unpack(">d", struct.pack(">q", int(bits)))[0],
    "str": lambda _, text: text,
    "bytes": lambda _, text: base64.b64decode(text),
    "decimal": lambda _, unscaled, scale: Decimal(f"{unscaled}E{-scale}"),
    "date": _date,
}
