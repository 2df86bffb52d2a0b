"""Change events as Debezium's documentation shows them: of PostgreSQL and MySQL, with and without a schema."""

from typing import Any, Final

from connect.data.schema import BOOLEAN, INT32, INT64, OPTIONAL_INT32, OPTIONAL_INT64, OPTIONAL_STRING, STRING, Schema

#: What PostgreSQL did not send.
UNAVAILABLE: Final = "__debezium_unavailable_value"
ROW: Final = Schema.struct({"id": INT64, "text": OPTIONAL_STRING, "n": OPTIONAL_INT32}, name="shop.t.Value")
_POSTGRESQL: Final = Schema.struct(
    {"connector": STRING, "ts_ms": INT64, "snapshot": OPTIONAL_STRING, "txId": OPTIONAL_INT64, "lsn": OPTIONAL_INT64},
    name="io.debezium.connector.postgresql.Source",
)
_MYSQL: Final = Schema.struct(
    {"connector": STRING, "ts_ms": INT64, "file": STRING, "pos": INT64, "row": INT32, "thread": OPTIONAL_INT64},
    name="io.debezium.connector.mysql.Source",
)
_TRANSACTION: Final = Schema.struct({"id": STRING, "total_order": INT64}, name="event.block").as_optional()


def envelope(source: Schema = _POSTGRESQL) -> Schema:
    """The schema of events."""
    row = ROW.as_optional()
    return Schema.struct(
        {
            "before": row,
            "after": row,
            "source": source,
            "transaction": _TRANSACTION,
            "op": STRING,
            "ts_ms": OPTIONAL_INT64,
        },
        name="shop.t.Envelope",
    )


POSTGRESQL: Final = envelope()
MYSQL: Final = envelope(_MYSQL)
KEY: Final = Schema.struct({"id": INT64}, name="shop.t.Key")
SCHEMA_CHANGE: Final = Schema.struct({"ddl": STRING, "silent": BOOLEAN}, name="io.debezium.SchemaChangeValue")


def of_postgresql(op: str, before: Any, after: Any, lsn: int | None) -> dict[str, Any]:
    """An event of PostgreSQL's log."""
    source = {"connector": "postgresql", "ts_ms": 1_700_000_000_000, "snapshot": "false", "txId": 5, "lsn": lsn}
    return {"before": before, "after": after, "source": source, "transaction": None, "op": op, "ts_ms": 5}


def of_mysql(op: str, before: Any, after: Any, file: str, pos: int, row: int = 0) -> dict[str, Any]:
    """An event of MySQL's log."""
    source = {"connector": "mysql", "ts_ms": 1_700_000_000_000, "file": file, "pos": pos, "row": row, "thread": 7}
    return {"before": before, "after": after, "source": source, "transaction": None, "op": op, "ts_ms": 5}
