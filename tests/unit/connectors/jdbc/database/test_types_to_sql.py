"""The type of a column for each schema, in each database that is told apart."""

import pytest
from sqlalchemy.dialects import mssql, mysql, oracle, postgresql, sqlite

from connect import Schema, Type, logical
from connectors.jdbc.database.types_to_sql import column_type, is_too_narrow, meaning_of

DIALECTS = {
    "postgresql": postgresql.dialect(),  # type: ignore[no-untyped-call]
    "mysql": mysql.dialect(),
    "sqlite": sqlite.dialect(),
    "mssql": mssql.dialect(),
    "oracle": oracle.dialect(),
}
SCHEMAS = {
    **{kind.value: Schema(kind) for kind in Type if kind.is_primitive},
    "decimal": logical.decimal(4),
    "decimal(10,4)": logical.decimal(4).replace(parameters={"scale": "4", "connect.decimal.precision": "10"}),
    "date": logical.DATE,
    "time": logical.TIME,
    "timestamp": logical.TIMESTAMP,
    "texts": Schema.array(Schema(Type.STRING)),
    "lists": Schema.array(Schema.array(Schema(Type.STRING))),
    "struct": Schema.struct({"a": Schema(Type.INT32)}),
    "map": Schema.map(Schema(Type.STRING), Schema(Type.INT32)),
}
EXPECTED = {
    "postgresql": "SMALLINT SMALLINT INTEGER BIGINT REAL DOUBLE_PRECISION BOOLEAN TEXT BYTEA NUMERIC NUMERIC(10,_4) "
    "DATE TIME_WITHOUT_TIME_ZONE TIMESTAMP_WITHOUT_TIME_ZONE TEXT[] JSONB JSONB JSONB",
    "mysql": "TINYINT SMALLINT INTEGER BIGINT FLOAT DOUBLE BOOL LONGTEXT LONGBLOB DECIMAL(65,_4) DECIMAL(10,_4) DATE "
    "TIME(6) DATETIME(6) JSON JSON JSON JSON",
    "sqlite": "INTEGER INTEGER INTEGER INTEGER REAL REAL BOOLEAN TEXT BLOB TEXT TEXT DATE TIME DATETIME "
    "JSON JSON JSON JSON",
}


@pytest.mark.parametrize("kind", EXPECTED)
def test_each_schema_has_a_column_type(kind: str) -> None:
    found = {
        name: str(column_type(meaning_of(schema), kind).compile(dialect=DIALECTS[kind])).replace(" ", "_")
        for name, schema in SCHEMAS.items()
    }
    assert found == dict(zip(SCHEMAS, EXPECTED[kind].split(), strict=True))


@pytest.mark.parametrize("kind", DIALECTS)
@pytest.mark.parametrize("key", [True, False])
def test_every_type_is_one_of_every_database(kind: str, key: bool) -> None:
    for schema in SCHEMAS.values():
        for debezium in (True, False):
            assert column_type(meaning_of(schema, debezium), kind, key=key).compile(dialect=DIALECTS[kind])


@pytest.mark.parametrize(
    ("precision", "scale", "in_postgresql", "in_mysql"),
    [
        ("5", "-2", "NUMERIC", "DECIMAL(7, 0)"),
        ("2", "5", "NUMERIC", "DECIMAL(5, 5)"),
        ("0", "2", "NUMERIC", "DECIMAL(65, 2)"),
        ("1000", "3", "NUMERIC(1000, 3)", "DECIMAL(65, 3)"),
        ("1001", "3", "NUMERIC", "DECIMAL(65, 3)"),
    ],
)
def test_a_decimal_s_column_holds_what_its_digits_allow(
    precision: str, scale: str, in_postgresql: str, in_mysql: str
) -> None:
    of = logical.decimal(0).replace(parameters={"scale": scale, "connect.decimal.precision": precision})
    for kind, expected in (("postgresql", in_postgresql), ("mysql", in_mysql)):
        assert column_type(meaning_of(of), kind).compile(dialect=DIALECTS[kind]) == expected


def test_keys_of_mysql_are_compared_by_their_bytes() -> None:
    bits = Schema(Type.BYTES, name="io.debezium.data.Bits", version=1, parameters={"length": "65"})
    for of, expected in (
        (Schema(Type.STRING), "VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin"),
        (
            Schema(Type.STRING, name="io.debezium.time.ZonedTime"),
            "VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin",
        ),
        (Schema(Type.BYTES), "VARBINARY(255)"),
        (bits, "VARBINARY(255)"),
    ):
        assert column_type(meaning_of(of, True), "mysql", key=True).compile(dialect=DIALECTS["mysql"]) == expected


def test_debezium_s_types_count_when_they_are_asked_for() -> None:
    schema = Schema(Type.INT64, name="io.debezium.time.MicroTimestamp")
    assert meaning_of(schema).kind == "int64"
    assert (meaning_of(schema, True).kind, meaning_of(schema, True).unit) == ("datetime", "us")


@pytest.mark.parametrize(
    ("length", "in_postgresql", "in_mysql"),
    [("3", "BIT(3)", "BIT(3)"), ("65", "BIT(65)", "LONGBLOB"), (str(2**31 - 1), "BIT VARYING", "LONGBLOB")],
)
def test_debezium_s_bits_are_of_a_number_or_of_any(length: str, in_postgresql: str, in_mysql: str) -> None:
    of = Schema(Type.BYTES, name="io.debezium.data.Bits", version=1, parameters={"length": length})
    for kind, expected in (("postgresql", in_postgresql), ("mysql", in_mysql)):
        assert column_type(meaning_of(of, True), kind).compile(dialect=DIALECTS[kind]) == expected


@pytest.mark.parametrize(
    ("schema", "column", "narrow"),
    [
        (Schema(Type.INT64), postgresql.INTEGER(), True),
        (Schema(Type.INT64), postgresql.BIGINT(), False),
        (Schema(Type.INT16), mysql.TINYINT(), True),
        (Schema(Type.FLOAT64), postgresql.REAL(), True),
        (Schema(Type.FLOAT64), postgresql.DOUBLE_PRECISION(), False),
        (Schema(Type.FLOAT64), postgresql.INTEGER(), True),
        (logical.decimal(2), postgresql.NUMERIC(10, 2), True),
        (logical.decimal(2), postgresql.NUMERIC(), False),
        (Schema(Type.STRING), postgresql.VARCHAR(10), True),
        (Schema(Type.STRING), postgresql.TEXT(), False),
        (Schema(Type.STRING), postgresql.INTEGER(), False),
    ],
)
def test_a_column_may_be_too_narrow(schema: Schema, column: object, narrow: bool) -> None:
    assert is_too_narrow(meaning_of(schema), column, "postgresql") is narrow  # type: ignore[arg-type]
