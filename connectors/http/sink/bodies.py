"""Records in the body of a request: texts and bytes as they are, anything else as JSON without a schema."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from connect import DataError, Schema, Type, Values
from connect.converters import JsonConverter
from connect.data import Constant

_PLAIN: Final = (str, bytes, type(None))


class Bodies:
    """Makes bodies.

    Args:
        decimal_format: BASE64 or NUMERIC, see JsonConverter.
    """

    def __init__(self, decimal_format: str) -> None:
        self._converter = JsonConverter()
        self._converter.configure({"schemas.enable": "false", "decimal.format": decimal_format}, is_key=False)

    def of(self, topic: str, values: Values) -> tuple[list[bytes | None], dict[int, DataError]]:
        """The bodies of records, None where there is no value; and the rows that cannot have one."""
        groups = values.by_schema()
        if len(groups) == 1:
            return self._of_schema(topic, groups[0][0], values)
        found: list[bytes | None] = [None] * len(values)
        wrong: dict[int, DataError] = {}
        for schema, rows in groups:
            made, bad = self._of_schema(topic, schema, values.take(rows))
            for row, body in zip(rows, made, strict=True):
                found[row] = body
            wrong.update({rows[index]: why for index, why in bad.items()})
        return found, wrong

    def _of_schema(
        self, topic: str, schema: Schema | None, values: Values
    ) -> tuple[list[bytes | None], dict[int, DataError]]:
        if schema is not None and schema.type in (Type.STRING, Type.BYTES) and schema.name is None:
            return [_plain(value) for value in values], {}
        if schema is None:
            items = values.to_list()
            kinds = set(map(type, items))
            if kinds.issubset(_PLAIN):
                return [_plain(value) for value in items], {}
            if not kinds.isdisjoint(_PLAIN):
                return self._one_by_one(topic, values, items)
            raw = values.json
            # What would be written, but for blanks. Of these line breaks are often what separates records.
            if raw is not None and None not in raw and b"\n" not in b"".join(raw):  # type: ignore[arg-type]
                return raw, {}
        try:
            return list(self._converter.from_connect_batch(Constant(topic, len(values)), values)), {}
        except DataError:
            return self._one_by_one(topic, values, values.to_list())

    def _one_by_one(
        self, topic: str, values: Values, items: Sequence[Any]
    ) -> tuple[list[bytes | None], dict[int, DataError]]:
        found: list[bytes | None] = []
        wrong: dict[int, DataError] = {}
        for row, value in enumerate(items):
            try:
                plain = isinstance(value, _PLAIN) and values.schemas[row] is None
                found.append(
                    _plain(value) if plain else self._converter.from_connect_data(topic, values.schemas[row], value)
                )
            except DataError as error:
                found.append(None)
                wrong[row] = error
        return found, wrong


def _plain(value: Any) -> bytes | None:
    return value.encode(errors="replace") if isinstance(value, str) else value
