"""A new connector is tried on real records before it is created, by the page alone."""

from __future__ import annotations

import json
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from confluent_kafka import Producer
from playwright.sync_api import Page, expect

from connect.kafka.broker.embedded import Broker

pytestmark = pytest.mark.slow

OTHERS = """errors.tolerance=all
value.converter=org.apache.kafka.connect.json.JsonConverter
value.converter.schemas.enable=false
transforms.whole.type=org.apache.kafka.connect.transforms.Cast$Value
transforms.whole.spec=n:int32"""


def test_a_connector_is_tried_corrected_and_created(page: Page, workers: Any, broker: Broker, topic: str) -> None:
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers})
    for number in range(3):
        producer.produce(topic, json.dumps({"n": str(number) if number else "x", "password": "pw-51x"}))
    assert producer.flush(30) == 0
    worker = workers.start()
    page.goto(f"http://127.0.0.1:{worker.port}/ui/new?class=FileStreamSink")
    page.locator("[name='key:name']").fill("archive")
    page.locator("[name='key:topics']").fill(topic)
    page.get_by_label("Other keys").fill(OTHERS + "\ntransforms=whole")
    page.get_by_role("button", name="Try on records").click()
    # At once, on the first records of its topic.
    expect(page.get_by_role("heading", name="Record 1: failed")).to_be_visible()
    expect(page.get_by_role("heading", name="Record 2: kept")).to_be_visible()
    step = page.get_by_role("listitem").filter(has_text="whole").first
    expect(step).to_contain_text("transformation whole (CastValue): failed")
    expect(page.get_by_role("cell", name="value.n").first).to_be_visible()
    expect(page.get_by_text("pw-51x")).to_have_count(0)
    assert [one["id"] for one in Axe().run(page).response["violations"]] == []
    # On others, by what is typed here.
    page.get_by_label("How many").fill("1")
    page.get_by_label("the last ones").check()
    page.get_by_role("button", name="Try on these records").click()
    expect(page.get_by_role("heading", name="Record 1: kept")).to_be_visible()
    expect(page.get_by_label("the last ones")).to_be_checked()
    page.get_by_label("Records as JSON").fill('{"value": {"n": "7"}}\n{"value": ')
    page.get_by_role("button", name="Try on these records").click()
    expect(page.get_by_role("alert")).to_contain_text("line 2 is not JSON")
    page.get_by_label("Records as JSON").fill('{"value": {"n": "7"}}')
    page.get_by_role("button", name="Try on these records").click()
    expect(page.get_by_role("heading", name="Record 1: kept")).to_be_visible()
    assert worker.get("/connectors") == []
    # Nothing that was typed is lost on the way back.
    page.get_by_role("button", name="Back to the form").click()
    expect(page.locator("[name='key:name']")).to_have_value("archive")
    expect(page.locator("[name='key:topics']")).to_have_value(topic)
    file = worker.folder / "archive.txt"
    page.locator("[name='key:file']").fill(str(file))
    page.get_by_role("button", name="Create").click()
    expect(page.get_by_text("The connector is there")).to_be_visible()
    worker.until(lambda: file.exists() and len(file.read_text().splitlines()) == 2)


def test_a_source_says_what_it_needs_at_a_phones_width(page: Page, workers: Any) -> None:
    worker = workers.start()
    page.set_viewport_size({"width": 360, "height": 740})
    page.goto(f"http://127.0.0.1:{worker.port}/ui/new?class=FileStreamSource")
    page.get_by_role("button", name="Try on records").click()
    expect(page.get_by_role("status").filter(has_text="Give samples.")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
