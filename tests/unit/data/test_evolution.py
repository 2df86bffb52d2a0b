"""What batches ask of a target, under each policy."""

from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from connect import ConfigError, Schema, SchemaError, SinkBatch, SinkRecord, Type, Values, logical
from connect.data import schema as schemas
from connect.data import widening
from connect.data.evolution import (
    AddField,
    Change,
    Evolution,
    EvolutionOptions,
    EvolutionPolicy,
    MakeNullable,
    Verdict,
    WidenField,
)
from connect.data.struct_columns import StructColumns
from connect.data.text import float32
from connect.data.validation import validate
from tests.support.arrow_columns import of_rows

TARGET = Schema.struct({"id": schemas.INT64, "n": schemas.OPTIONAL_INT32, "name": schemas.OPTIONAL_STRING})


def policy(**raw: str) -> EvolutionPolicy:
    return EvolutionPolicy.of(
        EvolutionOptions.definition().parse({key.replace("_", "."): value for key, value in raw.items()})
    )


def judge(target: Schema, schema: Schema | None, *items: Any, **raw: str) -> Verdict:
    return Evolution(policy(**raw), target).judge(Values(list(items), schema))


def struct(**fields: Schema) -> Schema:
    return Schema.struct(fields)


def test_what_fits_changes_nothing_and_is_found_out_once(monkeypatch: pytest.MonkeyPatch) -> None:
    evolution = Evolution(EvolutionPolicy(), TARGET)
    schema = struct(id=schemas.INT32, name=schemas.STRING)
    column = of_rows(schema, [{"id": 1, "name": "a"}])
    assert column is not None
    assert evolution.judge(column).changes == ()

    def never(*_: Any) -> Any:
        raise AssertionError("looked at the schema, or at the rows, again")

    monkeypatch.setattr(evolution, "_compare", never)
    monkeypatch.setattr(StructColumns, "to_list", never)
    verdict = evolution.judge(column)
    assert (verdict.changes, verdict.mismatches, verdict.target) == ((), (), TARGET)


@pytest.mark.parametrize("words", ["add", "full", "add,nullable"])
def test_new_fields_are_added_as_nullable_or_with_their_default(words: str) -> None:
    schema = struct(id=schemas.INT64, at=logical.TIMESTAMP, kind=schemas.INT32.replace(default=7))
    verdict = judge(TARGET, schema, {"id": 1}, schema_evolution=words)
    assert verdict.changes == (
        AddField(("at",), logical.TIMESTAMP.as_optional()),
        AddField(("kind",), schemas.INT32.replace(default=7)),
    )
    assert [field.name for field in verdict.target.fields] == ["id", "n", "name", "at", "kind"]


def test_a_new_field_that_may_not_be_added_makes_the_record_unfit_or_is_ignored() -> None:
    schema = struct(id=schemas.INT64, extra=schemas.STRING)
    refused = judge(TARGET, schema, {"id": 1}, schema_evolution="widen,nullable")
    assert [(m.row, m.reason) for m in refused.mismatches] == [
        (0, 'The target has no field "extra" and may not get it.')
    ]
    ignored = judge(TARGET, schema, {"id": 1}, schema_evolution_unknown_fields="ignore")
    assert (ignored.mismatches, ignored.ignored, ignored.changes) == ((), {("extra",)}, ())


WIDER = [
    (schemas.INT32, schemas.INT64, "int64"),
    (schemas.INT8, schemas.INT16, "int16"),
    (schemas.FLOAT32, schemas.FLOAT64, "double"),
    (schemas.INT32, schemas.FLOAT64, "double"),
    (schemas.INT32, schemas.FLOAT32, "double"),
    (schemas.INT16, schemas.FLOAT32, "float"),
    (schemas.FLOAT32, schemas.INT32, "double"),
    (logical.decimal(2), logical.decimal(4), "decimal(*,4)"),
    (schemas.INT32, logical.decimal(2), "decimal(*,2)"),
]


@pytest.mark.parametrize(("mine", "theirs", "wider"), WIDER, ids=str)
def test_types_are_widened_where_nothing_is_lost(mine: Schema, theirs: Schema, wider: str) -> None:
    verdict = judge(struct(a=mine), struct(a=theirs), {"a": 1}, schema_evolution="widen")
    (change,) = verdict.changes
    assert isinstance(change, WidenField)
    assert (change.path, change.was, widening.type_name(change.schema)) == (("a",), mine, wider)
    again = judge(verdict.target, struct(a=theirs), {"a": 1}, schema_evolution="widen")
    assert (again.changes, again.mismatches) == ((), ())


