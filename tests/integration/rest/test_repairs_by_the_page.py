"""A stuck pipeline is found on the operations page and repaired there, in five clicks or fewer, by the page alone."""

import json
import re
from collections.abc import Callable
from typing import Any

import pytest
from confluent_kafka import Producer
from playwright.sync_api import Locator, Page, expect

from connect.kafka.broker.embedded import Broker
from connect.ports import free_port
from tests.servers.postgresql import PostgresDatabase

from .conftest import Worker, put

pytestmark = pytest.mark.slow

MOST_CLICKS = 5
JSON_CONVERTER = {
    "value.converter": "org.apache.kafka.connect.json.JsonConverter",
    "value.converter.schemas.enable": "false",
}


class Hand:
    """A user's hand: it begins at the overview, and counts its clicks. To type into a field is a click into it."""

    def __init__(self, page: Page, worker: Worker) -> None:
        self.page = page
        self.clicks = 0
        page.goto(f"http://127.0.0.1:{worker.port}/ui")

    def click(self, what: Locator) -> None:
        """Click on a link or a button."""
        self.clicks += 1
        what.click()

    def open(self, connector: str, reason: str) -> None:
        """Open the connector below the one problem, or what waits, that has this reason."""
        problem = self.page.locator(".problem").filter(has_text=re.compile(reason, re.IGNORECASE))
        self.click(problem.get_by_role("link", name=connector))
        expect(self.page.get_by_role("heading", level=1)).to_have_text(connector)

    def configure(self, **changes: str) -> None:
        """Change keys of the configuration, as text, and store it; `__` stands for a dot."""
        written = self.page.get_by_label("JSON. It is validated before anything changes.")
        config = json.loads(written.input_value()) | {key.replace("__", "."): text for key, text in changes.items()}
        self.clicks += 1
        written.fill(json.dumps(config))
        self.click(self.page.get_by_role("button", name="Validate and store"))
        expect(self.page.get_by_text("The new configuration is stored")).to_be_visible()

    def runs(self) -> None:
        """The page says so, without another click."""
        expect(self.page.locator("#state .state")).to_have_text("RUNNING")
        expect(self.page.locator("#tasks .state").last).to_have_text("RUNNING")
        assert self.clicks <= MOST_CLICKS


@pytest.fixture
def worker(workers: Any) -> Worker:
    started: Worker = workers.start()
    return started


@pytest.fixture
def produce(broker: Broker) -> Callable[..., None]:
    """Write values into a topic."""

    def write(topic: str, *values: str) -> None:
        producer = Producer({"bootstrap.servers": broker.bootstrap_servers})
        for value in values:
            producer.produce(topic, value.encode())
        assert producer.flush(30) == 0

    return write


def test_a_wrong_password(
    page: Page, worker: Worker, topic: str, produce: Callable[..., None], postgres_database: PostgresDatabase
) -> None:
    schema = {"type": "struct", "optional": False, "fields": [{"field": "id", "type": "int32", "optional": False}]}
    produce(topic, json.dumps({"schema": schema, "payload": {"id": 7}}))
    name, password, url = re.findall(r"//(.+?):(.+?)@(.+)", postgres_database.url)[0]
    config = {
        "connector.class": "JdbcSinkConnector",
        "topics": topic,
        "connection.url": f"postgresql+psycopg://{url}",
        "connection.user": name,
        "connection.password": "wrong-one",
        "auto.create": "true",
        "value.converter": "org.apache.kafka.connect.json.JsonConverter",
    }
    assert worker.ask("PUT", "/connectors/warehouse/config", config)[0] == 201
    hand = Hand(page, worker)
    hand.open("warehouse", "password")
    assert "wrong-one" not in page.content()
    hand.configure(connection__password=password)
    hand.runs()
    worker.until(lambda: postgres_database.execute("SELECT to_regclass(%s)", (f'"{topic}"',))[0][0])
    worker.until(lambda: postgres_database.execute(f'SELECT id FROM "{topic}"') == [(7,)])


