"""What commits say of their rows."""

import json

import pytest

from connect import TopicPartition
from spark_sink.commit_notes import MOST, covered, note

A0, A1, B0 = TopicPartition("a", 0), TopicPartition("a", 1), TopicPartition("b", 0)


def test_connector_and_offsets_are_json() -> None:
    assert json.loads(note('the "c"', {A1: (None, 4), B0: (0, 0), A0: (3, 7)})) == {
        "connector": 'the "c"',
        "offsets": {"a": {"0": [3, 7], "1": [None, 4]}, "b": {"0": [0, 0]}},
    }


def test_many_partitions_are_cut_with_a_note() -> None:
    said = note("c", {TopicPartition("t", number): (0, 10**12) for number in range(MOST + 25)})
    found = json.loads(said)
    assert found["partitions.not.listed"] == 25
    assert len(found["offsets"]["t"]) == MOST
    assert len(said) < 4096


@pytest.mark.parametrize(
    ("begin", "end", "ranges"),
    [
        ({A0: 5}, {A0: 8, A1: 3}, {A0: (5, 7), A1: (None, 2)}),
        ({A0: 5, B0: 1}, {A0: 5, B0: 1, A1: 0}, {}),
        ({A0: 9}, {A0: 2}, {A0: (None, 1)}),
    ],
    ids=["ranges", "nothing", "made again"],
)
def test_a_batch_is_between_two_offsets(
    begin: dict[TopicPartition, int], end: dict[TopicPartition, int], ranges: dict[TopicPartition, object]
) -> None:
    assert covered(begin, end) == ranges
