"""Route records to topics by their timestamp: TimestampRouter.

https://kafka.apache.org/documentation/#org.apache.kafka.connect.transforms.TimestampRouter
"""

from __future__ import annotations

from typing import Any, TypeVar

from connect import Batch, ConfigError, DataError, Transformation, settings
from connect.data.column import Constant, Plain
from connect.settings import Config
from transforms.java_dates import JavaDates

B = TypeVar("B", bound=Batch[Any])

_MOST_NAMES = 10_000


class TimestampRouter(Transformation):
    """Builds each record's topic from its own topic and its timestamp, in UTC."""

    pure = True
    settings = settings.define(
        settings.String(
            "topic.format",
            default="${topic}-${timestamp}",
            importance="HIGH",
            doc="The new name. ${topic} and ${timestamp} stand for the record's topic and timestamp.",
        ),
        settings.String(
            "timestamp.format",
            default="yyyyMMdd",
            importance="HIGH",
            doc="The format of the timestamp: a pattern of Java's SimpleDateFormat.",
        ),
    )

    def configure(self, config: Config) -> None:
        self._name: str = config["topic.format"]
        try:
            self._times = JavaDates(config["timestamp.format"])
        except ValueError as error:
            raise ConfigError("timestamp.format", str(error)) from None
        self._names: dict[tuple[str, int], str] = {}

    def apply(self, record: Any) -> Any:
        if record.timestamp is None:
            raise _without_timestamp(record.topic)
        return record.replace(topic=self._topic(record.topic, record.timestamp // self._times.resolution))

    def apply_batch(self, batch: B) -> B:
        names, topic, resolution = self._names, self._topic, self._times.resolution
        timestamps = batch.timestamps.to_list()
        if None in timestamps:
            raise _without_timestamp(batch.topics[timestamps.index(None)])
        times = [timestamp // resolution for timestamp in timestamps if timestamp is not None]
        keys = list(zip(batch.topics, times, strict=True))
        new = [names.get(key) or topic(*key) for key in keys]
        alike = len(new) > 0 and new.count(new[0]) == len(new)
        return batch.with_columns(topics=Constant(new[0], len(new)) if alike else Plain(new))

    def _topic(self, topic: str, time: int) -> str:
        if len(self._names) >= _MOST_NAMES:
            self._names.clear()
        name = self._name.replace("${topic}", topic)
        name = name.replace("${timestamp}", self._times.format(time * self._times.resolution))
        self._names[topic, time] = name
        return name


def _without_timestamp(topic: str) -> DataError:
    return DataError(f"A record of topic {topic} has no timestamp for the name of its new topic.")
