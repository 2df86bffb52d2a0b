"""What a field's values mean for a database, and the type of a column that is created for them. The one place for that.

| Connect | PostgreSQL | MySQL, MariaDB | SQLite | others |
|---|---|---|---|---|
| INT8, INT16 | SMALLINT | TINYINT, SMALLINT | INTEGER | SMALLINT |
| INT32, INT64 | INTEGER, BIGINT | INTEGER, BIGINT | INTEGER | INTEGER, BIGINT |
| FLOAT32, FLOAT64 | REAL, DOUBLE PRECISION | FLOAT, DOUBLE | REAL | REAL, DOUBLE |
| BOOLEAN | BOOLEAN | BOOL | BOOLEAN | what SQLAlchemy has |
| STRING | TEXT | LONGTEXT; in a key VARCHAR(255), by bytes | TEXT | long text; in a key VARCHAR(255) |
| BYTES | BYTEA | LONGBLOB; in a key VARBINARY(255) | BLOB | long binary |
| Decimal | NUMERIC | DECIMAL | TEXT: its numbers are not exact | NUMERIC(38, scale) |
| Date, Time | DATE, TIME | DATE, TIME(6) | DATE, TIME | DATE, TIME |
| Timestamp | TIMESTAMP | DATETIME(6) | DATETIME | TIMESTAMP |
| ARRAY of the above | an array | JSON; in a key as STRING | JSON | long text; in a key VARCHAR(255) |
| STRUCT, MAP, other ARRAYs | JSONB | JSON; in a key as STRING | JSON | long text; in a key VARCHAR(255) |

Of Debezium's semantic types (`io.debezium.time.*`, `io.debezium.data.*`), where they are asked for:

| Debezium | PostgreSQL | MySQL, MariaDB | SQLite, others |
|---|---|---|---|
| Date, Time, Timestamp and their Micro and Nano | as Connect's | as Connect's | as Connect's |
| ZonedTimestamp | TIMESTAMP WITH TIME ZONE | DATETIME(6) | the same, as far as they have it |
| ZonedTime | TIME WITH TIME ZONE | LONGTEXT | text |
| MicroDuration | INTERVAL | BIGINT | the number |
| Json, Uuid | JSONB, UUID | JSON (in a key as STRING), VARCHAR(36) | JSON, text |
| Xml | XML | LONGTEXT | text |
| Bits of n, of any number | BIT(n), BIT VARYING | BIT(n), up to 64 | bytes |
| VariableScaleDecimal | NUMERIC | DECIMAL(65, 30) | as Decimal |

Imported with SQLAlchemy.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

import sqlalchemy
from sqlalchemy.dialects import mysql, postgresql, sqlite
from sqlalchemy.types import TypeEngine

from connect import Schema, Type, logical

#: Fields whose name is this hold no more than the type says.
_PLAIN: Final = {
    Type.INT8: "int8",
    Type.INT16: "int16",
    Type.INT32: "int32",
    Type.INT64: "int64",
    Type.FLOAT32: "float32",
    Type.FLOAT64: "float64",
    Type.BOOLEAN: "boolean",
    Type.STRING: "string",
    Type.BYTES: "bytes",
}
#: How many digits a decimal has at most, by this parameter of its schema.
PRECISION: Final = "connect.decimal.precision"


@dataclass(frozen=True, slots=True)
class Meaning:
    """What values mean.

    Attributes:
        kind: int8 ... int64, float32, float64, boolean, string, bytes, decimal, date, time; `timestamp`, an instant;
            `datetime`, a date and time without zone; `zoned`, an instant as text with its zone; `zonedtime`, a time as
            text with its zone; duration; json; xml; uuid; bits; array.
        unit: for numbers since the epoch or midnight, and durations: `d`, `ms`, `us`, `ns`; for json that is already
            text `text`, for decimals with a scale each `variable`. Empty for values with a logical type of Connect
            itself.
        scale, precision: of a decimal; None where undefined. Of bits, precision is their number; None for any.
        element: of an array.
    """

    kind: str
    unit: str = ""
    scale: int | None = None
    precision: int | None = None
    element: Meaning | None = None


_DEBEZIUM: Final = {
    "io.debezium.time.Date": Meaning("date", "d"),
    "io.debezium.time.Time": Meaning("time", "ms"),
    "io.debezium.time.MicroTime": Meaning("time", "us"),
    "io.debezium.time.NanoTime": Meaning("time", "ns"),
    "io.debezium.time.Timestamp": Meaning("datetime", "ms"),
    "io.debezium.time.MicroTimestamp": Meaning("datetime", "us"),
    "io.debezium.time.NanoTimestamp": Meaning("datetime", "ns"),
    "io.debezium.time.ZonedTimestamp": Meaning("zoned"),
    "io.debezium.time.ZonedTime": Meaning("zonedtime"),
    "io.debezium.time.MicroDuration": Meaning("duration", "us"),
    "io.debezium.data.Json": Meaning("json", "text"),
    "io.debezium.data.Xml": Meaning("xml"),
    "io.debezium.data.Uuid": Meaning("uuid"),
    "io.debezium.data.VariableScaleDecimal": Meaning("decimal", "variable"),
}
_BITS_NAME: Final = "io.debezium.data.Bits"
#: The length that Debezium tells of bits that may be any number.
_ANY_BITS: Final = 2**31 - 1


@lru_cache(maxsize=2000)
def meaning_of(schema: Schema, debezium: bool = False) -> Meaning:
    """The meaning of values of this schema.

    Args:
        debezium: whether Debezium's semantic types are recognised; without, they are the numbers and texts that encode
            them.
    """
    if schema.name == logical.DECIMAL_NAME:
        digits = schema.parameters.get(PRECISION, "")
        return Meaning("decimal", scale=logical.scale_of(schema), precision=int(digits) if digits.isdigit() else None)
    if schema.name == logical.DATE_NAME:
        return Meaning("date")
    if schema.name == logical.TIME_NAME:
        return Meaning("time")
    if schema.name == logical.TIMESTAMP_NAME:
        return Meaning("timestamp")
    if debezium and schema.name in _DEBEZIUM:
        return _DEBEZIUM[schema.name]
    if debezium and schema.name == _BITS_NAME:
        length = schema.parameters.get("length", "")
        if not length.isdigit() or not int(length):
            return Meaning("bytes")
        return Meaning("bits", precision=None if int(length) == _ANY_BITS else int(length))
    if schema.type is Type.ARRAY:
        assert schema.value_schema is not None
        element = meaning_of(schema.value_schema, debezium)
        return Meaning("json") if element.kind in ("json", "array") else Meaning("array", element=element)
    return Meaning(_PLAIN.get(schema.type, "json"))


def column_type(meaning: Meaning, dialect: str, *, key: bool = False) -> TypeEngine[Any]:
    """The type of a column that is created for such values.

    Args:
        meaning: see there.
        dialect: `Database.kind`.
        key: whether the column is part of the primary key.
    """
    if dialect == "postgresql":
        return _postgresql(meaning)
    if dialect == "mysql":
        return _mysql(meaning, key)
    if dialect == "sqlite":
        return _SQLITE[meaning.kind]
    return _other(meaning, key)


class Xml(sqlalchemy.types.UserDefinedType[str]):
    """PostgreSQL's XML, which SQLAlchemy has no type for."""

    cache_ok = True

    def get_col_spec(self, **_: Any) -> str:
        return "XML"