@pytest.mark.parametrize(
    ("mine", "theirs"),
    [
        (schemas.INT64, schemas.FLOAT64),
        (schemas.STRING, schemas.INT32),
        (schemas.BOOLEAN, schemas.INT32),
        (schemas.FLOAT64, logical.decimal(2)),
        (schemas.INT64, logical.TIMESTAMP),
        (logical.DATE, logical.TIMESTAMP),
        (Schema.array(schemas.INT32), schemas.INT32),
        (Schema.map(schemas.STRING, schemas.INT32), struct(x=schemas.INT32)),
    ],
    ids=str,
)
def test_types_without_a_common_lossless_one_never_fit(mine: Schema, theirs: Schema) -> None:
    verdict = judge(struct(a=mine), struct(a=theirs), {"a": 1}, schema_evolution="full")
    assert len(verdict.mismatches) == 1
    assert verdict.changes == ()


def test_decimals_count_their_digits() -> None:
    def decimal(precision: int, scale: int) -> Schema:
        return logical.decimal(scale).replace(parameters={"scale": str(scale), widening.PRECISION: str(precision)})

    (change,) = judge(struct(a=decimal(10, 2)), struct(a=decimal(6, 4)), {}, schema_evolution="full").changes
    assert isinstance(change, WidenField)
    assert widening.type_name(change.schema) == "decimal(12,4)"
    assert judge(struct(a=decimal(10, 2)), struct(a=decimal(9, 1)), {}).mismatches == ()
    assert judge(struct(a=decimal(12, 2)), struct(a=schemas.INT32), {}).mismatches == ()
    rows = [{"a": Decimal("12345678.90")}, {"a": Decimal("1E+8")}, {"a": Decimal("0.001")}, {"a": Decimal("5.500")}]
    unfit = judge(struct(a=decimal(10, 2)), struct(a=logical.decimal(3)), *rows)
    assert [mismatch.row for mismatch in unfit.mismatches] == [1, 2]


def test_what_may_not_be_widened_is_refused_only_where_the_value_does_not_fit() -> None:
    rows = [{"n": 5}, {"n": 2**31}, {"n": None}, {}, None, {"n": -(2**31)}]
    verdict = judge(struct(n=schemas.OPTIONAL_INT32), struct(n=schemas.OPTIONAL_INT64), *rows)
    assert [(m.row, m.reason) for m in verdict.mismatches] == [
        (1, 'The field "n" is of type int64, the target\'s int32, and its value does not fit.')
    ]
    floats = judge(struct(n=schemas.FLOAT32), struct(n=schemas.FLOAT64), {"n": 0.5}, {"n": 0.1}, {"n": float("nan")})
    assert [mismatch.row for mismatch in floats.mismatches] == [1]


def test_nulls_make_a_field_nullable_or_their_rows_unfit() -> None:
    optional = struct(id=schemas.OPTIONAL_INT64)
    assert judge(TARGET, optional, {"id": 1}, schema_evolution="nullable").changes == (MakeNullable(("id",)),)
    verdict = judge(TARGET, optional, {"id": 1}, {"id": None}, {})
    assert [mismatch.row for mismatch in verdict.mismatches] == [1, 2]
    gone = struct(name=schemas.STRING)
    assert judge(TARGET, gone, {"name": "x"}, schema_evolution="nullable").changes == (MakeNullable(("id",)),)
    assert "no field" in judge(TARGET, gone, {"name": "x"}).mismatches[0].reason


def test_a_default_in_the_target_stands_for_what_is_missing() -> None:
    target = struct(id=schemas.INT64.replace(default=0))
    assert judge(target, struct(), {}).mismatches == ()
    assert judge(target, struct(id=schemas.OPTIONAL_INT64), {"id": None}).mismatches == ()


