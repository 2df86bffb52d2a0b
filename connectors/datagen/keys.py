"""The keys of the datagen source: Confluent's, and a few new ones."""

from __future__ import annotations

import datetime as dt
import math
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any, Final

from connect import ConfigError, settings
from connect.data.times import timestamp_ms
from connect.settings import Listed

QUICKSTARTS: Final = {
    "clickstream": "ip",
    "orders": "orderid",
    "pageviews": "viewtime",
    "stock_trades": "symbol",
    "users": "userid",
}
#: The headers that Confluent's connector adds to each record.
GENERATION: Final = "task.generation"
TASK: Final = "task.id"
ITERATION: Final = "current.iteration"
OWN_HEADERS: Final = (GENERATION, TASK, ITERATION)

_DATA: Final = "Data"
_PACE: Final = "Pace"
_RECORDS: Final = "Records"


def _quickstart(name: str, value: Any) -> None:
    if value and str(value).lower() not in QUICKSTARTS:
        raise ValueError(f'there is no "{value}". There are {", ".join(QUICKSTARTS)}; others by schema.string.')


def _finite(name: str, value: Any) -> None:
    if not math.isfinite(value) or value < 0:
        raise ValueError(f"{value} is not a rate. Write records a second, or 0 for no limit.")


def _share(name: str, value: Any) -> None:
    if not 0 <= value <= 1:
        raise ValueError(f"{value} is not a share. Write a number from 0 to 1, such as 0.05.")


def _headers(name: str, value: Any) -> None:
    for each in value:
        if each not in OWN_HEADERS and not each.partition("=")[0].strip():
            raise ValueError(f'"{each}" is not a header. Write name=text, or one of {", ".join(OWN_HEADERS)}.')
        if each not in OWN_HEADERS and "=" not in each:
            raise ValueError(f'"{each}" has no text. Write {each}=text, or one of {", ".join(OWN_HEADERS)}.')


def _moment(written: str) -> int | None:
    """Milliseconds since 1970, as written or from a date and time in ISO 8601; None for nothing."""
    if not written:
        return None
    if written.isascii() and written.isdigit() and len(written) < 16:
        return int(written)
    try:
        read = dt.datetime.fromisoformat(written)
    except ValueError:
        raise ValueError(
            f'"{written}" is not a time. Write 2026-01-31T12:00:00Z, or milliseconds since 1970.'
        ) from None
    return timestamp_ms(read)


