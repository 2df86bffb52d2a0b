"""Records are the same for the same seed and number, whoever makes them and however often it was stopped."""

import json
from pathlib import Path
from typing import Any

import pytest

from connect import ConfigError, ConnectError
from connect.testing import SourceRun
from connectors.datagen import DatagenConnector
from tests.unit.connectors.datagen.numbered import NUMBERED


def _config(**config: str) -> dict[str, str]:
    told = {key.replace("_", "."): value for key, value in config.items()}
    data = {} if {"quickstart", "schema.filename"} & told.keys() else {"schema.string": NUMBERED}
    return {"kafka.topic": "made", "max.interval": "0", "random.seed": "7", **data, **told}


def _made(count: int, **config: str) -> list[Any]:
    with SourceRun(DatagenConnector, _config(**config)) as run:
        return run.poll_until(count)


def _numbers(records: list[Any]) -> list[int]:
    return [record.value["number"] for record in records]


@pytest.mark.parametrize("quickstart", ["clickstream", "orders", "pageviews", "stock_trades", "USERS"])
def test_quickstarts(quickstart: str) -> None:
    records = _made(1000, quickstart=quickstart, iterations="1000")
    assert len(records) == 1000
    key = {"clickstream": "ip", "orders": "orderid", "pageviews": "viewtime", "stock_trades": "symbol"}
    field = key.get(quickstart, "userid")
    assert all(record.key == record.value[field] for record in records)
    assert all(record.key_schema is record.value_schema.field(field).schema for record in records)


def test_the_same_seed_gives_the_same_records_by_whatever_batches() -> None:
    once = [record.value for record in _made(3000, iterations="3000")]
    assert once == [record.value for record in _made(3000, iterations="3000", batch_size="7")]
    assert once == [record.value for record in _made(3000, iterations="3000", rate="1000000")]
    assert once != [record.value for record in _made(3000, iterations="3000", random_seed="8")]
    assert [value["number"] for value in once] == list(range(3000))
    assert len({value["text"] for value in once}) > 2900


def test_several_tasks_make_each_record_once_and_the_same_ones() -> None:
    once = {value["number"]: value for value in (record.value for record in _made(3000, iterations="3000"))}
    shared = _made(3000, iterations="1000", tasks_max="3")
    assert sorted(_numbers(shared)) == list(range(3000))
    assert all(once[record.value["number"]] == record.value for record in shared)
    assert {record.source_partition["task.id"] for record in shared} == {0, 1, 2}


@pytest.mark.promise("P1")
def test_a_restart_goes_on_with_the_next_record() -> None:
    with SourceRun(DatagenConnector, _config(rate="2000", batch_size="100", iterations="1500")) as run:
        for wanted in (10, 300, 301, 1000):
            run.poll_until(wanted)
            run.restart()
        run.poll_until(1500)
        assert _numbers(run.poll_all()) == list(range(1500))


def test_without_a_seed_any_is_taken_and_kept_over_restarts() -> None:
    config = {key: value for key, value in _config(iterations="600").items() if key != "random.seed"}
    with SourceRun(DatagenConnector, config) as run:
        run.poll_until(600)
        ((_, offset),) = run.offsets
        whole = [record.value for record in run.records]
    with SourceRun(DatagenConnector, config, offsets=[({"task.id": 0}, {**offset, "current.iteration": 100})]) as run:
        assert [record.value for record in run.poll_until(500)] == whole[100:]


def test_a_task_keeps_the_seed_that_it_began_with() -> None:
    config = {key: value for key, value in _config(tasks_max="2").items() if key != "random.seed"}
    offsets = [
        ({"task.id": task}, {"current.iteration": task * 256, "random.seed": seed, "tasks": 2, "first": 0})
        for task, seed in enumerate([7, 8])
    ]
    with SourceRun(DatagenConnector, config, offsets=offsets) as run:
        run.poll_until(1)
        for task, seed in enumerate(["7", "8"]):
            mine = [record.value for record in run.records if record.source_partition["task.id"] == task][:100]
            assert mine == [record.value for record in _made(600, random_seed=seed)][task * 256 : task * 256 + 100]


def test_another_number_of_tasks_repeats_nothing() -> None:
    with SourceRun(DatagenConnector, _config(batch_size="50", tasks_max="2")) as run:
        for tasks in ("3", "1", "3", "2"):
            run.poll_until(len(run.records) + 700)
            run.restart({"tasks.max": tasks})
        run.poll_until(len(run.records) + 700)
        numbers = _numbers(run.records)
        assert len(set(numbers)) == len(numbers)


def test_offsets_of_confluents_connector_are_gone_on_from() -> None:
    theirs = {"task.generation": 2, "current.iteration": 41, "random.seed": 5}
    with SourceRun(DatagenConnector, _config(headers="task.generation"), offsets=[({"task.id": 0}, theirs)]) as run:
        records = run.poll_until(1)
        assert records[0].value["number"] == 41
        assert records[0].headers.last("task.generation").value == 2


