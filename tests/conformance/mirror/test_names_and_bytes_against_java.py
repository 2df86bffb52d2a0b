"""Names, keys, bytes and translations are those of MirrorMaker 2's own classes."""

import base64
import random
from typing import Any

import pytest

from connect.data.record import TopicPartition
from connect.settings.definition import text
from connectors.mirror import MirrorCheckpointConnector, MirrorHeartbeatConnector, MirrorSourceConnector
from connectors.mirror.filters import TopicFilter
from connectors.mirror.keys import MirrorSourceOptions
from connectors.mirror.notes import Checkpoint, Heartbeat, OffsetSync
from connectors.mirror.syncs import SyncChooser, SyncHistory
from tests.support.java import Oracle

PACKAGE = "org.apache.kafka.connect.mirror."
#: Keys of ours: what Java takes without declaring it, and names of versions before 4.
OURS = {
    "source.cluster.bootstrap.servers",
    "target.cluster.bootstrap.servers",
    "use.defaults.from",
    "add.source.alias.to.metrics",
    "use.incremental.alter.configs",
    "topics",
    "topics.exclude",
    "heartbeats.replication.enabled",
}
#: What Java declares and we have no part in: metrics are the worker's, security goes with the clusters' keys.
NOT_OURS = {"metric.reporters", "security.protocol"}
KINDS = {"CLASS": "STRING"}  # the names of classes of theirs

TOPICS = [
    *("orders", "A.orders", "B.orders", "A.B.orders", "B.A.orders", "C.A.orders", "heartbeats", "A.heartbeats"),
    *("B.heartbeats", "C.B.heartbeats", "mm2-offset-syncs.A.internal", "A.checkpoints.internal", "x.checkpoints"),
    *("__consumer_offsets", ".hidden", "connect-internal", "some.internal", "mm2.x.internal", "a.replica", "A_orders"),
    *("A_heartbeats", "A__orders", "_", ".", "A.", "A..", "A__", "A||", "myheartbeats"),
    *("mm2_A_internal", "A_checkpoints_internal"),
]
POLICIES = [
    {"replication.policy.class": f"{PACKAGE}{name}", "replication.policy.separator": separator, internal: enabled}
    for name in ("DefaultReplicationPolicy", "IdentityReplicationPolicy")
    for separator in (".", "_", "--", "|")
    for internal in ("replication.policy.internal.topic.separator.enabled",)
    for enabled in ("true", "false")
]
CLUSTERS = {
    "source.cluster.alias": "A",
    "target.cluster.alias": "B",
    "source.cluster.bootstrap.servers": "a:9092",
    "target.cluster.bootstrap.servers": "b:9092",
}


@pytest.mark.quick
@pytest.mark.parametrize("plugin", [MirrorSourceConnector, MirrorCheckpointConnector, MirrorHeartbeatConnector])
def test_the_keys_and_their_defaults_are_java_s(java: Oracle, plugin: Any) -> None:
    (answer,) = java.ask([{"op": "define", "class": PACKAGE + plugin.__name__}])
    common = {"name", "connector.class", "tasks.max", "tasks.max.enforce", "transforms", "predicates"}
    prefixes = (
        "ssl.",
        "sasl.",
        "errors.",
        "key.converter",
        "value.converter",
        "header.converter",
        "config.",
        "connector.",
    )
    theirs = {
        name: described
        for name, described in answer["keys"].items()
        if name not in common | NOT_OURS and (not name.startswith(prefixes) or name.startswith("config.propert"))
    }
    ours = {
        setting.name: {
            "type": setting.kind.value,
            "importance": setting.importance.value,
            "required": setting.required,
            "default": None if setting.required else text(setting.default),
        }
        for setting in plugin.settings
        if not setting.internal
    }
    assert theirs.keys() <= ours.keys()
    assert ours.keys() - theirs.keys() <= OURS
    for name, described in theirs.items():
        described["type"] = KINDS.get(described["type"], described["type"])
        assert ours[name] == described, name


@pytest.mark.parametrize("policy", POLICIES)
def test_topics_are_called_alike(java: Oracle, policy: dict[str, str]) -> None:
    config = {**CLUSTERS, **policy}
    answers = java.ask([{"op": "policy", "config": config, "topic": topic} for topic in TOPICS])
    ours = MirrorSourceOptions.parse(config).policy
    for topic, answer in zip(TOPICS, answers, strict=True):
        assert answer == {
            "remote": ours.remote("A", topic),
            "source": ours.source(topic),
            "upstream": ours.upstream(topic),
            "original": ours.original(topic),
            "heartbeats": ours.is_heartbeats(topic),
            "internal": ours.is_internal(topic),
            "syncs": ours.offset_syncs_topic("A"),
            "checkpoints": ours.checkpoints_topic("A"),
        }, topic


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("chosen", [{}, {"topics": "orders, .*A.*"}, {"topics": ".*", "topics.exclude": "ord.*,A"}])
def test_the_same_topics_are_copied(java: Oracle, policy: dict[str, str], chosen: dict[str, str]) -> None:
    config = {**CLUSTERS, **policy, **chosen}
    answers = java.ask([{"op": "cycle", "config": config, "topic": topic} for topic in TOPICS])
    ours = TopicFilter(MirrorSourceOptions.parse(config))
    assert [answer.get("wanted", answer) for answer in answers] == [ours(topic) for topic in TOPICS]


