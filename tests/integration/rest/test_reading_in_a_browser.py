"""A live page in a real browser while somebody reads it: what they opened, typed or scrolled outlasts new figures."""

import re
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, Route, expect

from tests.support.pages import connect_ui

from .conftest import Worker, put, that_writes_orders

pytestmark = pytest.mark.slow


@pytest.fixture
def worker(workers: Any, topic: str) -> Worker:
    return that_writes_orders(workers, topic)


def test_a_table_stays_scrolled_on_a_phone_while_its_figures_change(browser: Browser, worker: Worker) -> None:
    phone = browser.new_page(viewport={"width": 360, "height": 740})
    phone.goto(f"http://127.0.0.1:{worker.port}/ui/connectors")
    rate = phone.locator("#connectors tbody td.number").nth(1)
    expect(rate).to_have_text(re.compile(r"[1-9]"))
    scrolled = phone.locator("#connectors").evaluate("it => (it.scrollLeft = 150, it.scrollLeft)")
    assert scrolled > 0
    for _ in range(2):
        expect(rate).not_to_have_text(rate.inner_text())
    assert phone.locator("#connectors").evaluate("it => it.scrollLeft") == scrolled
    phone.close()


def test_a_trace_that_is_read_stays_open_and_the_states_around_it_stay_true(
    page: Page, worker: Worker, topic: str
) -> None:
    """Of several tasks that have failed for the same reason, one trace is open, and the focus is on it."""
    worker.until(lambda: worker.get("/connectors/orders/topics")["orders"]["topics"])
    put(worker, "broken", connector__class="FileStreamSink", topics=topic, file="/no/such/folder/out", tasks__max=2)
    worker.until(lambda: [one["state"] for one in worker.get("/connectors/broken/status")["tasks"]] == ["FAILED"] * 2)
    page.goto(f"http://127.0.0.1:{worker.port}/ui/connectors/broken")
    traces = page.locator("#tasks details")
    expect(traces).to_have_count(2)
    first, second = traces.nth(0), traces.nth(1)
    first.locator("summary").click()  # it was open
    second.locator("summary").click()
    second.locator("summary").click()
    assert worker.ask("PUT", "/connectors/broken/pause")[0] == 202
    expect(page.locator("#tasks .state").first).to_have_text("PAUSED")
    assert [one.evaluate("it => it.open") for one in (first, second)] == [False, True]
    assert second.locator("summary").evaluate("it => it === document.activeElement")


def test_words_that_are_marked_stay_until_they_are_not(page: Page, worker: Worker) -> None:
    page.goto(f"http://127.0.0.1:{worker.port}/ui/connectors/orders")
    expect(page.locator("#state .state")).to_have_text("RUNNING")
    page.locator("#state").evaluate("it => getSelection().selectAllChildren(it.querySelector('p'))")
    assert worker.ask("PUT", "/connectors/orders/pause")[0] == 202
    expect(page.get_by_role("button", name="Resume")).to_be_visible()  # another part
    assert "RUNNING" in page.evaluate("getSelection().toString()")
    page.evaluate("getSelection().removeAllRanges()")
    expect(page.locator("#state .state")).to_have_text("PAUSED")


def test_what_has_stopped_leads_to_its_offsets_without_a_reload(page: Page, worker: Worker) -> None:
    page.goto(f"http://127.0.0.1:{worker.port}/ui/connectors/orders")
    expect(page.get_by_text("Stop the connector to change them.")).to_be_visible()
    page.get_by_role("button", name="Stop").click()
    page.get_by_role("link", name="Change its offsets").click()
    page.get_by_label("JSON. null in the place of an offset forgets it.").fill("[mine")
    assert worker.ask("PUT", "/connectors/orders/resume")[0] == 202
    expect(page.locator("#state .state")).to_have_text("RUNNING")
    expect(page.get_by_label("JSON. null in the place of an offset forgets it.")).to_have_value("[mine")


def test_a_double_click_creates_a_connector_once(page: Page, worker: Worker, topic: str) -> None:
    page.goto(f"http://127.0.0.1:{worker.port}/ui/new?class=Datagen")
    for key, value in (("name", "more"), ("kafka.topic", topic), ("quickstart", "orders")):
        page.locator(f"[name='key:{key}']").fill(value)
    page.get_by_role("button", name="Create").dblclick(delay=100)
    expect(page.get_by_role("heading", level=1)).to_have_text("more")
    expect(page.get_by_text("The connector is there")).to_be_visible()


def test_the_page_of_a_login_is_not_taken_for_figures_of_now(page: Page, worker: Worker) -> None:
    """A proxy in front of the worker sends it once a login has ended."""

    def log_in(route: Route) -> None:
        route.fulfill(content_type="text/html", body="<h1>Log in</h1>")

    page.route("**/ui/live?*", lambda route: route.fulfill(status=502))
    page.goto(f"http://127.0.0.1:{worker.port}/ui/connectors/orders")
    page.route("**/ui/connectors/orders", log_in)
    expect(page.locator("#live")).to_contain_text("a login may have ended")
    page.unroute("**/ui/connectors/orders")
    expect(page.locator("#live")).to_have_text("")


def test_a_page_of_another_cluster_goes_on_when_its_worker_is_back(page: Page, worker: Worker) -> None:
    with connect_ui(worker.port) as address:
        page.goto(address)
        expect(page.locator("#overview")).to_contain_text("Everything runs.")
        worker.kill_tree()
        expect(page.locator("#live")).to_contain_text("Not up to date")
        worker.start()
        expect(page.locator("#live")).to_have_text("")
        expect(page.locator("#overview")).to_contain_text("There is no connector yet.")