def test_nested_fields_are_looked_at_where_they_are() -> None:
    inner = struct(x=schemas.INT32, y=schemas.INT32)
    target = struct(
        s=inner.as_optional(), xs=Schema.array(inner), m=Schema.map(schemas.STRING, schemas.INT32), value=schemas.STRING
    )
    wide = struct(x=schemas.INT64, y=schemas.OPTIONAL_INT32, z=schemas.STRING)
    schema = struct(
        s=wide.as_optional(), xs=Schema.array(wide), m=Schema.map(schemas.STRING, schemas.INT64), value=schemas.STRING
    )
    z = schemas.OPTIONAL_STRING
    assert judge(target, schema, {"s": None}, schema_evolution="full").changes == (
        WidenField(("s", "x"), schemas.INT32, schemas.INT64),
        MakeNullable(("s", "y")),
        AddField(("s", "z"), z),
        WidenField(("xs", "element", "x"), schemas.INT32, schemas.INT64),
        MakeNullable(("xs", "element", "y")),
        AddField(("xs", "element", "z"), z),
        WidenField(("m", "value"), schemas.INT32, schemas.INT64),
    )
    narrow = struct(
        s=wide.replace(fields={"x": schemas.INT64, "y": schemas.OPTIONAL_INT32}, optional=True),
        xs=Schema.array(inner),
        m=Schema.map(schemas.STRING, schemas.INT64),
        value=schemas.STRING,
    )
    rows = [
        {"s": None, "xs": [], "m": {}, "value": "v"},
        {"s": {"x": 2**40, "y": 1}, "xs": [], "m": {}, "value": "v"},
        {"s": {"x": 1}, "xs": [], "m": {}, "value": "v"},
        {"s": {"x": 1, "y": 1}, "xs": [], "m": {"value": 1, "k": 2**40}, "value": "v"},
        {"s": {"x": 1, "y": 1}, "xs": [], "m": {"value": 1}, "value": "v"},
    ]
    verdict = judge(target, narrow, *rows)
    assert [mismatch.row for mismatch in verdict.mismatches] == [1, 2, 3]


def test_several_schemas_of_one_batch_give_one_plan() -> None:
    one, two, bad = struct(id=schemas.INT64, a=schemas.INT32), struct(id=schemas.INT64, a=schemas.INT64), schemas.STRING
    values = Values([{"id": 1, "a": 1}, {"id": 2, "a": 2}, "x", {"id": 3, "a": 3}], None)
    values = Values(values.to_list(), _column([one, two, bad, one]))
    verdict = Evolution(policy(schema_evolution="full"), TARGET).judge(values)
    assert verdict.changes == (AddField(("a",), schemas.OPTIONAL_INT64),)
    assert [mismatch.row for mismatch in verdict.mismatches] == [2]


def test_a_schema_that_does_not_fit_changes_nothing() -> None:
    bad = struct(id=schemas.STRING, extra=schemas.INT32)
    assert judge(TARGET, bad, {"id": "x"}, schema_evolution="full").changes == ()


def test_tombstones_and_only_they_need_no_schema() -> None:
    verdict = judge(TARGET, None, None, {"id": 1})
    assert [(m.row, m.reason) for m in verdict.mismatches] == [(1, "it has no schema, where a struct is needed.")]
    assert judge(TARGET, struct(x=schemas.INT32).as_optional(), None, None, schema_evolution="full").changes == ()


def test_what_the_target_cannot_do_is_not_planned() -> None:
    def supports(change: Change) -> bool:
        return not isinstance(change, WidenField) or change.schema.type is not Type.FLOAT64

    evolution = Evolution(policy(schema_evolution="full"), struct(a=schemas.INT32), supports=supports)
    assert evolution.judge(Values([{"a": 0.5}], struct(a=schemas.FLOAT64))).mismatches
    assert evolution.judge(Values([{"a": 2**40}], struct(a=schemas.INT64))).changes


def test_names_may_differ_in_case_where_the_target_says_so() -> None:
    target, schema = struct(ID=schemas.INT32), struct(id=schemas.OPTIONAL_INT64)
    verdict = Evolution(EvolutionPolicy(), target, case_sensitive=False).judge(
        Values([{"id": 5}, {"id": None}], schema)
    )
    assert [mismatch.row for mismatch in verdict.mismatches] == [1]
    twice = Values([{"id": 1, "Id": 1}], struct(id=schemas.INT32, Id=schemas.INT32))
    assert Evolution(EvolutionPolicy(), target, case_sensitive=False).judge(twice).mismatches


def test_setting_the_target_forgets_what_was_known_of_schemas() -> None:
    evolution = Evolution(policy(schema_evolution="add"), TARGET)
    values = Values([{"id": 1}], struct(id=schemas.INT64, a=schemas.STRING))
    verdict = evolution.judge(values)
    assert evolution.judge(values).changes == verdict.changes
    evolution.target = verdict.target
    assert evolution.judge(values).changes == ()