def test_notes_are_the_same_bytes(java: Oracle, seed: int) -> None:
    chance = random.Random(seed)
    texts = ["", "orders", "ü/日本😀", "a" * 300]
    questions: list[dict[str, Any]] = [
        {
            "op": "notes",
            "topic": chance.choice(texts),
            "partition": chance.randrange(2**31),
            "upstream": chance.randrange(2**63),
            "downstream": chance.randrange(2 ** chance.randrange(1, 63)),
            "group": chance.choice(texts),
            "metadata": chance.choice(texts),
            "source": chance.choice(texts),
            "target": chance.choice(texts),
        }
        for _ in range(60)
    ]
    for asked, answer in zip(questions, java.ask(questions), strict=True):
        place = TopicPartition(asked["topic"], asked["partition"])
        numbers = asked["upstream"], asked["downstream"]
        notes: dict[str, Any] = {
            "sync": OffsetSync(place, *numbers),
            "checkpoint": Checkpoint(asked["group"], place, *numbers, asked["metadata"]),
            "heartbeat": Heartbeat(asked["source"], asked["target"], asked["upstream"]),
        }
        for name, note in notes.items():
            key, value = map(base64.b64decode, answer[name])
            assert (note.key, note.value) == (key, value)
            assert type(note).read(key, value) == note


def test_a_record_is_chosen_for_a_sync_wherever_java_does(java: Oracle, seed: int) -> None:
    """But for gaps at the source: they tell nothing more, as offsets are translated to just behind a sync."""
    chance = random.Random(seed)
    for lag in (0, 1, 5, 100):
        upstream, downstream, acknowledged = 0, chance.randrange(1000), []
        for _ in range(400):
            upstream += 1
            downstream += chance.choice((1, 1, 1, 2, 7))
            if chance.random() < 0.01:
                downstream = chance.randrange(100)
            if chance.random() < 0.01:
                upstream = chance.randrange(upstream)
            acknowledged.append([upstream, downstream])
        (answer,) = java.ask([{"op": "choose", "lag": lag, "acknowledged": acknowledged}])
        chooser = SyncChooser(TopicPartition("t", 0), lag)
        ours = [chooser.acknowledged(*pair) is not None for pair in acknowledged]
        assert ours == answer["chosen"]


def test_offsets_are_translated_as_closely_as_by_java_and_never_too_far(java: Oracle, seed: int) -> None:
    """Both say only what is safe: the last sync before an offset, or behind it. Ours is never much further back."""
    chance = random.Random(seed)
    for _ in range(12):
        place, at, truth = chance.randrange(1000), chance.randrange(1000), []
        for _ in range(chance.choice((1, 3, 50, 2000))):
            truth.append((place, at))
            place += chance.choice((1, 100, 101, 5000))
            at += chance.choice((1, 100, 130))
        history = SyncHistory()
        for sync in truth:
            history.add(*sync)
        newest = truth[-1][0]
        offsets = sorted(
            {newest, newest + 5, truth[0][0], truth[0][0] - 1, *(chance.randrange(newest + 10) for _ in range(200))}
        )
        (answer,) = java.ask([{"op": "translate", "syncs": [list(sync) for sync in truth], "offsets": offsets}])
        for offset, their in zip(offsets, answer["found"], strict=True):
            ours = history.translate(offset)
            known = [(up, down) for up, down in truth if up <= offset]
            if not known:
                assert ours is None
                assert their == -1
                continue
            best = known[-1][1] + (known[-1][0] < offset)
            assert ours is not None
            assert ours <= best
            used = max(up for up, down in known if down + (up < offset) == ours)
            # What was left out lies at most half as far back again as the offset lies behind the newest sync.
            assert offset - used <= offset - known[-1][0] + max(0, newest - known[-1][0]) * 0.5 + 5000
            if offset >= newest:
                assert ours == their == best


def test_a_topic_that_is_made_anew_starts_a_history_anew(java: Oracle) -> None:
    syncs = [[0, 10], [100, 110], [200, 210], [3, 300], [50, 350]]
    offsets = [0, 2, 3, 4, 49, 50, 51, 150, 250]
    (answer,) = java.ask([{"op": "translate", "syncs": syncs, "offsets": offsets}])
    history = SyncHistory()
    for sync in syncs:
        history.add(*sync)
    ours = [history.translate(offset) for offset in offsets]
    assert [-1 if found is None else found for found in ours] == answer["found"]
