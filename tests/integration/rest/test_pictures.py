"""The pictures of docs/images: taken of a pool of two workers, with something that failed in it.

    CONNECT_PICTURES=docs/images pytest tests/integration/rest/test_pictures.py

writes them there; otherwise they go into the test's own folder, and the test proves that each can be taken.
"""

import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import pytest
from confluent_kafka import Producer
from playwright.sync_api import Browser, Page, expect

from connect.kafka.broker.embedded import Broker
from tests.integration.distributed.pool import Pool, a_pool

from .conftest import PATIENCE_MS

pytestmark = [pytest.mark.slow, pytest.mark.timeout(400)]

WIDTH, HEIGHT = 1280, 800
#: A picture of a page that shows nothing is smaller.
LEAST_BYTES = 8_000
#: Of a chart, so that there is a line.
POINTS = 7
JSON: Final = {
    "value.converter": "org.apache.kafka.connect.json.JsonConverter",
    "value.converter.schemas.enable": "false",
}
CHAIN: Final = {
    "transforms": "insert,mask",
    "transforms.insert.type": "org.apache.kafka.connect.transforms.InsertField$Value",
    "transforms.insert.static.field": "region",
    "transforms.insert.static.value": "eu",
    "transforms.mask.type": "org.apache.kafka.connect.transforms.MaskField$Value",
    "transforms.mask.fields": "itemid",
    "transforms.mask.replacement": "hidden",
}


@pytest.fixture
def pool(broker: Broker, tmp_path: Path) -> Iterator[Pool]:
    """Orders, page views and payments: an archive that works, one that failed, one with dead letters."""
    with a_pool(broker.bootstrap_servers, tmp_path, 2) as pool:
        names = {what: f"{what}-{pool.name[-8:]}" for what in ("orders", "pageviews", "payments", "dead")}
        producer = Producer({"bootstrap.servers": broker.bootstrap_servers})
        for value in (b'{"id": 1, "amount": 12.5}', b'{"id": 2, "amount": }', b'{"id": 3, "amount": 7}'):
            producer.produce(names["payments"], value)
        assert producer.flush(30) == 0
        worker = pool.up[0]
        for what, rate in (("orders", "120"), ("pageviews", "310")):
            source = {"connector.class": "Datagen", "kafka.topic": names[what], "quickstart": what, "rate": rate}
            worker.create(what, {**source, **JSON})
        sink = {"connector.class": "FileStreamSink", **JSON}
        archive = {**sink, "topics": names["orders"], "file": str(tmp_path / "orders.txt")}
        worker.create("orders-archive", archive)
        worker.do("PUT", "/connectors/orders-archive/config", {**archive, **CHAIN})
        worker.create("pageviews-archive", {**sink, "topics": names["pageviews"], "file": "/mnt/gone/pageviews.txt"})
        dead = {
            "errors.tolerance": "all",
            "errors.deadletterqueue.topic.name": names["dead"],
            "errors.deadletterqueue.topic.replication.factor": "1",
            "errors.deadletterqueue.context.headers.enable": "true",
        }
        worker.create("payments", {**sink, **dead, "topics": names["payments"], "file": str(tmp_path / "payments")})
        pool.until(lambda: worker.runs("orders", 1) and worker.runs("orders-archive", 1), "they run")
        pool.until(lambda: (worker.get("/connectors/payments/dlq") or {}).get("letters"), "there is a dead letter")
        pool.until(lambda: _points(worker) >= POINTS, "there is something to draw", within=120)
        yield pool


def _points(worker: Any) -> int:
    series = (worker.get("/connectors/orders-archive/timeseries") or {}).get("series", [])
    return max((len(one["at"]) for one in series), default=0)


def _look(page: Page) -> None:
    page.get_by_role("button", name="Look at the next records").click()
    expect(page.get_by_role("heading", name=re.compile("kept")).first).to_be_visible()


def _nothing(page: Page) -> None:
    pass


PICTURES: Final[list[tuple[str, str, Callable[[Page], None]]]] = [
    ("operations-page", "/ui", _nothing),
    ("operations-connector", "/ui/connectors/orders-archive", _nothing),
    ("operations-records", "/ui/connectors/orders-archive/tap?", _look),
    ("operations-cluster", "/ui/cluster", _nothing),
    ("operations-new", "/ui/new?class=JdbcSinkConnector", _nothing),
]


def test_every_page_has_a_picture(browser: Browser, pool: Pool, tmp_path: Path) -> None:
    folder = Path(os.environ.get("CONNECT_PICTURES", tmp_path))
    page = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT}, color_scheme="light")
    page.set_default_timeout(PATIENCE_MS)
    for name, path, before in PICTURES:
        page.goto(f"http://127.0.0.1:{pool.up[0].port}{path}")
        expect(page.locator("h1")).to_be_visible()
        before(page)
        picture = folder / f"{name}.png"
        page.screenshot(path=picture, full_page=False)
        assert picture.stat().st_size > LEAST_BYTES, name
    page.close()
