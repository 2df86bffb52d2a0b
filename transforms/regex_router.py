"""Route records to another topic by a regular expression: RegexRouter.

https://kafka.apache.org/documentation/#org.apache.kafka.connect.transforms.RegexRouter
"""

from __future__ import annotations

from typing import Any, TypeVar

from connect import Batch, Transformation, settings
from connect.settings import Config
from transforms.topics import Renamed, regular_expression, replacing

B = TypeVar("B", bound=Batch[Any])


class RegexRouter(Transformation):
    """Renames the topics whose whole name matches a pattern; the others stay as they are.

    Pattern and replacement have Java's syntax: `$1` and `${name}` stand for groups.
    """

    pure = True
    settings = settings.define(
        settings.String(
            "regex",
            importance="HIGH",
            validator=regular_expression,
            doc="Java regular expression for the topics to rename. It must match the whole name; other topics stay "
            "unchanged.",
        ),
        settings.String(
            "replacement",
            importance="HIGH",
            doc="The new name. $1 stands for the match of the first group, ${name} for that of a named group.",
        ),
    )

    def configure(self, config: Config) -> None:
        rename = replacing(config["regex"], config["replacement"], "replacement")
        self._names = Renamed(lambda topic: topic if (new := rename(topic)) is None else new)

    def apply(self, record: Any) -> Any:
        topic = self._names[record.topic]
        return record if topic == record.topic else record.replace(topic=topic)

    def apply_batch(self, batch: B) -> B:
        topics = self._names.column(batch.topics)
        return batch if topics is batch.topics else batch.with_columns(topics=topics)
