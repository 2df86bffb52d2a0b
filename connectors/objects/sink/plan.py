"""What follows from the sink's keys: formats, object names, and the rules by which files end."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Final

from connect import ConfigError
from connect.data.evolution_policy import EvolutionOptions, EvolutionPolicy
from connect.data.times import DAY_MS
from connect.settings import Config
from connectors.objects.formats import compression
from connectors.objects.formats.format import Format
from connectors.objects.formats.separators import unescaped
from connectors.objects.sink.compatibility import OF_WORDS
from connectors.objects.sink.key_limits import KeyLimits
from connectors.objects.sink.keys import ObjectOptions, is_aivens
from connectors.objects.sink.object_names import Folders, ObjectNames, Templates
from connectors.objects.sink.partitioners import (
    DAILY,
    HOUR_MS,
    HOURLY,
    RECORD,
    RECORD_FIELD,
    WALLCLOCK,
    ByField,
    ByPartition,
    ByTime,
    Partitioner,
    extractor,
)
from connectors.objects.sink.rotation import Rules
from connectors.objects.sink.time_pattern import TimePattern, has_words

_DEFAULT_TEMPLATE: Final = "{{topic}}-{{partition}}-{{start_offset}}"
#: The keys that cannot change where files end, whatever the store.
_BESIDE: Final = (
    *("errors.", "consumer.override.", "tasks.max", "task.", "topics", "retry.", "max.retries", "openlineage."),
    "config.action.reload",
)

_FORMATS: Final = {
    "json": "json",
    "jsonformat": "json",
    "jsonl": "json",
    "jsonarray": "jsonarray",
    "csv": "csv",
    "avro": "avro",
    "avroformat": "avro",
    "parquet": "parquet",
    "parquetformat": "parquet",
    "bytes": "bytes",
    "bytearray": "bytes",
    "bytearrayformat": "bytes",
    "string": "string",
    "stringformat": "string",
}
_PARTITIONERS: Final = {
    "default": "default",
    "defaultpartitioner": "default",
    "field": "field",
    "fieldpartitioner": "field",
    "time": "time",
    "timebased": "time",
    "timebasedpartitioner": "time",
    "daily": "daily",
    "dailypartitioner": "daily",
    "hourly": "hourly",
    "hourlypartitioner": "hourly",
}
_PATHS: Final = {"daily": DAILY, "hourly": HOURLY}
_EXTRACTORS: Final = {"wallclock": WALLCLOCK, "record": RECORD, "recordfield": RECORD_FIELD}


class SinkPlan(ObjectOptions):
    """The keys, and what follows from them; mixed into the options of a store.

    Attributes:
        format: of the values; `keys_format`, `headers_format`: of the files beside them, None for no such files.
        names: of objects.
        extract: returns the times of records, None if nothing needs them.
        live: whether these times are the current time.
        by_value: whether these times stand in values, so that a record without a value has none.
        rules: when files end.
        evolution: how records with another schema are fitted to their file's; None: they begin another file.
        schedule_ms: the interval at which the wall clock ends files; 0: never.
        at_commit: whether files end at each commit.
        fields: Aiven's output fields, or None.
        enveloped: whether these are wrapped in an object.
        repeats: whether the same records make the same files again: nothing above depends on the clock.
        conditional: whether objects are never replaced.
        fingerprint: a hash of all that decides where files end.
        tags: of objects; None for none.
        tags_must: whether a tag that the store refuses fails the task.
    """

    #: How the keys begin that say how to reach the store, and nothing about files.
    reach: ClassVar[tuple[str, ...]] = ()
    #: Keys with which a configuration is one for Aiven's sink, beside those that it has for every store.
    of_aivens: ClassVar[tuple[str, ...]] = ()
    #: Which keys objects of the store can have.
    key_limits: ClassVar[KeyLimits] = KeyLimits()

    tags: Sequence[tuple[str, str]] | None = None
    tags_must: bool = False

    @property
    def namespace(self) -> str:
        """What the bucket is called in lineage, such as ``s3://company-lake``."""
        raise NotImplementedError

    def __init__(self, config: Config) -> None:
        """Derive the plan from parsed values.

        Raises:
            ConfigError: a key is wrong, or contradicts another.
        """
        super().__init__(config)
        for key, why in self.problems(config):
            raise ConfigError(key, why)
        aivens = is_aivens(config.raw, self.of_aivens)
        self.format, self.fields = _format(self, aivens=aivens)
        self.names, by_time, replays = _object_names(self, self.format, aivens=aivens)
        interval = max(0, self.rotate_interval_ms)
        kind = _extractor(self, by_time=by_time)
        self.live = kind == WALLCLOCK and (by_time or interval > 0)
        self.by_value = kind == RECORD_FIELD
        self.rules = rules = _rules(self, self.format, interval)
        ends = bool(rules.records or interval or self.schedule_ms)
        self.at_commit = self.names.replaces or not (ends or rules.file_bytes)
        if rules.file_bytes and not ends and not _single(self.names, self):
            why = "cannot end files alone if a partition has several folders. Set flush.size or rotate.interval.ms too."
            raise ConfigError("file.max.bytes", why)
        if self.nulls == "write" and not self.store_kafka_keys:
            raise ConfigError("behavior.on.null.values", "write needs store.kafka.keys=true: it writes only keys.")
        if isinstance(self.names, Templates) and (self.store_kafka_keys or self.store_kafka_headers):
            key = "store.kafka.keys" if self.store_kafka_keys else "store.kafka.headers"
            raise ConfigError(key, "cannot be used with file.name.template, only with topics.dir and partitioners.")
        self.keys_format = _named(self, "keys.format.class") if self.store_kafka_keys else None
        self.headers_format = _named(self, "headers.format.class") if self.store_kafka_headers else None
        self.extract = extractor(kind, self.timestamp_field) if by_time or interval else None
        self.evolution = _evolution(self)
        self.repeats = replays and not (self.schedule_ms or self.at_commit or self.live)
        self.conditional = self.conditional_writes and not self.names.replaces
        self.fingerprint = _fingerprint(config.raw, (*_BESIDE, *self.reach))


