"""How the topics of a source connector are created: its keys topic.creation.*.

https://cwiki.apache.org/confluence/display/KAFKA/KIP-158 (KIP-158). No I/O: topics are created in
`connect.kafka.admin.new_topics`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from connect.kafka.admin.new_topics import NewTopic
from connect.settings.connector_keys import creation_groups, topic_creation
from connect.settings.java_regex import java_regex

_PREFIX = "topic.creation."
_OURS = ("include", "exclude", "replication.factor", "partitions")


@dataclass(frozen=True, slots=True)
class TopicGroup:
    """Topics that are created alike.

    Attributes:
        name: as in `topic.creation.groups`, or "default".
        include, exclude: a topic belongs to the group when its whole name matches the one and not the other.
        partitions, replication: -1 leaves it to the broker.
        settings: of the topic, such as ``cleanup.policy``.
    """

    name: str
    include: re.Pattern[str]
    exclude: re.Pattern[str]
    partitions: int
    replication: int
    settings: Mapping[str, str]

    def has(self, topic: str) -> bool:
        """Whether a topic belongs to this group."""
        return bool(self.include.fullmatch(topic)) and not self.exclude.fullmatch(topic)


class TopicRules:
    """The groups of one connector in their order; the last one is for all topics.

    Args:
        connector: its configuration, with keys topic.creation.*.

    Raises:
        ConfigError: a value is missing or wrong.
    """

    def __init__(self, connector: Mapping[str, str]) -> None:
        config = topic_creation(connector).parse(connector)
        default = f"{_PREFIX}default."

        def group(name: str) -> TopicGroup:
            prefix = f"{_PREFIX}{name}."
            patterns = {which: "|".join(config[prefix + which]) for which in ("include", "exclude")}
            numbers = {
                which: config[(default if config[prefix + which] is None else prefix) + which]
                for which in ("partitions", "replication.factor")
            }
            own = {key.removeprefix(prefix): value for key, value in connector.items() if key.startswith(prefix)}
            return TopicGroup(
                name,
                # As in Java the patterns of the last group do not count.
                java_regex(patterns["include"] if name != "default" else ".*"),
                java_regex(patterns["exclude"] if name != "default" else ""),
                numbers["partitions"],
                numbers["replication.factor"],
                {key: value for key, value in own.items() if key not in _OURS},
            )

        self.groups = tuple(group(name) for name in creation_groups(connector))

    def new_topic(self, name: str) -> NewTopic:
        """How a topic is created: by the first group that it belongs to."""
        group = next((group for group in self.groups[:-1] if group.has(name)), self.groups[-1])
        return NewTopic(name, group.partitions, group.replication, group.settings)


def rules_of(connector: Mapping[str, str], *, enabled: bool) -> TopicRules | None:
    """The rules of a source connector; None where it has none, or its worker creates no topics.

    Args:
        enabled: the worker's `topic.creation.enable`.
    """
    if not enabled or not any(key.startswith(_PREFIX) for key in connector):
        return None
    return TopicRules(connector)
