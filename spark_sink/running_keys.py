"""The keys of when batches are written, and where a connector's progress is kept."""

from __future__ import annotations

import datetime as dt
import json
from typing import Any, Final

from connect import settings
from connect.data.times import timestamp_ms

_RUNNING: Final = "Running"


def milliseconds(text: str) -> int:
    """A point in time in milliseconds since 1970; in UTC unless it says its zone.

    Raises:
        ValueError: it is none.
    """
    text = text.strip()
    return int(text) if text.isascii() and text.isdigit() else timestamp_ms(dt.datetime.fromisoformat(text))


def _moment(name: str, value: str) -> None:
    try:
        milliseconds(value or "0")
    except ValueError:
        raise ValueError(
            f'"{value}" is not a time. Write 2026-01-02T03:04:05Z, a day, or milliseconds since 1970.'
        ) from None


def check_places(_: str, value: Any) -> None:
    """A validator: earliest, latest, or JSON with an offset for each partition."""
    if value in {"earliest", "latest"}:
        return
    try:
        for partitions in json.loads(value).values():
            for partition, offset in partitions.items():
                int(partition), int(offset)
    except (ValueError, AttributeError, TypeError):
        raise ValueError(
            'is not a place. Write earliest, latest, or an offset for each partition: {"orders": {"0": 42, "1": -2}}, '
            "-2 for the first and -1 for the end."
        ) from None


def _places(name: str, value: str) -> None:
    if value:
        check_places(name, value)


class RunningOptions(settings.Options):
    """When batches are written."""

    trigger = settings.String(
        "trigger",
        default="interval",
        group=_RUNNING,
        validator=settings.one_of("interval", "available_now", "once", "real_time"),
        doc="When batches are made: interval (every trigger.interval.ms), available_now (read what the topics hold "
        "now, then rest until a restart; once is the same). real_time is refused: Delta and files cannot do it.",
    )
    interval_s = settings.Long(
        "trigger.interval.ms",
        default=5000,
        group=_RUNNING,
        validator=settings.at_least(0),
        convert=settings.seconds,
        doc="The time from the start of one batch to that of the next, in milliseconds; 0 for as soon as there is "
        "something. Each batch is a commit and some files: seconds, not milliseconds.",
    )
    flush_records = settings.Long(
        "flush.size",
        default=0,
        group=_RUNNING,
        validator=settings.at_least(0),
        doc="With engine=worker: the sink writes after so many records, whatever trigger.interval.ms says; 0 for no "
        "such limit.",
    )
    flush_bytes = settings.Long(
        "flush.bytes",
        default=64 << 20,
        importance="LOW",
        group=_RUNNING,
        validator=settings.between(1 << 10, 1 << 30),
        doc="With engine=worker: the sink writes when rows take so many bytes of memory, in all of a task's tables. "
        "Consumption pauses while it cannot.",
    )
    starting_ms = settings.String(
        "starting.timestamp",
        default=None,
        group=_RUNNING,
        validator=_moment,
        convert=lambda written: milliseconds(written) if written else None,
        doc="Where the connector begins in partitions of which it has no offsets: at the first record of this time or "
        "later, else at the end. 2026-01-02T03:04:05Z, a day, or milliseconds since 1970. By default as "
        "consumer.override.auto.offset.reset says.",
    )
    starting_offsets = settings.String(
        "starting.offsets",
        default="",
        importance="LOW",
        group=_RUNNING,
        width="LONG",
        validator=_places,
        doc="With engine=spark, in place of starting.timestamp: earliest, latest, or JSON with an offset for each "
        'partition: {"orders": {"0": 42}}; others begin with their first record.',
    )
    ending_ms = settings.String(
        "ending.timestamp",
        default=None,
        importance="LOW",
        group=_RUNNING,
        validator=_moment,
        convert=lambda written: milliseconds(written) if written else None,
        doc="With trigger=available_now: where the connector ends, before the first record of this time or later. For "
        "a backfill beside the connector that goes on.",
    )
    ending_offsets = settings.String(
        "ending.offsets",
        default="",
        importance="LOW",
        group=_RUNNING,
        width="LONG",
        validator=_places,
        doc="The same by offsets: JSON with the offset after the last one of each partition; others end where they end "
        "at the start.",
    )
    checkpoint_location = settings.String(
        "checkpoint.location",
        default=None,
        group=_RUNNING,
        width="LONG",
        doc="The folder for the connector's progress. Default: _checkpoints/<connector> in the folder of the table's "
        "path. Required if table is a name.",
    )
