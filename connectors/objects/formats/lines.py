"""Formats whose files are lines or bytes, one after another: JSON, CSV, text, raw bytes."""

from __future__ import annotations

import base64
import csv
import datetime as dt
from collections.abc import Callable, Sequence
from itertools import islice
from typing import Any, ClassVar, Final

from connect import DataError, Schema, SinkBatch, Type, Values
from connect.converters.json_converter import JsonConverter
from connect.data.column import Column, Constant, Plain
from connectors.objects.formats import compression
from connectors.objects.formats.format import Encoded, Format, Payload, Sink, Writer


class Lines(Encoded):
    """A row is bytes."""

    def __init__(self, lines: Sequence[bytes], schemas: Column[Any] | None = None) -> None:
        self._lines = lines
        self.schemas = Constant(None, len(lines)) if schemas is None else schemas

    def pick(self, rows: Sequence[int]) -> Payload:
        lines = self._lines
        if isinstance(rows, range) and rows.step == 1:
            chosen = lines if len(rows) == len(lines) else lines[rows.start : rows.stop]
        else:
            chosen = [lines[row] for row in rows]
        return Payload(chosen, len(chosen), sum(map(len, chosen)) + 56 * len(chosen))


class LinesWriter(Writer):
    """Puts rows together and compresses them.

    Args:
        sink: takes the file's bytes.
        compress: what compresses this file.
        before, between, after: the bytes before the first row, between two rows, and after the last.
    """

    def __init__(
        self, sink: Sink, compress: compression.Compressor, before: bytes, between: bytes, after: bytes
    ) -> None:
        self._sink = sink
        self._compress = compress
        self._next = before
        self._between = between
        self._after = after

    def write(self, payload: Payload) -> None:
        lines = payload.content
        if lines:
            self._out(self._next + self._between.join(lines))
            self._next = self._between

    def finish(self) -> None:
        self._out(self._after)
        self._sink(self._compress.flush())

    @property
    def held(self) -> int:
        return self._compress.held

    def release(self, *, hard: bool) -> None:
        if hard:
            self._sink(self._compress.pause())

    def _out(self, data: bytes) -> None:
        if packed := self._compress.compress(data):
            self._sink(packed)


class _LineFormat(Format):
    """A format of rows in bytes.

    Args:
        kind: of compression.
        level: of compression; -1 for the default.
    """

    before: bytes = b""
    between: bytes = b"\n"
    after: bytes = b"\n"
    plain_extension: ClassVar[str]

    def __init__(self, kind: str = compression.NONE, level: int = -1, extension: str | None = None) -> None:
        self._kind = kind
        self._level = level
        self.extension = (self.plain_extension if extension is None else extension) + compression.EXTENSIONS[kind]

    def writer(self, schema: Any, sink: Sink) -> Writer:
        packed = compression.compressor(self._kind, self._level)
        return LinesWriter(sink, packed, self.before_of(schema), self.between, self.after)

    def before_of(self, schema: Any) -> bytes:
        """The bytes before the first row."""
        return self.before


