"""Types in SQL, for rows that are made without Spark."""

import pytest

from connect import Schema
from connect.data import logical
from connect.data.schema import FLOAT32, INT16, OPTIONAL_STRING, STRING
from connect.data.widening import type_name
from spark_sink.rows.sql_types import schema_of_sql


@pytest.mark.parametrize(
    ("written", "schema"),
    [
        ("SMALLINT", INT16),
        (" real ", FLOAT32),
        ("date", logical.DATE),
        ("timestamp", logical.TIMESTAMP),
        ("array<string>", Schema.array(OPTIONAL_STRING)),
        ("map<string,array<string>>", Schema.map(STRING, Schema.array(OPTIONAL_STRING).as_optional())),
        ("struct<`a ``b`: string, c string>", Schema.struct({"a `b": OPTIONAL_STRING, "c": OPTIONAL_STRING})),
        ("struct<>", Schema.struct({})),
    ],
)
def test_a_type_has_a_schema(written: str, schema: Schema) -> None:
    assert schema_of_sql(written) == schema


@pytest.mark.parametrize(
    ("written", "name"),
    [("decimal", "decimal(10,0)"), ("DEC(7)", "decimal(7,0)"), ("numeric( 18 , 2 )", "decimal(18,2)")],
)
def test_a_decimal_has_its_digits(written: str, name: str) -> None:
    assert type_name(schema_of_sql(written)) == name


@pytest.mark.parametrize(
    ("written", "why"),
    [
        ("", '"" is not a type'),
        ("dates", '"dates" is not a type'),
        ("int int", '"int" is not understood'),
        ("decimal(39,2)", "1 to 38 digits"),
        ("decimal(2,3)", "1 to 38 digits"),
        ("decimal(x)", '"x" is not a number'),
        ("array<int", '">" is expected in place of ""'),
        ("map<int>", '"," is expected in place of ">"'),
        ("struct<a int b int>", '"," is expected'),
        ("int;", '";" is not understood'),
    ],
)
def test_what_is_none_is_refused(written: str, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        schema_of_sql(written)