def _evolution(options: ObjectOptions) -> EvolutionPolicy | None:
    word = options.schema_compatibility.lower()
    written = [each.name for each in EvolutionOptions.definition() if options.config.raw.get(each.name)]
    if not written:
        return OF_WORDS[word]
    if word != "none":
        raise ConfigError(
            "schema.compatibility", f"contradicts {written[0]}. Keep schema.evolution and remove this key."
        )
    return EvolutionPolicy.of(options.config)


def _single(names: ObjectNames, options: ObjectOptions) -> bool:
    """Whether all records of a partition have one pattern."""
    return isinstance(names, Folders) and _PARTITIONERS.get(_last_word(options.partitioner_class)) == "default"


def _last_word(name: str) -> str:
    return name.rpartition(".")[2].lower()


def _rules(options: ObjectOptions, form: Format, interval: int) -> Rules:
    return Rules(
        records=options.flush_size,
        file_records=options.file_max_records,
        file_bytes=options.file_max_bytes,
        interval_ms=interval,
        on_change=options.rotate_file_on_partition_change,
        open_files=max(0, options.partitioner_max_open_files),
        by_schema=form.by_schema,
    )


def _extractor(options: ObjectOptions, *, by_time: bool) -> str:
    written = options.timestamp_extractor
    word = written.rpartition(".")[2].rpartition("$")[2].lower().removesuffix("timestampextractor")
    kind = _EXTRACTORS.get(word)
    if kind is None:
        raise ConfigError("timestamp.extractor", f'"{written}" is unknown. Write Wallclock, Record or RecordField.')
    # Partitioners without a time have no extractor: then the record's own timestamp is its time.
    return kind if by_time else RECORD


def _object_names(options: ObjectOptions, form: Format, *, aivens: bool) -> tuple[ObjectNames, bool, bool]:
    """How objects are named; whether names use the extractor's time; whether they are the same on a repeat."""
    template = options.file_name_template
    if template or aivens:
        added = form.extension if form.extension in compression.EXTENSIONS.values() else ""
        now = options.file_name_timestamp_source.lower() == "wallclock"
        try:
            names = Templates(
                template or _DEFAULT_TEMPLATE + added,
                options.file_name_prefix,
                options.file_name_timestamp_timezone,
                now=now,
            )
        except ValueError as error:
            raise ConfigError("file.name.template", str(error)) from None
        form.extension = ""  # the template is the whole name
        return names, False, not (now and "timestamp" in (template + options.file_name_prefix))
    partitioner, by_time = _partitioner(options)
    folders = Folders(
        partitioner,
        options.topics_dir,
        options.directory_delim,
        options.file_delim,
        options.filename_offset_zero_pad_width,
    )
    return folders, by_time, True


