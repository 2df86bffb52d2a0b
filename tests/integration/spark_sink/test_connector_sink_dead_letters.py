"""Records that any sink on Spark cannot take become the dead letters that they become in the worker."""

import dataclasses
from pathlib import Path
from typing import Any

import pytest

from connect.kafka.broker.embedded import Broker
from connect.pipeline.error_headers import ErrorContext
from spark_sink.connector_sink import progress_files
from spark_sink.connector_sink.progress_files import Tally
from spark_sink.error_translation import translate_error
from tests.integration.errors.conftest import all_of, produce
from tests.integration.worker.conftest import herd

from .connector_sinks import ConnectorSinks, failed

PLUGINS = str(Path(__file__).parent.parent / "errors" / "plugins")
JSON = "org.apache.kafka.connect.json.JsonConverter"
HEADERS = [("h", b"\xff"), ("h", None), ("", b"")]

__all__ = ["all_of", "herd", "produce"]

#: What the connector says, and which of the records are dead letters, at which stage.
WAYS = {
    "converter": ({"value.converter": "picky.PickyConverter"}, "VALUE_CONVERTER"),
    "report": ({"how": "report", "value.converter": JSON, "value.converter.schemas.enable": "false"}, "TASK_PUT"),
    "put": ({"errors.put.tolerance": "all"}, "TASK_PUT"),
    "transformation": (
        {"transforms": "cast", "transforms.cast.type": "org.apache.kafka.connect.transforms.Cast$Value"}
        | {"transforms.cast.spec": "int32"},
        "TRANSFORMATION",
    ),
}


@pytest.fixture
def sinks(spark: Any, broker: Broker, tmp_path: Path) -> ConnectorSinks:
    return ConnectorSinks(spark, broker, tmp_path)


def config_of(way: str, queue: str, folder: Path) -> dict[str, str]:
    return {
        "name": "sink",
        "file": str(folder / "out"),
        "errors.tolerance": "all",
        "errors.deadletterqueue.topic.name": queue,
        "errors.deadletterqueue.topic.replication.factor": "1",
        "errors.deadletterqueue.context.headers.enable": "true",
        **WAYS[way][0],
    }


@pytest.mark.promise("P1", "P5")
@pytest.mark.parametrize("way", [way if way == "put" else pytest.param(way, marks=pytest.mark.slow) for way in WAYS])
def test_dead_letters_are_those_of_the_worker_header_for_header(
    way: str, sinks: ConnectorSinks, herd: Any, produce: Any, all_of: Any, new_topic: Any, tmp_path: Path
) -> None:
    topic, theirs, ours = new_topic(), new_topic(), new_topic()
    values = [b'"bad"' if way == "report" else b"bad", b"1", b'"bad too"' if way == "report" else b"bad too", b"2"]
    produce(topic, *[(b"k", value) for value in values], headers=HEADERS)

    run = herd(plugin__path=PLUGINS)
    said = {**config_of(way, theirs, tmp_path), "topics": topic, "connector.class": "picky.PickySink"}
    run.run(**{key.replace(".", "__"): value for key, value in said.items()})
    expected = all_of(theirs, 2)

    said = {**config_of(way, ours, tmp_path), "topics": topic}
    plan = sinks.plan("picky:PickyTask", said, folder=PLUGINS, plugin_path=(PLUGINS,), progress_folder=str(tmp_path))
    query = sinks.start([topic], plan)
    query.processAllAvailable()
    query.stop()
    found = all_of(ours, 2)

    for our, their in zip(found, expected, strict=True):
        assert (our.key(), our.value(), our.timestamp()) == (their.key(), their.value(), their.timestamp())
        assert [key for key, _ in our.headers()] == [key for key, _ in their.headers()]
        (our_own, our_context), (their_own, their_context) = map(ErrorContext.split, (our.headers(), their.headers()))
        assert our_own == their_own == HEADERS
        assert our_context.stage == WAYS[way][1]
        # A trace tells through which modules the call came.
        last = [context.stacktrace.strip().splitlines()[-1] for context in (our_context, their_context)]
        assert last[0] == last[1]
        assert dataclasses.replace(our_context, stacktrace="") == dataclasses.replace(their_context, stacktrace="")
    written = 4 if way == "report" else 2  # a put took what it reported
    tally = Tally(read=4, written=written, errors=2, skipped=2, dead_letters=2)
    assert progress_files.read(str(tmp_path)).tally == tally
    assert (tmp_path / "out").read_text().splitlines().count(f"{topic} k 2") == 2  # of each engine


@pytest.mark.promise("P1", "P9")
def test_a_dead_letter_that_the_topic_does_not_take_fails_the_query(
    sinks: ConnectorSinks, produce: Any, new_topic: Any, tmp_path: Path
) -> None:
    topic, queue = new_topic(), new_topic(config={"max.message.bytes": "200"})
    produce(topic, (b"k", b"1"), (b"k", b"bad" + b"x" * 400))
    said = {**config_of("converter", queue, tmp_path), "topics": topic}
    plan = sinks.plan("picky:PickyTask", said, folder=PLUGINS, plugin_path=(PLUGINS,))
    error = str(translate_error(failed(sinks.start([topic], plan))))
    assert f'could not be written to the topic "{queue}" (MSG_SIZE_TOO_LARGE)' in error
    assert not (tmp_path / "out").exists()


@pytest.mark.slow
def test_without_tolerance_the_record_is_a_dead_letter_and_the_query_fails(
    sinks: ConnectorSinks, produce: Any, all_of: Any, new_topic: Any, tmp_path: Path
) -> None:
    topic, queue = new_topic(), new_topic()
    produce(topic, (b"k", b"bad 1"), (b"k", b"bad 2"))
    said = {**config_of("converter", queue, tmp_path), "errors.tolerance": "none"}
    plan = sinks.plan("picky:PickyTask", said, folder=PLUGINS, plugin_path=(PLUGINS,))
    error = str(translate_error(failed(sinks.start([topic], plan))))
    assert error.startswith(f"record {topic}-0@0: value converter PickyConverter failed: DataError: bad 1 is bad")
    assert {letter.value() for letter in all_of(queue, 1)} == {b"bad 1"}  # one for each attempt of Spark's task
