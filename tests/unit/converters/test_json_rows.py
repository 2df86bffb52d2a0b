"""What the parser makes of lists, maps and structs by itself is what `Decoder` makes of exactly parsed JSON."""

import json
from typing import Any

import pytest

from connect.converters.json_decode import Decoder, Inexact
from connect.converters.json_fast import REFUSED, exact
from connect.converters.json_rows import Rows
from connect.converters.json_schema import from_json
from connect.errors import DataError

_PLACE = {"type": "struct", "fields": [{"field": "lat", "type": "double"}, {"field": "n", "type": "int8"}]}
FIELDS: list[dict[str, Any]] = [
    {"field": "numbers", "type": "array", "items": {"type": "int32"}, "optional": True},
    {"field": "doubles", "type": "array", "items": {"type": "double"}, "optional": True},
    {"field": "perhaps", "type": "array", "items": {"type": "string", "optional": True}, "optional": True},
    {"field": "counts", "type": "map", "keys": {"type": "string"}, "values": {"type": "int64"}, "optional": True},
    {"field": "pairs", "type": "map", "keys": {"type": "int32"}, "values": {"type": "int64"}, "optional": True},
    {"field": "place", **_PLACE, "optional": True},
    {"field": "places", "type": "array", "items": _PLACE, "optional": True},
    {"field": "named", "type": "int64", "name": "io.debezium.time.Timestamp", "optional": True},
    {"field": "fallback", "type": "array", "items": {"type": "int8"}, "optional": True, "default": [1]},
]
SCHEMA = from_json({"type": "struct", "fields": FIELDS}, lambda schema, node: node)
assert SCHEMA is not None
ROWS, DECODER = Rows(SCHEMA), Decoder(replace_null=True)

LISTS = "[] [1] [127,-128] [128] [-129] [2147483648] [9223372036854775808] [1.0] [1.5] [-0.0] [-0] [0.0] [-0.5] [-0e5]"
MAPS = '{} {"a":1} {"a":1,"b":-1} {"a":1,"a":2} {"a":null} {"a":1.5} {"a":9223372036854775808} {"\\u00e9":1} {"":0}'
STRUCTS = """{"lat":1.5,"n":1} {"n":1,"lat":1} {"lat":1.5} {"lat":null,"n":1} {"lat":-0.0,"n":1} {"lat":-1e-400,"n":1}
{"lat":1,"n":128} {"lat":1,"n":-128,"more":[1]} {"lat":"1","n":1} {"n":true,"lat":2} {"lat":1e400,"n":0}"""
OTHERS = 'null 1 "x" true [null] ["a"] ["a",null] ["-0.0"] [[1,2]] [[1,2],[1,3]] [true] "-0" -0 {"lat":1,"n":1,"lat":2}'
VALUES = [*LISTS.split(), *MAPS.split(), *STRUCTS.split(), *OTHERS.split(), *(f"[{each}]" for each in STRUCTS.split())]


def reference(records: list[bytes]) -> list[Any]:
    found: Any = DECODER.column(SCHEMA, [exact(record) for record in records])
    return [{field["field"]: row[field["field"]] for field in FIELDS} for row in found]


def by_rows(records: list[bytes]) -> list[Any] | None:
    try:
        columns = ROWS.columns(records, DECODER)
    except (*REFUSED, Inexact):
        return None
    names = [field["field"] for field in FIELDS]
    return [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]


def same(one: Any, other: Any) -> bool:
    """Equal, with the same zeros and types, whatever the order of a struct's fields."""
    return json.dumps(one, sort_keys=True, default=repr) == json.dumps(other, sort_keys=True, default=repr)


def keyed(rows: list[Any]) -> list[Any]:
    """Maps whose keys are not strings as pairs, for JSON."""
    return [
        {name: sorted(value.items()) if name == "pairs" and value else value for name, value in row.items()}
        for row in rows
    ]


@pytest.mark.parametrize("name", [field["field"] for field in FIELDS])
def test_each_value_in_each_field_is_what_the_decoder_makes_of_it(name: str) -> None:
    taken = 0
    for value in VALUES:
        for records in ([f'{{"{name}":{value}}}'.encode()], [f'{{"{name}":{value}}}'.encode(), b"{}"]):
            found = by_rows(records)
            if found is not None:
                taken += 1
                assert same(keyed(found), keyed(reference(records))), records
    assert taken >= 4


@pytest.mark.parametrize(
    "usual",
    [
        b'{"numbers":[1,-2],"doubles":[0.5,3],"perhaps":["x",null],"counts":{"a":1},"named":5}',
        b'{"place":{"lat":1.5,"n":1},"places":[{"n":2,"lat":-0.5}],"pairs":[[1,2]],"fallback":null}',
    ],
)
def test_the_usual_is_left_to_no_other(usual: bytes) -> None:
    found = by_rows([usual] * 3)
    assert found is not None
    assert same(keyed(found), keyed(reference([usual] * 3)))


def test_what_the_parser_makes_by_itself_is_wrong_nowhere() -> None:
    with pytest.raises(DataError):
        reference([b'{"counts":[1]}'])
    assert by_rows([b'{"counts":[1]}']) is None
    assert by_rows([b'{"doubles":[-0.0]}']) is None
