"""Expressions: what they mean, and that they mean the same for records, lists and columns."""

import datetime as dt
import re
import subprocess
import sys
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from connect import ConfigError, DataError, Header, Headers, Schema, SinkRecord, logical
from connect.data import schema as schemas
from connect.data.struct_columns import StructColumns
from connect.data.validation import validate
from connect.testing.conformance import TransformationConformance
from transforms.expression import Expression
from transforms.expressions.registry import FUNCTIONS

from .forms import configured, forms

MOMENT = dt.datetime(2024, 1, 31, 12, 30, 15, 250000, tzinfo=dt.UTC)
ORDER = {
    "price": 2.5,
    "quantity": 4,
    "name": "ann",
    "country": "DE",
    "nothing": None,
    "paid": True,
    "address": {"city": "Ulm", "codes": [7, 8]},
    "at": MOMENT,
    "day": dt.date(2024, 1, 31),
    "cost": Decimal("1.25"),
    "text": '{"a": {"b": [1, "x", null]}, "c d": "y"}',
    "raw": b"\x00\xff",
}
ORDER_SCHEMA = Schema.struct(
    {
        "price": schemas.FLOAT64,
        "quantity": schemas.INT32,
        "name": schemas.STRING,
        "country": schemas.OPTIONAL_STRING,
        "nothing": schemas.OPTIONAL_INT64,
        "paid": schemas.BOOLEAN,
        "address": Schema.struct({"city": schemas.STRING, "codes": Schema.array(schemas.INT32)}, optional=True),
        "at": logical.TIMESTAMP,
        "day": logical.DATE,
        "cost": logical.decimal(2),
        "text": schemas.STRING,
        "raw": schemas.BYTES,
    }
)

