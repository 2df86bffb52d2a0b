"""Records that came before are dropped, within a window."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from connect import ConfigError, Header, Headers, SinkBatch, SinkRecord, SourceRecord, Transformation
from connect.pipeline.chain import Chain
from connect.pipeline.policy import ErrorPolicy
from connect.pipeline.steps import Transform
from connect.testing.conformance import TransformationConformance
from transforms.deduplicate import Deduplicate

from .forms import with_config


def passed(made: Transformation, *records: Any) -> list[int]:
    return [number for number, record in enumerate(records) if made.apply(record) is not None]


def keyed(key: Any, offset: int = 0, timestamp: int | None = None, topic: str = "t", **more: Any) -> SinkRecord:
    return SinkRecord(topic, more.pop("value", "v"), None, key, offset=offset, timestamp=timestamp, **more)


def test_the_first_of_each_key_passes() -> None:
    made = with_config(Deduplicate, {})
    assert passed(made, *(keyed(key, n) for n, key in enumerate(["a", "b", "a", 1, 1.0, "1", b"1", "b"]))) == [
        0,
        1,
        3,
        5,
        6,
    ]


def test_topics_are_apart_unless_told_otherwise() -> None:
    records = keyed("a", 0, topic="x"), keyed("a", 0, topic="y")
    assert passed(with_config(Deduplicate, {}), *records) == [0, 1]
    assert passed(with_config(Deduplicate, {"per.topic": "false"}), *records) == [0]


def test_records_without_an_identity_pass() -> None:
    assert passed(with_config(Deduplicate, {}), keyed(None, 0), keyed(None, 1)) == [0, 1]
    by_fields = with_config(Deduplicate, {"fields": "id,at"})
    rows = [
        {"id": 1},
        {"id": 1, "at": None},
        {"x": 1},
        {"x": 1},
        None,
        {"id": None, "at": 2},
        "text",
        {"id": 1, "at": 2},
    ]
    assert passed(by_fields, *(keyed("k", n, value=row) for n, row in enumerate(rows))) == [0, 2, 3, 4, 5, 6, 7]


def test_identity_by_header_and_by_objects() -> None:
    made = with_config(Deduplicate, {"header": "id"})
    records = [keyed("k", n, headers=Headers([Header("id", each)])) for n, each in enumerate(["x", "y", "x"])]
    assert passed(made, *records, keyed("k", 9)) == [0, 1, 3]
    objects = [{"a": 1, "b": [2]}, {"b": [2], "a": 1}, {"a": 1, "b": [2, 3]}]
    assert passed(with_config(Deduplicate, {}), *(keyed(each, n) for n, each in enumerate(objects))) == [0, 2]


def test_the_window_in_time_counts_from_the_record_that_passed() -> None:
    made = with_config(Deduplicate, {"window.ms": "1000"})
    times = [0, 999, 1000, 1500, 1999, 2000, None]
    assert passed(made, *(keyed("a", n, at) for n, at in enumerate(times))) == [0, 2, 5]


def test_the_window_in_records_forgets_the_oldest() -> None:
    made = with_config(Deduplicate, {"window.records": "2"})
    assert passed(made, *(keyed(key, n) for n, key in enumerate("abacaba"))) == [0, 1, 3, 4, 5]


@given(st.lists(st.integers(0, 50), max_size=80), st.integers(1, 20))
def test_no_more_is_remembered_than_the_window_says(keys: list[int], most: int) -> None:
    made = Deduplicate()
    made.configure(made.settings.parse({"window.records": str(most)}))
    kept: list[int] = []
    for number, key in enumerate(keys):
        if made.apply(keyed(key, number)) is not None:
            kept.append(key)
            kept = kept[-most:]
        assert len(made._seen) == len(kept)
        assert len(set(kept)) == len(kept)
        assert key in kept


def test_a_record_that_is_consumed_once_more_is_no_duplicate_of_itself() -> None:
    made = with_config(Deduplicate, {})
    first, again = keyed("a", 5), keyed("a", 9)
    assert passed(made, first, again, first, again, first.replace(topic="elsewhere")) == [0, 2, 4]


def test_a_record_that_waited_in_a_retry_topic_is_no_duplicate_of_itself() -> None:
    made = with_config(Deduplicate, {})
    first = keyed("a", 5, 1000, topic="orders")
    # As it comes back: with its topic and timestamp, and where it waited as its place.
    retried = keyed("a", 0, 1000, topic="retry-5s").replace(topic="orders")
    assert (retried.topic, retried.original_topic) == ("orders", "retry-5s")
    again = keyed("a", 6, 1000, topic="orders"), keyed("a", 1, 2000, topic="retry-5s").replace(topic="orders")
    assert passed(made, first, retried, first, *again) == [0, 1, 2]


def test_a_source_has_no_places() -> None:
    records = [SourceRecord("t", "v", None, "a", source_offset={"row": n}) for n in (1, 1, 2)]
    assert passed(with_config(Deduplicate, {}), *records) == [0]


def test_closing_forgets() -> None:
    made = with_config(Deduplicate, {})
    assert passed(made, keyed("a", 0), keyed("a", 1)) == [0]
    made.close()
    assert passed(made, keyed("a", 2)) == [0]


def test_the_pipeline_runs_it_record_by_record_and_once() -> None:
    batch = SinkBatch.of([keyed(key, n) for n, key in enumerate(["a", "a", "b"])])
    chain = Chain([Transform(with_config(Deduplicate, {}))], ErrorPolicy())
    assert [record.offset for record in chain.run(batch)] == [0, 2]


@pytest.mark.parametrize("config", [{"window.records": "0"}, {"window.ms": "-2"}])
def test_a_window_has_a_bound(config: dict[str, str]) -> None:
    with pytest.raises(ConfigError):
        with_config(Deduplicate, config)


class TestConformance(TransformationConformance):
    transformation = Deduplicate

    def config(self) -> dict[str, str]:
        return {"window.records": "2"}