def test_it_ends_without_failing() -> None:
    with SourceRun(DatagenConnector, _config(iterations="3")) as run:
        run.poll_until(3)
        assert run.poll() == run.poll() == []
        assert run.metric("datagen_records_total") == 3


def test_cardinality_bounds_the_keys() -> None:
    records = _made(2000, cardinality="25", schema_keyfield="number")
    assert {record.key for record in records} == set(range(25))
    users = _made(2000, quickstart="users", cardinality="3")
    assert len({record.key for record in users}) <= 3


def test_tombstones_headers_and_timestamps() -> None:
    records = _made(
        1000,
        schema_keyfield="text",
        tombstone_share="0.3",
        headers="current.iteration, task.id,origin=shop one",
        timestamp_start="2026-01-01T00:00:00Z",
        timestamp_step_ms="500",
    )[:1000]
    dead = [record for record in records if record.value is None]
    assert 200 < len(dead) < 400
    assert all(record.key and record.value_schema is None for record in dead)
    said = [[(header.key, header.value) for header in record.headers] for record in records]
    assert said[3] == [("task.id", 0), ("origin", "shop one"), ("current.iteration", 3)]
    assert [record.timestamp for record in records[:3]] == [1767225600000, 1767225600500, 1767225601000]


def test_records_are_encoded_by_columns_and_one_by_one_alike() -> None:
    converters = {
        "key_converter": "org.apache.kafka.connect.json.JsonConverter",
        "value_converter": "org.apache.kafka.connect.json.JsonConverter",
        "value_converter_schemas_enable": "false",
    }
    with SourceRun(DatagenConnector, _config(quickstart="orders", iterations="300", **converters)) as run:
        records = run.poll_until(300)
        assert [json.loads(message.value) for message in run.messages] == [record.value for record in records]


def test_a_schema_in_a_file(tmp_path: Path) -> None:
    file = tmp_path / "numbered.avsc"
    file.write_text(NUMBERED)
    assert _numbers(_made(2, schema_filename=str(file), iterations="2")) == [0, 1]


def test_values_that_are_no_records() -> None:
    text = '{"type": "string", "arg.properties": {"iteration": {"start": 3}}}'
    assert [record.value for record in _made(600, schema_string=text, iterations="600")] == [
        str(number) for number in range(3, 603)
    ]


@pytest.mark.parametrize(
    ("config", "key", "said"),
    [
        ({"schema_string": ""}, "quickstart", "is required, or schema.string or schema.filename"),
        ({"quickstart": "users", "schema_string": NUMBERED}, "schema.string", "excludes quickstart"),
        ({"quickstart": "orcs"}, "quickstart", 'there is no "orcs"'),
        ({"schema_filename": "/nowhere.avsc"}, "schema.filename", 'cannot be read: "/nowhere.avsc": No such file'),
        ({"schema_keyfield": "id"}, "schema.keyfield", 'has no field "id". It has number, text'),
        ({"cardinality": "5"}, "cardinality", "Name its field in schema.keyfield"),
        ({"tombstone_share": "0.5"}, "tombstone.share", "Name its field in schema.keyfield"),
        ({"tombstone_share": "5"}, "tombstone.share", "not a share"),
        ({"rate": "-1"}, "rate", "not a rate"),
        ({"headers": "colour"}, "headers", '"colour" has no text'),
        ({"timestamp_start": "yesterday"}, "timestamp.start", "not a time"),
        ({"schema_string": '{"type": "int", "arg.properties": {"odds": 1}}'}, "schema.string", '"odds" is not for int'),
        ({"kafka_topic": ""}, "kafka.topic", "must not be empty"),
    ],
)
def test_what_is_wrong_is_said_at_its_key(config: dict[str, str], key: str, said: str) -> None:
    found = {value.name: value.errors for value in DatagenConnector().validate(_config(**config))}
    assert [name for name, errors in found.items() if errors] == [key]
    assert said in found[key][0]


def test_a_task_that_is_given_a_wrong_schema_says_so() -> None:
    run = SourceRun(DatagenConnector, _config())
    with pytest.raises(ConfigError, match="schema.string"):
        run.restart({"schema.string": "{"})


@pytest.mark.parametrize(
    ("partition", "offset"),
    [
        ({"file": "a"}, {"current.iteration": 3}),
        ({"task.id": 0}, {"current.iteration": -1}),
        ({"task.id": 0}, {"position": 3}),
    ],
)
def test_offsets_that_make_no_sense_are_refused(partition: dict[str, Any], offset: dict[str, Any]) -> None:
    with pytest.raises(ConnectError):
        DatagenConnector().alter_offsets({}, {frozenset(partition.items()): offset})


def test_offsets_that_make_sense_are_taken() -> None:
    frozen = frozenset({"task.id": 0}.items())
    assert DatagenConnector().alter_offsets({}, {frozen: {"current.iteration": 9}})
    assert DatagenConnector().alter_offsets({}, {frozen: None})
