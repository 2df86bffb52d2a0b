"""A look at records before a query begins: which schema they need, and how large they are. Without Spark."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from confluent_kafka import TopicPartition as Place
from confluent_kafka.admin import AdminClient

from connect.data.record import TopicPartition
from connect.data.schema import FLOAT64, INT64, OPTIONAL_STRING, Schema
from connect.errors import ConnectError
from spark_sink.reading.sample import Sampler

from .readings import Readings

MakeSampler = Callable[..., Sampler]


@pytest.fixture
def readings(broker: Any, tmp_path: Any) -> Readings:
    return Readings(None, broker, tmp_path)


@pytest.fixture
def sampler(readings: Readings) -> Iterator[MakeSampler]:
    made: list[Sampler] = []

    def make(*topics: str, **config: str) -> Sampler:
        plan = readings.plan(*topics, config={key.replace("_", "."): value for key, value in config.items()})
        made.append(Sampler(plan, "value", "key"))
        return made[-1]

    yield make
    for one in made:
        one.close()


def nothing() -> None:
    """Nobody stops us."""


def struct(**fields: Schema) -> Schema:
    return Schema.struct({name: schema.as_optional() for name, schema in fields.items()})


def test_the_schema_that_the_records_of_all_partitions_need(sampler, readings, new_topic):
    first, second = new_topic(partitions=2), new_topic()
    readings.produce(first, [{"a": 1}, None], 0, key=b"k1")
    readings.produce(first, [{"a": 2.5, "b": "x"}], 1, key=b"k22")
    readings.produce(second, [{"c": {"d": 1}}], key=b"k333")
    seen = sampler(first, second).look({}, None, nothing)
    assert seen.values is not None
    assert {f.name: f.schema for f in seen.values.fields} == {
        f.name: f.schema for f in struct(a=FLOAT64, b=OPTIONAL_STRING, c=struct(d=INT64)).fields
    }
    assert seen.keys == struct(key=OPTIONAL_STRING)
    assert seen.records == 4
    sizes = [len(b'{"a": 1}') + 2, 2, len(b'{"a": 2.5, "b": "x"}') + 3, len(b'{"c": {"d": 1}}') + 4]
    assert seen.record_bytes == pytest.approx(sum(sizes) / 4)


def test_nothing_is_known_of_topics_without_records_or_with_tombstones_only(sampler, readings, new_topic):
    topic = new_topic()
    looks = sampler(topic, "there-is-no-such-topic")
    seen = looks.look({}, None, nothing)
    assert (seen.values, seen.keys, seen.record_bytes, seen.records) == (None, None, 0.0, 0)
    readings.produce(topic, [None, None], key=b"k")
    seen = looks.look({}, seen, nothing)
    assert (seen.values, seen.keys, seen.records) == (None, struct(key=OPTIONAL_STRING), 2)


def test_a_further_look_adds_to_what_is_known(sampler, readings, new_topic):
    topic = new_topic()
    readings.produce(topic, [{"a": 1}] * 3)
    looks = sampler(topic)
    first = looks.look({}, None, nothing)
    readings.produce(topic, [{"b": 1}])
    again = looks.look({TopicPartition(topic, 0): 3}, first, nothing)
    assert again.values == struct(a=INT64, b=INT64)
    assert again.records == 4


def test_it_begins_where_the_query_does_and_looks_no_further_than_it_is_told(sampler, readings, new_topic):
    topic = new_topic()
    readings.produce(topic, [{"a": 1}, {"b": 1}, {"c": 1}, {"d": 1}])
    seen = sampler(topic).look({TopicPartition(topic, 0): 1}, None, nothing, rows=2)
    assert seen.values == struct(b=INT64, c=INT64)
    admin = AdminClient({"bootstrap.servers": readings.servers})
    for future in admin.delete_records([Place(topic, 0, 3)]).values():
        future.result(30)
    assert sampler(topic).look({}, None, nothing).values == struct(d=INT64)


def test_records_that_fail_or_fit_nothing_say_nothing(sampler, readings, new_topic):
    topic = new_topic()
    readings.produce(topic, [b"{", {"a": 1}, {"a": "x"}, {"a": [1]}, {"a": 2, "b": 3}])
    seen = sampler(topic, errors_tolerance="none").look({}, None, nothing)
    assert seen.values == struct(a=INT64, b=INT64)
    assert seen.records == 5


def test_transformations_have_run(sampler, readings, new_topic):
    topic = new_topic()
    readings.produce(topic, [{"a": 1, "b": 2}])
    kind = "org.apache.kafka.connect.transforms.ReplaceField$Value"
    seen = sampler(topic, transforms="r", transforms_r_type=kind, transforms_r_exclude="a").look({}, None, nothing)
    assert seen.values == struct(b=INT64)


def test_who_is_to_stop_does_not_look_on(sampler, readings, new_topic):
    topic = new_topic(partitions=3)
    for partition in range(3):
        readings.produce(topic, [{"a": 1}], partition)
    asked: list[int] = []

    def stop() -> None:
        asked.append(1)
        if len(asked) == 2:
            raise ConnectError("The task is to stop.")

    with pytest.raises(ConnectError, match="to stop"):
        sampler(topic).look({}, None, stop)


def test_no_topic_is_made_by_looking(sampler, readings, new_topic):
    name = f"{new_topic()}-missing"
    sampler(name).look({}, None, nothing)
    assert name not in AdminClient({"bootstrap.servers": readings.servers}).list_topics(timeout=30).topics
