"""Avro container files: fastavro reads the header and unpacks the blocks.

Their records become values and columns as AvroConverter makes them, `connect.*` properties and all: its reader makes
columns, and is faster than fastavro's, which makes dicts.
https://avro.apache.org/docs/1.12.0/specification/#object-container-files
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, cast

from connect import ConnectError, DataError, Schema, StructColumns, Values
from connect.converters.avro.keys import AvroOptions
from connect.converters.avro.reading import make_block_reader
from connect.converters.avro.to_connect import ToConnect
from connect.converters.avro.types import parse
from connectors.objects.formats.read_compressed import Begun
from connectors.objects.formats.reading import CHUNK_BYTES, Chunks, Source, chunk, exactly

_MAGIC: Final = b"Obj\x01"
_MOST_BLOCK: Final = 1 << 30
_MOST_RECORDS: Final = 100_000


def read_avro(source: Source, longest: int, skip: int) -> Chunks:
    """Each record of the file. Whole blocks before the first wanted record are not decoded."""
    blocks = _Blocks(source, max(longest, _MOST_BLOCK))
    avro = parse(blocks.schema)
    if avro.kind == "null":
        raise DataError("its Avro schema is null: there is nothing in it to read.")
    schema = ToConnect(AvroOptions.parse({})).schema(avro)
    read = make_block_reader(avro, schema, AvroOptions.parse({}))
    by_fields = avro.kind == "record" and bool(avro.fields)
    first = 0
    waiting = _Waiting(schema, by_fields)
    while True:
        try:
            found = blocks.next(first)
        except DataError:
            yield from waiting.take()
            raise
        if found is None:
            break
        count, block = found
        index, done = 0, max(0, skip - first)
        if 0 < done < count:
            _, index = read(block, 0, done)
        at_once = max(1, min(_MOST_RECORDS, count * (CHUNK_BYTES // 2) // (len(block) or 1)))
        while done < count:
            taken, start = min(at_once, count - done), index
            try:
                columns, index = read(block, index, taken)
            except DataError as error:
                yield from waiting.take()
                raise DataError(f"one of the records {first + done} to {first + done + taken - 1}: {error}") from None
            waiting.add(columns, first + done, taken, index - start)
            done += taken
            if waiting.full:
                yield from waiting.take()
        first += count
    yield from waiting.take()


class _Waiting:
    """Collects the records of several, mostly small, blocks for one chunk."""

    def __init__(self, schema: Schema, by_fields: bool) -> None:
        self._schema = schema
        self._by_fields = by_fields
        self._columns: list[Any] = []
        self._first = self._count = self._bytes = 0

    @property
    def full(self) -> bool:
        """Whether there are enough for a chunk."""
        return self._bytes >= CHUNK_BYTES // 2 or self._count >= _MOST_RECORDS

    def add(self, columns: list[Any], first: int, count: int, size: int) -> None:
        """Add records after those held: columns, or values if records have no fields."""
        if not self._count:
            self._columns, self._first = columns, first
        elif self._by_fields:
            for column, more in zip(self._columns, columns, strict=True):
                column.extend(more)
        else:
            self._columns.extend(columns)
        self._count += count
        self._bytes += size

    def take(self) -> Chunks:
        """What is held, as a chunk; no chunk if there is nothing."""
        if self._count:
            columns, self._columns = self._columns, []
            values = StructColumns(self._schema, columns) if self._by_fields else Values(columns, self._schema)
            self._count = self._bytes = 0
            yield chunk(values, self._first)


class _Blocks:
    """The blocks of a file, and the file that fastavro reads: truncated and oversized parts are errors.

    Attributes:
        schema: of the file, in JSON.
    """

    def __init__(self, source: Source, longest: int) -> None:
        try:
            import fastavro
        except ImportError:
            raise ConnectError(
                "Avro objects cannot be read: the package fastavro is missing. Install connect-runtime[s3]."
            ) from None
        self._source = Begun(source)
        self._longest = longest
        self._what = "its Avro header"
        self._may_end = False
        self._failed: Exception | None = None
        if self._source.peek(len(_MAGIC)) != _MAGIC:
            raise DataError("it is not an Avro container file: it does not begin as one.")
        # With any reader schema fastavro tolerates defaults that do not fit.
        self._blocks: Any = self._checked(lambda: fastavro.block_reader(cast("Any", self), reader_schema="null"))
        self.schema: str = self._blocks.metadata["avro.schema"]

    def next(self, first: int) -> tuple[int, bytes] | None:
        """The next block's record count and bytes; None at the end. `first` is the number of its first record."""
        self._what, self._may_end = f"record {first}: its Avro block", True
        block = self._checked(lambda: next(self._blocks, None))
        if block is not None and block.num_records < 0:
            raise DataError(f"{self._what} has {block.num_records} records.")
        return None if block is None else (block.num_records, block.bytes_.getvalue())

    def read(self, size: int) -> bytes:
        """Exactly `size` bytes; none at the end, which can only be between two blocks."""
        try:
            if not 0 <= size <= self._longest:
                raise DataError(f"{self._what} has an impossible size of {size} bytes.")
            if self._may_end and not self._source.peek(1):
                return b""
            self._may_end = False
            return exactly(self._source, size, self._what) if size else b""
        except Exception as error:
            self._failed = error  # fastavro may replace it by another error
            raise

    def tell(self) -> int:
        """Positions of blocks are not used."""
        return 0

    def _checked(self, ask: Callable[[], Any]) -> Any:
        try:
            return ask()
        except Exception as error:  # those of fastavro and of every codec
            if self._failed is not None:
                raise self._failed from None
            raise DataError(f"{self._what} is damaged: {error}.") from None
