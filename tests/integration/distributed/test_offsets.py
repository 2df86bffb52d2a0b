"""What Kafka Connect's OffsetsApiIntegrationTest asks of a cluster, case by case (KIP-875).

A sink's offsets are those of a consumer group: its own, one that the user names, or one in another Kafka cluster. A
source's are in the pool's offset topic, whichever cluster its records go to. Which case stands where: README.md.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.support.rest import Answer

from .pool import Pool, PoolWorker

if TYPE_CHECKING:
    from tests.integration.conftest import StrictBroker

LINES = 10
STOPPED_FIRST = "Connectors must be in the STOPPED state before their offsets can be modified"


@pytest.fixture
def asked(two: Pool) -> PoolWorker:
    """A follower: what only the leader can do has to get there."""
    return two.followers()[0]


@pytest.fixture
def source(asked: PoolWorker, name: str, tmp_path: Path, new_topic: Any) -> Iterator[str]:
    """A file source."""
    (tmp_path / "in.txt").write_text("".join(f"{number}\n" for number in range(LINES)))
    topic = new_topic(name=name)
    asked.create(name, {"connector.class": "FileStreamSource", "file": str(tmp_path / "in.txt"), "topic": topic})
    yield name
    asked.do("DELETE", f"/connectors/{name}")


class Sink:
    """A sink, and its offsets as the API shows and takes them."""

    def __init__(self, name: str, topic: str) -> None:
        self.name = name
        self.topic = topic
        self.path = f"/connectors/{name}/offsets"

    def at(self, offset: int | None) -> list[dict[str, Any]]:
        place = {"kafka_topic": self.topic, "kafka_partition": 0}
        return [{"partition": place, "offset": None if offset is None else {"kafka_offset": offset}}]


@pytest.fixture(params=["own group", "named group", "other cluster"])
def sink(
    request: pytest.FixtureRequest, two: Pool, asked: PoolWorker, name: str, tmp_path: Path, new_topic: Any
) -> Iterator[Sink]:
    """A sink that has consumed all lines."""
    more: dict[str, str] = {}
    broker: StrictBroker | None = None
    if request.param == "named group":
        more = {"consumer.override.group.id": f"group-of-{name}"}
    if request.param == "other cluster":
        broker = request.getfixturevalue("strict_broker")
        assert broker is not None
        more = {
            f"{kind}.override.bootstrap.servers": broker.bootstrap_servers for kind in ("consumer", "admin", "producer")
        }
    topic = new_topic(name=f"t-{name}", on=broker)
    produce(two.bootstrap if broker is None else broker.bootstrap_servers, topic)
    asked.create(
        name, {"connector.class": "FileStreamSink", "file": str(tmp_path / "out.txt"), "topics": topic, **more}
    )
    made = Sink(name, topic)
    everywhere(two, made.path, made.at(LINES))
    yield made
    asked.do("DELETE", f"/connectors/{name}")


def produce(servers: str, topic: str) -> None:
    from confluent_kafka import Producer

    producer = Producer({"bootstrap.servers": servers})
    for number in range(LINES):
        producer.produce(topic, str(number).encode())
    assert producer.flush(30) == 0


def everywhere(pool: Pool, path: str, offsets: list[dict[str, Any]]) -> None:
    """Wait until all workers show these offsets."""
    pool.until(lambda: all(worker.get(path) == {"offsets": offsets} for worker in pool.workers), f"offsets {offsets}")


def stop(pool: Pool, worker: PoolWorker, name: str) -> None:
    worker.do("PUT", f"/connectors/{name}/stop")
    pool.until(lambda: all(each.runs(name, 0, "STOPPED") for each in pool.workers), "it is stopped")


def changed(pool: Pool, ask: Callable[[], Answer]) -> Answer:
    """Tasks that were told to stop may need a moment until they have: then it is refused, and may be asked again."""

    def taken() -> Answer | None:
        answer = ask()
        if answer.status == 200:
            return answer
        assert "zombie sink tasks" in answer.body["message"] or "STOPPED" in answer.body["message"], answer
        return None

    answer: Answer = pool.until(taken, "the change is taken")
    return answer


# Nobody there, nothing stopped.


@pytest.mark.parametrize(("method", "body"), [("GET", None), ("PATCH", {"offsets": []}), ("DELETE", None)])
def test_a_connector_that_is_not_there_has_none(asked: PoolWorker, method: str, body: Any) -> None:
    if body is not None:
        body = {"offsets": [{"partition": {"filename": "x"}, "offset": {"position": 1}}]}
    answer = asked.ask(method, "/connectors/nobody/offsets", body)
    assert answer.status == 404
    assert "nobody not found" in answer.body["message"]


@pytest.mark.parametrize("state", ["running", "paused"])
def test_a_connector_that_is_not_stopped_keeps_them(two: Pool, asked: PoolWorker, source: str, state: str) -> None:
    two.until(lambda: asked.runs(source, 1), "it runs")
    if state == "paused":
        asked.do("PUT", f"/connectors/{source}/pause")
        two.until(lambda: all(worker.runs(source, 1, "PAUSED") for worker in two.workers), "it is paused")
    for worker in two.workers:
        body = {"offsets": [{"partition": {"filename": "x"}, "offset": {"position": 1}}]}
        for answer in (
            worker.ask("PATCH", f"/connectors/{source}/offsets", body),
            worker.ask("DELETE", f"/connectors/{source}/offsets"),
        ):
            assert answer.status == 400
            assert STOPPED_FIRST in answer.body["message"]


# Sinks.


def test_a_sinks_offsets_are_read_while_it_runs_and_when_it_is_stopped(
    two: Pool, asked: PoolWorker, sink: Sink
) -> None:
    stop(two, asked, sink.name)
    everywhere(two, sink.path, sink.at(LINES))


def test_a_sinks_offsets_are_altered_and_reset(two: Pool, asked: PoolWorker, sink: Sink, tmp_path: Path) -> None:
    stop(two, asked, sink.name)
    answer = changed(two, lambda: asked.ask("PATCH", sink.path, {"offsets": sink.at(LINES - 3)}))
    assert "have been altered successfully" in answer.body["message"]
    everywhere(two, sink.path, sink.at(LINES - 3))
    # One may be forgotten by itself; a place that was never there is no error.
    answer = changed(two, lambda: asked.ask("PATCH", sink.path, {"offsets": sink.at(None)}))
    everywhere(two, sink.path, [])
    changed(two, lambda: asked.ask("PATCH", sink.path, {"offsets": sink.at(LINES - 2)}))
    asked.do("PUT", f"/connectors/{sink.name}/resume")
    again = [*range(LINES), LINES - 2, LINES - 1]
    out = tmp_path / "out.txt"
    two.until(lambda: [int(line) for line in out.read_text().split()] == again, "two lines come again")
    stop(two, asked, sink.name)
    answer = changed(two, lambda: asked.ask("DELETE", sink.path))
    assert "have been reset successfully" in answer.body["message"]
    everywhere(two, sink.path, [])
    # Doing it twice is not an error.
    changed(two, lambda: asked.ask("DELETE", sink.path))
    asked.do("PUT", f"/connectors/{sink.name}/resume")
    everywhere(two, sink.path, sink.at(LINES))
    assert [int(line) for line in out.read_text().split()] == [*again, *range(LINES)]


@pytest.mark.slow
@pytest.mark.parametrize("method", ["PATCH", "DELETE"])
@pytest.mark.parametrize("sink", ["own group"], indirect=True)
def test_a_zombie_in_its_group_keeps_them(two: Pool, asked: PoolWorker, sink: Sink, method: str) -> None:
    from confluent_kafka import Consumer

    stop(two, asked, sink.name)
    zombie = Consumer(
        {"bootstrap.servers": two.bootstrap, "group.id": f"connect-{sink.name}", "enable.auto.commit": False}
    )
    try:
        zombie.subscribe([sink.topic])
        two.until(lambda: zombie.poll(0.2) is not None or zombie.assignment(), "the zombie has the partition")
        body = {"offsets": sink.at(1)} if method == "PATCH" else None
        answer = asked.ask(method, sink.path, body)
        assert answer.status == 500
        assert "zombie sink tasks" in answer.body["message"]
        everywhere(two, sink.path, sink.at(LINES))
    finally:
        zombie.close()
    changed(two, lambda: asked.ask(method, sink.path, body))


@pytest.mark.parametrize("sink", ["own group"], indirect=True)
def test_what_is_no_offset_of_a_sink_is_refused(two: Pool, asked: PoolWorker, sink: Sink) -> None:
    stop(two, asked, sink.name)
    place = {"kafka_topic": sink.topic, "kafka_partition": 0}
    wrong: list[tuple[Any, str]] = [
        ([], "Partitions / offsets need to be provided"),
        ([{"partition": {}, "offset": {"kafka_offset": 1}}], "partition"),
        ([{"partition": {**place, "kafka_partition": None}, "offset": {"kafka_offset": 1}}], "integers"),
        ([{"partition": {**place, "kafka_partition": "one"}, "offset": {"kafka_offset": 1}}], "integers"),
        ([{"partition": {**place, "kafka_topic": None}, "offset": {"kafka_offset": 1}}], "Kafka topic names"),
        ([{"partition": place, "offset": {"position": 1}}], "should either be null or contain the key"),
        ([{"partition": place, "offset": {"kafka_offset": "one"}}], "integers"),
    ]
    for offsets, says in wrong:
        for worker in two.workers:
            answer = worker.ask("PATCH", sink.path, {"offsets": offsets})
            assert answer.status == 400, (offsets, answer)
            assert says in answer.body["message"], (offsets, answer)
    everywhere(two, sink.path, sink.at(LINES))


# Sources.


@pytest.mark.parametrize("where", ["here", "other cluster"])
def test_a_sources_offsets_are_read_altered_and_reset(
    request: pytest.FixtureRequest,
    two: Pool,
    asked: PoolWorker,
    name: str,
    tmp_path: Path,
    new_topic: Any,
    end_of: Any,
    where: str,
) -> None:
    broker = request.getfixturevalue("strict_broker") if where == "other cluster" else None
    servers = two.bootstrap if broker is None else broker.bootstrap_servers
    topic = new_topic(name=name, on=broker)
    file = tmp_path / "in.txt"
    file.write_text("".join(f"{number}\n" for number in range(LINES)))
    more = {} if broker is None else {"producer.override.bootstrap.servers": servers}
    asked.create(name, {"connector.class": "FileStreamSource", "file": str(file), "topic": topic, **more})
    path = f"/connectors/{name}/offsets"

    def at(position: int) -> list[dict[str, Any]]:
        return [{"partition": {"filename": str(file)}, "offset": {"position": position}}]

    def read_to(position: int) -> bool:
        """The source tells more of a file than how far it is read."""
        found = [(worker.get(path) or {"offsets": []})["offsets"] for worker in two.workers]
        return all([entry["offset"]["position"] for entry in each] == [position] for each in found)

    two.until(lambda: read_to(2 * LINES), "all is read")
    stop(two, asked, name)
    two.until(lambda: read_to(2 * LINES), "all is read, and it is stopped")
    answer = changed(two, lambda: asked.ask("PATCH", path, {"offsets": at(2 * 7)}))
    assert "have been altered successfully" in answer.body["message"]
    everywhere(two, path, at(2 * 7))
    asked.do("PUT", f"/connectors/{name}/resume")
    two.until(lambda: end_of(servers, topic) == LINES + 3, "three lines come again")
    two.until(lambda: read_to(2 * LINES), "all is read again")
    stop(two, asked, name)
    assert "have been reset successfully" in changed(two, lambda: asked.ask("DELETE", path)).body["message"]
    everywhere(two, path, [])
    changed(two, lambda: asked.ask("DELETE", path))
    asked.do("PUT", f"/connectors/{name}/resume")
    two.until(lambda: end_of(servers, topic) == 2 * LINES + 3, "all lines come again")
    asked.do("DELETE", f"/connectors/{name}")


def test_what_is_no_offset_of_a_source_is_refused(two: Pool, asked: PoolWorker, source: str) -> None:
    path = f"/connectors/{source}/offsets"
    (entry,) = two.until(lambda: (asked.get(path) or {"offsets": []})["offsets"], "it is read")
    stop(two, asked, source)
    wrong: list[Any] = [
        {"offsets": []},
        {"offsets": None},
        {},
        {"offsets": [{"partition": {"filename": "in"}, "offset": {"position": "x"}}]},
        {"offsets": [{"partition": {"filename": "in"}, "offset": {"position": -1}}]},
        {"offsets": "all"},
    ]
    for body in wrong:
        for worker in two.workers:
            answer = worker.ask("PATCH", path, body)
            assert answer.status == 400, (body, answer)
    everywhere(two, path, [entry])


def test_offsets_may_be_set_before_a_connector_ever_ran(
    two: Pool, asked: PoolWorker, name: str, tmp_path: Path, new_topic: Any, end_of: Any
) -> None:
    """ConnectWorkerIntegrationTest: created STOPPED, its offsets written, then resumed."""
    file = tmp_path / "in.txt"
    file.write_text("".join(f"{number}\n" for number in range(LINES)))
    config = {"connector.class": "FileStreamSource", "file": str(file), "topic": new_topic(name=name)}
    asked.create(name, config, "STOPPED")
    two.until(lambda: all(worker.runs(name, 0, "STOPPED") for worker in two.workers), "it is there")
    path = f"/connectors/{name}/offsets"
    assert asked.get(path) == {"offsets": []}
    at = [{"partition": {"filename": str(file)}, "offset": {"position": 2 * 6}}]
    changed(two, lambda: asked.ask("PATCH", path, {"offsets": at}))
    asked.do("PUT", f"/connectors/{name}/resume")
    two.until(lambda: end_of(two.bootstrap, name) == LINES - 6, "it begins where it was told")
    asked.do("DELETE", f"/connectors/{name}")
