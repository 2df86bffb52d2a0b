"""Under which subject a schema is registered: by the topic, by the name of the record, or by both.

https://docs.confluent.io/platform/current/schema-registry/fundamentals/serdes-develop/index.html#subject-name-strategy
"""

from __future__ import annotations

from typing import Final

from connect.errors import ConfigError, DataError

_PACKAGE: Final = "io.confluent.kafka.serializers.subject."
TOPIC: Final = _PACKAGE + "TopicNameStrategy"
RECORD: Final = _PACKAGE + "RecordNameStrategy"
TOPIC_RECORD: Final = _PACKAGE + "TopicRecordNameStrategy"
STRATEGIES: Final = (TOPIC, RECORD, TOPIC_RECORD)


class Subjects:
    """The subject of a record's key or value.

    Args:
        strategy: TopicNameStrategy, RecordNameStrategy or TopicRecordNameStrategy, with their package or without.
        is_key: keys and values of a topic have subjects of their own by TopicNameStrategy.

    Attributes:
        by_topic: whether the name of the record does not matter.
    """

    def __init__(self, strategy: str = TOPIC, *, is_key: bool) -> None:
        name = strategy if "." in strategy else _PACKAGE + strategy
        if name not in STRATEGIES:
            key = f"{'key' if is_key else 'value'}.subject.name.strategy"
            raise ConfigError(key, f"{strategy} is not known here; there are {', '.join(STRATEGIES)}.")
        self._strategy = name
        self._suffix = "-key" if is_key else "-value"
        self.by_topic = name == TOPIC

    def of(self, topic: str, record: str | None) -> str:
        """The subject; `record` is the full name of the record, None where the schema is not of one.

        Raises:
            DataError: the strategy needs a name, and there is none.
        """
        if self.by_topic:
            return topic + self._suffix
        if record is None:
            raise DataError(
                f"{self._strategy.rpartition('.')[2]} names subjects by records, and the "
                f"{self._suffix[1:]} is none. Use TopicNameStrategy."
            )
        return record if self._strategy == RECORD else f"{topic}-{record}"
