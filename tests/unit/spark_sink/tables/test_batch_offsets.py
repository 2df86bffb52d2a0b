"""Which offsets a batch covers, by the query's checkpoint."""

import pickle
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from connect import TopicPartition
from spark_sink.tables.batch_offsets import BatchOffsets, offsets_in

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)


def store(folder: Path, batch: int, offsets: str) -> None:
    (folder / "offsets").mkdir(exist_ok=True)
    (folder / "offsets" / str(batch)).write_text(f'v1\n{{"batchTimestampMs":1}}\n{offsets}')


@pytest.mark.parametrize("scheme", ["", "file://", "file:"])
def test_a_batch_begins_where_the_one_before_it_ended(tmp_path: Path, scheme: str) -> None:
    store(tmp_path, 0, '{"t":{"0":5,"1":7}}')
    store(tmp_path, 1, '{"t":{"0":5,"1":9}}')
    offsets = BatchOffsets(f"{scheme}{tmp_path}", {T0: 2})
    assert offsets.of(None, 0) == {T0: (2, 4), T1: (None, 6)}
    assert offsets.of(None, 1) == {T1: (7, 8)}
    assert pickle.loads(pickle.dumps(offsets)).of(None, 1) == {T1: (7, 8)}


def test_a_checkpoint_elsewhere_is_read_through_spark() -> None:
    read = []

    def text(path: str) -> Any:
        read.append(path)
        return SimpleNamespace(collect=lambda: [{"value": "v1"}, {"value": "{}"}, {"value": '{"t":{"0":5}}'}])

    spark = SimpleNamespace(read=SimpleNamespace(text=text))
    assert BatchOffsets("s3a://lake/c", {T0: 1}).of(spark, 0) == {T0: (1, 4)}
    assert read == ["s3a://lake/c/offsets/0"]


def test_what_cannot_be_read_is_not_known_and_fails_nothing(tmp_path: Path) -> None:
    assert BatchOffsets(str(tmp_path), {}).of(None, 3) is None
    store(tmp_path, 3, '{"logOffset":3}')
    assert BatchOffsets(str(tmp_path), {}).of(None, 3) is None
    assert offsets_in(["v1"]) is None