RESULTS: list[tuple[str, Any]] = [
    ("price * quantity", 10.0),
    ("quantity * 2 + 1", 9),
    ("quantity / 8", 0.5),
    ("quantity % 3 - 7 % -4", -2),
    ("div(-7, 2)", -3),
    ("-7 % 2", -1),
    ("cost * 2", Decimal("2.50")),
    ("cost * cost", Decimal("1.5625")),
    ("cost + 1.5", 2.75),
    ("cost - quantity", Decimal("-2.75")),
    ("-cost", Decimal("-1.25")),
    ("nothing + 1", None),
    ("round(2.5) + round(-2.5)", 0.0),
    ("round(price * 1.01, 1)", 2.5),
    ("round(1250, -2)", 1300),
    ("round(cost, 1)", Decimal("1.30")),
    ("floor(-0.5)", -1.0),
    ("ceil(cost)", Decimal("2.00")),
    ("abs(-3) + sign(-2.5)", 2),
    ("power(2, 10)", 1024.0),
    ("greatest(1, nothing, quantity)", 4),
    ("least(price, 3)", 2.5),
    ("upper(name) || '-' || lower('X') || quantity", "ANN-x4"),
    ("concat(name, nothing, 1)", "ann1"),
    ("concat_ws('/', name, nothing, country)", "ann/DE"),
    ("name || nothing", None),
    ("substring(name, 2)", "nn"),
    ("substring(name from 2 for 1)", "n"),
    ("substr(name, 0, 2)", "a"),
    ("left(name, 2) || right(name, 1)", "ann"),
    ("trim('  x ') || ltrim('xxay', 'x') || rtrim('b  ')", "xayb"),
    ("trim(both 'a' from 'banana')", "banan"[0:5]),
    ("replace(name, 'n', 'm')", "amm"),
    ("length(name) + octet_length('ü')", 5),
    ("position('n' in name)", 2),
    ("lpad('7', 3, '0') || rpad('a', 2, '-')", "007a-"),
    ("split_part('a-b-c', '-', 2) || split_part('a-b', '-', -1)", "bb"),
    ("initcap('hello big_world')", "Hello Big_World"),
    ("repeat('ab', 2) || reverse('ab')", "ababba"),
    ("starts_with(name, 'a') and ends_with(name, 'n') and contains(name, 'nn')", True),
    ("name like 'a%' and not name like '_' and name ilike 'A__'", True),
    ("'50%' like '50!%' escape '!'", True),
    ("regexp_like(name, '^a') and name ~ 'n$'", True),
    ("regexp_replace(name, 'n+', 'N')", "aN"),
    ("regexp_extract('order-42', '(\\w+)-(\\d+)', 2)", "42"),
    ("regexp_extract(name, 'z')", None),
    ("md5('')", "d41d8cd98f00b204e9800998ecf8427e"),
    ("to_hex(raw) || to_base64(raw)", "00ffAP8="),
    ("decode(encode('ü'))", "ü"),
    ("country in ('DE', 'FR')", True),
    ("country not in ('US', null)", None),
    ("quantity in (1, 4.0)", True),
    ("nothing in (1)", None),
    ("quantity between 1 and 4", True),
    ("quantity not between 5 and 9", True),
    ("nothing is null and name is not null", True),
    ("nothing is distinct from 1", True),
    ("nothing = 1 and false", False),
    ("nothing = 1 or true", True),
    ("not (nothing = 1)", None),
    ("paid = true and paid is true", True),
    ("coalesce(nothing, quantity)", 4),
    ("coalesce(nothing, price, quantity)", 2.5),
    ("nullif(quantity, 4)", None),
    ("1 / nullif(0, 0)", None),
    ("case when quantity > 3 then 'many' when 1 / (quantity - 4) > 0 then 'x' else 'few' end", "many"),
    ("case country when 'FR' then 1 when 'DE' then 2 end", 2),
    ("case when nothing > 1 then 1 end", None),
    ("if(paid, 'yes', 'no')", "yes"),
    ("false and 1 / quantity > 0", False),
    ("cast('12' as int) + cast(2.5 as bigint)", 15),
    ("cast(price as varchar) || cast(paid as text) || cast(cost as text)", "2.5true1.25"),
    ("'7'::int + 1", 8),
    ("try_cast(name as int)", None),
    ("cast('1.255' as decimal(5, 2))", Decimal("1.26")),
    ("cast(quantity as double)", 4.0),
    ("cast(at as date) = day", True),
    ("cast(at as varchar)", "2024-01-31T12:30:15.250Z"),
    ("at > timestamp '2024-01-01' and day < date '2024-02-01' and at > day", True),
    ("at + interval '1 month'", MOMENT.replace(month=2, day=29)),
    ("day - interval '1 day'", dt.date(2024, 1, 30)),
    ("date_trunc('month', at)", dt.datetime(2024, 1, 1, tzinfo=dt.UTC)),
    ("date_trunc('week', day)", dt.date(2024, 1, 29)),
    ("extract(year from at) * 100 + date_part('quarter', at)", 202401),
    ("year(day) + month(at)", 2025),
    ("date_diff('day', date '2024-01-01', at)", 30),
    ("date_diff('month', at, date '2023-12-01')", -1),
    ("epoch_ms(at)", 1706704215250),
    ("from_epoch_ms(1706704215250) = at", True),
    ("strftime(at, '%d.%m.%Y')", "31.01.2024"),
    ("strptime('31.01.2024', '%d.%m.%Y')", dt.datetime(2024, 1, 31, tzinfo=dt.UTC)),
    ("text->'a'->'b'->>1", "x"),
    ("text->'a'->>'b'", '[1,"x",null]'),
    ("json_value(text, '$.\"c d\"') || json_query(text, '$.a.b[1]')", 'y"x"'),
    ("json_value(text, '$.none.x')", None),
    ("address.city || address.codes[1]", "Ulm7"),
    ("value.address.codes[3]", None),
    ("cardinality(address.codes)", 2),
    ("array_contains(address.codes, 8)", True),
    ("to_json(address)", '{"city":"Ulm","codes":[7,8]}'),
    ("to_json(cast('12345678901234567890.10' as decimal(22, 2)))", "12345678901234567890.10"),
    ("key.id + 1", 8),
    ("headers.trace", "abc"),
    ("record.topic || record.offset", "orders5"),
    ("record.timestamp", dt.datetime(2023, 11, 14, 22, 13, 20, tzinfo=dt.UTC)),
    ('"price" + 1', 3.5),
    ("'it''s'", "it's"),
]


def order(schema: Schema | None = None, **changes: Any) -> SinkRecord:
    record = SinkRecord("orders", ORDER, schema, {"id": 7}, offset=5, timestamp=1_700_000_000_000)
    return record.replace(headers=Headers([Header("trace", "abc")]), **changes)


