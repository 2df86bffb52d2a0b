"""Values that are not of their column's type, made so as Iceberg's own connector does: JSON has no dates.

What loses something (1.5 for an int), or is no such value, stays as it is: the record does not fit then.
"""

from __future__ import annotations

import base64
import datetime as dt
import json
import uuid
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any, Final

from connect.data import logical
from connect.data.schema import Schema, Type
from connect.data.times import EPOCH
from connect.data.values import Values
from spark_sink.iceberg.types import UUID

_WHOLE: Final = frozenset({Type.INT8, Type.INT16, Type.INT32, Type.INT64})


def converted(values: Values, schema: Schema) -> Values:
    """The values for a table's columns.

    Args:
        values: in any form.
        schema: of the table.
    """
    return Values([_struct(item, schema) if isinstance(item, dict) else item for item in values.to_list()])


def _struct(item: dict[str, Any], schema: Schema) -> dict[str, Any]:
    made = dict(item)
    for name, value in item.items():
        field = schema.field(name) if isinstance(name, str) else None
        if field is not None and value is not None:
            made[name] = _value(value, field.schema)
    return made


def _value(value: Any, schema: Schema) -> Any:
    if (how := _LOGICAL.get(schema.name)) is not None or (how := _PLAIN.get(schema.type)) is not None:
        try:
            return how(value)
        except (ValueError, ArithmeticError, OverflowError, TypeError):
            return value
    if schema.type is Type.STRUCT and isinstance(value, dict):
        return _struct(value, schema)
    if schema.type is Type.ARRAY and isinstance(value, list | tuple):
        assert schema.value_schema is not None
        inner = schema.value_schema
        return [None if each is None else _value(each, inner) for each in value]
    if schema.type is Type.MAP and isinstance(value, dict):
        assert schema.key_schema is not None
        assert schema.value_schema is not None
        key, inner = schema.key_schema, schema.value_schema
        return {_value(name, key): None if each is None else _value(each, inner) for name, each in value.items()}
    return value


def _whole(value: Any) -> Any:
    if isinstance(value, float | Decimal) and value == int(value):
        return int(value)
    return int(_number(value)) if isinstance(value, str) else value


def _number(text: str) -> str:
    if "_" in text:  # Python would take 1_0 for 10
        raise ValueError
    return text


def _real(value: Any) -> Any:
    if isinstance(value, str):
        return float(_number(value))
    return float(value) if isinstance(value, Decimal) else value


def _boolean(value: Any) -> Any:
    return {"true": True, "false": False}.get(value.lower(), value) if isinstance(value, str) else value


def _text(value: Any) -> Any:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float | Decimal):
        return str(value)
    if isinstance(value, dict | list):
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return value


def _bytes(value: Any) -> Any:
    return base64.b64decode(value, validate=True) if isinstance(value, str) else value


def _decimal(value: Any) -> Any:
    if isinstance(value, str):
        return Decimal(_number(value))
    return Decimal(repr(value)) if isinstance(value, float) else value


def _date(value: Any) -> Any:
    if isinstance(value, str):
        return dt.date.fromisoformat(value)
    if isinstance(value, dt.datetime):
        return value.date()
    if isinstance(value, int) and not isinstance(value, bool):
        return EPOCH.date() + dt.timedelta(days=value)
    return value


def _time(value: Any) -> Any:
    if isinstance(value, str):
        return dt.time.fromisoformat(value)
    if isinstance(value, int) and not isinstance(value, bool):
        return (EPOCH + dt.timedelta(milliseconds=value)).time() if 0 <= value < 86_400_000 else value
    return value


def _timestamp(value: Any) -> Any:
    if isinstance(value, str):
        found = dt.datetime.fromisoformat(value)
        return found if found.tzinfo is not None else found.replace(tzinfo=dt.UTC)
    if isinstance(value, int) and not isinstance(value, bool):
        return EPOCH + dt.timedelta(milliseconds=value)
    if isinstance(value, dt.date) and not isinstance(value, dt.datetime):
        return dt.datetime(value.year, value.month, value.day, tzinfo=dt.UTC)
    return value


def _uuid(value: Any) -> Any:
    return str(uuid.UUID(value)) if isinstance(value, str) else value


_LOGICAL: Final[Mapping[str | None, Callable[[Any], Any]]] = {
    logical.DECIMAL_NAME: _decimal,
    logical.DATE_NAME: _date,
    logical.TIME_NAME: _time,
    logical.TIMESTAMP_NAME: _timestamp,
    UUID: _uuid,
}
_PLAIN: Final[Mapping[Type, Callable[[Any], Any]]] = {
    **dict.fromkeys(_WHOLE, _whole),
    Type.FLOAT32: _real,
    Type.FLOAT64: _real,
    Type.BOOLEAN: _boolean,
    Type.STRING: _text,
    Type.BYTES: _bytes,
}
