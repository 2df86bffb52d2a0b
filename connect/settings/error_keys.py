"""The keys for failed records that only this runtime has: retry topics, and `errors.put.tolerance`.

A Java worker ignores them.
"""

from __future__ import annotations

import re
from typing import Final

from connect.settings.definition import define
from connect.settings.setting import Boolean, Int, List, Short, String
from connect.settings.validators import one_of, partitions, replication_factor

_GROUP: Final = "Retry Topics"
_DURATION: Final = re.compile(r"([1-9][0-9]{0,8})(ms|s|m|h|d)")
_UNITS_MS: Final = {"ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
_TOPIC: Final = re.compile(r"[a-zA-Z0-9._-]{1,200}")

RETRY_TOPICS_KEY: Final = "errors.retry.topics"


def duration_ms(text: str) -> int:
    """A tier such as ``500ms``, ``5s``, ``1m``, ``2h``, ``1d`` in milliseconds.

    Raises:
        ValueError: it is not a tier.
    """
    found = _DURATION.fullmatch(text.strip())
    if found is None:
        raise ValueError(
            f'"{text}" is not a duration. Write a whole number with its unit, such as 500ms, 5s, 1m, 2h, 1d.'
        )
    return int(found[1]) * _UNITS_MS[found[2]]


def is_duration(text: str) -> bool:
    """Whether `duration_ms` accepts it."""
    return _DURATION.fullmatch(text.strip()) is not None


def _tiers(name: str, value: list[str]) -> None:
    lengths = [duration_ms(item) for item in value]
    if lengths != sorted(set(lengths)):
        raise ValueError("does not ascend. Write shorter waits first and each once, such as 5s,1m,10m.")


def _prefix(name: str, value: str) -> None:
    if value and not _TOPIC.fullmatch(value):
        raise ValueError(f'"{value}" cannot begin the name of a topic. Use letters, digits, dots, dashes, underscores.')


#: Where records of sinks are parked that failed, to be tried again.
RETRY_TOPICS: Final = define(
    List(
        RETRY_TOPICS_KEY,
        default=[],
        group=_GROUP,
        order=1,
        width="LONG",
        display_name="Retry Topics",
        validator=_tiers,
        doc="How long a record that failed waits before each further attempt, such as 5s,1m,10m, each in a topic of "
        "its own; records behind it go on. Empty: none.",
    ),
    String(
        "errors.retry.topics.prefix",
        default="",
        group=_GROUP,
        order=2,
        width="MEDIUM",
        display_name="Retry Topics Prefix",
        validator=_prefix,
        doc="The beginning of their names, before -5s and so on. By default connect-retry- and the connector's name.",
    ),
    Int(
        "errors.retry.topics.partitions",
        default=None,
        group=_GROUP,
        order=3,
        width="SHORT",
        display_name="Retry Topics Partitions",
        validator=partitions,
        doc="Their partitions, if they have to be created. By default as many as the sink's topics have.",
    ),
    Short(
        "errors.retry.topics.replication.factor",
        default=-1,
        group=_GROUP,
        order=4,
        width="SHORT",
        display_name="Retry Topics Replication Factor",
        validator=replication_factor,
        doc="Their replicas, if they have to be created; -1 leaves it to the broker.",
    ),
    Boolean(
        "errors.retry.topics.keep.order",
        default=False,
        group=_GROUP,
        order=5,
        width="SHORT",
        display_name="Keep the Order of Keys",
        doc="Whether records wait behind an earlier record of their key. The sink's topics must have the same number "
        "of partitions.",
    ),
)

#: What becomes of a record that `put` does not take.
PUT_TOLERANCE: Final = define(
    String(
        "errors.put.tolerance",
        default="none",
        group="Error Handling",
        order=10,
        width="SHORT",
        display_name="Error Tolerance of Puts",
        validator=one_of("none", "all"),
        doc="none: a put that fails for good fails the task, as in Kafka. all: the worker halves its batch until the "
        "bad record is alone, and treats that like a record that a converter refuses. For tasks that are atomic or "
        "idempotent.",
    ),
)
