"""The keys of the S3 source: Aiven's and Confluent's names if they mean the same, else new ones."""

from __future__ import annotations

import codecs
import datetime as dt
from typing import Final

from connect import ConfigError, settings
from connect.settings import Listed, WithoutEffect
from connect.settings.java_regex import java_regex
from connectors.objects.formats.read import BYTES, FORMATS, ReadOptions
from connectors.objects.formats.read_compressed import COMPRESSIONS
from connectors.objects.formats.read_csv import CsvOptions
from connectors.objects.formats.separators import unescaped
from connectors.s3.bucket import BucketOptions
from connectors.s3.source.template import Template, is_template

GENERIC: Final = "GENERIC"
RESTORE_BACKUP: Final = "RESTORE_BACKUP"

BY_NAME: Final = "name"
BY_PARTITION: Final = "partition"
BY_TIME: Final = "time"

OBJECT_HASH: Final = "object_hash"
PARTITION_IN_FILENAME: Final = "partition_in_filename"

FAIL: Final = "fail"
LOG: Final = "log"
IGNORE: Final = "ignore"
RESTART: Final = "restart"

NONE: Final = "none"
TAG: Final = "tag"
MOVE: Final = "move"
DELETE: Final = "delete"
OBJECT: Final = "object"

_OBJECTS: Final = "Which objects"
_TOPICS: Final = "Topics"
_FORMAT: Final = "Format"
_READING: Final = "Reading"
_AFTER: Final = "Afterwards"

# Why other connectors' keys have no effect.
_SCHEMAS: Final = "the schema of an object is remembered as long as it is read"
_LICENCE: Final = "no licence is needed"

#: Confluent's format classes, by the last part of their names, and our sink's short names for them.
_CLASSES: Final = {
    "json": "jsonl",
    "jsonarray": "json",
    "string": "text",
    "jsonformat": "jsonl",
    "avroformat": "avro",
    "parquetformat": "parquet",
    "bytearrayformat": "bytes",
    "stringformat": "text",
}


def _topic_regexes(_: str, values: list[str]) -> None:
    for value in values:
        topic, colon, regex = value.partition(":")
        if not (colon and topic.strip() and regex.strip()):
            raise ValueError(f'"{value}" does not assign names to a topic. Write topic:regex.')
        java_regex(regex.strip())


def _encoding(_: str, value: str) -> None:
    try:
        codecs.lookup(value)
    except LookupError:
        raise ValueError(f'"{value}" is not an encoding that Python knows. Write UTF-8, for example.') from None


def _one_character(_: str, value: str) -> None:
    if len(unescaped(value)) != 1:
        raise ValueError(f'"{value}" is not one character.')


def _format_class(_: str, value: str) -> None:
    if value and _format_of(value) is None:
        raise ValueError(f'"{value}" is unknown. Set input.format to one of {", ".join(FORMATS)}.')


def _format_of(name: str) -> str | None:
    short = name.rpartition(".")[2].lower()
    return _CLASSES.get(short) or (short if short in FORMATS else None)


def _tag(_: str, value: str) -> None:
    key, equals, _value = value.partition("=")
    if not (key.strip() and equals):
        raise ValueError(f'"{value}" is not a tag. Write key=value.')


def _moment(value: str) -> int:
    """A key's value in milliseconds since 1970.

    Raises:
        ValueError: it is not a time.
    """
    if value.strip().lstrip("-").isdigit():
        return int(value)
    try:
        found = dt.datetime.fromisoformat(value.strip())
    except ValueError:
        raise ValueError(f'"{value}" is not a time. Write milliseconds since 1970, or 2024-05-01T00:00:00Z.') from None
    return int((found if found.tzinfo else found.replace(tzinfo=dt.UTC)).timestamp() * 1000)


