"""Which index or data stream a record goes to."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable, Sequence
from typing import Any, Final

from connect import ConfigError, SinkBatch
from connect.settings.variables import enclosed, replaced
from connectors.elasticsearch.sink.ids import fields
from connectors.elasticsearch.sink.keys import SinkOptions

_KEY: Final = "index.name.format"
#: What an index may not be called, https://www.elastic.co/docs/api/doc/elasticsearch/operation/operation-indices-create.
_FORBIDDEN: Final = re.compile(r'[\s"*\\<>|,/?#:\ud800-\udfff]')
_LONGEST: Final = 255


class Naming:
    """Finds the targets of batches.

    Raises:
        ConfigError: `index.name.format` has an unknown variable.
    """

    def __init__(self, options: SinkOptions) -> None:
        self._options = options
        self._format = options.stream or options.index_format
        self._by_topic: dict[str, str] = {}
        self._variables = [_name_and_pattern(found.inside) for found in enclosed(self._format)]
        for name, pattern in self._variables:
            if name.partition(".")[0] not in ("topic", "timestamp", "value", "key", "header"):
                raise ConfigError(
                    _KEY,
                    f"there is no variable ${{{name}}}. There are ${{topic}}, ${{key.NAME}}, ${{value.NAME}}, "
                    "${header.NAME} and ${timestamp:%Y.%m.%d}.",
                )
            if name == "timestamp" and not pattern:
                raise ConfigError(_KEY, "${timestamp} needs a pattern, such as ${timestamp:%Y.%m.%d}.")
        self._by_record = [each for each in self._variables if each[0] != "topic"]

    def targets(self, topic: str, batch: SinkBatch) -> tuple[dict[str, Sequence[int]], dict[int, str]]:
        """The rows of each target, and the rows that have none with the reason.

        Args:
            topic: of all these records, as transformations left it.
            batch: the records.
        """
        if self._options.resources:
            name = self._options.resources.get(topic)
            if name is None:
                return {}, dict.fromkeys(range(len(batch)), _no_resource(topic))
            return {name: range(len(batch))}, {}
        if not self._by_record:
            if not (name := self._of_topic(topic)):
                return {}, dict.fromkeys(range(len(batch)), f"no index can be named for the topic {topic}.")
            if wrong := _FORBIDDEN.search(name):
                return {}, dict.fromkeys(range(len(batch)), _forbidden(name, wrong[0]))
            return {name: range(len(batch))}, {}
        columns = [_texts(batch, name, pattern) for name, pattern in self._by_record]
        found: dict[str, list[int]] = {}
        problems: dict[int, str] = {}
        for row in range(len(batch)):
            said = [column(row) for column in columns]
            name = self._filled(topic, iter(map(str, said))) if None not in said else ""
            if not name:
                problems[row] = f"{_KEY}={self._format}: the record does not say its index."
                continue
            if wrong := _FORBIDDEN.search(name):
                problems[row] = _forbidden(name, wrong[0])
                continue
            found.setdefault(name, []).append(row)
        return dict(found), problems

    def _of_topic(self, topic: str) -> str:
        known = self._by_topic.get(topic)
        if known is None:
            known = self._by_topic[topic] = self._filled(topic, iter(()))
        return known

    def _filled(self, topic: str, said: Any) -> str:
        return index_name(
            replaced(self._format, lambda inside: topic if _name_and_pattern(inside)[0] == "topic" else next(said))
        )


def _no_resource(topic: str) -> str:
    return (
        f"no resource is named for the topic {topic}: add it to topic.to.external.resource.mapping "
        "(topic.to.existing.resource.mapping for OpenSearch)."
    )


def _forbidden(name: str, character: str) -> str:
    return f"an index cannot be called {name!a}: {character!a} is not allowed in its name."


def _name_and_pattern(inside: str) -> tuple[str, str]:
    """Of a variable, `${name:pattern}`; the pattern is empty where there is none."""
    name, _, pattern = inside.partition(":")
    return name, pattern


def index_name(wanted: str) -> str:
    """A valid index name: lower case, at most 255 bytes, neither - nor _ nor + in front, not only dots. Empty: none."""
    name = wanted.lower()
    while len(name.encode(errors="surrogatepass")) > _LONGEST:
        name = name[:-1]
    name = name.lstrip("-_+")
    return name.replace(".", "dot") if name in (".", "..") else name


def _texts(batch: SinkBatch, name: str, pattern: str) -> Callable[[int], str | None]:
    """The field of each record, as text; None where it is missing or has no usable value."""
    kind, _, path = name.partition(".")
    values: Sequence[Any]
    if kind == "timestamp":
        values = batch.timestamps
    elif kind == "header":
        values = [None if (found := headers.last(path)) is None else found.value for headers in batch.headers]
    elif path:
        values = fields(batch.keys if kind == "key" else batch.values, path.split("."))
    else:
        values = (batch.keys if kind == "key" else batch.values).to_list()
    return lambda row: _text(values[row], pattern)


def _text(value: Any, pattern: str) -> str | None:
    if pattern:
        moment = _moment(value)
        return None if moment is None else moment.strftime(pattern)
    if isinstance(value, bool):
        return str(value).lower()
    return str(value) if isinstance(value, str | int) and value != "" else None


def _moment(value: Any) -> dt.date | None:
    """A time of a field: a Timestamp or Date, milliseconds since 1970, or ISO 8601. In UTC."""
    try:
        if isinstance(value, int) and not isinstance(value, bool):
            return dt.datetime.fromtimestamp(value / 1000, dt.UTC)
        found = dt.datetime.fromisoformat(value) if isinstance(value, str) else value
        if isinstance(found, dt.datetime):
            return found.astimezone(dt.UTC) if found.tzinfo else found
    except (ValueError, OverflowError, OSError):  # outside the range of dates
        return None
    return found if isinstance(found, dt.date) else None
