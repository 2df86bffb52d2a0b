"""Rows of a query become records with keys and values."""

import pyarrow as pa
import pytest

from connect.errors import SchemaError
from spark_sink.source.records import Records, RowShape

ROWS = pa.RecordBatch.from_pydict({"id": [1, 2], "name": ["a", None], "_writer": [0, 0]})


def test_columns_make_the_key_and_the_value() -> None:
    shape = RowShape("people", ("id",), ("name", "id"), origin={"query": "query"})
    made = Records(shape, ROWS.schema)
    batch = made.of(ROWS)
    assert [(r.topic, r.key, r.value) for r in batch.records()] == [
        ("people", {"id": 1}, {"name": "a", "id": 1}),
        ("people", {"id": 2}, {"name": None, "id": 2}),
    ]
    assert [field.name for field in made.value_schema.fields] == ["name", "id"]
    assert made.value_schema.name == "people.Value"
    assert batch.records()[0].source_partition == {"query": "query"}


def test_without_key_fields_keys_are_null() -> None:
    batch = Records(RowShape("t", (), ("name",)), ROWS.schema).of(ROWS)
    assert [record.key for record in batch.records()] == [None, None]
    assert batch.values.struct_columns is not None


def test_a_type_that_no_record_holds_is_named_with_its_column() -> None:
    with pytest.raises(SchemaError, match='"span" is of type duration'):
        Records(RowShape("t", (), ("span",)), pa.schema([("span", pa.duration("us"))]))
