"""The topics that topic.creation.* makes, beside those that Apache Kafka Connect's worker makes of the same keys."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NoReturn

import pytest
from confluent_kafka.admin import AdminClient, ConfigResource, ConfigSource, ResourceType

from connect.kafka.broker.embedded import Broker
from tests.support.worker_process import our_command

from .conversation import SOURCE, Ask, Wait, state
from .parties import java_command, party

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

GROUPS = {
    "topic.creation.default.replication.factor": "1",
    "topic.creation.default.partitions": "3",
    "topic.creation.default.retention.ms": "1000",
    "topic.creation.default.include": "(",
    "topic.creation.default.exclude": ".*",
    "topic.creation.groups": "default, flags ,quoted,  classes,none,excluded",
    "topic.creation.flags.include": "(?i)xyz,X-FLAGS-.*",
    "topic.creation.flags.partitions": "5",
    "topic.creation.quoted.include": r"\Qx-quoted\E-\w+",
    "topic.creation.quoted.partitions": "-1",
    "topic.creation.quoted.segment.bytes": "1048576",
    "topic.creation.classes.include": r"x-\p{Lower}++-(?<side>\p{Alpha}+)",
    "topic.creation.classes.exclude": "x-excluded.*,x-default.*",
    "topic.creation.classes.replication.factor": "-1",
    "topic.creation.classes.max.message.bytes": "2000000",
    "topic.creation.none.partitions": "9",
    "topic.creation.excluded.include": "x-exclud",
    "topic.creation.unknown.partitions": "9",
}
TOPICS = ("flags", "quoted", "classes", "excluded", "default")
WRONG = {
    "no default": {"topic.creation.groups": "a"},
    "half a default": {"topic.creation.default.partitions": "1"},
    "no partitions": {**GROUPS, "topic.creation.default.partitions": "0"},
    "no number": {**GROUPS, "topic.creation.flags.partitions": "x"},
    "a pattern that is broken": {**GROUPS, "topic.creation.flags.include": "x,y("},
}


def test_the_same_keys_make_the_same_topics_as_in_java(
    broker: Broker, tmp_path: Path, cannot_have: Callable[[str, object], NoReturn]
) -> None:
    made: dict[str, dict[str, Any]] = {}
    refused: dict[str, list[str]] = {}
    for side, command in (("java", java_command("standalone", cannot_have)), ("ours", our_command("standalone"))):
        with party(side, "standalone", command, tmp_path / side, broker.bootstrap_servers, {}) as worker:
            for topic in TOPICS:
                config = {**SOURCE, "topic": f"x-{topic}-{side}", **GROUPS}
                worker.talk([Ask(topic, "PUT", f"/connectors/{topic}/config", config), *state(topic, "RUNNING", 1)])
                worker.wait(Wait(f"/connectors/{topic}/offsets", ("offsets", 0, "offset", "position"), 790))
            made[side] = {topic: description(broker, f"x-{topic}-{side}") for topic in TOPICS}
            refused[side] = [
                name
                for name, keys in WRONG.items()
                if worker.ask(create(f"wrong {name}", {**SOURCE, "topic": f"y-{side}", **keys})).status >= 400
            ]
    assert made["ours"] == made["java"]
    assert len({json.dumps(one) for one in made["java"].values()}) == 4, "they are told apart"
    assert refused["ours"] == refused["java"] == list(WRONG)


def create(name: str, config: Mapping[str, str]) -> Ask:
    return Ask(name, "POST", "/connectors", {"name": name, "config": config})


def description(broker: Broker, topic: str) -> tuple[int, int, dict[str, str]]:
    """Partitions, replicas, and what was set for the topic."""
    admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers})
    partitions = admin.list_topics(topic, timeout=10).topics[topic].partitions
    resource = ConfigResource(ResourceType.TOPIC, topic)
    settings = admin.describe_configs([resource])[resource].result(10)
    own = {key: one.value for key, one in settings.items() if one.source == ConfigSource.DYNAMIC_TOPIC_CONFIG.value}
    return len(partitions), len(partitions[0].replicas), own
