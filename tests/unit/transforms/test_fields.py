"""Changes of fields, wherever in a value they are."""

import copy
from typing import Any

import pytest

from connect import DataError, Schema, SinkBatch, Type, Values, settings
from connect.data.schema import INT32, INT64, STRING
from connect.data.struct_columns import StructColumns
from connect.settings import Config
from tests.support.arrow_columns import of_rows
from transforms.fields import FieldsTransformation, Plan
from transforms.paths import SYNTAX, VERSION, Path, parse


class Marked(FieldsTransformation):
    """Adds to one struct a field `mark` with the number of its other fields."""

    settings = settings.define(settings.String("at"), settings.Boolean("create", default=False)) | SYNTAX
    purpose = "marking"

    def configure(self, config: Config) -> None:
        at: Path = parse(config["at"], config[VERSION], "at") if config["at"] else ()
        self.changes = {at: self._mark}
        self.create = config["create"]

    def _mark(self, schema: Schema | None) -> Plan:
        def columns(column: StructColumns) -> list[Any]:
            return [*column.fields, [len(column.fields)] * len(column)]

        if schema is not None:
            schema = schema.replace(fields={f.name: f.schema for f in schema.fields} | {"mark": INT64}, optional=False)
        return Plan(schema, lambda structs: [{**struct, "mark": len(struct)} for struct in structs], columns)


def _marked(at: str, **config: str) -> Marked:
    made = Marked()
    made.configure(made.settings.parse({"at": at, VERSION: "V2", **config}))
    return made


_LEAF = Schema.struct({"x": INT32}, name="leaf", version=3, doc="of a tree").as_optional()
_BRANCH = Schema.struct({"leaf": _LEAF, "n": INT32}, name="branch")
_TREE = Schema.struct({"branch": _BRANCH, "s": STRING}, name="tree", version=2)


def test_only_what_is_on_the_way_is_made_anew() -> None:
    value = {"branch": {"leaf": {"x": 1}, "n": 2}, "other": {"k": 1}}
    before = copy.deepcopy(value)
    _, changed = _marked("branch.leaf").convert(None, value)
    assert changed == {"branch": {"leaf": {"x": 1, "mark": 1}, "n": 2}, "other": {"k": 1}}
    assert value == before
    assert changed["other"] is value["other"]


def test_structs_on_the_way_keep_what_their_schemas_say() -> None:
    schema, _ = _marked("branch.leaf").convert(_TREE, {"branch": {"leaf": {"x": 1}, "n": 1}, "s": "a"})
    leaf = Schema.struct({"x": INT32, "mark": INT64}, name="leaf", version=3, doc="of a tree").as_optional()
    branch = Schema.struct({"leaf": leaf, "n": INT32}, name="branch")
    assert schema == Schema.struct({"branch": branch, "s": STRING}, name="tree", version=2)


def test_a_default_on_the_way_is_changed_like_a_value() -> None:
    leaf = _LEAF.replace(default={"x": 5})
    schema, _ = _marked("leaf").convert(Schema.struct({"leaf": leaf}), {"leaf": None})
    assert schema is not None
    assert schema.fields[0].schema.default == {"x": 5, "mark": 1}


@pytest.mark.parametrize("value", [{}, {"branch": None}, {"branch": {"n": 1}}, {"branch": {"leaf": None}}])
def test_what_is_not_there_is_left_or_made(value: dict[str, Any]) -> None:
    assert _marked("branch.leaf").convert(None, value) == (None, value)
    _, made = _marked("branch.leaf", create="true").convert(None, value)
    assert made["branch"]["leaf"] == {"mark": 0}


def test_a_missing_struct_is_made_in_the_schema_too() -> None:
    schema, value = _marked("new.inner", create="true").convert(Schema.struct({"s": STRING}), {"s": "a"})
    inner = Schema.struct({"mark": INT64}).as_optional()
    assert schema == Schema.struct({"s": STRING, "new": Schema.struct({"inner": inner}).as_optional()})
    assert value == {"s": "a", "new": {"inner": {"mark": 0}}}
    same = Schema.struct({"s": STRING})
    assert _marked("new.inner").convert(same, {"s": "a"}) == (same, {"s": "a"})


@pytest.mark.parametrize("at", ["", "branch", "branch.leaf"])
def test_columns_give_what_single_values_give(at: str) -> None:
    items = [
        {"branch": {"leaf": {"x": 1}, "n": 2}, "s": "a"},
        {"branch": {"leaf": None, "n": 3}, "s": "b"},
        {"branch": {"leaf": {"x": 4}, "n": 5}, "s": "c"},
    ]
    before = copy.deepcopy(items)
    made = _marked(at)
    expected = [made.convert(_TREE, item) for item in items]
    lists = StructColumns(_TREE, [[item.get(f.name) for item in items] for f in _TREE.fields])
    for values in (Values(items, _TREE), of_rows(_TREE, items)):
        assert values is not None
        changed = made.apply_batch(SinkBatch("t", values, offsets=[0, 1, 2]))
        assert [(r.value_schema, r.value) for r in changed] == expected
        assert (changed.values.struct_columns is not None) == (values.struct_columns is not None)
    by_lists = made.convert_arrow(lists)
    assert by_lists is not None
    assert list(zip(by_lists.schemas, by_lists, strict=True)) == expected
    assert items == before


def test_nulls_keep_their_schema() -> None:
    made = _marked("branch")
    items = [None, {"branch": {"leaf": None, "n": 1}, "s": "a"}, None]
    for schema in (_TREE, None):
        column = made.convert_column(schema, items)
        assert list(zip(column.schemas, column, strict=True)) == [made.convert(schema, item) for item in items]
    assert list(made.convert_column(_TREE, [None, None]).schemas) == [_TREE, _TREE]


def test_what_has_no_fields_is_refused() -> None:
    with pytest.raises(DataError, match="maps can be used without a schema for marking, but this is int"):
        _marked("a").convert(None, 5)
    with pytest.raises(DataError, match="this is list"):
        _marked("a").convert_column(None, [{}, []])
    with pytest.raises(DataError, match="schema is STRING"):
        _marked("a").convert(STRING, "text")
    with pytest.raises(DataError, match='"branch" on the path branch.leaf is a value of type str'):
        _marked("branch.leaf").convert(None, {"branch": "text"})
    with pytest.raises(DataError, match='"s" on the path s is STRING'):
        _marked("s").convert(_TREE, {"branch": {"n": 1}, "s": "a"})
    with pytest.raises(DataError, match="INT32"):
        _marked("branch.n.x").convert(_TREE, {"branch": {"n": 1}, "s": "a"})


def test_a_plan_is_made_once_for_a_schema() -> None:
    made = _marked("")
    first, _ = made.convert(_TREE, {"s": "a"})
    second = made.convert_column(_TREE, [{"s": "b"}]).schemas[0]
    assert first is second
    assert first is not None
    assert first.type is Type.STRUCT