@pytest.mark.parametrize(("text", "expected"), RESULTS)
def test_what_expressions_mean(text: str, expected: Any) -> None:
    made = configured(Expression, fields=f"result = {text}")
    found = made.apply(order()).value["result"]
    assert (type(found), found) == (type(expected), expected)
    typed = f"cast({text} as varchar)" if "headers." in text or "key." in text else text
    changed = configured(Expression, fields=f"result = {typed}").apply(order(ORDER_SCHEMA))
    result = changed.value_schema.field("result").schema
    assert changed.value["result"] == (str(expected) if typed != text else expected)
    validate(result, changed.value["result"])
    assert result.optional
    for batch in forms([order(ORDER_SCHEMA), order(ORDER_SCHEMA, offset=5)]):
        rows = configured(Expression, fields=f"result = {typed}").apply_batch(batch)
        assert [row.value["result"] for row in rows] == [changed.value["result"]] * 2


WRONG = [
    ("x = text->name", "write 'name' or a whole number after this arrow"),
    ("x = text->1.5", "write 'name' or a whole number after this arrow"),
    ("x = text->(1 + 1)", "write 'name' or a whole number after this arrow"),
    ("x = text->'a'::int", "in brackets before a cast"),
    ("x = text->'a'->'b'.c", "in brackets before a cast or a dot"),
    ("x = headers", "headers cannot be read all at once"),
    ("x = upper(headers)", "headers cannot be read all at once"),
    ("x = quantity / 0", "division by zero"),
    ("x = mod(quantity, 0)", "division by zero"),
    ("x = name ~ '('", '"[(]" is not a regular expression'),
    ("x = regexp_replace(name, 'a', '\\9')", "is not a replacement"),
    ("x = regexp_extract(name, 'a', 1)", "has no group 1"),
    ("x = regexp_like(name, 'a', 'z')", '"z" is not a flag'),
    ("x = split_part(name, ',', 0)", "counts parts from 1"),
    ("x = date_trunc('fortnight', at)", '"fortnight" is not a unit'),
    ("x = date_part('fortnight', at)", '"fortnight" is not a unit'),
    ("x = date_diff('fortnight', at, at)", '"fortnight" is not a unit'),
    ("x = json_value(text, 'nonsense')", "nonsense"),
    ("total = sum(price)", 'column 9, "sum.price.": sum aggregates several records'),
    ("total = count(*)", "count aggregates several records"),
    ("x = upper(name) over ()", "a window function"),
    ("x = (select 1)", "no subqueries"),
    ("x = 1 in (select 2)", "no subqueries"),
    ("x = exists (select 1)", "no subqueries"),
    ("x = uper(name)", "no function uper. Did you mean upper?"),
    ("x = now()", "another result each time"),
    ("x = current_date()", "another result each time"),
    ("x = price +", 'column 11, "\\+": this is not a valid expression'),
    ("x = (price", "this is not a valid expression"),
    ("x = else", 'column 5, "else": this is not a valid expression'),
    ("x = 'a", "cannot be read"),
    ("x = upper(1)", 'column 11, "1\\)": upper takes a string, not a whole number'),
    ("x = upper(name, name)", "upper takes 1 arguments, not 2"),
    ("x = 1 / 0", "division by zero"),
    ("x = 'a' + 1", "takes a whole number"),
    ("x = 1 = 'a'", "does not accept"),
    ("x = case when 1 then 2 end", "a condition must be a boolean"),
    ("x = case when true then 2 else 'a' end", "different types: a whole number and a string"),
    ("x = cast(a as rocket)", 'no type "rocket"'),
    ("x = date '2024-02-30'", "cannot be cast to a date"),
    ("x = interval '1 day'", "an interval cannot be a result"),
    ("x = at + interval '1 fortnight'", "an interval as"),
    ("x = 99999999999999999999", "does not fit into 64 bits"),
    ("x = record.size", "a record has no size"),
    ("x = a[0]", "counted from 1"),
    ("x = a[b]", "write field\\[1\\]"),
    ("x = *", "is not a value"),
    ("x = a b", "this is not a valid expression|write new_name"),
    ("x = a; y = b", "one expression"),
    ("price", "write field = expression"),
    ("= 1", "write field = expression"),
    ("x = 1,", "write field = expression"),
    ("x = 1,, y = 2", "nothing before this comma"),
    ("upper(x) = 1", "assigned to a field"),
    ("a.b = 1", "inside structs"),
    ("headers = 1", "headers.name"),
    ("record.offset = 1", "only topic, partition, timestamp"),
    ("a = 1,\n b = uper(c)", "line 2, column 6"),
    ("", "is empty"),
]


