"""Offsets of Kafka as users write them (KIP-875)."""

from typing import Any

import pytest

from connect.data.record import TopicPartition
from connect.herder.errors import BadRequestError
from connect.herder.model import OffsetEntry
from connect.herder.offsets import parse_sink_offsets


def entry(topic: Any, partition: Any, offset: Any) -> OffsetEntry:
    return OffsetEntry({"kafka_topic": topic, "kafka_partition": partition}, offset)


def test_numbers_may_be_text() -> None:
    entries = [entry("a", 0, {"kafka_offset": 5}), entry("a", "1", {"kafka_offset": "6"}), entry("b", 0, None)]
    expected = {TopicPartition("a", 0): 5, TopicPartition("a", 1): 6, TopicPartition("b", 0): None}
    assert parse_sink_offsets(entries) == expected


@pytest.mark.parametrize(
    "wrong",
    [
        entry("a", "x", None),
        entry("a", True, None),
        entry("a", None, None),
        entry(None, 0, None),
        entry("a", 0, {"kafka_offset": -1}),
        entry("a", 0, {"kafka_offset": 1.5}),
        entry("a", 0, {"kafka_offset": None}),
        entry("a", 0, {"offset": 1}),
        OffsetEntry({"kafka_topic": "a"}, None),
        OffsetEntry({}, None),
    ],
)
def test_what_is_no_offset_is_refused(wrong: OffsetEntry) -> None:
    with pytest.raises(BadRequestError):
        parse_sink_offsets([wrong])
