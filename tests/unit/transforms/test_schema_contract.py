"""Records are held to a schema, as the contract says it for each kind of breach."""

import logging
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from connect import ConfigError, DataError, Schema, SinkRecord, Type
from connect.data import schema as schemas
from connect.data.struct_columns import StructColumns
from connect.testing.conformance import TransformationConformance
from transforms.schema_contract import SchemaContractKey, SchemaContractValue

from .forms import forms, told, with_config

CONTENT = """{"type": "struct", "fields": [
    {"field": "id", "type": "int64"},
    {"field": "name", "type": "string", "optional": true},
    {"field": "score", "type": "double", "optional": true},
    {"field": "kind", "type": "string", "default": "x"},
    {"field": "at", "type": "struct", "optional": true, "fields": [{"field": "x", "type": "int32"}]}]}"""
GOOD = {"id": 1, "name": "a", "score": 0.5, "at": {"x": 1}}
GOOD_SCHEMA = Schema.struct(
    {
        "id": schemas.INT32,
        "name": schemas.STRING,
        "score": schemas.FLOAT32,
        "at": Schema.struct({"x": schemas.INT16}),
    }
)


def contract(**config: str) -> SchemaContractValue:
    made = {key.replace("_", "."): value for key, value in config.items()}
    return with_config(SchemaContractValue, {"schema.content": CONTENT} | made)  # type: ignore[return-value]


def schema_with(**fields: Schema) -> Schema:
    return GOOD_SCHEMA.replace(fields={f.name: f.schema for f in GOOD_SCHEMA.fields} | fields)


def outcome(made: Any, value: Any, schema: Schema | None = None) -> Any:
    """What becomes of a value: "dropped", "refused", or the new one with its schema."""
    try:
        changed = made.apply(SinkRecord("t", value, schema))
    except DataError as error:
        return f"refused: {error}"
    return "dropped" if changed is None else (changed.value, changed.value_schema)


@pytest.mark.parametrize("schema", [None, GOOD_SCHEMA])
def test_what_keeps_to_the_contract_passes_untouched(schema: Schema | None) -> None:
    made = contract(new_fields="freeze", type_changes="freeze", missing_fields="freeze")
    record = SinkRecord("t", GOOD, schema)
    assert made.apply(record) is record
    for batch in forms([record]):
        assert made.apply_batch(batch) is batch
    assert made.apply(tombstone := SinkRecord("t", None, schema)) is tombstone


@pytest.mark.parametrize("typed", [False, True])
def test_each_mode_for_new_fields(typed: bool) -> None:
    value, schema = {**GOOD, "extra": "e"}, schema_with(extra=schemas.STRING) if typed else None
    assert outcome(contract(), value, schema) == (value, schema)
    assert 'has no field "extra"' in outcome(contract(new_fields="freeze"), value, schema)
    assert outcome(contract(new_fields="discard_row"), value, schema) == "dropped"
    without = GOOD_SCHEMA if typed else None
    assert outcome(contract(new_fields="discard_value"), value, schema) == (GOOD, without)


@pytest.mark.parametrize("typed", [False, True])
def test_each_mode_for_types(typed: bool) -> None:
    value, schema = {**GOOD, "score": "high"}, schema_with(score=schemas.STRING) if typed else None
    assert outcome(contract(type_changes="evolve"), value, schema) == (value, schema)
    assert '"score" is str' in outcome(contract(), value) or typed
    assert outcome(contract(), value, schema).startswith("refused")
    assert outcome(contract(type_changes="discard_row"), value, schema) == "dropped"
    nulled = {**GOOD, "score": None}, schema_with(score=schemas.OPTIONAL_FLOAT64) if typed else None
    assert outcome(contract(type_changes="discard_value"), value, schema) == nulled