def test_a_poison_record(page: Page, worker: Worker, topic: str, produce: Callable[..., None]) -> None:
    produce(topic, '{"n": 1}', '{"n": }', '{"n": 3}')
    out = worker.folder / "out"
    assert worker.ask(
        "PUT",
        "/connectors/lines/config",
        {"connector.class": "FileStreamSink", "topics": topic, "file": str(out), **JSON_CONVERTER},
    )
    hand = Hand(page, worker)
    hand.open("lines", "json")
    hand.configure(
        errors__tolerance="all",
        errors__deadletterqueue__topic__name=f"{topic}-dead",
        errors__deadletterqueue__topic__replication__factor="1",
    )
    hand.runs()
    worker.until(lambda: out.exists() and out.read_text().splitlines() == ["{n=1}", "{n=3}"])
    # And what was refused is at hand.
    hand.click(page.get_by_role("link", name="Dead letters"))
    expect(page.get_by_role("link", name="0:0")).to_be_visible()
    assert hand.clicks <= MOST_CLICKS


def test_a_lost_broker(page: Page, worker: Worker, broker: Broker, topic: str, produce: Callable[..., None]) -> None:
    """The cluster that is copied from has moved to another address."""
    produce(topic, "one")
    gone = f"127.0.0.1:{free_port()}"
    config = {
        "connector.class": "MirrorSourceConnector",
        "source.cluster.alias": "old",
        "target.cluster.alias": "new",
        "source.cluster.bootstrap.servers": gone,
        "target.cluster.bootstrap.servers": broker.bootstrap_servers,
        "topics": topic,
        "replication.factor": "1",
        "offset-syncs.topic.replication.factor": "1",
    }
    assert worker.ask("PUT", "/connectors/copy/config", config)[0] == 201
    hand = Hand(page, worker)
    hand.open("copy", f"{gone}.*Check that their server can be reached")
    hand.configure(source__cluster__bootstrap__servers=broker.bootstrap_servers)
    hand.runs()
    worker.until(lambda: f"old.{topic}" in worker.get("/connectors/copy/topics")["copy"]["topics"])


def test_a_full_disk(page: Page, worker: Worker, topic: str, produce: Callable[..., None]) -> None:
    produce(topic, "one")
    out = worker.folder / "out"
    put(worker, "archive", connector__class="FileStreamSink", topics=topic, file="/dev/full")
    hand = Hand(page, worker)
    hand.open("archive", "no space left")
    hand.configure(file=str(out))
    hand.runs()
    worker.until(lambda: out.exists() and out.read_text() == "one\n")


def test_what_was_repaired_elsewhere_is_restarted_from_the_overview(
    page: Page, worker: Worker, topic: str, produce: Callable[..., None]
) -> None:
    produce(topic, "one")
    folder = worker.folder / "mount"
    for name in ("first", "second"):
        put(worker, name, connector__class="FileStreamSink", topics=topic, file=folder / name)
    hand = Hand(page, worker)
    expect(page.locator(".problem")).to_contain_text("2 parts of first, second.")
    folder.mkdir()
    hand.click(page.get_by_role("button", name="Restart what failed"))
    expect(page.get_by_text("2 connectors are restarted if they had failed.")).to_be_visible()
    for name in ("first", "second"):
        worker.until_state(name, "RUNNING")
        worker.until(lambda name=name: (folder / name).exists() and (folder / name).read_text() == "one\n")
    assert hand.clicks == 1


def test_the_pages_tell_of_the_own_broker_s_death_and_return(page: Page, workers: Any, strict_broker: Any) -> None:
    topic = f"lines-{free_port()}"
    worker = workers.start(bootstrap__servers=strict_broker.bootstrap_servers, topic__creation__enable="true")
    creation = {"topic.creation.default.replication.factor": "1", "topic.creation.default.partitions": "1"}
    config = {"connector.class": "Datagen", "kafka.topic": topic, "quickstart": "orders", "rate": "50", **creation}
    assert worker.ask("PUT", "/connectors/orders/config", config)[0] == 201
    worker.until_state("orders", "RUNNING")
    Hand(page, worker)
    expect(page.locator("#overview")).to_contain_text("Everything runs.")
    strict_broker.kill()
    try:
        waits = page.locator(".problem").filter(has_text="orders")
        expect(waits).to_contain_text(re.compile("WAITS.*broker", re.IGNORECASE))
    finally:
        strict_broker.start()
    expect(page.locator("#overview")).to_contain_text("Everything runs.")
