"""Parquet, as far as it needs no Arrow."""

from __future__ import annotations

from typing import Any, Final

from connect import SinkBatch, Values
from connectors.objects.formats.format import Encoded, Format, Sink, Writer

#: Parquet's names of codecs for ours.
CODECS: Final = {
    "none": "NONE",
    "uncompressed": "NONE",
    "gzip": "GZIP",
    "snappy": "SNAPPY",
    "zstd": "ZSTD",
    "lz4": "LZ4",
    "brotli": "BROTLI",
}
_EXTENSIONS: Final = {"NONE": "", "GZIP": ".gz", "SNAPPY": ".snappy", "ZSTD": ".zstd", "LZ4": ".lz4", "BROTLI": ".br"}


class Parquet(Format):
    """Structs as rows. Needs records with a schema.

    Args:
        codec: one of CODECS.
    """

    content_type = "application/vnd.apache.parquet"
    by_schema = True

    def __init__(self, codec: str = "snappy") -> None:
        self._codec = CODECS[codec]
        self.extension = f"{_EXTENSIONS[self._codec]}.parquet"

    def encode(self, batch: SinkBatch, values: Values) -> Encoded:
        from connectors.objects.formats import parquet_file

        return parquet_file.encode(values)

    def writer(self, schema: Any, sink: Sink) -> Writer:
        from connectors.objects.formats import parquet_file

        return parquet_file.writer(schema, sink, self._codec)
