"""Offsets as Spark keeps them, and a connector's checkpoints. What is written through Spark is tested with Spark."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from connect.data.record import TopicPartition
from spark_sink.query.generations import Generation, Generations
from spark_sink.reading.plan import as_map, as_offsets

places = st.builds(TopicPartition, st.sampled_from(["t", "u.v", "-"]), st.integers(0, 300))


@given(st.dictionaries(places, st.integers(0, 2**62)))
def test_offsets_go_there_and_back(offsets):
    assert as_offsets(as_map(offsets)) == offsets


def test_offsets_are_in_order_and_their_partitions_are_texts():
    made = as_map({TopicPartition("u", 0): 3, TopicPartition("t", 10): 2, TopicPartition("t", 9): 1})
    assert list(made.items()) == [("t", {"9": 1, "10": 2}), ("u", {"0": 3})]
    assert list(made["t"]) == ["9", "10"]


def test_each_query_of_a_generation_has_a_checkpoint_of_its_own():
    nobody: Any = None
    ledger = Generations(nobody, "s3a://lake/checkpoints/orders/")
    made = Generation(3, "000003-1a2b3c4d", {})
    assert ledger.checkpoint(made, "main") == "s3a://lake/checkpoints/orders/000003-1a2b3c4d/main"
    assert made.mark == "spark 000003-1a2b3c4d"
