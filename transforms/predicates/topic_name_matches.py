"""Records of topics that a pattern takes in: TopicNameMatches."""

from __future__ import annotations

from typing import Any

from connect import Batch, Predicate, settings
from connect.data.column import Constant, Dictionary
from connect.settings import Config
from connect.settings.java_regex import java_regex
from transforms.topics import regular_expression


def _pattern(name: str, value: str) -> None:
    settings.non_empty(name, value)
    regular_expression(name, value)


class TopicNameMatches(Predicate):
    """True for records whose whole topic the pattern takes in."""

    settings = settings.define(
        settings.String(
            "pattern", validator=_pattern, doc="Java's regular expression; it has to take in the whole name."
        )
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