def test_settling_fails_reports_or_passes() -> None:
    rows = [{"n": 1}, {"n": 2**40}, {"n": 3}]
    batch = SinkBatch("orders", Values(rows, struct(n=schemas.INT64)), offsets=[5, 6, 7])
    target = struct(n=schemas.INT32)
    reported: list[tuple[SinkRecord, Exception]] = []

    class Reporter:
        def report(self, record: Any, error: Exception) -> None:
            reported.append((record, error))

    def settle(reporter: Reporter | None, mismatch: str) -> SinkBatch:
        evolution = Evolution(policy(schema_evolution_on_mismatch=mismatch), target)
        return evolution.judge(batch.values).settle(batch, reporter)

    with pytest.raises(SchemaError, match="Topic orders, partition 0: .*its value does not fit"):
        settle(Reporter(), "fail")
    with pytest.raises(SchemaError, match="does not fit"):
        settle(None, "quarantine")
    assert settle(Reporter(), "pass") is batch
    assert not reported
    kept = settle(Reporter(), "quarantine")
    assert [record.offset for record in kept] == [5, 7]
    assert [(record.offset, type(error)) for record, error in reported] == [(6, SchemaError)]


@pytest.mark.parametrize(
    ("fields", "target", "problems", "certain"),
    [
        ({"id": schemas.INT32}, TARGET, 0, True),
        ({"n": schemas.INT64}, TARGET, 0, False),
        ({"id": schemas.STRING}, TARGET, 1, False),
        ({"new": schemas.STRING}, None, 0, True),
    ],
)
def test_a_schema_is_compared_whatever_its_records_hold(
    fields: dict[str, Schema], target: Schema | None, problems: int, certain: bool
) -> None:
    wanted = {field.name: field.schema for field in TARGET.fields} | fields
    found = Evolution(policy(schema_evolution="add"), TARGET).compare(Schema.struct(wanted))
    assert (len(found.problems), found.certain) == (problems, certain)
    assert found.target is target or target is None
    if target is None:
        assert [field.name for field in found.target.fields][-1] == "new"


@pytest.mark.parametrize(
    ("raw", "allowed"),
    [
        ({}, set()),
        ({"schema.evolution": "FULL"}, {"add", "widen", "nullable"}),
        ({"schema.evolution": "basic"}, {"add"}),
        ({"schema.evolution": "none"}, set()),
        ({"schema.evolution": "full"}, {"add", "widen", "nullable"}),
        ({"schema.evolution": "add, widen"}, {"add", "widen"}),
        ({"auto.evolve": "true"}, {"add"}),
        ({"auto.evolve": "false"}, set()),
        ({"iceberg.tables.evolve-schema-enabled": "true"}, {"add", "widen", "nullable"}),
        ({"allowNewBigQueryFields": "true", "allowBigQueryRequiredFieldRelaxation": "true"}, {"add", "nullable"}),
        ({"auto.evolve": "true", "schema.evolution": "full"}, {"add", "widen", "nullable"}),
    ],
)
def test_settings_and_what_other_projects_call_them(raw: dict[str, str], allowed: set[str]) -> None:
    assert EvolutionPolicy.of(EvolutionOptions.definition().parse(raw)).allowed == allowed


@pytest.mark.parametrize(
    "raw",
    [
        {"schema.evolution": "evolve"},
        {"schema.evolution": "none,add"},
        {"schema.evolution.on.mismatch": "drop"},
        {"auto.evolve": "true", "schema.evolution": "none"},
        {"auto.evolve": "yes"},
    ],
)
def test_settings_that_mean_nothing_are_refused(raw: dict[str, str]) -> None:
    with pytest.raises(ConfigError):
        EvolutionPolicy.of(EvolutionOptions.definition().parse(raw))


PRIMITIVES = [
    schemas.INT8,
    schemas.INT16,
    schemas.INT32,
    schemas.INT64,
    schemas.FLOAT32,
    schemas.FLOAT64,
    schemas.BOOLEAN,
    schemas.STRING,
    schemas.BYTES,
    logical.DATE,
    logical.TIMESTAMP,
    logical.decimal(2),
    logical.decimal(4),
]
FIELDS = st.sampled_from([*PRIMITIVES, *(schema.as_optional() for schema in PRIMITIVES)])
STRUCTS = st.dictionaries(st.sampled_from("abcd"), FIELDS, max_size=4).map(Schema.struct)


