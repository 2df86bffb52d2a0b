"""What the keys of the sink say, typed: formats, names and rules are made of them here."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final
from zoneinfo import ZoneInfo

from connect import ConfigError
from connect.data.evolution_policy import EvolutionPolicy
from connect.settings import Config
from connectors.s3.bucket import BucketOptions
from connectors.s3.formats import compression
from connectors.s3.formats.escapes import unescaped
from connectors.s3.formats.format import Format
from connectors.s3.sink import keys, times
from connectors.s3.sink.compatibility import OF_WORDS
from connectors.s3.sink.object_names import Folders, ObjectNames, Templates
from connectors.s3.sink.partitioners import DAILY, DAY_MS, HOUR_MS, HOURLY, ByField, ByPartition, ByTime, Partitioner
from connectors.s3.sink.rotation import Rules
from connectors.s3.sink.time_pattern import TimePattern, has_words

_DEFAULT_TEMPLATE: Final = "{{topic}}-{{partition}}-{{start_offset}}"
#: What of a configuration cannot change where files end.
_BESIDE: Final = ("aws", "s3.", "store.", "errors.", "consumer.override.", "tasks.max", "task.", "topics", "retry.")

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
_EXTRACTORS: Final = {"wallclock": times.WALLCLOCK, "record": times.RECORD, "recordfield": times.RECORD_FIELD}


@dataclass(frozen=True)
class Options:
    """What the keys say.

    Attributes:
        format: of the values; `keys_format`, `headers_format`: of the files beside, None where there are none.
        names: of objects.
        extract: when records are, None where nothing asks.
        live: whether that is the clock of now.
        rules: when files end.
        evolution: whether records with another schema than their file's are fitted into it, and how; None: they begin
            another file.
        schedule_ms: the wall clock ends files whenever so much is over; 0: never.
        at_commit: whether files end at each commit.
        fields: Aiven's output fields, or None.
        enveloped: whether they stand in an object.
        repeats: whether the same records make the same files again: nothing of the above goes by the clock.
        conditional: enable.conditional.writes.
        fingerprint: of all that decides where files end.
        backoff: seconds.
    """

    bucket: BucketOptions
    format: Format
    keys_format: Format | None
    headers_format: Format | None
    names: ObjectNames
    extract: times.Extractor | None
    live: bool
    rules: Rules
    evolution: EvolutionPolicy | None
    schedule_ms: int
    zone: ZoneInfo
    at_commit: bool
    fields: tuple[str, ...] | None
    enveloped: bool
    repeats: bool
    conditional: bool
    fingerprint: str
    nulls: str
    report_nulls: bool
    tombstones: str
    part_size: int
    memory: int
    spill_folder: str
    threads: int
    digest: bool
    tags: tuple[tuple[str, str], ...] | None
    tags_must: bool
    max_retries: int
    backoff: float

    @classmethod
    def of(cls, config: Mapping[str, Any]) -> Options:
        """Of a configuration as a user writes it.

        Raises:
            ConfigError: a key is missing, wrong, or contradicts another.
        """
        parsed = keys.SETTINGS.parse(config)
        named = parsed.raw
        form, fields = _format(parsed, aivens=keys.is_aivens(named))
        zone = ZoneInfo(parsed["timezone"] or "UTC")
        names, by_time, replays = _object_names(parsed, named, form, zone)
        interval = max(0, parsed["rotate.interval.ms"])
        kind = _extractor(parsed, by_time=by_time)
        live = kind == times.WALLCLOCK and (by_time or interval > 0)
        rules = _rules(parsed, form, interval)
        schedule = max(0, parsed["rotate.schedule.interval.ms"])
        at_commit = not (rules.records or interval or schedule or (rules.file_bytes and not names.replaces))
        at_commit = at_commit or names.replaces
        if rules.file_bytes and not (rules.records or interval or schedule) and not _single(names, parsed):
            why = "alone ends no stretch with several folders. Set flush.size or rotate.interval.ms as well."
            raise ConfigError("file.max.bytes", why)
        nulls = parsed["behavior.on.null.values"].lower()
        if nulls == "write" and not parsed["store.kafka.keys"]:
            raise ConfigError("behavior.on.null.values", "write needs store.kafka.keys=true: keys are what is written.")
        if isinstance(names, Templates) and (parsed["store.kafka.keys"] or parsed["store.kafka.headers"]):
            key = "store.kafka.keys" if parsed["store.kafka.keys"] else "store.kafka.headers"
            raise ConfigError(key, "goes with topics.dir and partitioners, not with file.name.template.")
        return cls(
            bucket=BucketOptions.parse(parsed),
            format=form,
            keys_format=_named(parsed, "keys.format.class") if parsed["store.kafka.keys"] else None,
            headers_format=_named(parsed, "headers.format.class") if parsed["store.kafka.headers"] else None,
            names=names,
            extract=times.extractor(kind, parsed["timestamp.field"]) if by_time or interval else None,
            live=live,
            rules=rules,
            evolution=_evolution(parsed),
            schedule_ms=schedule,
            zone=zone,
            at_commit=at_commit,
            fields=fields,
            enveloped=parsed["format.output.envelope"],
            repeats=replays and not (schedule or at_commit or live),
            conditional=parsed["enable.conditional.writes"] and not names.replaces,
            fingerprint=_fingerprint(named),
            nulls=nulls,
            report_nulls=parsed["report.null.values.to.dlq"],
            tombstones=parsed["tombstone.encoded.partition"],
            part_size=parsed["s3.part.size"],
            memory=parsed["s3.memory.bytes"],
            spill_folder=parsed["s3.spill.dir"],
            threads=parsed["s3.upload.threads"],
            digest=parsed["s3.send.digest"],
            tags=_tags(parsed) if parsed["s3.object.tagging"] else None,
            tags_must=parsed["s3.object.behavior.on.tagging.error"].lower() == "fail",
            max_retries=parsed["max.retries"],
            backoff=parsed["retry.backoff.ms"] / 1000,
        )


def _evolution(parsed: Config) -> EvolutionPolicy | None:
    word: str = parsed["schema.compatibility"].lower()
    written = [each.name for each in keys.EVOLUTION if parsed.raw.get(each.name)]
    if not written:
        return OF_WORDS[word]
    if word != "none":
        raise ConfigError(
            "schema.compatibility", f"contradicts {written[0]}. Write schema.evolution, and not this key."
        )
    return EvolutionPolicy.of(parsed)


def _single(names: ObjectNames, parsed: Mapping[str, Any]) -> bool:
    """Whether all records of a partition have one pattern."""
    return isinstance(names, Folders) and _PARTITIONERS.get(_last_word(parsed["partitioner.class"])) == "default"


def _last_word(name: str) -> str:
    return name.rpartition(".")[2].lower()


def _rules(parsed: Mapping[str, Any], form: Format, interval: int) -> Rules:
    return Rules(
        records=parsed["flush.size"],
        file_records=parsed["file.max.records"],
        file_bytes=parsed["file.max.bytes"],
        interval_ms=interval,
        on_change=parsed["rotate.file.on.partition.change"],
        open_files=max(0, parsed["partitioner.max.open.files"]),
        by_schema=form.by_schema,
    )


def _extractor(parsed: Mapping[str, Any], *, by_time: bool) -> str:
    written: str = parsed["timestamp.extractor"]
    word = written.rpartition(".")[2].rpartition("$")[2].lower().removesuffix("timestampextractor")
    kind = _EXTRACTORS.get(word)
    if kind is None:
        raise ConfigError("timestamp.extractor", f'"{written}" is unknown. Write Wallclock, Record or RecordField.')
    # Partitioners that know no time have no extractor: then a record's own timestamp tells when it is.
    return kind if by_time else times.RECORD


def _object_names(
    parsed: Mapping[str, Any], config: Mapping[str, Any], form: Format, zone: ZoneInfo
) -> tuple[ObjectNames, bool, bool]:
    """How objects are named; whether that goes by time through the extractor; whether it is the same again."""
    template = parsed["file.name.template"]
    if template or keys.is_aivens(config):
        added = form.extension if form.extension in compression.EXTENSIONS.values() else ""
        now = parsed["file.name.timestamp.source"].lower() == "wallclock"
        try:
            zone = ZoneInfo(parsed["file.name.timestamp.timezone"] or "UTC")
            names = Templates(template or _DEFAULT_TEMPLATE + added, parsed["file.name.prefix"], zone, now=now)
        except ValueError as error:
            raise ConfigError("file.name.template", str(error)) from None
        form.extension = ""  # the template says it all
        return names, False, not (now and "timestamp" in (template + parsed["file.name.prefix"]))
    partitioner, by_time = _partitioner(parsed, zone)
    folders = Folders(
        partitioner,
        parsed["topics.dir"],
        parsed["directory.delim"],
        parsed["file.delim"],
        parsed["filename.offset.zero.pad.width"],
    )
    return folders, by_time, True


def _partitioner(parsed: Mapping[str, Any], zone: ZoneInfo) -> tuple[Partitioner, bool]:
    written: str = parsed["partitioner.class"]
    kind = _PARTITIONERS.get(_last_word(written))
    match kind:
        case "default":
            return ByPartition(), False
        case "field":
            names = parsed["partition.field.name"]
            if not names:
                raise ConfigError("partition.field.name", "is required for the partitioner field.")
            return ByField(names, parsed["directory.delim"], with_names=parsed["partition.field.format.path"]), False
        case "time" | "daily" | "hourly":
            given = parsed["path.format"]
            pattern = {"daily": DAILY, "hourly": HOURLY}.get(kind, given)
            if not pattern:
                raise ConfigError("path.format", f"is required for the partitioner time: {HOURLY}, for example.")
            if has_words(pattern) and parsed["locale"][:2].lower() not in ("", "en"):
                raise ConfigError("locale", "names of months and days are English only. Use their numbers.")
            duration = {"daily": DAY_MS, "hourly": HOUR_MS}.get(kind) or parsed["partition.duration.ms"]
            try:
                return ByTime(TimePattern(pattern, zone, duration if duration > 0 else HOUR_MS)), True
            except ValueError as error:
                raise ConfigError("path.format", str(error)) from None
    raise ConfigError("partitioner.class", f'"{written}" is unknown. Write default, field, time, daily or hourly.')


def _format(parsed: Config, *, aivens: bool) -> tuple[Format, tuple[str, ...] | None]:
    """The format of the values, and Aiven's fields."""
    if parsed["format.class"] or not aivens:
        return _named(parsed, "format.class"), None
    from connectors.s3.formats import lines
    from connectors.s3.formats.envelope import FIELDS

    kind = parsed["format.output.type"].lower() or "csv"
    fields = tuple(field.lower() for field in parsed["format.output.fields"])
    if wrong := [field for field in fields if field not in FIELDS]:
        raise ConfigError("format.output.fields", f'"{wrong[0]}" is none of {", ".join(FIELDS)}.')
    if not parsed["format.output.envelope"] and len(fields) > 1:
        raise ConfigError("format.output.envelope", "false needs a single one of format.output.fields.")
    packed = parsed["file.compression.type"].lower() or "gzip"
    if kind == "csv":
        encoded = parsed["format.output.fields.value.encoding"].lower() == "base64"
        return lines.FieldsCsv(fields, encoded=encoded, kind=packed), fields
    if kind in ("json", "jsonl"):
        form = lines.JsonArray if kind == "json" else lines.JsonLines
        return form(parsed["json.decimal.format"], kind=packed, extension=""), fields
    if kind == "avro":
        return _avro(parsed, "null" if packed == "none" else packed), fields
    return _parquet(packed), fields


