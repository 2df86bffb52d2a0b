"""Objects without a schema in columns of Arrow say what they say as dicts, or are not in columns."""

from __future__ import annotations

import json
import random
import re
from typing import Any

import pytest

from bench.shapes import CLASSES, shape
from connect import SinkBatch, Transformation, Values
from connect.converters import JsonConverter
from connect.data import Constant, java_text
from connect.data.arrow_column import ArrowColumn
from connect.data.map_columns import MapColumns
from connectors.elasticsearch.sink.documents import Documents
from tests.unit.transforms.forms import configured
from transforms.cast import CastValue
from transforms.flatten import FlattenValue
from transforms.insert_field import InsertFieldValue
from transforms.replace_field import ReplaceFieldValue

COUNT = 150
PLAIN = {"id": 1, "name": "n", "price": 1.5, "ok": True}


def written(rows: list[Any]) -> list[bytes]:
    return [json.dumps(row, ensure_ascii=False).encode() for row in rows]


def converted(converter: JsonConverter, data: list[bytes]) -> Values:
    return converter.to_connect_batch(Constant("t", len(data)), list(data))


def converters() -> tuple[JsonConverter, JsonConverter]:
    """One that never saw a use of columns, and one that did."""
    made = JsonConverter(), JsonConverter()
    for each in made:
        each.configure({"schemas.enable": "false"}, is_key=False)
    few = converted(made[1], written([PLAIN] * 20))
    assert few.maps is not None
    return made


def in_arrow(values: Values) -> MapColumns | None:
    """The columns, if Arrow made them."""
    maps = values.maps
    if maps is None or not all(isinstance(column, ArrowColumn) for column in maps.columns.values()):
        return None
    return maps


def as_json(values: Values) -> list[bytes | None]:
    converter, enveloping = JsonConverter(), JsonConverter()
    converter.configure({"schemas.enable": "false"}, is_key=False)
    topics = Constant("t", len(values))
    enveloped = enveloping.from_connect_batch(topics, values)
    plain = list(converter.from_connect_batch(topics, values))
    assert enveloped == [b'{"schema":null,"payload":%b}' % (row or b"") for row in plain]
    return plain


def by_columns(data: list[bytes]) -> MapColumns | None:
    return in_arrow(converted(converters()[1], data))


def shown(rows: list[Any]) -> str:
    """With types and without an order of keys."""
    return repr([sorted(row.items()) if isinstance(row, dict) else row for row in rows])


def alike(data: list[bytes]) -> bool:
    """Compare both; whether there were columns."""
    by_row, by_column = converters()
    expected = converted(by_row, data).to_list()
    values = converted(by_column, data)
    assert shown(values.to_list()) == shown(expected)
    columns = in_arrow(values)
    if columns is None:
        return False
    assert shown(columns.to_list()) == shown(expected)
    ordered = [{name: row[name] for name in columns.columns if name in row} for row in expected]
    lines = "".join(java_text(None, row) + "\n" for row in ordered)
    assert columns.encoded_lines().decode() == lines
    assert columns.texts() == lines.split("\n")[:-1]
    assert as_json(columns) == as_json(Values(ordered))
    documents = Documents(compact_maps=True)
    assert list(map(json.loads, documents.of(columns)[0])) == list(map(json.loads, documents.of(Values(ordered))[0]))
    some = [*range(0, len(data), 7), 3]
    assert columns.take(some).to_list() == [columns.to_list()[row] for row in some]
    assert columns.between(5, 9).to_list() == columns.to_list()[5:9]
    assert values.take(some).to_list() == [values.to_list()[row] for row in some]
    assert in_arrow(values.between(2, 60)) is not None
    return True


@pytest.mark.parametrize("name", sorted(CLASSES))
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_records_of_every_shape_are_alike(name: str, seed: int) -> None:
    columns = alike(list(shape(name, seed).payloads(COUNT)))
    assert columns or name in {"nested", "structs"}


