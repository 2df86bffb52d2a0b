"""Dead letters of sources: a record as the task read it, in JSON with its schemas. Kafka Connect has none.

Key and value are what JsonConverter writes with `schemas.enable=true`, whatever the connector's converters; headers are
written by SimpleHeaderConverter. Behind them stand the headers of an `ErrorContext`, with the record's source partition
and offset. A value that is too large for Kafka is left out, and a header says so.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final

from connect.converters import JsonConverter, SimpleHeaderConverter
from connect.data.record import SourceRecord
from connect.pipeline.dead_letters import EncodedRecord
from connect.pipeline.error_headers import ErrorContext

_TOO_LARGE: Final = "MSG_SIZE_TOO_LARGE"


class SourceLetters:
    """Writes records as JSON."""

    def __init__(self) -> None:
        self._json = JsonConverter()
        self._json.configure({"schemas.enable": "true", "converter.type": "value"}, is_key=False)
        self._headers = SimpleHeaderConverter()

    def letter(self, record: SourceRecord, context: ErrorContext | None, *, code: str | None = None) -> EncodedRecord:
        """The dead letter of a record.

        Args:
            record: as the task read it.
            context: what happened; None for no headers.
            code: with which Kafka's error the broker or the client refused the record, if one did.
        """
        key = None if record.key is None else self._envelope(record, record.key_schema, record.key)
        value = None if record.value is None else self._envelope(record, record.value_schema, record.value)
        if code is not None and code.removeprefix("_") == _TOO_LARGE and value is not None:
            omitted = f"it is too large: {len(value)} bytes as JSON"
            value = None
            context = None if context is None else replace(context, omitted=omitted)
        headers = [(header.key, self._header(record.topic, header)) for header in record.headers]
        if context is not None:
            context = replace(
                context,
                topic=record.topic,
                partition=record.partition,
                source_partition=dict(record.source_partition),
                source_offset=dict(record.source_offset),
            )
            headers += context.headers()
        return EncodedRecord(key, value, headers, record.timestamp)

    def _envelope(self, record: SourceRecord, schema: Any, value: Any) -> bytes | None:
        return _or_text(
            lambda: self._json.from_connect_data(record.topic, schema, value),
            lambda: json.dumps({"schema": None, "payload": repr(value)}).encode(),
        )

    def _header(self, topic: str, header: Any) -> bytes | None:
        return _or_text(
            lambda: self._headers.from_connect_header(topic, header.key, header.schema, header.value),
            lambda: repr(header.value).encode(),
        )


def _or_text(write: Callable[[], bytes | None], text: Callable[[], bytes]) -> bytes | None:
    try:
        return write()
    except Exception:  # that it cannot be converted may be why it is a dead letter
        return text()
