"""The keys of a sink connector on Spark that concern its writing."""

from __future__ import annotations

from connect import settings
from spark_sink.connector_sink.plan import FLUSH_WITHIN_S


class FlushOptions(settings.Options):
    """How long a sink may take."""

    flush_within = settings.Long(
        "sink.flush.timeout.ms",
        default=int(FLUSH_WITHIN_S * 1000),
        validator=settings.at_least(1),
        convert=settings.seconds,
        importance="LOW",
        group="Spark",
        width="SHORT",
        doc="How long a sink may stay behind at the end of a micro-batch, in milliseconds, without one record more "
        "becoming durable, before the task fails. A sink that writes when time is over needs as long as that takes.",
    )
