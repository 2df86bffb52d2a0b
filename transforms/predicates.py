"""Predicates: which records a transformation applies to (KIP-585).

https://kafka.apache.org/documentation/#connect_predicates
"""

from __future__ import annotations

from typing import Any

from connect import Batch, Headers, Predicate, settings
from connect.data.column import Constant, Dictionary
from connect.settings import Config
from connect.settings.java_regex import java_regex
from transforms.topics import regular_expression


class HasHeaderKey(Predicate):
    """True for records with at least one header of this name."""

    settings = settings.define(
        settings.String("name", validator=settings.non_empty, doc="The exact name of the header.")
    )

    def configure(self, config: Config) -> None:
        self._name = config["name"]

    def test(self, record: Any) -> bool:
        return self._has(record.headers)

    def test_batch(self, batch: Batch[Any]) -> list[bool]:
        headers = batch.headers
        if headers.constant and len(headers):
            return [self._has(headers[0])] * len(headers)
        return list(map(self._has, headers))

    def _has(self, headers: Headers) -> bool:
        name = self._name
        return any(header.key == name for header in headers)


class RecordIsTombstone(Predicate):
    """True for records whose value is null."""

    def test(self, record: Any) -> bool:
        return record.value is None

    def test_batch(self, batch: Batch[Any]) -> list[bool]:
        if batch.values.struct_columns is not None:  # no row of such columns is null
            return [False] * len(batch)
        return [value is None for value in batch.values]


def _pattern(name: str, value: str) -> None:
    settings.non_empty(name, value)
    regular_expression(name, value)


class TopicNameMatches(Predicate):
    """True for records whose whole topic name matches the pattern."""

    settings = settings.define(
        settings.String("pattern", validator=_pattern, doc="Java regular expression; it must match the whole name.")
    )

    def configure(self, config: Config) -> None:
        self._pattern = java_regex(config["pattern"])

    def test(self, record: Any) -> bool:
        return self._pattern.fullmatch(record.topic) is not None

    def test_batch(self, batch: Batch[Any]) -> list[bool]:
        topics, matches = batch.topics, self._pattern.fullmatch
        if isinstance(topics, Constant):
            return [matches(topics.value) is not None] * len(topics)
        if isinstance(topics, Dictionary):
            distinct = [matches(topic) is not None for topic in topics.distinct]
            return [distinct[code] for code in topics.codes]
        known = {topic: matches(topic) is not None for topic in set(topics)}
        return [known[topic] for topic in topics]
