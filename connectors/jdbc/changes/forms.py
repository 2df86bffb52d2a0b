"""The form of a table's records in Debezium's envelope, whatever the database."""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Protocol

from connect import Schema, Type, schema

Struct = dict[str, Any]

SNAPSHOT: Final = Schema(
    Type.STRING,
    optional=True,
    default="false",
    name="io.debezium.data.Enum",
    version=1,
    parameters={"allowed": "true,first,first_in_data_collection,last_in_data_collection,last,false,incremental"},
)
POINT: Final = Schema.struct(
    {"x": schema.FLOAT64, "y": schema.FLOAT64, "wkb": schema.OPTIONAL_BYTES, "srid": schema.OPTIONAL_INT32},
    name="io.debezium.data.geometry.Point",
    version=1,
    doc="Geometry (POINT)",
)
#: What writes bytes, by binary.handling.mode; None where they stay bytes.
BYTES_WRITTEN: Final[dict[str, Callable[[bytes], str] | None]] = {
    "bytes": None,
    "base64": lambda value: base64.b64encode(value).decode(),
    "base64-url-safe": lambda value: base64.urlsafe_b64encode(value).decode(),
    "hex": bytes.hex,
}
_TRANSACTION: Final = Schema.struct(
    {"id": schema.STRING, "total_order": schema.INT64, "data_collection_order": schema.INT64},
    name="event.block",
    version=1,
    optional=True,
)


def source_schema(connector: str, more: Mapping[str, Schema]) -> Schema:
    """The schema of the blocks `source` of a connector of Debezium.

    Args:
        connector: its name there: postgresql, mysql, mariadb.
        more: what its blocks say besides where an event comes from, and when.
    """
    return Schema.struct(
        {
            "version": schema.STRING,
            "connector": schema.STRING,
            "name": schema.STRING,
            "ts_ms": schema.INT64,
            "snapshot": SNAPSHOT,
            "db": schema.STRING,
            "sequence": schema.OPTIONAL_STRING,
            "ts_us": schema.OPTIONAL_INT64,
            "ts_ns": schema.OPTIONAL_INT64,
            **more,
        },
        name=f"io.debezium.connector.{connector}.Source",
        version=1,
    )


class Form(Protocol):
    """What `Events` needs to know of a table: its topic, and the schemas of its keys and values.

    Attributes:
        topic: of its changes.
        key_schema: None when it has no key.
        envelope: of the values.
    """

    topic: str
    key_schema: Schema | None
    envelope: Schema


def envelope(named: str, row: Schema, source: Schema) -> Schema:
    """The schema of a table's values.

    Args:
        named: what the names of the table's schemas begin with.
        row: of a row, optional.
        source: of the block `source`.
    """
    return Schema.struct(
        {
            "before": row,
            "after": row,
            "source": source,
            "transaction": _TRANSACTION,
            "op": schema.STRING,
            "ts_ms": schema.OPTIONAL_INT64,
            "ts_us": schema.OPTIONAL_INT64,
            "ts_ns": schema.OPTIONAL_INT64,
        },
        name=f"{named}.Envelope",
        version=2,
    )


def key_reader(key: Sequence[str]) -> Callable[[Struct], Struct | None]:
    """What makes a row's key from its struct; None where the key has no fields."""
    if not key:
        return _no_key
    made: Callable[[Struct], Struct | None] = eval(  # noqa: S307  names are quoted
        f"lambda row: {{{', '.join(f'{name!r}: row[{name!r}]' for name in key)}}}"
    )
    return made


def _no_key(row: Struct) -> None:
    """A row of a table without a key."""