def _partitioner(options: ObjectOptions) -> tuple[Partitioner, bool]:
    written = options.partitioner_class
    kind = _PARTITIONERS.get(_last_word(written))
    match kind:
        case "default":
            return ByPartition(), False
        case "field":
            names = options.partition_field_name
            if not names:
                raise ConfigError("partition.field.name", "is required for the partitioner field.")
            return ByField(names, options.directory_delim, with_names=options.partition_field_format_path), False
        case "time" | "daily" | "hourly":
            given, delim = options.path_format.removesuffix(options.directory_delim), options.directory_delim
            pattern = _PATHS[kind].replace("/", delim) if kind in _PATHS else given
            if not pattern:
                raise ConfigError("path.format", f"is required for the partitioner time: {HOURLY}, for example.")
            if has_words(pattern) and options.locale[:2].lower() not in ("", "en"):
                raise ConfigError("locale", "only English names of months and days are supported. Use numbers.")
            duration = {"daily": DAY_MS, "hourly": HOUR_MS}.get(kind) or options.partition_duration_ms
            try:
                return ByTime(TimePattern(pattern, options.zone, duration if duration > 0 else HOUR_MS)), True
            except ValueError as error:
                raise ConfigError("path.format", str(error)) from None
    raise ConfigError("partitioner.class", f'"{written}" is unknown. Write default, field, time, daily or hourly.')


def _format(options: ObjectOptions, *, aivens: bool) -> tuple[Format, tuple[str, ...] | None]:
    """The format of the values, and Aiven's fields."""
    if options.format_class or not aivens:
        return _named(options, "format.class"), None
    from connectors.objects.formats import lines
    from connectors.objects.formats.envelope import FIELDS

    kind = options.format_output_type.lower() or "csv"
    fields = tuple(field.lower() for field in options.format_output_fields)
    if wrong := [field for field in fields if field not in FIELDS]:
        raise ConfigError("format.output.fields", f'"{wrong[0]}" is not one of {", ".join(FIELDS)}.')
    if not options.enveloped and len(fields) > 1:
        raise ConfigError("format.output.envelope", "false needs exactly one field in format.output.fields.")
    packed = options.file_compression_type.lower() or "gzip"
    if kind == "csv":
        encoded = options.format_output_fields_value_encoding.lower() == "base64"
        return lines.FieldsCsv(fields, encoded=encoded, kind=packed), fields
    if kind in ("json", "jsonl"):
        form = lines.JsonArray if kind == "json" else lines.JsonLines
        return form(options.json_decimal_format, kind=packed, extension=""), fields
    if kind == "avro":
        return _avro(options, "null" if packed == "none" else packed), fields
    return _parquet(packed), fields


def _named(options: ObjectOptions, key: str) -> Format:
    from connectors.objects.formats import lines

    written: str = options.config[key] or "json"
    kind = _FORMATS.get(_last_word(written))
    packed: dict[str, Any] = {"kind": options.compression_type.lower(), "level": options.compression_level}
    if packed["kind"] == compression.GZIP and packed["level"] > 9:
        raise ConfigError(type(options).compression_level.name, "is at most 9 for gzip.")
    match kind:
        case "json":
            return lines.JsonLines(options.json_decimal_format.upper(), **packed)
        case "jsonarray":
            return lines.JsonArray(options.json_decimal_format.upper(), **packed)
        case "csv":
            return lines.Csv(**packed)
        case "string":
            return lines.Texts(**packed)
        case "bytes":
            # The raw value: a line feed alone is a separator, not a blank to strip.
            separator = options.config.raw.get("format.bytearray.separator")
            between = "\n" if separator is None else unescaped(separator)
            return lines.Bytes(between.encode(), extension=options.format_bytearray_extension, **packed)
        case "avro":
            return _avro(options, options.avro_codec.lower())
        case "parquet":
            return _parquet(options.parquet_codec.lower())
    raise ConfigError(key, f'"{written}" is unknown. Write json, jsonarray, csv, avro, parquet, bytes or string.')


def _avro(options: ObjectOptions, codec: str) -> Format:
    from connect.converters.avro.keys import AvroOptions
    from connectors.objects.formats.avro import Avro

    return Avro(
        codec,
        AvroOptions.parse(
            {
                key: options.config[key]
                for key in ("enhanced.avro.schema.support", "connect.meta.data", "allow.optional.map.keys")
            }
        ),
    )


def _parquet(codec: str) -> Format:
    from connectors.objects.formats.parquet import Parquet

    return Parquet(codec)


def _fingerprint(config: Mapping[str, Any], beside: tuple[str, ...]) -> str:
    told = sorted((key, str(value)) for key, value in config.items() if not key.startswith(beside))
    return hashlib.sha256(repr(told).encode()).hexdigest()[:16]