@given(STRUCTS, st.lists(STRUCTS, min_size=1, max_size=3), st.sets(st.sampled_from(["add", "widen", "nullable"])))
def test_a_target_that_was_changed_as_planned_takes_the_same_batch_without_more(
    target: Schema, kinds: list[Schema], allowed: set[str]
) -> None:
    values = Values([{} for _ in kinds], _column(kinds))
    rules = EvolutionPolicy(frozenset(allowed))
    first = Evolution(rules, target).judge(values)
    again = Evolution(rules, first.target).judge(values)
    assert again.changes == ()
    assert {m.row for m in again.mismatches} <= {m.row for m in first.mismatches}
    assert {type(change) for change in first.changes} <= {
        kind for kind, word in ((AddField, "add"), (WidenField, "widen"), (MakeNullable, "nullable")) if word in allowed
    }
    for field in target.fields:
        now = first.target.field(field.name)
        assert now is not None
        assert widening.holds(now.schema, field.schema)


_NUMBERS = [schemas.INT8, schemas.INT16, schemas.INT32, schemas.INT64, schemas.FLOAT32, schemas.FLOAT64]
_COLUMNS = st.dictionaries(
    st.sampled_from("abc"), st.sampled_from([*_NUMBERS, *(n.as_optional() for n in _NUMBERS), schemas.OPTIONAL_STRING])
).map(Schema.struct)
_EDGES = [0, 127, 128, -129, 2**15, 2**24 + 1, 2**31, 2**53, 2**53 + 1, 2**63 - 1]


def _value_of(schema: Schema) -> st.SearchStrategy[Any]:
    if schema.type is Type.STRING:
        return st.none() | st.just("x")
    if schema.type in (Type.FLOAT32, Type.FLOAT64):
        numbers: st.SearchStrategy[Any] = st.floats(width=32 if schema.type is Type.FLOAT32 else 64)
    else:
        bits = int(schema.type.value.removeprefix("int")) - 1
        numbers = st.sampled_from([n for n in _EDGES if -(1 << bits) <= n < 1 << bits])
    return (st.none() | numbers) if schema.optional else numbers


_RECORDS = _COLUMNS.flatmap(
    lambda schema: st.tuples(
        st.just(schema), st.fixed_dictionaries({f.name: _value_of(f.schema) for f in schema.fields})
    )
)


@given(_COLUMNS, st.lists(_RECORDS, max_size=4), st.sets(st.sampled_from(["add", "widen", "nullable"])), st.booleans())
def test_what_fits_can_be_stored_without_loss(
    target: Schema, records: list[tuple[Schema, Any]], allowed: set[str], ignore: bool
) -> None:
    values = Values([value for _, value in records], _column([schema for schema, _ in records]))
    verdict = Evolution(EvolutionPolicy(frozenset(allowed), ignore), target).judge(values)
    unfit = {mismatch.row for mismatch in verdict.mismatches}
    for row, (_, value) in enumerate(records):
        if row in unfit:
            continue
        written = {name: item for name, item in value.items() if (name,) not in verdict.ignored}
        for field in verdict.target.fields:
            item = written.get(field.name)
            # A float is not a whole number, and a whole number is a float only where none of its digits is lost.
            if field.schema.type in (Type.FLOAT32, Type.FLOAT64) and isinstance(item, int):
                item = float(item) if field.schema.type is Type.FLOAT64 else float32(float(item))
                assert item == written[field.name]
            if field.schema.type is Type.FLOAT32 and item is not None and item == item:
                assert float32(item) == item
        validate(verdict.target, written)


@given(st.sampled_from(PRIMITIVES), st.sampled_from(PRIMITIVES))
def test_the_common_type_holds_both_whichever_comes_first(one: Schema, two: Schema) -> None:
    wider, other = widening.widened(one, two), widening.widened(two, one)
    assert (wider is None) == (other is None)
    if wider is not None and other is not None:
        assert widening.type_name(wider) == widening.type_name(other)
        assert widening.holds(wider, one)
        assert widening.holds(wider, two)


def _column(kinds: list[Schema]) -> Any:
    from connect.data.column import Plain

    return Plain(list(kinds))


def test_a_date_is_no_decimal() -> None:
    assert widening.fits(logical.decimal(2), logical.DATE) is None
    assert not widening.holds(logical.DATE, schemas.INT32)
