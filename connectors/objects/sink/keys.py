"""The keys of the sinks of all stores: Confluent's names, meanings and defaults; Aiven's are accepted as well."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final
from zoneinfo import ZoneInfo

from connect import settings
from connect.data.evolution_policy import PASS, EvolutionOptions
from connect.settings import Options
from connectors.objects.sink.named_keys import FORMAT, UPLOADS

NAMES: Final = "Names"
_ENDS: Final = "When files end"
_RECORDS: Final = "Records"

# Why other connectors' keys have no effect.
_SCHEMAS: Final = "a schema is remembered as long as files of it are open"


def _zone(value: str) -> ZoneInfo:
    try:
        return ZoneInfo(value or "UTC")
    except (KeyError, ValueError, OSError):
        raise ValueError(f'"{value}" is not a time zone. Write UTC or a name such as Europe/Berlin.') from None


class _OwnOptions(
    Options,
    aliases={
        "file.prefix.template": "file.name.prefix",
        "output_fields": "format.output.fields",
        "output_compression": "file.compression.type",
        "kafka.retry.backoff.ms": "retry.backoff.ms",
    },
    without_effect={
        "schemas.cache.config": _SCHEMAS,
        "schema.cache.size": _SCHEMAS,
        "shutdown.timeout.ms": "the worker's task.shutdown.graceful.timeout.ms says how long a stop may take",
        "max.files.scan.limit": "the sink does not search the bucket for files",
        "max.write.duration.ms": "threads write files while the task consumes records",
        "schema.generator.class": "the sink creates no Hive tables",
    },
):
    """The keys, except those of schema evolution."""

    format_class = settings.Class(
        "format.class",
        default="",
        importance="HIGH",
        group=FORMAT,
        doc="The format of files: json (one line of JSON per record), jsonarray, csv, avro, parquet, bytes or string; "
        "or the name of Confluent's class, whose last word counts: JsonFormat, AvroFormat and so on. Default: "
        "format.output.type, else json.",
    )
    parquet_codec = settings.String(
        "parquet.codec",
        default="snappy",
        importance="LOW",
        group=FORMAT,
        validator=settings.one_of("none", "uncompressed", "gzip", "snappy", "zstd", "lz4", "brotli", ignore_case=True),
        doc="How Parquet columns are compressed: none, gzip, snappy, zstd, lz4 or brotli.",
    )
    avro_codec = settings.String(
        "avro.codec",
        default="null",
        importance="LOW",
        group=FORMAT,
        validator=settings.one_of("null", "deflate", "snappy", "bzip2", "zstandard", ignore_case=True),
        doc="How Avro blocks are compressed: null, deflate, snappy, bzip2 or zstandard.",
    )
    json_decimal_format = settings.String(
        "json.decimal.format",
        default="BASE64",
        importance="LOW",
        group=FORMAT,
        validator=settings.one_of("BASE64", "NUMERIC", ignore_case=True),
        doc="How decimals are written in JSON: BASE64 keeps every digit, NUMERIC is a number.",
    )
    format_bytearray_extension = settings.String(
        "format.bytearray.extension",
        default=".bin",
        importance="LOW",
        group=FORMAT,
        doc="The extension of files of the format bytes.",
    )
    format_bytearray_separator = settings.String(
        "format.bytearray.separator",
        default=None,
        importance="LOW",
        group=FORMAT,
        doc="The separator after each record in files of the format bytes, with the escapes \\n, \\r, \\t and \\\\. "
        "Default: a line feed.",
    )
    enhanced_avro_schema_support = settings.Boolean(
        "enhanced.avro.schema.support",
        default=True,
        importance="LOW",
        group=FORMAT,
        doc="Whether Avro files keep Avro's enums and namespaces.",
    )
    connect_meta_data = settings.Boolean(
        "connect.meta.data",
        default=True,
        importance="LOW",
        group=FORMAT,
        doc="Whether Avro schemas keep the parts that only Connect schemas have.",
    )
    allow_optional_map_keys = settings.Boolean(
        "allow.optional.map.keys",
        default=False,
        importance="LOW",
        group=FORMAT,
        doc="Whether maps whose keys are optional strings become maps in Avro.",
    )
    format_output_type = settings.String(
        "format.output.type",
        default="",
        group=FORMAT,
        validator=settings.one_of("", "csv", "json", "jsonl", "avro", "parquet", ignore_case=True),
        doc="Aiven's formats: csv, json (an array), jsonl, avro or parquet, with the fields below. Not with "
        "format.class.",
    )
    format_output_fields = settings.List(
        "format.output.fields",
        default=["value"],
        group=FORMAT,
        doc="With format.output.type: which of key, value, offset, timestamp and headers to write.",
    )
    format_output_fields_value_encoding = settings.String(
        "format.output.fields.value.encoding",
        default="base64",
        group=FORMAT,
        validator=settings.one_of("base64", "none", ignore_case=True),
        doc="With format.output.type=csv: the encoding of values, base64 or none. Keys and headers are in base64.",
    )
    enveloped = settings.Boolean(
        "format.output.envelope",
        default=True,
        group=FORMAT,
        doc='With format.output.type: whether to wrap a single field in an object, {"value": ...}.',
    )
    file_compression_type = settings.String(
        "file.compression.type",
        default="",
        group=FORMAT,
        validator=settings.one_of("", "none", "gzip", "snappy", "zstd", ignore_case=True),
        doc="The compression under Aiven's name: none, gzip, snappy or zstd. Parquet and Avro compress within the "
        "file. Default: gzip for Aiven's class and formats.",
    )
    topics_dir = settings.String(
        "topics.dir",
        default="topics",
        importance="HIGH",
        group=NAMES,
        doc="The folder of all objects.",
    )
    directory_delim = settings.String(
        "directory.delim",
        default="/",
        group=NAMES,
        validator=settings.non_empty,
        doc="The separator between folders.",
    )
    file_delim = settings.String(
        "file.delim",
        default="+",
        group=NAMES,
        validator=settings.non_empty,
        doc="The separator between topic, partition and offset in a file's name.",
    )
    filename_offset_zero_pad_width = settings.Int(
        "filename.offset.zero.pad.width",
        default=10,
        importance="LOW",
        group=NAMES,
        validator=settings.between(0, 19),
        doc="The minimum number of digits of the offset in a file's name.",
    )
    partitioner_class = settings.Class(
        "partitioner.class",
        default="default",
        importance="HIGH",
        group=NAMES,
        doc="The folder of a record: default (partition=0), field, time, daily, hourly; or the name of Confluent's "
        "class, such as io.confluent.connect.storage.partitioner.TimeBasedPartitioner.",
    )
    partition_field_name = settings.List(
        "partition.field.name",
        default=[],
        group=NAMES,
        doc="The fields for the partitioner field; dots lead into structs. A text of a struct that is null is the "
        "folder null, as with Confluent's; another field that is missing or null is an error of its record.",
    )
    partition_field_format_path = settings.Boolean(
        "partition.field.format.path",
        default=True,
        importance="LOW",
        group=NAMES,
        doc="Whether its folders are named name=value, or the value alone.",
    )
    partition_duration_ms = settings.Long(
        "partition.duration.ms",
        default=-1,
        group=NAMES,
        doc="The period that a folder of the partitioner time covers. -1: an hour.",
    )
    path_format = settings.String(
        "path.format",
        default="",
        group=NAMES,
        width="LONG",
        doc="The pattern of its folders, in Joda-Time's letters: 'year'=YYYY/'month'=MM/'day'=dd/'hour'=HH.",
    )
    locale = settings.String(
        "locale",
        default="",
        group=NAMES,
        doc="The language of month and day names in that pattern. Only English is supported.",
    )
    zone = settings.String(
        "timezone",
        default="",
        group=NAMES,
        convert=_zone,
        doc="The time zone of folder names and of rotate.schedule.interval.ms. Default: UTC.",
    )
    timestamp_extractor = settings.String(
        "timestamp.extractor",
        default="Wallclock",
        group=NAMES,
        doc="The time of a record: Wallclock (now), Record (its timestamp) or RecordField (timestamp.field). With "
        "Wallclock, files and folders by time are not delivered exactly once.",
    )
    timestamp_field = settings.String(
        "timestamp.field",
        default="timestamp",
        group=NAMES,
        doc="The field for the extractor RecordField: milliseconds, a Timestamp or Date, or an ISO 8601 string.",
    )
    file_name_template = settings.String(
        "file.name.template",
        default="",
        group=NAMES,
        width="LONG",
        doc="Aiven's names instead of folders and partitioners: {{topic}}-{{partition}}-{{start_offset}}, with {{key}} "
        "and {{timestamp:unit=yyyy}}. The extension is not added.",
    )
    file_name_prefix = settings.String(
        "file.name.prefix",
        default="",
        group=NAMES,
        doc="The prefix of such a name; it may contain the same variables.",
    )
    file_name_timestamp_timezone = settings.String(
        "file.name.timestamp.timezone",
        default="UTC",
        importance="LOW",
        group=NAMES,
        convert=_zone,
        doc="The time zone of timestamps in such a name.",
    )
    file_name_timestamp_source = settings.String(
        "file.name.timestamp.source",
        default="WALLCLOCK",
        importance="LOW",
        group=NAMES,
        validator=settings.one_of("wallclock", "event", ignore_case=True),
        doc="Whether these timestamps are the current time (wallclock) or the record's (event).",
    )
    flush_size = settings.Int(
        "flush.size",
        default=0,
        importance="HIGH",
        group=_ENDS,
        validator=settings.at_least(0),
        doc="The number of records of a partition, over all its open files, that ends these files. 0: never. If "
        "nothing in this group is set, files end at each commit of offsets (offset.flush.interval.ms).",
    )
    rotate_interval_ms = settings.Long(
        "rotate.interval.ms",
        default=-1,
        importance="HIGH",
        group=_ENDS,
        doc="A record that is this much later than the first one ends its partition's files, and begins new ones. "
        "Times are the partitioner's, else the records'. -1: never.",
    )
    schedule_ms = settings.Long(
        "rotate.schedule.interval.ms",
        default=-1,
        group=_ENDS,
        convert=lambda written: max(0, written),
        doc="The interval at which all files end, counted from midnight in timezone. -1: never.",
    )
    file_max_bytes = settings.Long(
        "file.max.bytes",
        default=0,
        group=_ENDS,
        validator=settings.at_least(0),
        doc="The number of bytes, of keys and values as they are in Kafka, that ends a file. 0: never.",
    )
    file_max_records = settings.Int(
        "file.max.records",
        default=0,
        group=_ENDS,
        validator=settings.at_least(0),
        doc="The number of records that ends a file. 0: never.",
    )
    rotate_file_on_partition_change = settings.Boolean(
        "rotate.file.on.partition.change",
        default=True,
        importance="LOW",
        group=_ENDS,
        doc="With rotate.interval.ms: whether a record for another folder than the one before ends the files of its "
        "partition. With late records, false keeps several files open instead of making many small ones.",
    )
    partitioner_max_open_files = settings.Int(
        "partitioner.max.open.files",
        default=-1,
        importance="LOW",
        group=_ENDS,
        doc="How many files of a partition may be open; before one more, the oldest ends. -1: any number.",
    )
    schema_compatibility = settings.String(
        "schema.compatibility",
        default="NONE",
        importance="HIGH",
        group=_ENDS,
        validator=settings.one_of("none", "backward", "forward", "full", ignore_case=True),
        doc="In formats with schemas: what happens to a record with another schema than its file's. NONE: it ends the "
        "file. BACKWARD, FULL: it is written with the file's schema if it fits that; else the file ends, and the next "
        "one's schema fits both. FORWARD: it is written with the file's schema, without the fields that this schema "
        "lacks.",
    )
    nulls = settings.String(
        "behavior.on.null.values",
        default="fail",
        importance="LOW",
        group=_RECORDS,
        validator=settings.one_of("fail", "ignore", "write", ignore_case=True),
        convert=str.lower,
        doc="What to do with records without a value: fail, ignore, or write their keys to the folder of tombstones "
        "(with store.kafka.keys).",
    )
    report_nulls = settings.Boolean(
        "report.null.values.to.dlq",
        default=True,
        importance="LOW",
        group=_RECORDS,
        doc="Whether ignored records without a value go to the error policy (its dead letter topic), where "
        "there is one.",
    )
    tombstones = settings.String(
        "tombstone.encoded.partition",
        default="tombstone",
        importance="LOW",
        group=_RECORDS,
        doc="The folder of keys without values.",
    )
    store_kafka_keys = settings.Boolean(
        "store.kafka.keys",
        default=False,
        importance="LOW",
        group=_RECORDS,
        doc="Whether to write keys to a file of their own next to each file, with .keys in its name.",
    )
    store_kafka_headers = settings.Boolean(
        "store.kafka.headers",
        default=False,
        importance="LOW",
        group=_RECORDS,
        doc="Whether to write headers in the same way, with .headers.",
    )
    keys_format_class = settings.Class(
        "keys.format.class",
        default="avro",
        importance="LOW",
        group=_RECORDS,
        doc="The format of files of keys, with the values of format.class.",
    )
    headers_format_class = settings.Class(
        "headers.format.class",
        default="avro",
        importance="LOW",
        group=_RECORDS,
        doc="The format of files of headers.",
    )
    conditional_writes = settings.Boolean(
        "enable.conditional.writes",
        default=True,
        importance="LOW",
        group=UPLOADS,
        doc="Whether the sink never replaces an existing object (If-None-Match), so that a task that lost its "
        "partitions does no harm. The sink then looks at the existing object and continues after it.",
    )
    max_retries = settings.Int(
        "max.retries",
        default=10,
        group=UPLOADS,
        validator=settings.at_least(0),
        doc="How often the sink retries uploads before the task fails if the store cannot be reached or throttles. "
        "Within each attempt the client repeats requests by itself.",
    )
    retry_backoff = settings.Long(
        "retry.backoff.ms",
        default=5000,
        importance="LOW",
        group=UPLOADS,
        validator=settings.at_least(0),
        convert=settings.seconds,
        doc="The pause before the first retry. It doubles up to a minute, with jitter.",
    )


class ObjectOptions(_OwnOptions, EvolutionOptions):
    """The keys that say which records become which objects; `connectors.objects.sink.plan` says what follows from them.

    A connector's own options declare the rest, with the functions of this module, under the names of its store.
    """

    compression_type: settings.Setting[str]
    compression_level: settings.Setting[int]
    part_size: settings.Setting[int]
    memory: settings.Setting[int]
    spill_folder: settings.Setting[str]
    threads: settings.Setting[int]

    @staticmethod
    def problems(parsed: Mapping[str, Any]) -> list[tuple[str, str]]:  # noqa: ARG004 - for heirs
        """Keys that contradict each other: the key at fault, and why.

        Args:
            parsed: the values of settings, as far as they are right by themselves.
        """
        return []

    allowed = EvolutionOptions.allowed.replaced(
        group=_ENDS,
        doc="In formats with schemas, instead of schema.compatibility: what the next file may have that this one "
        "lacks, so that a record fits: add (fields), widen (types that hold more), nullable (fields that may be "
        "null); several with commas, full for all, none for none. The file ends then.",
    )
    unknown_fields = EvolutionOptions.unknown_fields.replaced(group=_ENDS)
    mismatch = EvolutionOptions.mismatch.replaced(
        default=PASS,
        group=_ENDS,
        doc="What happens to a record that does not fit its file: fail (the task fails), quarantine (the record goes "
        "to the error policy, the others are written), pass (the record begins a file of its own schema).",
    )


def is_aivens(config: Mapping[str, Any], more: Iterable[str] = ()) -> bool:
    """Whether a configuration is written for Aiven's sink, which has other defaults.

    Args:
        config: the configuration.
        more: further keys that only Aiven's sink for this store has.
    """
    keys = ("file.name.template", "format.output.type", "output_fields", "output_compression", *more)
    return "aiven" in str(config.get("connector.class", "")).lower() or any(config.get(key) for key in keys)
