"""A topic is deleted and recreated under a source and a sink, whose brokers were restarted before."""

import pytest
from confluent_kafka.admin import AdminClient

from tests.integration.conftest import NewTopicNamed, StrictBroker
from tests.integration.standalone.conftest import Standalone
from tests.support.waiting import until


@pytest.mark.timeout(240)
@pytest.mark.parametrize("seen_gone", [False, True], ids=["at once", "seen gone"])
def test_lines_go_on_through_the_new_topic(
    standalone: Standalone, strict_broker: StrictBroker, new_topic: NewTopicNamed, topic: str, *, seen_gone: bool
) -> None:
    new_topic(on=strict_broker, name=topic)
    standalone.worker(
        {
            "bootstrap.servers": strict_broker.bootstrap_servers,
            "consumer.metadata.max.age.ms": "1000",
            "producer.metadata.max.age.ms": "1000",
        }
    )
    arrived = standalone.folder / "out.txt"
    lines = standalone.folder / "in.txt"

    def flow(word: str) -> None:
        with lines.open("a") as file:
            file.write("".join(f"{word} {number}\n" for number in range(50)))
        wanted = [f"{word} {number}" for number in range(50)]
        until(
            lambda: arrived.exists() and arrived.read_text().splitlines()[-50:] == wanted,
            120,
            lambda: f"{word} arrives\n{worker.log}",
        )

    lines.touch()
    worker = standalone.start(standalone.source(topic), standalone.sink(topic, "sink"))
    flow("first")
    strict_broker.stop()
    strict_broker.start()
    flow("second")
    admin = AdminClient({"bootstrap.servers": strict_broker.bootstrap_servers})
    admin.delete_topics([topic])[topic].result(30)
    if seen_gone:
        until(lambda: "Subscribed topic not available" in worker.log, 60, lambda: worker.log)
    new_topic(on=strict_broker, name=topic)
    flow("third")
    flow("fourth")
    assert "it is replaced" in worker.log
    assert arrived.read_text().splitlines() == lines.read_text().splitlines()
