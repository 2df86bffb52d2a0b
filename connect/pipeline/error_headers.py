"""The headers and topic names of failed records: dead letters and parked records. All formats are here.

A dead letter is the record as it was consumed, and after its own headers ten that describe the error, with Kafka
Connect's names and values (KIP-298). Those of a source also say where in the source it was read. A record that is
parked in a retry topic has in the same way, after its own headers, where it comes from, when it is due and the last
error. Every value is text in UTF-8.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from connect.settings.error_keys import duration_ms

__all__ = ["ErrorContext", "ParkedHeaders", "RawHeaders", "default_retry_prefix", "duration_ms", "retry_topic"]

#: A record's headers as they lie in Kafka.
RawHeaders = Sequence[tuple[str, bytes | None]]

ERRORS: Final = "__connect.errors."
RETRY: Final = "__connect.retry."

_ERROR_NAMES: Final = (
    "topic",
    "partition",
    "offset",
    "connector.name",
    "task.id",
    "stage",
    "class.name",
    "exception.class.name",
    "exception.message",
    "exception.stacktrace",
    "source.partition",
    "source.offset",
    "value.omitted",
)
_RETRY_NAMES: Final = ("topic", "partition", "offset", "timestamp", "attempt", "parked", "due", "headers")


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorContext:
    """The content of a dead letter's headers.

    Attributes:
        topic, partition, offset: where a sink consumed the record first; of a source's record only its destination.
        connector, task: that gave it up.
        stage: such as VALUE_CONVERTER.
        class_name: the converter's or transformation's, by its Java name where it has one.
        exception, message, stacktrace: the error. No stack trace in a parked record.
        source_partition, source_offset: where a source read the record; None for sinks.
        omitted: why the value is not in the dead letter, though the record had one; None where it is.
    """

    topic: str | None = None
    partition: int | None = None
    offset: int | None = None
    connector: str = ""
    task: int = 0
    stage: str = ""
    class_name: str = ""
    exception: str = ""
    message: str | None = None
    stacktrace: str | None = None
    source_partition: Mapping[str, Any] | None = None
    source_offset: Mapping[str, Any] | None = None
    omitted: str | None = None

    def headers(self) -> list[tuple[str, bytes | None]]:
        """In Kafka Connect's order. An unknown value has no header, but a null message has one."""
        values = (
            self.topic,
            self.partition,
            self.offset,
            self.connector,
            self.task,
            self.stage,
            self.class_name,
            self.exception,
            self.message,
            self.stacktrace,
            _json(self.source_partition),
            _json(self.source_offset),
            self.omitted,
        )
        return [
            (ERRORS + name, _bytes(value))
            for name, value in zip(_ERROR_NAMES, values, strict=True)
            if value is not None or name == "exception.message"
        ]

    @classmethod
    def split(cls, headers: RawHeaders | None) -> tuple[list[tuple[str, bytes | None]], ErrorContext | None]:
        """The record's own headers, and the content of those behind them; None when there are none.

        A record that was dead-lettered twice keeps the headers of the first time as its own.
        """
        items = list(headers or ())
        start, said = _last_block(items, ERRORS, _ERROR_NAMES)
        if "stage" not in said:
            return items, None
        context = cls(
            topic=said.get("topic"),
            partition=_number(said.get("partition")),
            offset=_number(said.get("offset")),
            connector=said.get("connector.name") or "",
            task=_number(said.get("task.id")) or 0,
            stage=said["stage"] or "",
            class_name=said.get("class.name") or "",
            exception=said.get("exception.class.name") or "",
            message=said.get("exception.message"),
            stacktrace=said.get("exception.stacktrace"),
            source_partition=_object(said.get("source.partition")),
            source_offset=_object(said.get("source.offset")),
            omitted=said.get("value.omitted"),
        )
        return items[:start], context


@dataclass(frozen=True, slots=True, kw_only=True)
class ParkedHeaders:
    """The headers of a record in a retry topic, apart from its error.

    Attributes:
        topic, partition, offset, timestamp: where it was consumed first, and its timestamp there, None without one.
        attempt: how often it was tried and failed; 0 for one that only waits behind another of its key.
        parked: how often it was parked, this time included.
        due: when to try it again, in ms since the epoch.
    """

    topic: str
    partition: int
    offset: int
    timestamp: int | None
    attempt: int
    parked: int
    due: int

    def after(self, own: RawHeaders | None, error: ErrorContext) -> list[tuple[str, bytes | None]]:
        """All headers of the parked record: its own, then those of its error and these."""
        items = list(own or ())
        values = (
            self.topic,
            self.partition,
            self.offset,
            self.timestamp,
            self.attempt,
            self.parked,
            self.due,
            len(items),
        )
        mine = [(RETRY + name, _bytes(value)) for name, value in zip(_RETRY_NAMES, values, strict=True)]
        return [*items, *error.headers(), *mine]

    @classmethod
    def split(cls, headers: RawHeaders | None) -> tuple[list[tuple[str, bytes | None]], ParkedHeaders]:
        """The record's own headers, and the content of these.

        Raises:
            ValueError: it is not a parked record.
        """
        items = list(headers or ())
        _, said = _last_block(items, RETRY, _RETRY_NAMES)
        try:
            own = int(said["headers"] or "")
            parked = cls(
                topic=said["topic"] or "",
                partition=int(said["partition"] or ""),
                offset=int(said["offset"] or ""),
                timestamp=_number(said["timestamp"]),
                attempt=int(said["attempt"] or ""),
                parked=int(said["parked"] or ""),
                due=int(said["due"] or ""),
            )
        except (KeyError, ValueError):
            raise ValueError("the headers __connect.retry.* of a parked record are missing or broken") from None
        return items[:own], parked


def retry_topic(prefix: str, tier: str) -> str:
    """The name of the retry topic of a tier such as ``5s``."""
    return f"{prefix}-{tier}"


def default_retry_prefix(connector: str) -> str:
    """The default prefix of a connector's retry topics."""
    return f"connect-retry-{connector}"


def _last_block(items: RawHeaders, prefix: str, names: Sequence[str]) -> tuple[int, dict[str, str | None]]:
    """The last headers of these names that follow each other in this order: where they begin, and their content."""
    said: dict[str, str | None] = {}
    start, before = len(items), len(names)
    for key, value in reversed(items):
        name = key.removeprefix(prefix)
        if name == key or name not in names or names.index(name) >= before:
            break
        before = names.index(name)
        said[name] = None if value is None else value.decode("utf-8", "replace")
        start -= 1
    return start, said


def _bytes(value: Any) -> bytes | None:
    # A message may quote half a surrogate pair, as JSON lets it into a text: no UTF-8 is made of it.
    return None if value is None else str(value).encode(errors="backslashreplace")


def _number(text: str | None) -> int | None:
    try:
        return None if text is None else int(text)
    except ValueError:
        return None


def _json(value: Mapping[str, Any] | None) -> str | None:
    return None if value is None else json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str)


def _object(text: str | None) -> Mapping[str, Any] | None:
    try:
        found = None if text is None else json.loads(text)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None