class JsonLines(_LineFormat):
    """Each record as a line of JSON, without its schema.

    Args:
        decimal_format: BASE64 or NUMERIC, see JsonConverter.
    """

    plain_extension = ".json"
    content_type = "application/x-ndjson"

    def __init__(self, decimal_format: str = "BASE64", **more: Any) -> None:
        super().__init__(**more)
        self._converter = JsonConverter()
        self._converter.configure({"schemas.enable": "false", "decimal.format": decimal_format}, is_key=False)

    def encode(self, batch: SinkBatch, values: Values) -> Encoded:
        return Lines(self._texts(batch, values))

    def encode_fields(self, batch: SinkBatch, fields: Sequence[str]) -> Encoded:
        """Encode each record as an object of these fields, as Aiven's sink does it. Raises as `encode`."""
        form = b"{%b}" % b",".join(b'"%b":%%b' % name.encode() for name in fields)
        columns = [_JSON_FIELDS[field](self, batch) for field in fields]
        return Lines([form % row for row in zip(*columns, strict=True)])

    def _timestamps(self, batch: SinkBatch) -> list[bytes]:
        return [b"null" if each is None else b'"%b"' % _iso(each).encode() for each in batch.timestamps]

    def _headers(self, batch: SinkBatch) -> list[bytes]:
        flat = [header for headers in batch.headers for header in headers]
        names = self._texts(batch, Values([header.key for header in flat]))
        values = self._texts(batch, Values([header.value for header in flat], Plain([each.schema for each in flat])))
        texts = iter([b'{"key":%b,"value":%b}' % each for each in zip(names, values, strict=True)])
        return [b"[%b]" % b",".join(islice(texts, len(headers))) for headers in batch.headers]

    def _texts(self, batch: SinkBatch, values: Values) -> Sequence[bytes]:
        raw = values.json
        if raw is not None and None not in raw and b"\n" not in b"".join(raw):  # type: ignore[arg-type]
            return raw  # type: ignore[return-value]  # the same as what would be written, except for blanks
        lines = self._converter.from_connect_batch(batch.topics, values)
        if None in lines:
            lines = [b"null" if line is None else line for line in lines]
        return lines  # type: ignore[return-value]


class JsonArray(JsonLines):
    """All records as one array of JSON."""

    content_type = "application/json"
    before, between, after = b"[\n", b",\n", b"\n]"


_JSON_FIELDS: Final[dict[str, Callable[[JsonLines, SinkBatch], Sequence[bytes]]]] = {
    "key": lambda form, batch: form._texts(batch, batch.keys),
    "value": lambda form, batch: form._texts(batch, batch.values),
    "offset": lambda _, batch: [str(offset).encode() for offset in batch.offsets],
    "timestamp": JsonLines._timestamps,
    "headers": JsonLines._headers,
}


class Texts(_LineFormat):
    """Each record's text as a line, as the file sink writes it."""

    plain_extension = ".txt"
    content_type = "text/plain"

    def encode(self, batch: SinkBatch, values: Values) -> Encoded:
        try:
            return Lines(values.encoded_texts())
        except RecursionError:
            raise DataError("the value is nested too deeply for a text.") from None


class Bytes(_LineFormat):
    """Each record's bytes, with a separator after each.

    Args:
        separator: between two records.
    """

    plain_extension = ".bin"

    def __init__(self, separator: bytes = b"\n", **more: Any) -> None:
        super().__init__(**more)
        self.between = self.after = separator

    def encode(self, batch: SinkBatch, values: Values) -> Encoded:
        found = []
        for value in values:
            if not isinstance(value, str | bytes | bytearray | memoryview):
                raise DataError(
                    f"the value is a {type(value).__name__}, and the format bytes takes bytes. Use ByteArrayConverter "
                    "or StringConverter, or another format.class."
                )
            found.append(_utf8(value) if isinstance(value, str) else bytes(value))
        return Lines(found)


class Csv(_LineFormat):
    """Structs and maps as rows of CSV (RFC 4180); the first row has the field names.

    Without a schema, the first record's fields are the file's columns; a record with other fields begins a new file.
    """

    plain_extension = ".csv"
    content_type = "text/csv"
    by_schema = True
    between = after = b"\n"

    def encode(self, batch: SinkBatch, values: Values) -> Encoded:
        rows = _Rows()
        written = csv.writer(rows, lineterminator=_ROW_END)
        names: list[tuple[str, ...]] = []
        for schema, value in zip(values.schemas, values, strict=True):
            if not isinstance(value, dict):
                raise DataError(f"the value is a {type(value).__name__}, and CSV takes structs and maps.")
            columns = _columns(schema, value)
            names.append(columns)
            written.writerow([_cell(value.get(name)) for name in columns])
        same = len(set(names)) < 2
        return Lines(list(map(_utf8, rows)), Constant(names[0] if names else (), len(names)) if same else Plain(names))

    def before_of(self, schema: Any) -> bytes:
        rows = _Rows()
        csv.writer(rows, lineterminator=_ROW_END).writerow(schema)
        return _utf8(rows[0]) + b"\n"