_POSTGRESQL: Final[dict[str, TypeEngine[Any]]] = {
    "int8": postgresql.SMALLINT(),
    "int16": postgresql.SMALLINT(),
    "int32": postgresql.INTEGER(),
    "int64": postgresql.BIGINT(),
    "float32": postgresql.REAL(),
    "float64": postgresql.DOUBLE_PRECISION(),
    "boolean": postgresql.BOOLEAN(),
    "string": postgresql.TEXT(),
    "bytes": postgresql.BYTEA(),
    "date": postgresql.DATE(),
    "time": postgresql.TIME(),
    "timestamp": postgresql.TIMESTAMP(),
    "datetime": postgresql.TIMESTAMP(),
    "zoned": postgresql.TIMESTAMP(timezone=True),
    "zonedtime": postgresql.TIME(timezone=True),
    "duration": postgresql.INTERVAL(),
    "json": postgresql.JSONB(),
    "xml": Xml(),
    "uuid": postgresql.UUID(),
}


_NUMERIC: Final[TypeEngine[Any]] = postgresql.NUMERIC()


def _postgresql(meaning: Meaning) -> TypeEngine[Any]:
    if meaning.kind == "decimal":
        precision, scale = meaning.precision or 0, meaning.scale or 0
        # Without limits it holds every number; before version 15 no others can be said.
        return postgresql.NUMERIC(precision, scale) if 0 <= scale <= precision <= 1000 and precision else _NUMERIC
    if meaning.kind == "array":
        assert meaning.element is not None
        return postgresql.ARRAY(_postgresql(meaning.element))
    if meaning.kind == "bits":
        return postgresql.BIT(meaning.precision, varying=meaning.precision is None)
    return _POSTGRESQL[meaning.kind]


_MYSQL: Final[dict[str, TypeEngine[Any]]] = {
    "int8": mysql.TINYINT(),
    "int16": mysql.SMALLINT(),
    "int32": mysql.INTEGER(),
    "int64": mysql.BIGINT(),
    "float32": mysql.FLOAT(),
    "float64": mysql.DOUBLE(),
    "boolean": mysql.BOOLEAN(),
    "string": mysql.LONGTEXT(),
    "bytes": mysql.LONGBLOB(),
    "date": mysql.DATE(),
    "time": mysql.TIME(fsp=6),
    "timestamp": mysql.DATETIME(fsp=6),
    "datetime": mysql.DATETIME(fsp=6),
    "zoned": mysql.DATETIME(fsp=6),
    "zonedtime": mysql.LONGTEXT(),
    "duration": mysql.BIGINT(),
    "json": mysql.JSON(),
    "array": mysql.JSON(),
    "xml": mysql.LONGTEXT(),
    "bits": mysql.LONGBLOB(),
    "uuid": mysql.VARCHAR(36),
}


