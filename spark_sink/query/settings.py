"""The keys of every sink connector on the Spark engine: how much a query reads at once, when, and what it stores.

The connectors for tables declare some of them in words of their own, under the same names.
"""

from __future__ import annotations

from typing import Any, Final

from connect import settings

_GROUP: Final = "Spark"


class QueryOptions(settings.Options):
    """How much a query reads at once, when, and where it stores its progress."""

    trigger = settings.String(
        "trigger",
        default="interval",
        group=_GROUP,
        validator=settings.one_of("interval", "available_now", "once"),
        doc="When batches are made: interval (every trigger.interval.ms), or available_now (read what the topics hold "
        "now, then rest until a restart; once is the same).",
    )
    trigger_interval_ms = settings.Long(
        "trigger.interval.ms",
        default=5000,
        group=_GROUP,
        validator=settings.at_least(0),
        doc="The time from the start of one batch to that of the next, in milliseconds; 0 for as soon as there is "
        "something.",
    )
    checkpoint_location = settings.String(
        "checkpoint.location",
        default=None,
        group=_GROUP,
        width="LONG",
        doc="The folder for the connector's progress. By default in the worker's data folder; a path that all workers "
        "and executors see lets any of them continue exactly.",
    )
    most_records = settings.Long(
        "max.records.per.batch",
        default=1_000_000,
        group=_GROUP,
        validator=settings.at_least(0),
        doc="The most records of one batch; 0 for no limit.",
    )
    most_bytes = settings.Long(
        "max.bytes.per.batch",
        default=1_073_741_824,
        group=_GROUP,
        validator=settings.at_least(0),
        doc="The most bytes of keys and values of one batch, estimated from the size of its first records; 0 for no "
        "limit.",
    )
    most_per_second = settings.Long(
        "max.records.per.second",
        default=0,
        group=_GROUP,
        validator=settings.at_least(0),
        doc="The most records that are read in a second, on average; 0 for no limit.",
    )
    parts = settings.Int(
        "read.parts",
        default=0,
        group=_GROUP,
        importance="LOW",
        validator=settings.at_least(0),
        doc="For tables: the number of parts of a large batch for the executors; 0 for as many as Spark has cores. "
        "Other sinks get one part for each partition, so that its records stay in order.",
    )
    fail_on_data_loss = settings.Boolean(
        "fail.on.data.loss",
        default=True,
        group=_GROUP,
        importance="LOW",
        doc="Whether the task fails when records were deleted before it read them. If not, it continues behind them, "
        "and reads a topic that was made again from its first record.",
    )

    def triggered(self, writer: Any) -> Any:
        """A query's DataStreamWriter, with its trigger."""
        if self.trigger == "interval":
            return writer.trigger(processingTime=f"{self.trigger_interval_ms} milliseconds")
        return writer.trigger(availableNow=True)