class DatagenOptions(
    settings.Options, without_effect={"generate.timeout": "making a record takes no time to speak of"}
):
    """The keys, and what they mean together."""

    kafka_topic = settings.String(
        "kafka.topic",
        importance="HIGH",
        group=_RECORDS,
        validator=settings.topic_name,
        listed=Listed.TOPICS,
        doc="The topic that the records go to.",
    )
    quickstart = settings.String(
        "quickstart",
        default="",
        importance="HIGH",
        group=_DATA,
        validator=_quickstart,
        doc=f"One of the schemas that come with the connector: {', '.join(QUICKSTARTS)}, in any case of letters.",
    )
    schema_string = settings.String(
        "schema.string",
        default="",
        importance="HIGH",
        group=_DATA,
        width="LONG",
        doc="An Avro schema with arg.properties, in JSON, instead of a quickstart.",
    )
    schema_filename = settings.String(
        "schema.filename",
        default="",
        importance="HIGH",
        group=_DATA,
        width="LONG",
        doc="A file with such a schema. Every worker that runs a task needs it.",
    )
    schema_keyfield = settings.String(
        "schema.keyfield",
        default="",
        importance="HIGH",
        group=_RECORDS,
        doc="The field whose value is also the record's key. Default: that of the quickstart, else no key.",
    )
    random_seed = settings.Long(
        "random.seed",
        default=None,
        importance="LOW",
        group=_DATA,
        doc="The same seed gives the same records. Default: a random one, kept over restarts.",
    )
    iterations = settings.Long(
        "iterations",
        default=-1,
        importance="HIGH",
        group=_PACE,
        doc="How many records to make for each of tasks.max. Less than 1: without end. After the last one the tasks "
        "do not fail, as Confluent's do, but return nothing more.",
    )
    max_interval = settings.Long(
        "max.interval",
        default=500,
        importance="HIGH",
        group=_PACE,
        doc="The longest pause before a record of a task, in milliseconds; pauses have a random length up to that. "
        "Less than 1: none, as fast as possible. Without effect if rate is set.",
    )
    rate = settings.Double(
        "rate",
        default=0.0,
        importance="HIGH",
        group=_PACE,
        validator=_finite,
        doc="Added. How many records a second all tasks make together, evenly. 0: as max.interval says.",
    )
    generate_timeout = settings.Long(
        "generate.timeout",
        default=None,
        importance="LOW",
        group=_PACE,
        doc="Without effect: making a record takes hardly any time.",
    )
    batch_size = settings.Int(
        "batch.size",
        default=4096,
        importance="LOW",
        group=_PACE,
        validator=settings.between(1, 100_000),
        doc="Added. The most records at a time; fewer if records are big (2 MiB).",
    )
    cardinality = settings.Int(
        "cardinality",
        default=0,
        importance="MEDIUM",
        group=_DATA,
        validator=settings.between(0, 10_000_000),
        doc="Added. The number of different keys: each record has one of the first so many values of the key's field. "
        "0: all values of the field.",
    )
    null_share = settings.Double(
        "null.share",
        default=0.5,
        importance="LOW",
        group=_DATA,
        validator=_share,
        doc="Added. The share of nulls in fields that may be null. Confluent's has a half.",
    )
    tombstone_share = settings.Double(
        "tombstone.share",
        default=0.0,
        importance="LOW",
        group=_RECORDS,
        validator=_share,
        doc="Added. The share of records that have a key and null as their value. Needs a key.",
    )
    headers = settings.List(
        "headers",
        default=[],
        importance="LOW",
        group=_RECORDS,
        validator=_headers,
        doc="Added. Headers of each record: task.generation, task.id and current.iteration, as Confluent's connector "
        "always adds them, and others as name=text. Records without headers are sent in half the time.",
    )
    timestamp_start = settings.String(
        "timestamp.start",
        default="",
        importance="LOW",
        group=_RECORDS,
        convert=_moment,
        doc="Added. The timestamp of the first record, as 2026-01-31T12:00:00Z or in milliseconds since 1970. "
        "Default: the time of sending.",
    )
    timestamp_step_ms = settings.Long(
        "timestamp.step.ms",
        default=1,
        importance="LOW",
        group=_RECORDS,
        doc="Added. The time between the timestamps of two records. Needs timestamp.start.",
    )
    task_id = settings.Int("task.id", default=0, internal=True, doc="Which of the tasks this is, from 0.")
    task_count = settings.Int(
        "task.count", default=1, internal=True, doc="Among how many tasks records are shared out."
    )
    task_first = settings.Long(
        "task.first", default=0, internal=True, doc="The record from which on they are so shared out."
    )
    task_seed = settings.Long("task.seed", default=0, internal=True, doc="The seed, where none is set.")

    def schema_text(self) -> tuple[str, str]:
        """The Avro schema of the keys, and the key that defines it.

        Raises:
            ConfigError: none or several do, or the file cannot be read.
        """
        given = [key for key in ("quickstart", "schema.string", "schema.filename") if self.config[key]]
        if not given:
            raise ConfigError("quickstart", "is required, or schema.string or schema.filename instead of it.")
        if len(given) > 1:
            raise ConfigError(given[1], f"excludes {given[0]}. Give one of them.")
        (key,) = given
        if key == "schema.string":
            return self.schema_string, key
        # In an executor the package may be in an archive.
        path: Traversable = files("connectors.datagen") / "quickstarts" / f"{self.quickstart.lower()}.avsc"
        if key == "schema.filename":
            path = Path(self.schema_filename)
        try:
            return path.read_text(encoding="utf-8"), key
        except (OSError, ValueError) as error:
            why = error.strerror if isinstance(error, OSError) else "it is not text in UTF-8"
            raise ConfigError(key, f'cannot be read: "{path}": {why}. Name a file that every worker has.') from error

    def key_field(self) -> str:
        """The field that is the key; empty for none."""
        return self.schema_keyfield or QUICKSTARTS.get(self.quickstart.lower(), "")