def _mysql(meaning: Meaning, key: bool) -> TypeEngine[Any]:
    if meaning.kind == "decimal":
        # There are no negative scales; as many digits behind the point as there can be where each value has its own.
        scale = 30 if meaning.unit else min(max(meaning.scale or 0, 0), 30)
        digits = meaning.precision - min(meaning.scale or 0, 0) if meaning.precision else 65
        return mysql.DECIMAL(min(max(digits, scale), 65), scale)
    if meaning.kind == "bits" and (meaning.precision or 65) <= 64:
        return mysql.BIT(meaning.precision)
    made = _MYSQL[meaning.kind]
    if key and isinstance(made, mysql.LONGTEXT | mysql.JSON):
        return mysql.VARCHAR(255, charset="utf8mb4", collation="utf8mb4_bin")
    return mysql.VARBINARY(255) if key and isinstance(made, mysql.LONGBLOB) else made


#: Calls of SQLAlchemy without types.
_sqlite: Any = sqlite
_SQLITE: Final[dict[str, TypeEngine[Any]]] = {
    **dict.fromkeys(("int8", "int16", "int32", "int64", "duration"), _sqlite.INTEGER()),
    **dict.fromkeys(("float32", "float64"), _sqlite.REAL()),
    **dict.fromkeys(("string", "decimal", "uuid", "xml", "zonedtime"), _sqlite.TEXT()),
    **dict.fromkeys(("json", "array"), _sqlite.JSON()),
    **dict.fromkeys(("timestamp", "datetime", "zoned"), _sqlite.DATETIME()),
    "boolean": _sqlite.BOOLEAN(),
    **dict.fromkeys(("bytes", "bits"), _sqlite.BLOB()),
    "date": _sqlite.DATE(),
    "time": _sqlite.TIME(),
}
_OTHER: Final[dict[str, TypeEngine[Any]]] = {
    **dict.fromkeys(("int8", "int16"), sqlalchemy.SmallInteger()),
    **dict.fromkeys(("json", "array", "string", "xml", "zonedtime"), sqlalchemy.UnicodeText()),
    **dict.fromkeys(("timestamp", "datetime"), sqlalchemy.DateTime()),
    "int32": sqlalchemy.Integer(),
    **dict.fromkeys(("int64", "duration"), sqlalchemy.BigInteger()),
    "float32": sqlalchemy.REAL(),
    "float64": sqlalchemy.Double(),
    "boolean": sqlalchemy.Boolean(),
    **dict.fromkeys(("bytes", "bits"), sqlalchemy.LargeBinary()),
    "date": sqlalchemy.Date(),
    "time": sqlalchemy.Time(),
    "zoned": sqlalchemy.DateTime(timezone=True),
    "uuid": sqlalchemy.Unicode(36),
}


def _other(meaning: Meaning, key: bool) -> TypeEngine[Any]:
    if meaning.kind == "decimal":
        return sqlalchemy.Numeric(meaning.precision or 38, 10 if meaning.unit else meaning.scale)
    made = _OTHER[meaning.kind]
    return sqlalchemy.Unicode(255) if key and isinstance(made, sqlalchemy.UnicodeText) else made


# Columns that are there: which numbers they take.

#: How many bits a column of whole numbers has.
_BITS: Final = {"int8": 8, "int16": 16, "int32": 32, "int64": 64}


def whole_bits(column: TypeEngine[Any]) -> int | None:
    """The number of bits of a column of whole numbers; None for another column, or an unlimited one."""
    if isinstance(column, mysql.TINYINT):
        return 8
    if isinstance(column, mysql.MEDIUMINT):
        return 24
    if isinstance(column, sqlalchemy.SmallInteger):
        return 16
    if isinstance(column, sqlalchemy.BigInteger):
        return 64
    return 32 if isinstance(column, sqlalchemy.Integer) else None


def is_too_narrow(meaning: Meaning, column: TypeEngine[Any], dialect: str) -> bool:
    """Whether a column may refuse, or round, values of its own kind, so that a wider type would help."""
    bits = whole_bits(column)
    if dialect == "sqlite":
        return False
    if bits is not None:
        return meaning.kind in ("float32", "float64", "decimal") or _BITS.get(meaning.kind, 0) > bits
    if isinstance(column, sqlalchemy.Numeric) and not isinstance(column, sqlalchemy.Float):
        return meaning.kind == "decimal" and not meaning.unit and column.precision is not None
    if isinstance(column, sqlalchemy.REAL | mysql.FLOAT):
        return meaning.kind == "float64"
    return isinstance(column, sqlalchemy.String) and meaning.kind == "string" and column.length is not None