class S3SourceOptions(
    BucketOptions,
    aliases={
        "aws_s3_prefix": "aws.s3.prefix",
        "topics": "topic",
        "input.type": "input.format",
        "s3.compression.type": "file.compression.type",
        "record.batch.max.size": "max.poll.records",
        "ring.buffer.size": "aws.s3.fetch.buffer.size",
    },
    without_effect={
        "storage.class": WithoutEffect(
            "this source reads from S3 only", unless=("io.confluent.connect.s3.storage.S3Storage",)
        ),
        "task.batch.size": "max.poll.records limits the records of a poll",
        "schema.cache.size": _SCHEMAS,
        "schemas.cache.config": _SCHEMAS,
        "schema.registry.url": "the converter reads value.converter.schema.registry.url",
        "kafka.retry.backoff.ms": "s3.retry.backoff.ms sets the pause between requests",
        "task.id": "the connector numbers its tasks",
        "confluent.license": _LICENCE,
        "confluent.topic.*": _LICENCE,
    },
):
    """The keys, and what follows from them together."""

    prefix = settings.String(
        "aws.s3.prefix",
        default="",
        importance="HIGH",
        group=_OBJECTS,
        doc="The prefix of the names of the objects to read. The source lists no others.",
    )
    written_mode = settings.String(
        "mode",
        default="",
        group=_OBJECTS,
        validator=settings.one_of("", GENERIC, RESTORE_BACKUP, ignore_case=True),
        doc="RESTORE_BACKUP: names are those of this S3 sink and of Confluent's, "
        "topics.dir/topic/.../topic+partition+offset.ext, and records go back to that topic and partition. GENERIC: "
        "any names. Default: GENERIC if topic, topic.regex.list or file.name.template is set, else RESTORE_BACKUP.",
    )
    topics_dir = settings.String(
        "topics.dir",
        default="topics",
        group=_OBJECTS,
        doc="With RESTORE_BACKUP: the folder of all topics, after aws.s3.prefix.",
    )
    directory_delim = settings.String(
        "directory.delim",
        default="/",
        importance="LOW",
        group=_OBJECTS,
        validator=settings.non_empty,
        doc="With RESTORE_BACKUP: the separator between folders in names.",
    )
    file_delim = settings.String(
        "file.delim",
        default="+",
        importance="LOW",
        group=_OBJECTS,
        validator=settings.non_empty,
        doc="With RESTORE_BACKUP: the separator between topic, partition and offset in names.",
    )
    partitioner_class = settings.String(
        "partitioner.class",
        default="",
        importance="LOW",
        group=_OBJECTS,
        doc="With RESTORE_BACKUP: the sink's partitioner. With time-based ones, names ascend over all partitions "
        "together, with others within each partition; see object.order.",
    )
    template = settings.String(
        "file.name.template",
        default="",
        group=_OBJECTS,
        validator=is_template,
        doc="The form of names, after aws.s3.prefix and any folders, and before an extension: a regular expression "
        "with {{topic}}, {{partition}}, {{start_offset}}, {{timestamp}} and {{key}} in it. The source skips other "
        "objects.",
    )
    order = settings.String(
        "object.order",
        default="",
        importance="HIGH",
        group=_OBJECTS,
        validator=settings.one_of("", BY_NAME, BY_PARTITION, BY_TIME, ignore_case=True),
        convert=str.lower,
        doc="The order of reading, which decides which objects are new. name: by name; reading continues "
        "after the last one. partition: the same for each topic partition in the names. time: by the time they were "
        "written; every pass lists all of them. Default: partition if names have a partition and an offset after it, "
        "else name.",
    )
    aws_s3_fetch_buffer_size = settings.Int(
        "aws.s3.fetch.buffer.size",
        default=64,
        group=_OBJECTS,
        validator=settings.between(1, 10_000),
        doc="How many recent objects the source remembers individually, for each share or partition: it still reads a "
        "late object if it has read fewer objects than that after it.",
    )
    native_start_key = settings.String(
        "native.start.key",
        default="",
        group=_OBJECTS,
        doc="With the orders name and partition, if nothing was read yet: begin after this name.",
    )
    file_discovery_starting_timestamp = settings.String(
        "file.discovery.starting.timestamp",
        default="0",
        importance="LOW",
        group=_OBJECTS,
        convert=_moment,
        doc="The source skips objects written before this: milliseconds since 1970, or 2024-05-01T00:00:00Z.",
    )
    distribution = settings.String(
        "distribution.type",
        default=OBJECT_HASH,
        group=_OBJECTS,
        validator=settings.one_of(OBJECT_HASH, PARTITION_IN_FILENAME, "partition", ignore_case=True),
        convert=str.lower,
        doc="How tasks share objects: object_hash by name, partition_in_filename by the partition in the name, "
        "which gives all objects of a partition to one task.",
    )
    object_shares = settings.Int(
        "object.shares",
        default=16,
        importance="LOW",
        group=_OBJECTS,
        validator=settings.between(1, 1000),
        doc="With the orders name and time: the number of shares of objects, which is the maximum number of tasks. "
        "Offsets belong to shares: with another number, the source reads everything again.",
    )
    topic = settings.String(
        "topic",
        default="",
        importance="HIGH",
        group=_TOPICS,
        listed=Listed.TOPICS,
        doc="The topic for records, if object names contain none.",
    )
    topic_regex_list = settings.List(
        "topic.regex.list",
        default=[],
        group=_TOPICS,
        validator=_topic_regexes,
        doc="Topics by name, as topic:regex. The first regex that matches an object's whole name counts; objects "
        "without a match go to topic, if that is set, and are skipped otherwise.",
    )
    record_key = settings.String(
        "record.key",
        default=NONE,
        group=_TOPICS,
        validator=settings.one_of(NONE, OBJECT, ignore_case=True),
        convert=str.lower,
        doc="The key of records: none, or object for the object's name as a string.",
    )
    input_format = settings.String(
        "input.format",
        default="",
        importance="HIGH",
        group=_FORMAT,
        validator=settings.one_of("", *FORMATS, ignore_case=True),
        doc="The format of objects: bytes, jsonl, json, csv, text (each line as a string), avro or parquet. Default: "
        "that of format.class, else bytes.",
    )
    format_class = settings.Class(
        "format.class",
        default="",
        group=_FORMAT,
        validator=_format_class,
        doc="The format by Confluent's class: JsonFormat (a JSON document in each line), AvroFormat, ParquetFormat, "
        "ByteArrayFormat (with a line feed between records), StringFormat; or by the sink's short name.",
    )
    file_compression_type = settings.String(
        "file.compression.type",
        default="auto",
        group=_FORMAT,
        validator=settings.one_of(*COMPRESSIONS, ignore_case=True),
        doc="The compression of whole objects: none, gzip, zstd, snappy, or auto to recognize it by their first bytes "
        "(not for bytes without a separator, which need it set here). Not for avro and parquet, which compress "
        "internally.",
    )
    format_json_schema_enable = settings.Boolean(
        "format.json.schema.enable",
        default=False,
        group=_FORMAT,
        doc="Whether each JSON document is an envelope of schema and payload.",
    )
    format_bytearray_separator = settings.String(
        "format.bytearray.separator",
        default=None,
        group=_FORMAT,
        doc="The separator between records of bytes, with the escapes \\n, \\r, \\t and \\\\. Default: none, the "
        "whole object is one record; for ByteArrayFormat a line feed.",
    )
    transformer_max_buffer_size = settings.Int(
        "transformer.max.buffer.size",
        default=None,
        group=_FORMAT,
        validator=settings.at_least(1),
        doc="Bytes without a separator are cut into records of this many bytes. Default: one record per object. "
        "Aiven's default is 4096.",
    )
    max_record_bytes = settings.Int(
        "max.record.bytes",
        default=16 << 20,
        importance="LOW",
        group=_FORMAT,
        validator=settings.at_least(1),
        doc="The maximum number of bytes of a record, which also limits memory while the source looks for the record's "
        "end. An object with a longer one cannot be read.",
    )
    csv_first_row_as_header = settings.Boolean(
        "csv.first.row.as.header",
        default=True,
        group=_FORMAT,
        doc="Whether the first row of each object names the fields.",
    )
    csv_fields = settings.List(
        "csv.fields",
        default=[],
        group=_FORMAT,
        doc="Names of the fields, which replace those of the first row. Default: column1, column2, ...",
    )
    csv_separator_char = settings.String(
        "csv.separator.char",
        default=",",
        group=_FORMAT,
        validator=_one_character,
        doc="The separator of fields; \\t for a tab.",
    )
    csv_quote_char = settings.String(
        "csv.quote.char",
        default='"',
        group=_FORMAT,
        validator=_one_character,
        doc="The quote around fields that contain a separator or a line end; doubled inside.",
    )
    csv_encoding = settings.String(
        "csv.encoding",
        default="UTF-8",
        importance="LOW",
        group=_FORMAT,
        validator=_encoding,
        doc="The encoding of CSV: any name that Python knows.",
    )
    s3_poll_interval_ms = settings.Long(
        "s3.poll.interval.ms",
        default=60_000,
        group=_READING,
        validator=settings.at_least(1),
        doc="The time between two listings of the bucket.",
    )
    aws_s3_fetch_page_size = settings.Int(
        "aws.s3.fetch.page.size",
        default=1000,
        importance="LOW",
        group=_READING,
        validator=settings.between(1, 1000),
        doc="The number of names in one request.",
    )
    max_poll_records = settings.Int(
        "max.poll.records",
        default=500,
        group=_READING,
        validator=settings.at_least(1),
        doc="The maximum number of records per poll. Unset: about a mebibyte per poll, which is faster.",
    )
    on_error = settings.String(
        "behavior.on.error",
        default="",
        group=_READING,
        validator=settings.one_of("", FAIL, LOG, IGNORE, ignore_case=True),
        convert=str.lower,
        doc="What to do with an object, or a line or row of one, that cannot be read: fail the task, log it and go "
        "on, or ignore it and only count it. Default: log with errors.tolerance=all, else fail.",
    )
    object_changed = settings.String(
        "object.changed",
        default=FAIL,
        group=_READING,
        validator=settings.one_of(FAIL, RESTART, ignore_case=True),
        convert=str.lower,
        doc="What to do with an object that was replaced while it was being read: fail the task, or restart from its "
        "first record, so that records may be delivered twice.",
    )
    read_retry_timeout_ms = settings.Long(
        "read.retry.timeout.ms",
        default=-1,
        group=_READING,
        doc="How long temporary errors of the store (unavailable, slow, throttling) may last before the task "
        "fails; -1: forever. Between attempts the task waits s3.retry.backoff.ms, twice as long each time up to "
        "s3.retry.backoff.max.ms.",
    )
    action = settings.String(
        "done.action",
        default=NONE,
        group=_AFTER,
        validator=settings.one_of(NONE, TAG, MOVE, DELETE, ignore_case=True),
        convert=str.lower,
        doc="What to do with an object whose records are in Kafka and whose offset is stored: none, tag, move or "
        "delete.",
    )
    done_tag = settings.String(
        "done.tag",
        default="connect=read",
        group=_AFTER,
        validator=_tag,
        doc="The tag, as key=value, that objects get in addition to their own.",
    )
    done_prefix = settings.String(
        "done.prefix",
        default="",
        group=_AFTER,
        doc="The prefix of the names of moved objects.",
    )
    done_bucket = settings.String(
        "done.bucket",
        default="",
        group=_AFTER,
        doc="The bucket for moved objects, in the same store. Default: the bucket that they are in.",
    )
    task_number = settings.String("task.number", default="0/1", internal=True, doc="Its number of how many tasks.")

    @property
    def format(self) -> str:
        """The format that the keys choose."""
        return self.input_format.lower() or _format_of(self.format_class) or "bytes"

    @property
    def mode(self) -> str:
        """The mode that the keys choose."""
        if self.written_mode:
            return self.written_mode.upper()
        told = self.topic or self.topic_regex_list or self.template
        return GENERIC if told else RESTORE_BACKUP

    @property
    def policy(self) -> str:
        """What to do with what cannot be read: behavior.on.error, else what follows from errors.tolerance."""
        tolerates = (self.config.raw.get("errors.tolerance") or "").lower() == "all"
        return self.on_error or (LOG if tolerates else FAIL)

    @property
    def stays_in_bucket(self) -> bool:
        """Whether objects that are moved stay in the bucket that is read."""
        return self.done_bucket in ("", self.bucket)

    def reading(self) -> ReadOptions:
        """How objects are read."""
        chosen = self.format
        # The raw value: elsewhere blanks and line ends around a value are stripped.
        separator = self.config.raw.get("format.bytearray.separator")
        if separator is None and chosen == BYTES and not self.input_format and self.format_class:
            separator = "\n"  # as Confluent's ByteArrayFormat has it
        return ReadOptions(
            chosen,
            compression=self.file_compression_type.lower(),
            envelope=self.format_json_schema_enable,
            separator=unescaped(separator or "").encode(),
            piece=self.transformer_max_buffer_size or 0,
            longest=self.max_record_bytes,
            csv=CsvOptions(
                header=self.csv_first_row_as_header,
                fields=tuple(self.csv_fields),
                separator=unescaped(self.csv_separator_char),
                quote=self.csv_quote_char,
                encoding=self.csv_encoding,
            ),
        )

    def check(self) -> None:
        """Check that the keys fit together.

        Raises:
            ConfigError: they contradict each other.
        """
        restores = self.mode == RESTORE_BACKUP
        variables = {"topic", "partition", "start_offset"} if restores else Template(self.template).variables
        if not (self.topic or self.topic_regex_list or "topic" in variables):
            raise ConfigError("topic", "is missing: mode=GENERIC needs it, topic.regex.list or {{topic}} in names.")
        if "," in self.topic:
            raise ConfigError("topic", f'"{self.topic}" names several topics. Write one, or use topic.regex.list.')
        if self.action == MOVE and not self.done_prefix and self.stays_in_bucket:
            raise ConfigError("done.prefix", "is missing: done.action=move needs it or another done.bucket.")
        if self.action == MOVE and self.stays_in_bucket and self.prefix.startswith(self.done_prefix):
            raise ConfigError("done.prefix", "is how aws.s3.prefix begins: all objects would count as moved already.")
        if self.distribution != OBJECT_HASH and "partition" not in variables:
            raise ConfigError("distribution.type", "needs names with a partition: {{partition}} in file.name.template.")
        if self.order == BY_PARTITION and not {"partition", "start_offset"} <= variables:
            raise ConfigError(
                "object.order", "partition needs {{partition}} and {{start_offset}} in file.name.template."
            )

    def check_splits(self) -> None:
        """Check that objects can be read by others than the instance that lists them.

        Raises:
            ConfigError: they would be moved or deleted although they cannot be read.
        """
        if self.action != NONE and self.policy != FAIL:
            raise ConfigError(
                "behavior.on.error",
                f"set it to fail, or done.action to none: on Spark the task is not told which objects cannot be read, "
                f"and done.action={self.action} would be done to them too.",
            )