@pytest.mark.parametrize("typed", [False, True])
@pytest.mark.parametrize("value", [{"name": "a"}, {"id": None, "name": "a"}])
def test_each_mode_for_missing_fields(value: dict[str, Any], typed: bool) -> None:
    schema = None
    if typed:
        schema = Schema.struct({"id": schemas.OPTIONAL_INT64} | {"name": schemas.STRING})
    assert outcome(contract(missing_fields="evolve"), value, schema) == (value, schema)
    assert 'the required field "id" has no value' in outcome(contract(), value, schema)
    assert outcome(contract(missing_fields="discard_row"), value, schema) == "dropped"
    assert outcome(contract(), {"id": 1}, schema) == ({"id": 1}, schema)


def test_a_required_value_that_is_discarded_is_missing() -> None:
    made = contract(type_changes="discard_value", missing_fields="discard_row")
    assert outcome(made, {"id": "x"}) == "dropped"
    assert outcome(made, {"id": "x"}, Schema.struct({"id": schemas.STRING})) == "dropped"


def test_single_fields_have_modes_of_their_own() -> None:
    made = contract(new_fields="freeze", fields="note:discard_value, name:discard_row,id:discard_value")
    assert outcome(made, {"id": 1, "note": 5}) == ({"id": 1}, None)
    assert outcome(made, {"id": 1, "name": 5}) == "dropped"
    assert outcome(made, {"id": 1, "other": 5}).startswith("refused")
    assert outcome(made, {"name": "a"}).startswith("refused")


@pytest.mark.parametrize(
    ("field", "value"),
    [("id", 2**63), ("id", True), ("id", 1.0), ("at", {}), ("at", {"x": 1, "y": 2}), ("at", {"x": 2**31}), ("at", 5)],
)
def test_values_without_a_schema_are_checked_to_their_depth(field: str, value: Any) -> None:
    assert outcome(contract(), {**GOOD, field: value}).startswith("refused")


@pytest.mark.parametrize(
    "schema",
    [
        Schema.struct({"x": schemas.INT64}),
        Schema.struct({"x": schemas.OPTIONAL_INT32}),
        Schema.struct({}),
        Schema.struct({"x": schemas.INT32, "y": schemas.INT32}),
        schemas.INT32,
    ],
)
def test_schemas_are_checked_to_their_depth(schema: Schema) -> None:
    assert outcome(contract(), GOOD, schema_with(at=schema)).startswith("refused")


@pytest.mark.parametrize("schema", [None, schemas.STRING])
def test_what_is_no_struct_is_another_type(schema: Schema | None) -> None:
    assert outcome(contract(), "text", schema).startswith("refused")
    assert outcome(contract(type_changes="evolve"), "text", schema) == ("text", schema)
    assert outcome(contract(type_changes="discard_value"), "text", schema) == "dropped"


def test_the_first_record_of_each_topic_may_make_the_contract() -> None:
    made = with_config(SchemaContractValue, {"learn": "true", "new.fields": "discard_row"})
    assert not made.pure
    one, two = Schema.struct({"a": schemas.INT32}), Schema.struct({"b": schemas.INT32})
    first = [SinkRecord("x", {"n": 1}), SinkRecord("x", {"a": 1}, one), SinkRecord("y", {"b": 1}, two)]
    assert all(made.apply(record) is record for record in first)
    assert (
        made.apply(SinkRecord("x", {"b": 1, "a": 1}, two.replace(fields={"a": schemas.INT32, "b": schemas.INT32})))
        is None
    )
    assert made.apply(SinkRecord("y", {"b": 2}, two)) is not None
    assert contract().pure


def test_keys_have_their_own() -> None:
    made = with_config(SchemaContractKey, {"schema.content": CONTENT, "new.fields": "discard_value"})
    changed = made.apply(SinkRecord("t", {"z": 1}, None, {"id": 1, "z": 1}))
    assert (changed.key, changed.value) == ({"id": 1}, {"z": 1})


