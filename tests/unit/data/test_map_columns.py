"""Schemaless maps as columns say what the maps themselves say, in the same order."""

from typing import Any

import pytest

from connect import SinkBatch, Transformation, Values
from connect.converters import JsonConverter
from connect.data import Constant, java_text
from connect.data.map_columns import MapColumns
from tests.unit.transforms.forms import configured
from transforms.cast import CastValue
from transforms.flatten import FlattenValue
from transforms.insert_field import InsertFieldValue
from transforms.replace_field import ReplaceFieldValue

ROWS: list[dict[str, Any]] = [
    {"id": n, "name": f"n{n}", "inner": {"b": n / 4, "a": {"x": None if n % 3 else "y"}}, "ok": n % 2 == 0}
    for n in range(40)
]


def held() -> MapColumns:
    made = MapColumns.of(ROWS)
    assert made is not None
    return made


def test_they_are_the_same_values() -> None:
    assert held().to_list() == ROWS
    assert list(held()) == ROWS
    assert held().texts() == [java_text(None, row) for row in ROWS]
    assert held().take([3, 1]).to_list() == [ROWS[3], ROWS[1]]
    assert held().between(2, 5).to_list() == ROWS[2:5]
    assert held().take([]).to_list() == held().between(2, 2).to_list() == []
    assert [(list(rows), schema) for schema, rows in held().by_schema()] == [(list(range(40)), None)]


@pytest.mark.parametrize("other", [{"id": 1}, {**ROWS[0], "more": 1}, dict(reversed(ROWS[0].items())), None, 1, {}])
def test_maps_with_other_keys_or_another_order_are_none(other: Any) -> None:
    assert MapColumns.of([*ROWS, other]) is None


def test_few_maps_and_maps_without_keys_are_none() -> None:
    assert MapColumns.of(ROWS[:5]) is None
    assert MapColumns.of([{}] * 40) is None


@pytest.mark.parametrize(
    "made",
    [
        configured(ReplaceFieldValue, exclude="ok", renames="id:key,name:id"),
        configured(ReplaceFieldValue, include="ok,id,none", renames="id:key"),
        configured(ReplaceFieldValue, renames="id:name"),
        configured(ReplaceFieldValue, include="none"),
        configured(InsertFieldValue, static_field="s", static_value="x", offset_field="o", topic_field="name"),
        configured(InsertFieldValue, timestamp_field="at", partition_field="p"),
        configured(CastValue, spec="id:string,ok:int8,none:string"),
        configured(FlattenValue),
    ],
)
def test_transformations_give_the_same_in_the_same_order(made: Transformation) -> None:
    columns, rows = (
        made.apply_batch(SinkBatch("t", values=values, offsets=range(40))).values for values in (held(), Values(ROWS))
    )
    assert columns.texts() == rows.texts()
    assert columns.to_list() == rows.to_list()


def test_json_without_a_schema_stays_columns_through_a_chain() -> None:
    converter = JsonConverter()
    converter.configure({"schemas.enable": "false"}, is_key=False)
    values = converter.to_connect_batch(Constant("t", 40), [b'{"id":%d,"name":"x"}' % n for n in range(40)])
    batch = SinkBatch("t", values=values, offsets=range(40))
    for made in (
        configured(ReplaceFieldValue, renames="name:n"),
        configured(InsertFieldValue, offset_field="o"),
        configured(CastValue, spec="id:string"),
    ):
        batch = made.apply_batch(batch)
        assert isinstance(batch.values, MapColumns)
    assert batch.values.to_list()[7] == {"id": "7", "n": "x", "o": 7}


@pytest.mark.parametrize("envelope", [False, True])
def test_so_do_objects_that_arrow_does_not_read(*, envelope: bool) -> None:
    converter = JsonConverter()
    converter.configure({"schemas.enable": str(envelope).lower()}, is_key=False)
    form = b'{"schema":null,"payload":%b}' if envelope else b"%b"
    data = [form % b'{"id":%d,"name":"x","inner":{"list":[%d]}}' % (n, n) for n in range(40)]
    made = configured(ReplaceFieldValue, renames="name:n")
    for _ in range(2):  # how the first are used says how the next are read
        values = converter.to_connect_batch(Constant("t", 40), list(data))
        changed = made.apply_batch(SinkBatch("t", values=values, offsets=range(40))).values
        assert isinstance(changed, MapColumns)
        assert changed.to_list()[7] == {"id": 7, "n": "x", "inner": {"list": [7]}}
