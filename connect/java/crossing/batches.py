"""What one call of Java does with a batch: the block that it is given, and what it made of it. Loads pyarrow."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from connect.api.converter import RawHeaders
from connect.data.batch import Batch, SinkBatch, SourceBatch
from connect.data.column import Column, Plain, column
from connect.data.headers import Headers
from connect.data.schema import INT32, INT64, OPTIONAL_BYTES, OPTIONAL_INT32, OPTIONAL_INT64, OPTIONAL_STRING, STRING
from connect.data.values import Values
from connect.java.crossing.block import Reader, Writer

B = TypeVar("B", bound=Batch[Any])
_PLAIN = (("topics", OPTIONAL_STRING), ("partitions", OPTIONAL_INT32), ("timestamps", OPTIONAL_INT64))


def of_records(batch: Batch[Any]) -> Any:
    """The block of a batch's records."""
    writer = Writer()
    sink = isinstance(batch, SinkBatch)
    writer.integer(int(sink))
    writer.plain(STRING, batch.topics)
    writer.plain(OPTIONAL_INT32, batch.partitions)
    writer.plain(OPTIONAL_INT64, batch.timestamps)
    writer.values(batch.keys)
    writer.values(batch.values)
    writer.headers(batch.headers)
    if isinstance(batch, SinkBatch):
        writer.plain(INT64, batch.offsets)
        writer.plain(STRING, batch.timestamp_types)
        writer.plain(STRING, batch.original_topics)
        writer.plain(INT32, batch.original_partitions)
    return _seen(writer, len(batch))


def changed(batch: B, block: Any) -> B:
    """A batch with what Java made of it: rows that were kept, columns that differ."""
    reader = Reader(read(block))
    kept = batch.take(reader.integers(reader.rows)) if reader.integer() else batch
    columns: dict[str, Any] = {}
    for name, schema in _PLAIN:
        if reader.integer():
            columns[name] = reader.plain(schema)
    for name in ("keys", "values"):
        if reader.integer():
            columns[name] = reader.values()
    if reader.integer():
        columns["headers"] = reader.headers()
    return kept.with_columns(**columns)


class NumberedOffset(dict[str, Any]):
    """A source offset that knows the number of its record in Java."""

    __slots__ = ("number",)
    number: int


def polled(block: Any) -> SourceBatch:
    """The records that a source task of Java returned. Their offsets are `NumberedOffset`s."""
    reader = Reader(read(block))
    first = reader.long()
    topics, partitions, timestamps = (reader.plain(schema) for _, schema in _PLAIN)
    keys, values = reader.values(), reader.values()
    sources, offsets = reader.plain(None), reader.plain(None)
    headers = reader.headers() if reader.integer() else None
    numbered: list[Mapping[str, Any]] = []
    for number, offset in enumerate(offsets, first):
        numbered.append(made := NumberedOffset(offset or {}))
        made.number = number
    return SourceBatch(
        topics, values, keys=keys, partitions=partitions, timestamps=timestamps, headers=headers,
        source_partitions=Plain([source or {} for source in sources]), source_offsets=Plain(numbered),
    )  # fmt: skip


def of_data(topics: Column[str], data: Sequence[bytes | None], headers: Column[RawHeaders]) -> Any:
    """The block of bytes that are to be converted."""
    writer = Writer()
    writer.plain(STRING, topics)
    writer.plain(OPTIONAL_BYTES, column(data))
    writer.raw_headers(headers)
    return _seen(writer, len(data))


def values(block: Any) -> Values:
    """What they were converted to."""
    return Reader(read(block)).values()


def of_values(topics: Column[str], values: Values, headers: Column[RawHeaders]) -> Any:
    """The block of values that are to be converted."""
    writer = Writer()
    writer.plain(STRING, topics)
    writer.values(values)
    writer.raw_headers(headers)
    return _seen(writer, len(values))


def data(block: Any) -> tuple[list[bytes | None], Column[RawHeaders] | None]:
    """What they were converted to, and the headers if the converter has changed them."""
    reader = Reader(read(block))
    return reader.plain(OPTIONAL_BYTES).to_list(), reader.raw_headers()


def of_raw_headers(topics: Column[str], headers: Column[RawHeaders]) -> Any:
    """The block of headers whose bytes are to be converted."""
    writer = Writer()
    writer.plain(STRING, topics)
    writer.raw_headers(headers)
    return _seen(writer, len(headers))


def of_headers(topics: Column[str], headers: Column[Headers]) -> Any:
    """The block of headers whose values are to be converted."""
    writer = Writer()
    writer.plain(STRING, topics)
    writer.headers(headers)
    return _seen(writer, len(headers))


def headers(block: Any) -> Column[Headers]:
    """What they were converted to."""
    return Reader(read(block)).headers()


def raw_headers(block: Any) -> Column[RawHeaders]:
    """The bytes that they were converted to."""
    found = Reader(read(block)).raw_headers()
    assert found is not None
    return found


def read(block: Any) -> memoryview:
    """The bytes of an array of Java's."""
    return memoryview(block).cast("B")


def _seen(writer: Writer, rows: int) -> Any:
    """A block as Java sees it, in place."""
    import jpype

    return jpype.nio.convertToDirectBuffer(writer.done(rows))