@pytest.mark.parametrize(("fields", "message"), WRONG)
def test_what_is_wrong_is_said_with_its_place_before_the_task_runs(fields: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        configured(Expression, fields=fields)


@pytest.mark.parametrize("sign", ["(", ")", "[", "]", ",", "="])
def test_signs_in_strings_and_quoted_names_divide_nothing(sign: str) -> None:
    made = configured(Expression, fields=f"a = replace(text, '{sign}', ''), \"{sign}\" = '{sign}', c = 1")
    changed = made.apply(SinkRecord("t", {"text": f"x{sign}y"}))
    assert changed.value == {"text": f"x{sign}y", "a": "xy", sign: sign, "c": 1}


STATEMENTS = "comment lock show set load begin end commit cache reset refresh update delete merge use desc call copy"


@pytest.mark.parametrize("name", STATEMENTS.split())
def test_a_word_that_begins_a_statement_is_a_name(name: str) -> None:
    made = configured(
        Expression, filter=f"{name} > 1 and {name} is not null", fields=f"x = {name}, {name} = {name} + 1"
    )
    assert made.apply(SinkRecord("t", {name: 5})).value == {name: 6, "x": 5}
    assert made.apply(SinkRecord("t", {name: 1})) is None


def test_a_word_of_the_grammar_is_a_name_in_quotation_marks() -> None:
    made = configured(Expression, filter='"from" > 1', fields='"case" = "from"')
    assert made.apply(SinkRecord("t", {"from": 5})).value == {"from": 5, "case": 5}


@pytest.mark.parametrize("value", ["1_000", "\u0661", "NaN", "Infinity", "", ".", float("nan"), Decimal("NaN")])
def test_what_is_no_number_is_no_decimal(value: Any) -> None:
    with pytest.raises(DataError, match="cannot be cast to a decimal"):
        configured(Expression, fields="x = cast(n as decimal(10, 2))").apply(SinkRecord("t", {"n": value}))
    tried = configured(Expression, fields="x = try_cast(n as decimal(10, 2))").apply(SinkRecord("t", {"n": value}))
    assert tried.value["x"] is None


@pytest.mark.parametrize("text", ["1 + 1", "upper(a)", "'x'"])
def test_a_filter_is_a_condition(text: str) -> None:
    with pytest.raises(ConfigError, match="a condition must be a boolean"):
        configured(Expression, filter=text)


@pytest.mark.parametrize(
    ("fields", "value", "message"),
    [
        ("x = 1 / n", {"n": 0}, "value.x: division by zero"),
        ("x = n + 9223372036854775807", {"n": 1}, "does not fit into 64 bits"),
        ("x = upper(n)", {"n": 1}, "upper takes a string, not a whole number"),
        ("x = n > 1", {"n": "a"}, "cannot be compared"),
        ("x = n.a", {"n": 1}, "neither an object nor a list"),
        ("x = cast(n as int)", {"n": "1x"}, 'a string "1x" cannot be cast'),
        ("x = repeat(n, 1000000000)", {"n": "abc"}, "too long"),
        ("x = 1", "text", "has no fields"),
        ("record.topic = n", {"n": ""}, "is not a valid topic"),
    ],
)
def test_a_record_that_an_expression_cannot_take_is_a_data_error(fields: str, value: Any, message: str) -> None:
    made = configured(Expression, fields=fields)
    record = SinkRecord("t", value)
    for batch in forms([record]):
        with pytest.raises(DataError, match=message):
            made.apply_batch(batch)
    with pytest.raises(DataError, match=message):
        made.apply(record)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ("x = nme", 'the value has no field "nme"'),
        ("x = upper(price)", "upper takes a string, not a double"),
        ("x = name[1]", "not a list"),
        ("x = headers.trace", "Cast the expression"),
        ("x = parse_json(text)", "Cast the expression"),
        ("x = null", "Cast the expression"),
    ],
)
def test_types_are_checked_against_the_schema_before_any_value(fields: str, message: str) -> None:
    made = configured(Expression, fields=fields)
    with pytest.raises(DataError, match=message):
        made.apply(order(ORDER_SCHEMA))


def test_results_are_of_the_promised_type() -> None:
    made = configured(Expression, fields="a = case when paid then quantity else price end, b = coalesce(cost, 1)")
    changed = made.apply(order(ORDER_SCHEMA))
    assert (changed.value["a"], type(changed.value["a"])) == (4.0, float)
    assert changed.value_schema.field("b").schema == logical.decimal(2, optional=True)
    whole = configured(Expression, fields="b = case when not paid then cost else 1 end").apply(order(ORDER_SCHEMA))
    assert str(whole.value["b"]) == "1.00"


