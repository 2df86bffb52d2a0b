"""Send records to another topic by a regular expression: RegexRouter.

https://kafka.apache.org/documentation/#org.apache.kafka.connect.transforms.RegexRouter
"""

from __future__ import annotations

from typing import Any, TypeVar

from connect import Batch, ConfigError, Transformation, settings
from connect.settings import Config
from connect.settings.java_regex import java_regex
from transforms.topics import Renamed, java_replacement, regular_expression

B = TypeVar("B", bound=Batch[Any])


class RegexRouter(Transformation):
    """Gives the topics that a pattern takes in whole a new name; the others stay as they are.

    Pattern and replacement are Java's: `$1` and `${name}` stand for groups.
    """

    pure = True
    settings = settings.define(
        settings.String(
            "regex",
            importance="HIGH",
            validator=regular_expression,
            doc="Java's regular expression for the topics to rename. It must match the whole name; other topics stay "
            "unchanged.",
        ),
        settings.String(
            "replacement",
            importance="HIGH",
            doc="The new name. $1 stands for the match of the first group, ${name} for that of a named one.",
        ),
    )

    def configure(self, config: Config) -> None:
        pattern = java_regex(config["regex"])
        try:
            replacement = java_replacement(pattern, config["replacement"])
        except ValueError as error:
            raise ConfigError("replacement", str(error)) from None

        def rename(topic: str) -> str:
            # What replaces the first find, which may be shorter than the whole: a|ab finds the a in ab.
            return pattern.sub(replacement, topic, count=1) if pattern.fullmatch(topic) else topic

        self._names = Renamed(rename)

    def apply(self, record: Any) -> Any:
        topic = self._names[record.topic]
        return record if topic == record.topic else record.replace(topic=topic)

    def apply_batch(self, batch: B) -> B:
        topics = self._names.column(batch.topics)
        return batch if topics is batch.topics else batch.with_columns(topics=topics)
