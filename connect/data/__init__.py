"""Records, batches, schemas and values: the data model. Knows nothing of Kafka clients, files or processes."""

from connect.data import logical, schema
from connect.data.batch import Batch, SinkBatch, SourceBatch
from connect.data.column import Column, Constant, Deferred, Dictionary, Plain
from connect.data.headers import NO_HEADERS, BytesHeaders, Header, Headers
from connect.data.record import Origin, Record, SinkRecord, SourceRecord, TopicPartition
from connect.data.schema import Field, Schema, Type
from connect.data.struct_columns import StructColumns
from connect.data.text import java_text
from connect.data.values import Text, Values

__all__ = [
    "NO_HEADERS",
    "Batch",
    "BytesHeaders",
    "Column",
    "Constant",
    "Deferred",
    "Dictionary",
    "Field",
    "Header",
    "Headers",
    "Origin",
    "Plain",
    "Record",
    "Schema",
    "SinkBatch",
    "SinkRecord",
    "SourceBatch",
    "SourceRecord",
    "StructColumns",
    "Text",
    "TopicPartition",
    "Type",
    "Values",
    "java_text",
    "logical",
    "schema",
]
