"""What users get wrong and what breaks around a worker: a clear word in status and log, and nothing lost."""

import os

import pytest
from confluent_kafka import Consumer, TopicPartition

from connect.herder.errors import BadRequestError

JSON = "org.apache.kafka.connect.json.JsonConverter"


def committed(broker, name: str, topic: str) -> int:
    """The offset that a sink's group has committed."""
    consumer = Consumer({"bootstrap.servers": broker.bootstrap_servers, "group.id": f"connect-{name}"})
    try:
        return max(0, consumer.committed([TopicPartition(topic, 0)], timeout=30)[0].offset)
    finally:
        consumer.close()


@pytest.mark.promise("P9")
def test_a_source_file_that_cannot_be_read_is_named(herd, new_topic, tmp_path, caplog):
    run = herd()
    run.run("lines", connector__class="FileStreamSource", file=str(tmp_path), topic=new_topic())
    trace = run.await_state("lines", "FAILED")
    assert str(tmp_path) in trace
    assert [r for r in caplog.records if r.levelname == "ERROR" and str(tmp_path) in r.getMessage()]


@pytest.mark.promise("P1", "P9")
def test_a_missing_topic_that_nobody_may_create_fails_its_source_and_no_line_is_lost(
    herd, strict_broker, new_topic, read, tmp_path, caplog
):
    file, topic = tmp_path / "in", f"missing-{tmp_path.name}"
    file.write_text("a\nb\n")
    run = herd(on=strict_broker)
    run.run("lines", connector__class="FileStreamSource", file=str(file), topic=topic)
    trace = run.await_state("lines", "FAILED")
    assert f"Create it with `kafka-topics --create --topic {topic}`" in trace
    assert f"kafka-topics --create --topic {topic}" in caplog.text
    new_topic(on=strict_broker, name=topic)
    run.herder.restart_task("lines", 0).result(30)
    assert [m.value() for m in read(strict_broker.bootstrap_servers, topic, 2)] == [b"a", b"b"]


@pytest.mark.promise("P1", "P9")
def test_a_sink_says_that_its_topic_is_missing_and_takes_it_when_it_appears(
    herd, strict_broker, new_topic, write, tmp_path, caplog
):
    file, topic = tmp_path / "out", f"missing-{tmp_path.name}"
    run = herd(on=strict_broker, consumer__metadata__max__age__ms="1000")
    run.run("lines", connector__class="FileStreamSink", file=str(file), topics=topic)
    run.until(lambda: topic in caplog.text)
    assert run.state("lines") == "RUNNING"
    new_topic(on=strict_broker, name=topic)
    write(strict_broker, topic, [b"a", b"b"])
    run.await_lines(file, ["a", "b"])


@pytest.mark.promise("P9")
def test_an_unknown_class_is_refused_with_what_comes_near(herd):
    run = herd()
    config = {"connector.class": "FileStreamSorce", "file": "x", "topic": "t"}
    with pytest.raises(BadRequestError, match="FileStreamSource"):
        run.herder.put_connector("lines", config).result(60)
    assert run.herder.connectors() == []
    run.run("lines", connector__class="FileStreamSorce")
    assert "FileStreamSource" in run.await_connector("lines", "FAILED")


@pytest.mark.promise("P9")
def test_a_plugin_that_is_no_python_is_named_with_file_and_line(herd, tmp_path):
    (tmp_path / "broken.py").write_text("from connect import SourceConnector\n\nclass Broken(SourceConnector:\n")
    run = herd(plugin__path=str(tmp_path))
    run.run("lines", connector__class="broken.Broken")
    trace = run.await_connector("lines", "FAILED")
    assert "broken" in trace
    assert "line 3" in trace


@pytest.mark.promise("P9")
def test_a_plugin_whose_import_fails_is_named(herd, tmp_path):
    (tmp_path / "needs.py").write_text(
        "import no_such_library\nfrom connect import SourceConnector\n\nclass Needs(SourceConnector):\n    pass\n"
    )
    run = herd(plugin__path=str(tmp_path))
    run.run("lines", connector__class="needs.Needs")
    assert "no_such_library" in run.await_connector("lines", "FAILED")


@pytest.mark.promise("P9")
def test_a_task_class_that_is_no_task_is_named(herd, new_topic):
    run = herd()
    run.run("lines", connector__class="odd.NoTaskConnector", topic=new_topic())
    assert "NoTask is not a SourceTask" in run.await_state("lines", "FAILED")


