"""What all transformations of keys or values share."""

from typing import Any

import pytest

from connect import Schema, SchemaAndValue, SinkBatch, Values
from connect.data.schema import INT32
from connect.data.struct_columns import StructColumns
from tests.support.arrow_columns import of_rows
from transforms.part import PartTransformation

_SCHEMA = Schema.struct({"n": INT32})


class Increased(PartTransformation):
    """Adds one to n; the column forms leave a mark."""

    def convert(self, schema: Schema | None, value: Any) -> SchemaAndValue:
        return SchemaAndValue(schema, value if value is None else {"n": value["n"] + 1})

    def convert_arrow(self, column: StructColumns) -> Values | None:
        import pyarrow.compute as pc

        return StructColumns(_SCHEMA, [pc.add(column.column("n"), 1)])


class IncreasedKey(Increased):
    part = "keys"


def _column(*numbers: int) -> StructColumns:
    column = of_rows(_SCHEMA, [{"n": n} for n in numbers])
    assert column is not None
    return column


def test_arrow_columns_stay_arrow_columns() -> None:
    batch = SinkBatch("t", _column(1, 2), offsets=[0, 1])
    changed = Increased().apply_batch(batch)
    assert changed.values.arrow is not None
    assert list(changed.values) == [{"n": 2}, {"n": 3}]
    assert list(batch.values) == [{"n": 1}, {"n": 2}]


@pytest.mark.parametrize("kind", [Increased, IncreasedKey])
def test_only_the_part_changes(kind: type[Increased]) -> None:
    batch = SinkBatch("t", Values([{"n": 1}, None]), keys=Values([{"n": 5}, {"n": 6}]), offsets=[0, 1])
    changed = kind().apply_batch(batch)
    other = "values" if kind.part == "keys" else "keys"
    assert getattr(changed, other) is getattr(batch, other)
    assert list(getattr(changed, kind.part)) == ([{"n": 6}, {"n": 7}] if kind.part == "keys" else [{"n": 2}, None])
    assert [kind().apply(record) for record in batch] == list(changed)


def test_tombstones_between_rows_of_a_schema_do_not_shred_the_column() -> None:
    batch = SinkBatch("t", Values([{"n": 1}, None, {"n": 3}], _SCHEMA), offsets=[0, 1, 2])
    from connect.data.values import GroupedValues

    mixed = batch.with_columns(values=GroupedValues(3, [([0, 2], _column(1, 3)), ([1], Values([None]))]))
    changed = Increased().apply_batch(mixed)
    assert list(changed.values) == [{"n": 2}, None, {"n": 4}]
    assert [values.arrow is not None for _, values in changed.values.groups()] == [True, False]