def test_a_field_that_is_only_copied_keeps_its_schema() -> None:
    copied = configured(Expression, fields="n = name, c = address.city").apply(order(ORDER_SCHEMA)).value_schema
    assert (copied.field("n").schema, copied.field("c").schema) == (schemas.STRING, schemas.OPTIONAL_STRING)


def test_other_parts_of_a_record_can_be_set() -> None:
    made = configured(
        Expression,
        fields="record.topic = 'orders-' || lower(country), key.id = key.id + 1, headers.trace = upper(headers.trace), "
        "headers.price = price, record.timestamp = at, key.city = address.city",
    )
    changed = made.apply(order())
    assert (changed.topic, changed.original_topic, changed.timestamp) == ("orders-de", "orders", 1706704215250)
    assert changed.key == {"id": 8, "city": "Ulm"}
    assert [(header.key, header.value) for header in changed.headers] == [("trace", "ABC"), ("price", 2.5)]
    assert changed.value is ORDER
    whole = configured(Expression, fields="value = address, key = key.id").apply(order(ORDER_SCHEMA))
    assert (whole.value, whole.value_schema.field("city").schema, whole.key) == (ORDER["address"], schemas.STRING, 7)


def test_fields_see_the_record_as_it_came_and_are_dropped_last() -> None:
    made = configured(Expression, fields="a = b, b = a", drop="c,none")
    assert made.apply(SinkRecord("t", {"a": 1, "b": 2, "c": 3})).value == {"a": 2, "b": 1}


def test_tombstones_pass_unless_a_filter_does_not_hold_for_them() -> None:
    records = [SinkRecord("t", None, ORDER_SCHEMA), order(ORDER_SCHEMA)]
    for batch in forms(records):
        assert [r.value is None for r in configured(Expression, fields="x = price").apply_batch(batch)] == [True, False]
        assert len(configured(Expression, filter="price > 1").apply_batch(batch)) == 1
        assert len(configured(Expression, filter="value is null or price > 9").apply_batch(batch)) == 1


def test_columns_that_nothing_is_asked_of_are_passed_on() -> None:
    batch = forms([order(ORDER_SCHEMA), order(ORDER_SCHEMA, offset=6)])[1]
    before = batch.values.struct_columns
    after = configured(Expression, fields="price = price * 2", drop="raw").apply_batch(batch).values.struct_columns
    assert isinstance(before, StructColumns)
    assert isinstance(after, StructColumns)
    assert after.field("name") is before.field("name")
    assert after.struct.field("raw") is None


@pytest.mark.slow
@pytest.mark.parametrize("schema", [None, ORDER_SCHEMA])
def test_long_expressions_are_expressions(schema: Schema | None) -> None:
    chain = " || ".join(["name"] * 1000)
    choice = " or ".join(f"quantity = {number}" for number in range(1000))
    cases = "case " + " ".join(f"when quantity = {number} then {number}" for number in range(300)) + " end"
    made = configured(
        Expression, fields=f"a = {chain}, b = {choice}, c = {cases}, d = {'(' * 20}quantity{')' * 20} + 1"
    )
    value = made.apply(order(schema)).value
    assert (value["a"], value["b"], value["c"], value["d"]) == ("ann" * 1000, True, 4, 5)
    with pytest.raises(ConfigError, match="nested too deeply"):
        configured(Expression, filter=f"{'(' * 3000}a{')' * 3000}")


def test_a_missing_parser_is_named() -> None:
    code = (
        "import sys; sys.modules['sqlglot'] = None\n"
        "from transforms.expression import Expression\n"
        "made = Expression()\n"
        "try: made.configure(made.settings.parse({'filter': 'a > 1'}))\n"
        "except Exception as error: print(error)\n"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert "pip install 'connect-runtime[expressions]'" in said.stdout


class TestConformance(TransformationConformance):
    transformation = Expression

    def config(self) -> dict[str, str]:
        return {"fields": "total = price * 2, name = upper(name)", "filter": "id >= 0", "drop": "tags"}


class TestConformanceOfOtherParts(TransformationConformance):
    transformation = Expression

    def config(self) -> dict[str, str]:
        return {"fields": "record.topic = record.topic || '-x', headers.h = null, key = cast(key as varchar)"}


def test_the_page_names_every_function() -> None:
    page = (Path(__file__).parents[3] / "docs" / "expressions.md").read_text(encoding="utf-8")
    words = set(re.findall(r"[a-z_0-9]+", page[page.index("## Operators and functions") :]))
    internal = {"negate"}
    named = {name for name in FUNCTIONS if re.fullmatch(r"[a-z_0-9]+", name)}
    assert named - internal <= words
