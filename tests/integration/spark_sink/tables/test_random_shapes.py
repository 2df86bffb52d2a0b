"""Rows of random nested types into tables of other such types: what comes out is what went in."""

import random
from typing import Any

import pyarrow as pa
import pytest

_PLAIN = {
    "smallint": (pa.int16(), lambda chosen: chosen.randrange(-(2**15), 2**15)),
    "int": (pa.int32(), lambda chosen: chosen.randrange(-(2**31), 2**31)),
    "bigint": (pa.int64(), lambda chosen: chosen.randrange(-(2**63), 2**63)),
    "float": (pa.float32(), lambda chosen: chosen.randrange(2**20) / 8),
    "double": (pa.float64(), lambda chosen: chosen.random()),
    "string": (pa.string(), lambda chosen: chosen.choice(["", "a", "it's", "`\\n`"])),
}
#: Types that hold what the other one does.
_NARROWER = {"bigint": "int", "int": "smallint", "double": "float"}


class Shape:
    """A type, as the table has it and as rows have it, with values.

    Attributes:
        sql: the table's type.
        arrow: the rows' type: fields in another order, some missing, some narrower, some new.
    """

    def __init__(self, chosen: random.Random, depth: int, key: bool = False) -> None:
        self._chosen = chosen
        kinds = ["plain", "plain"] if depth == 0 or key else ["plain", "struct", "struct", "array", "map"]
        self.kind = chosen.choice(kinds)
        getattr(self, f"_{self.kind}")(depth)

    def _plain(self, depth: int) -> None:
        self.sql = self._chosen.choice(list(_PLAIN))
        narrow = _NARROWER.get(self.sql, self.sql) if self._chosen.random() < 0.3 else self.sql
        self.arrow, self._value = _PLAIN[narrow]

    def _struct(self, depth: int) -> None:
        self.fields = {f"f {n}`": Shape(self._chosen, depth - 1) for n in range(self._chosen.randrange(1, 4))}
        self.missing = {name for name in list(self.fields)[1:] if self._chosen.random() < 0.3}
        self.new = {name for name in list(self.fields)[1:] if name not in self.missing and self._chosen.random() < 0.3}
        has = [
            f"`{name.replace('`', '``')}`: {shape.sql}" for name, shape in self.fields.items() if name not in self.new
        ]
        self.sql = f"struct<{', '.join(has)}>"
        comes = [(name, shape.arrow) for name, shape in self.fields.items() if name not in self.missing]
        self._chosen.shuffle(comes)
        self.arrow = pa.struct(comes)

    def _array(self, depth: int) -> None:
        self.inner = Shape(self._chosen, depth - 1)
        self.sql, self.arrow = f"array<{self.inner.sql}>", pa.list_(self.inner.arrow)

    def _map(self, depth: int) -> None:
        self.key, self.inner = Shape(self._chosen, 0, key=True), Shape(self._chosen, depth - 1)
        self.sql = f"map<{self.key.sql}, {self.inner.sql}>"
        self.arrow = pa.map_(self.key.arrow, self.inner.arrow)

    def value(self) -> Any:
        """A value of the rows' type."""
        if self._chosen.random() < 0.15:
            return None
        if self.kind == "struct":
            return {name: shape.value() for name, shape in self.fields.items() if name not in self.missing}
        if self.kind == "array":
            return [self.inner.value() for _ in range(self._chosen.randrange(3))]
        if self.kind == "map":
            keys = {self.key._value(self._chosen) for _ in range(self._chosen.randrange(3))}
            return [(key, self.inner.value()) for key in sorted(keys)]
        return self._value(self._chosen)

    def expected(self, value: Any) -> Any:
        """The same as the table gives it back by Spark."""
        if value is None:
            return None
        if self.kind == "struct":
            return {name: shape.expected(value.get(name)) for name, shape in self.fields.items()}
        if self.kind == "array":
            return [self.inner.expected(item) for item in value]
        if self.kind == "map":
            return {key: self.inner.expected(item) for key, item in value}
        return value


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("mode", ["append", "upsert"])
def test_what_comes_out_is_what_went_in(tables: Any, mode: str, seed: int) -> None:
    chosen = random.Random(seed)
    shapes = {f"c{n}": Shape(chosen, 3) for n in range(4)}
    inner = ", ".join(f"{name} {shape.sql}" for name, shape in shapes.items())
    tables.spark.sql(
        f"CREATE TABLE delta.`{tables.path()}` (id bigint, {inner}) USING delta "
        "TBLPROPERTIES ('delta.columnMapping.mode' = 'name')"
    )
    values = [{"id": n, **{name: shape.value() for name, shape in shapes.items()}} for n in range(20)]
    kinds = {"id": pa.int64(), **{name: shape.arrow for name, shape in shapes.items()}}
    records = [{"key": {"id": value["id"]}, "value": value} for value in values]
    tables.writer(mode=mode, schema__evolution="add")(tables.batch(kinds, records, {"id": pa.int64()}), 0)
    found = sorted(tables.read_by_spark(), key=lambda row: row["id"])
    assert [_in_order(row) for row in found] == [
        _in_order({"id": value["id"], **{name: shape.expected(value[name]) for name, shape in shapes.items()}})
        for value in values
    ]


def _in_order(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _in_order(value[key]) for key in sorted(value)}
    return [_in_order(item) for item in value] if isinstance(value, list) else value