def _named(parsed: Config, key: str) -> Format:
    from connectors.s3.formats import lines

    written: str = parsed[key] or "json"
    kind = _FORMATS.get(_last_word(written))
    packed: dict[str, Any] = {"kind": parsed["s3.compression.type"].lower(), "level": parsed["s3.compression.level"]}
    if packed["kind"] == compression.GZIP and packed["level"] > 9:
        raise ConfigError("s3.compression.level", "of gzip is at most 9.")
    match kind:
        case "json":
            return lines.JsonLines(parsed["json.decimal.format"].upper(), **packed)
        case "jsonarray":
            return lines.JsonArray(parsed["json.decimal.format"].upper(), **packed)
        case "csv":
            return lines.Csv(**packed)
        case "string":
            return lines.Texts(**packed)
        case "bytes":
            # As it was written: a line feed by itself is no blank here.
            separator = parsed.raw.get("format.bytearray.separator")
            between = "\n" if separator is None else unescaped(separator)
            return lines.Bytes(between.encode(), extension=parsed["format.bytearray.extension"], **packed)
        case "avro":
            return _avro(parsed, parsed["avro.codec"].lower())
        case "parquet":
            return _parquet(parsed["parquet.codec"].lower())
    raise ConfigError(key, f'"{written}" is unknown. Write json, jsonarray, csv, avro, parquet, bytes or string.')


def _avro(parsed: Mapping[str, Any], codec: str) -> Format:
    from connect.converters.avro.keys import AvroOptions
    from connectors.s3.formats.avro import Avro

    return Avro(
        codec,
        AvroOptions.parse(
            {
                key: parsed[key]
                for key in ("enhanced.avro.schema.support", "connect.meta.data", "allow.optional.map.keys")
            }
        ),
    )


def _parquet(codec: str) -> Format:
    from connectors.s3.formats.parquet import Parquet

    return Parquet(codec)


def _tags(parsed: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    pairs = (pair.partition(":") for pair in parsed["s3.object.tagging.key.value.pairs"])
    return tuple((key.strip(), value.strip()) for key, _, value in pairs)


def _fingerprint(config: Mapping[str, Any]) -> str:
    told = sorted((key, str(value)) for key, value in config.items() if not key.startswith(_BESIDE))
    return hashlib.sha256(repr(told).encode()).hexdigest()[:16]