@pytest.mark.parametrize("seed", range(40))
def test_records_with_anything_in_one_of_them_are_alike(seed: int) -> None:
    chance = random.Random(seed)
    odd = [
        *("-0", "-0.0", "0.0", "1e3", "1E400", "1e-400", "123456789012345678", "9223372036854775807"),
        *("9223372036854775808", "-9223372036854775809", "1.0", "2", "true", "null", '"null"', '"a: null,"'),
        *('"\\u006eull"', '"\\ud83d\\ude00"', '"\\null"', '""', "[]", "{}", '[1, "a"]', '{"x": null}', "NaN", "01"),
        *('"2020-01-01T00:00:00Z"', '"2020-01-01"', "0.1e1", "100000000.0", "1e22", "123456789.123456789"),
    ]
    names = ["id", "name", "price", "ok", "null", "other"]
    rows = written([{**PLAIN, "id": at, "price": at / 3} for at in range(COUNT)])
    for _ in range(chance.randrange(1, 4)):
        members = [f'"{name}": {chance.choice(odd)}' for name in chance.sample(names, chance.randrange(1, 5))]
        rows[chance.randrange(COUNT)] = ("{" + ", ".join(members) + "}").encode()
    by_row, by_column = converters()
    try:
        expected = converted(by_row, rows).to_list()
    except Exception as error:
        with pytest.raises(type(error)):
            converted(by_column, rows).to_list()
        return
    assert shown(converted(by_column, rows).to_list()) == shown(expected)
    alike(rows)