def test_what_is_discarded_is_said_once(caplog: pytest.LogCaptureFixture) -> None:
    made = contract(new_fields="discard_value")
    with caplog.at_level(logging.WARNING):
        for _ in range(3):
            made.apply(SinkRecord("t", {"id": 1, "z": 1}))
    assert [record.getMessage() for record in caplog.records] == [
        'A record violates the contract: the contract has no field "z". The value is discarded; this is logged once.'
    ]


@pytest.mark.parametrize(
    "config",
    [
        {},
        {"schema.content": CONTENT, "learn": "true"},
        {"schema.content": '{"type":"string"}'},
        {"schema.content": "{"},
        {"schema.content": CONTENT, "new.fields": "drop"},
        {"schema.content": CONTENT, "missing.fields": "discard_value"},
        {"schema.content": CONTENT, "fields": "amount"},
        {"schema.content": CONTENT, "fields": "amount:drop"},
    ],
)
def test_settings_that_mean_nothing_are_refused(config: dict[str, str]) -> None:
    with pytest.raises(ConfigError):
        with_config(SchemaContractValue, config)


def test_columns_are_judged_by_their_schema() -> None:
    schema = schema_with(extra=schemas.STRING)
    batch = forms([SinkRecord("t", {**GOOD, "extra": "e"}, schema, offset=n) for n in range(3)])[1]
    changed = contract(new_fields="discard_value").apply_batch(batch).values
    assert isinstance(changed, StructColumns)
    assert isinstance(batch.values, StructColumns)
    assert changed.field("id") is batch.values.field("id")
    assert list(changed) == [GOOD] * 3


_members = {
    "id": [schemas.INT32, schemas.OPTIONAL_INT64, schemas.STRING],
    "name": [schemas.STRING, schemas.OPTIONAL_INT32],
    "score": [schemas.OPTIONAL_FLOAT64, schemas.INT32],
    "new": [schemas.OPTIONAL_STRING],
}
_schemas = st.lists(st.sampled_from(list(_members)), unique=True, min_size=1).flatmap(
    lambda names: st.tuples(*(st.sampled_from(_members[name]) for name in names)).map(
        lambda chosen: Schema.struct(dict(zip(names, chosen, strict=True)), optional=True)
    )
)
_plain = st.dictionaries(st.sampled_from(list(_members)), st.none() | st.integers(0, 9) | st.text("a", max_size=1))


def _of_schema(schema: Schema) -> st.SearchStrategy[Any]:
    def one(member: Schema) -> st.SearchStrategy[Any]:
        there: Any = st.just("a") if member.type is Type.STRING else st.integers(0, 9)
        there = st.floats(0, 9) if member.type is Type.FLOAT64 else there
        return (st.none() | there) if member.optional else there

    return st.none() | st.fixed_dictionaries({field.name: one(field.schema) for field in schema.fields})


_values = _schemas.flatmap(lambda schema: st.tuples(st.just(schema), _of_schema(schema))) | st.tuples(
    st.none(), st.none() | _plain | st.just("text")
)
_modes = st.sampled_from(["evolve", "freeze", "discard_value", "discard_row"])


@given(st.lists(_values, max_size=5), _modes, _modes, st.sampled_from(["evolve", "freeze", "discard_row"]))
def test_records_lists_and_columns_give_the_same(values: list[Any], new: str, types: str, missing: str) -> None:
    made = contract(new_fields=new, type_changes=types, missing_fields=missing)
    records = [SinkRecord("t", value, schema, offset=offset) for offset, (schema, value) in enumerate(values)]
    try:
        expected = [told(changed) for changed in map(made.apply, records) if changed is not None]
    except DataError:
        for batch in forms(records):
            with pytest.raises(DataError):
                made.apply_batch(batch)
        return
    for batch in forms(records):
        assert list(map(told, made.apply_batch(batch))) == expected


class TestConformance(TransformationConformance):
    transformation = SchemaContractValue

    def config(self) -> dict[str, str]:
        return {"schema.content": CONTENT, "new.fields": "discard_value", "type.changes": "discard_value"}
