"""Signals from a topic and from a file: nothing is written into the database."""

import json
import logging
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer

from connect.kafka.broker.embedded import Broker
from connect.testing import SourceRun

from .captured import Captured, ids
from .incremental_snapshots import ROWS, SIZE, left, read


class Sender:
    """Sends signals by one channel.

    Attributes:
        keys: what a connector is told, so that it follows them.
    """

    keys: dict[str, str]

    def send(self, text: str, key: str = "shop") -> None:
        raise NotImplementedError

    def ask(self, captured: Captured, key: str = "shop") -> None:
        data = {"data-collections": [captured.table("line")], "type": "INCREMENTAL"}
        self.send(json.dumps({"id": "1", "type": "execute-snapshot", "data": data}), key)


class ByTopic(Sender):
    def __init__(self, broker: Broker, topic: str) -> None:
        self.keys = {
            "signal.enabled.channels": "source,kafka",
            "signal.kafka.bootstrap.servers": broker.bootstrap_servers,
            "signal.kafka.topic": topic,
            # The name of a group is not the cluster's only one: tests share that.
            "signal.kafka.groupId": f"of-{topic}",
            "signal.consumer.client.id": "signals",
            "signal.poll.interval.ms": "20",
        }
        self._topic = topic
        self._producer = Producer({"bootstrap.servers": broker.bootstrap_servers})

    def send(self, text: str, key: str = "shop") -> None:
        self._producer.produce(self._topic, text, key, partition=0)
        assert self._producer.flush(30) == 0


class ByFile(Sender):
    def __init__(self, path: Path) -> None:
        self.keys = {
            "signal.enabled.channels": "file",
            "signal.file": str(path),
            "signal.poll.interval.ms": "20",
        }
        self._path = path

    def send(self, text: str, key: str = "shop") -> None:
        with self._path.open("a") as file:
            file.write(f"{text}\n")


@pytest.fixture(params=["topic", "file"])
def sender(request: pytest.FixtureRequest, tmp_path: Path, broker: Broker, new_topic: Callable[..., str]) -> Sender:
    return ByTopic(broker, new_topic()) if request.param == "topic" else ByFile(tmp_path / "signals")


@pytest.fixture
def lines(captured: Captured, caplog: pytest.LogCaptureFixture) -> Captured:
    caplog.set_level(logging.INFO)
    captured.execute(
        "CREATE TABLE line (id int PRIMARY KEY, word varchar(100))",
        captured.numbers(1, ROWS, "w"),
    )
    return captured


def start(captured: Captured, sender: Sender, **changes: str) -> SourceRun:
    run = captured.run(
        **{"snapshot.mode": "no_data", "incremental.snapshot.chunk.size": str(SIZE), **sender.keys, **changes}
    ).start()
    run.poll()  # from here on the log is read
    return run


def touch(captured: Captured, run: SourceRun, number: int) -> None:
    """Have an event come whose offset is stored."""
    captured.execute(f"INSERT INTO line VALUES ({number}, 'behind')")
    captured.until(run, lambda: number in ids(run.records))
    run.poll()


def test_a_signal_beside_the_stream_has_a_table_read_once(
    lines: Captured, sender: Sender, caplog: pytest.LogCaptureFixture
) -> None:
    run = start(lines, sender)
    sender.ask(lines)
    lines.until(run, lambda: len(read(run)) == ROWS and left(run) is None)
    touch(lines, run, 10_000)
    run.crash()
    run.restart()
    sender.send('{"type": "log", "data": {"message": "it has been seen"}}')
    lines.until(run, lambda: "it has been seen" in caplog.text)
    touch(lines, run, 10_001)
    assert read(run) == list(range(1, ROWS + 1)), "and not again after the restart"
    sender.ask(lines)
    lines.until(run, lambda: len(read(run)) == 2 * ROWS + 2)


def test_one_that_no_stored_offset_tells_of_is_followed_again(lines: Captured, sender: Sender) -> None:
    run = start(lines, sender, **{"max.batch.size": "30"})
    run.hold()
    sender.ask(lines)
    lines.until(run, lambda: sum(map(len, run.polled)) > 200)
    run.crash()
    run.acknowledge()
    run.restart()
    lines.until(run, lambda: ROWS in read(run) and left(run) is None)
    assert sorted(set(read(run))) == list(range(1, ROWS + 1))


def test_the_stream_goes_on_beside_signals_that_nobody_understands(
    lines: Captured, sender: Sender, caplog: pytest.LogCaptureFixture
) -> None:
    run = start(lines, sender)
    sender.send("{nothing")
    sender.send('["execute-snapshot"]')
    sender.send('{"id": "2", "type": "dance"}')
    sender.send('{"id": "3", "type": "log", "data": {"message": "here I am"}}')
    lines.until(run, lambda: "here I am" in caplog.text)
    touch(lines, run, 10_000)
    assert not read(run)
    assert caplog.text.count("it is no JSON object with a type") == 2
    assert '"dance" is no type of a signal' in caplog.text


def test_signals_for_another_connector_are_not_followed(
    lines: Captured, broker: Broker, new_topic: Callable[..., str], caplog: pytest.LogCaptureFixture
) -> None:
    sender = ByTopic(broker, new_topic())
    run = start(lines, sender)
    sender.ask(lines, key="another")
    sender.send('{"id": "3", "type": "log", "data": "{\\"message\\": \\"it is read\\"}"}')
    lines.until(run, lambda: "it is read" in caplog.text)
    touch(lines, run, 10_000)
    assert not read(run)


def test_a_topic_that_does_not_exist_yet_is_awaited(
    lines: Captured, broker: Broker, new_topic: Callable[..., str]
) -> None:
    topic = f"later-{time.monotonic_ns()}"
    sender = ByTopic(broker, topic)
    run = start(lines, sender)
    touch(lines, run, 10_000)
    assert new_topic(name=topic) == topic
    sender.ask(lines)
    lines.until(run, lambda: len(read(run)) == ROWS + 1)


def test_brokers_that_are_away_do_not_stop_the_stream(lines: Captured, caplog: pytest.LogCaptureFixture) -> None:
    keys = {"signal.enabled.channels": "kafka", "signal.kafka.bootstrap.servers": "127.0.0.1:1"}
    run = lines.run(**{"snapshot.mode": "no_data", "signal.poll.interval.ms": "20", **keys}).start()
    run.poll()
    touch(lines, run, 10_000)
    lines.until(run, lambda: "Signals are not followed for now" in caplog.text)
    touch(lines, run, 10_001)


def test_missing_and_wrong_keys_are_said(captured: Captured) -> None:
    assert captured.errors(signal_enabled_channels="kafka") == {
        "signal.kafka.bootstrap.servers": ["is missing: signals come from a topic."]
    }
    [(key, [message])] = captured.errors(signal_enabled_channels="jmx").items()
    assert key == "signal.enabled.channels"
    assert message.endswith("Write some of source, kafka, file.")


def test_wrong_settings_of_the_consumer_are_said(lines: Captured) -> None:
    keys: dict[str, Any] = {"signal.enabled.channels": "kafka", "signal.kafka.bootstrap.servers": "127.0.0.1:1"}
    with pytest.raises(Exception, match=r"signal\.consumer\.fetch\.min\.bytes"):
        lines.run(**keys, **{"signal.consumer.fetch.min.bytes": "many"}).start()