@pytest.mark.parametrize(
    "record",
    [
        *(b'{"id": 1, "id": 2}', b'{"id": 1,}', b'{"id": 1}{"id": 2}', b'{"id": 1}\n{"id": 2}', b"{}", b'{"":1}'),
        *(
            b'{"name": "\x01"}',
            b'{"name": "a\\u0000b"}',
            b'{"n\\u0061me": "x"}',
            b'{"name": "\\x"}',
            b'{"name": "a\nb"}',
        ),
        *(b'{"name": "\xff"}', b'{"n\xffme": "x"}', b'{"name": "\\ud800"}', b'{"name":"\x7f\xc2\x80"}', b"{'name': 1}"),
        *(b'{"price": +1.5}', b'{"price": .5}', b'{"price": 1.}', b'{"price": Infinity}', b'{"price": -0}'),
        *(b'{"price": 0e99999999999}', b'{"price": 4.9e-325}', b'{"price": 1e5}', b'{"id": 1e2}', b'{"ok": True}'),
        *(b'{ "id" :\t1 , "ok":false }', b'{"id": 1 /* c */}', b'{"name":"x"} ', b' {"name":"x"}'),
    ],
)
def test_what_is_hardly_json_is_read_or_refused_alike(record: bytes) -> None:
    rows = written([PLAIN] * COUNT)
    rows.insert(COUNT // 2, record)
    by_row, by_column = converters()
    try:
        expected = converted(by_row, rows).to_list()
    except Exception as error:
        with pytest.raises(type(error), match=re.escape(str(error))):
            converted(by_column, rows).to_list()
        return
    assert shown(converted(by_column, rows).to_list()) == shown(expected)
    alike(rows)


def test_a_null_is_told_from_a_key_that_is_not_there() -> None:
    full = written([{"a": 1, "b": "x", "c": 0.5}] * COUNT)
    missing, null, both = b'{"a": 1, "c": 0.5}', b'{"a": 1, "b": null, "c": 0.5}', b'{"a": null}'
    assert alike([*full, missing])
    assert alike([*full, null])
    assert not alike([*full, missing, null])
    assert not alike([*full, both])
    assert alike([*full, missing, b'{"a": 1, "b": "a: null", "c": 0.5}'])
    assert alike([*full, null, b'{"a": 1, "b": "null", "c": 0.5}'])
    assert alike([*full, missing, b'{"a": 1, "b": "\\u006eull", "c": 0.5}'])
    assert not alike([*full, missing, b'{"a": 1, "b": "\\null", "c": 0.5}'])


def test_a_whole_number_is_told_from_a_double() -> None:
    rows = [{"a": n + 0.5} for n in range(COUNT)]
    assert alike(written([*rows, {"a": 2.0}, {"a": 1e300}]))
    assert not alike(written([*rows, {"a": 2}, {"a": 0.5}]))
    assert not alike(written([*rows, {"a": 0.5}, {"a": 2}]))  # one of these two is no sample
    assert not alike(written([*[{"a": n} for n in range(COUNT)], {"a": 2.0}]))


def test_types_are_learned_again_when_they_change() -> None:
    _, converter = converters()
    for row in ({"a": 1}, {"a": "x"}, {"a": "y", "b": True}, {"b": False, "a": None}):
        columns = in_arrow(converted(converter, written([row] * COUNT)))
        assert columns is not None
        assert columns.to_list() == [row] * COUNT


def test_what_is_never_in_columns_is_tried_seldom(monkeypatch: pytest.MonkeyPatch) -> None:
    from connect.converters import json_maps

    learned = 0
    learn = json_maps.ArrowMaps._learn

    def counted(self: Any, objects: Any) -> bool:
        nonlocal learned
        learned += 1
        return learn(self, objects)

    monkeypatch.setattr(json_maps.ArrowMaps, "_learn", counted)
    _, converter = converters()
    for _ in range(100):
        assert in_arrow(converted(converter, written([{"a": {"b": 1}}] * COUNT))) is None
    assert learned < 12


def test_columns_come_back_soon_after_what_has_none() -> None:
    _, converter = converters()
    plain = written([PLAIN] * COUNT)
    assert in_arrow(converted(converter, plain))
    for _ in range(100):
        assert in_arrow(converted(converter, written([{**PLAIN, "ok": []}] * COUNT))) is None
    assert any(in_arrow(converted(converter, plain)) for _ in range(64))


def test_columns_are_made_only_for_who_wants_them() -> None:
    first, _ = converters()
    data = written([PLAIN] * COUNT)
    for _ in range(3):
        values = converted(first, data)
        assert values.json == data  # a sink of JSON
    assert first._arrow_maps is None


CHAINS = [
    configured(ReplaceFieldValue, exclude="ok", renames="id:key,name:id"),
    configured(ReplaceFieldValue, include="ok,id,none", renames="id:key"),
    configured(ReplaceFieldValue, renames="price:name"),
    configured(InsertFieldValue, static_field="s", static_value="x", offset_field="o", topic_field="name"),
    configured(InsertFieldValue, timestamp_field="at", partition_field="price"),
    configured(CastValue, spec="id:string,ok:int8,none:string"),
    configured(CastValue, spec="price:string,id:float64,ok:string"),
    configured(CastValue, spec="price:int64,ok:boolean,id:int32"),
    configured(FlattenValue),
]


@pytest.mark.parametrize("transformation", CHAINS)
@pytest.mark.parametrize("kind", ["whole", "null", "absent"])
def test_transformations_change_them_alike(transformation: Transformation, kind: str) -> None:
    rows: list[dict[str, Any]] = [{**PLAIN, "id": at, "price": at / 4} for at in range(COUNT)]
    for row in rows[::3]:
        if kind == "null":
            row["price"] = row["ok"] = None
        elif kind == "absent":
            del row["price"], row["ok"]
    data = written(rows)
    columns = by_columns(data)
    assert columns is not None
    found, expected = (
        transformation.apply_batch(SinkBatch("t", values=values, offsets=range(len(rows)))).values
        for values in (columns, Values(rows))
    )
    assert shown(found.to_list()) == shown(expected.to_list())
    if isinstance(found, MapColumns):
        ordered = [{name: row[name] for name in found.columns if name in row} for row in expected.to_list()]
        assert found.encoded_lines() == "".join(java_text(None, row) + "\n" for row in ordered).encode()
        assert as_json(found) == as_json(Values(ordered))