@pytest.mark.promise("P9")
def test_a_connector_that_cuts_too_many_tasks_is_refused_unless_allowed(herd, new_topic):
    run = herd()
    config = {"connector.class": "odd.NumbersConnector", "topic": new_topic(), "tasks": "3"}
    run.run("many", **config, tasks__max="2")
    trace = run.await_connector("many", "FAILED")
    assert '3 tasks, though "tasks.max" is 2' in trace
    assert run.herder.worker.tasks.of("many") == {}
    run.run("many", **config, tasks__max="2", tasks__max__enforce="false")
    for number in range(3):
        run.await_state("many", "RUNNING", number)


@pytest.mark.promise("P1", "P5", "P9")
def test_a_record_that_the_converter_cannot_take_is_found_exactly(herd, broker, new_topic, write, tmp_path):
    topic, file = new_topic(), tmp_path / "out"
    write(broker, topic, [b'"a"', b'"b"', b'"c"', b'{"broken', b'"d"'])
    run = herd()
    config = {
        "connector.class": "FileStreamSink",
        "file": str(file),
        "topics": topic,
        "value.converter": JSON,
        "value.converter.schemas.enable": "false",
    }
    run.run("lines", **config)
    trace = run.await_state("lines", "FAILED")
    assert f"record {topic}-0@3: value converter JsonConverter failed" in trace
    assert committed(broker, "lines", topic) <= 3
    run.run("lines", **config, **{"errors.tolerance": "all"})
    run.until(lambda: file.exists() and file.read_text().splitlines()[-1:] == ["d"])
    assert set(file.read_text().splitlines()) == {"a", "b", "c", "d"}
    run.until(lambda: committed(broker, "lines", topic) == 5)


@pytest.mark.promise("P1", "P5", "P9")
def test_a_line_that_the_broker_does_not_take_fails_its_task_or_is_skipped(
    herd, broker, new_topic, read, end_of, tmp_path
):
    topic, file = new_topic(config={"max.message.bytes": "100000"}), tmp_path / "in"
    file.write_text("a\n" + "x" * 300_000 + "\nb\n")
    run = herd(producer__linger__ms="0", producer__batch__size="1")  # a request for each record
    config = {"connector.class": "FileStreamSource", "file": str(file), "topic": topic}
    run.run("lines", **config)
    trace = run.await_state("lines", "FAILED")
    assert "MSG_SIZE_TOO_LARGE" in trace
    assert "max.message.bytes" in trace
    assert run.herder.worker.offsets.all("lines") == []  # the whole poll is read again
    run.run("lines", **config, **{"errors.tolerance": "all"})
    run.until(lambda: run.herder.worker.offsets.all("lines"))
    written = end_of(broker.bootstrap_servers, topic)
    assert {m.value() for m in read(broker.bootstrap_servers, topic, written)} == {b"a", b"b"}
    progress = run.herder.worker.tasks.of("lines")[0]
    run.until(lambda: progress.progress.errors == 1)


@pytest.mark.promise("P1", "P9")
@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="this system has no /dev/full")  # noqa: PTH110
def test_a_full_disk_is_said_and_every_line_comes_when_there_is_room(herd, broker, new_topic, write, tmp_path, caplog):
    topic, file = new_topic(), tmp_path / "out"
    write(broker, topic, [b"%d" % number for number in range(100)])
    run = herd()
    config = {"connector.class": "FileStreamSink", "topics": topic}
    run.run("lines", **config, file="/dev/full")
    run.until(lambda: "No space left" in caplog.text)
    assert committed(broker, "lines", topic) == 0
    run.run("lines", **config, file=str(file))
    run.await_lines(file, [str(number) for number in range(100)])


@pytest.mark.promise("P9")
def test_wrong_client_settings_are_named(herd, new_topic):
    run = herd()
    run.run(
        "lines",
        **{
            "connector.class": "FileStreamSource",
            "file": "x",
            "topic": new_topic(),
            "producer.override.acks": "some",
        },
    )
    assert "producer.override.acks" in run.await_state("lines", "FAILED")


@pytest.mark.promise("P9")
def test_a_sink_without_topics_says_so(herd, tmp_path):
    run = herd()
    run.run("lines", connector__class="FileStreamSink", file=str(tmp_path / "out"))
    assert "topics or topics.regex" in run.await_state("lines", "FAILED")
