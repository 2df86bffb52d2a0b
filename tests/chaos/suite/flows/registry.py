"""All flows, by name."""

from __future__ import annotations

from typing import Final

from .flow import Flow
from .passing import Compacted, ShortLived
from .sinks import DeltaSink, ElasticsearchSink, FileSink, HttpSink, JdbcSink, NotesSink, S3Sink
from .sources import (
    Capture,
    Datagen,
    ElasticsearchSource,
    FileSource,
    HttpSource,
    JdbcSource,
    Mirror,
    NumbersSource,
    S3Source,
)
from .spark import DeltaSinkOnSpark, FileSinkOnSpark, JdbcSinkOnSpark, JdbcSourceOnSpark

FLOWS: Final[dict[str, type[Flow]]] = {
    each.name: each
    for each in (
        FileSink, JdbcSink, S3Sink, ElasticsearchSink, DeltaSink, HttpSink, NotesSink, ShortLived, Compacted,
        FileSource, JdbcSource, Capture, S3Source, ElasticsearchSource, HttpSource, Datagen, NumbersSource, Mirror,
        FileSinkOnSpark, JdbcSinkOnSpark, DeltaSinkOnSpark, JdbcSourceOnSpark,
    )
}  # fmt: skip

#: Those that run where none is named.
USUAL: Final = [name for name, flow in FLOWS.items() if not flow.on_spark]