class FieldsCsv(_LineFormat):
    """Some of key, value, offset, timestamp and headers of each record, separated by commas: the CSV of Aiven's sink.

    Args:
        fields: which, in this order.
        encoded: whether values are in base64, as keys always are.
    """

    plain_extension = ""
    content_type = "text/csv"

    def __init__(self, fields: Sequence[str], *, encoded: bool, **more: Any) -> None:
        super().__init__(**more)
        self._fields = fields
        self._encoded = encoded

    def encode(self, batch: SinkBatch, values: Values) -> Encoded:
        columns = [_FIELDS[field](self, batch) for field in self._fields]
        return Lines(list(map(b",".join, zip(*columns, strict=True))))

    def _data(self, values: Values, *, encoded: bool) -> list[bytes]:
        found = []
        for value in values:
            if value is None:
                found.append(b"")
                continue
            if not isinstance(value, str | bytes):
                raise DataError("Aiven's CSV takes strings and bytes. Use StringConverter or ByteArrayConverter.")
            data = _utf8(value) if isinstance(value, str) else value
            found.append(base64.b64encode(data) if encoded else data)
        return found

    def _headers(self, batch: SinkBatch) -> list[bytes]:
        return [
            b"".join(
                b"%b:%b;" % (base64.b64encode(each.key.encode()), base64.b64encode(_header_bytes(each.value)))
                for each in headers
            )
            for headers in batch.headers
        ]


_FIELDS: Final[dict[str, Callable[[FieldsCsv, SinkBatch], list[bytes]]]] = {
    "key": lambda form, batch: form._data(batch.keys, encoded=True),
    "value": lambda form, batch: form._data(batch.values, encoded=form._encoded),
    "offset": lambda _, batch: [str(offset).encode() for offset in batch.offsets],
    "timestamp": lambda _, batch: [b"" if each is None else str(each).encode() for each in batch.timestamps],
    "headers": FieldsCsv._headers,
}


def _iso(milliseconds: int) -> str:
    """A time as Java's Instant writes it. Raises `DataError` for one after the year 9999."""
    try:
        moment = dt.datetime.fromtimestamp(milliseconds / 1000, dt.UTC)
    except (OverflowError, ValueError, OSError):
        raise DataError(
            f"its timestamp, {milliseconds} ms since 1970, is outside the range of dates. Is it in microseconds?"
        ) from None
    text = moment.strftime("%Y-%m-%dT%H:%M:%S")
    return f"{text}.{milliseconds % 1000:03d}Z" if milliseconds % 1000 else f"{text}Z"


#: A `csv.writer` quotes only the line ends that its rows end with: with this one, all.
_ROW_END: Final = "\r\n"


class _Rows(list[str]):
    """Takes the rows of a `csv.writer`, which writes each at once, without their ends."""

    def write(self, row: str) -> None:
        self.append(row.removesuffix(_ROW_END))


def _columns(schema: Schema | None, value: dict[str, Any]) -> tuple[str, ...]:
    if schema is not None and schema.type is Type.STRUCT:
        return tuple(field.name for field in schema.fields)
    return tuple(value)


def _cell(value: Any) -> Any:
    if value is None or (isinstance(value, str | int | float) and not isinstance(value, bool)):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, bytes | bytearray | memoryview):
        return base64.b64encode(value).decode()
    if isinstance(value, dict | list | tuple):
        import msgspec

        try:
            return msgspec.json.encode(value).decode()
        except (TypeError, ValueError, RecursionError) as error:
            raise DataError(f"a field of CSV holds what JSON cannot: {error}.") from None
    if isinstance(value, dt.datetime):
        return value.isoformat(timespec="milliseconds")
    return str(value)


def _utf8(text: str) -> bytes:
    """A text in UTF-8, as Java has it: half of a surrogate pair, which JSON may bring, is a question mark."""
    return text.encode("utf-8", "replace")


def _header_bytes(value: Any) -> bytes:
    if isinstance(value, bytes | bytearray | memoryview):
        return bytes(value)
    return b"" if value is None else _utf8(str(value))
