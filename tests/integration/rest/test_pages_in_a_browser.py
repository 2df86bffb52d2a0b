"""The operations page in a real browser: what is stuck is found and fixed by the page alone."""

import re
import sys
from typing import Any, Literal

import pytest
from axe_playwright_python.sync_playwright import Axe
from confluent_kafka import Producer
from playwright.sync_api import Browser, Page, expect

from connect.kafka.broker.embedded import Broker

from .conftest import Worker, put, that_writes_orders

pytestmark = pytest.mark.slow


@pytest.fixture
def worker(workers: Any, topic: str) -> Worker:
    return that_writes_orders(workers, topic)


def test_what_failed_is_found_and_mended(page: Page, worker: Worker, topic: str) -> None:
    missing, there = worker.folder / "missing" / "out.txt", worker.folder / "out.txt"
    put(worker, "archive", connector__class="FileStreamSink", topics=topic, file=missing)
    worker.until(lambda: worker.get("/connectors/archive/status")["tasks"][:1] and failed(worker, "archive"))
    page.goto(f"http://127.0.0.1:{worker.port}/ui")
    problem = page.locator(".problem")
    expect(problem).to_contain_text("FAILED")
    expect(problem).to_contain_text("missing")
    problem.get_by_role("link", name="archive").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("archive")
    written = page.get_by_label("JSON. It is validated before anything changes.")
    # What is wrong is said beside the key, and what was typed stays.
    wrong = written.input_value().replace("FileStreamSink", "FileStreamSinc")
    written.fill(wrong)
    page.get_by_role("button", name="Validate and store").click()
    expect(page.get_by_role("alert")).to_be_visible()
    expect(written).to_have_value(wrong)
    written.fill(wrong.replace("FileStreamSinc", "FileStreamSink").replace(str(missing), str(there)))
    page.get_by_role("button", name="Validate and store").click()
    expect(page.get_by_text("The new configuration is stored")).to_be_visible()
    # Without another click: the page is live.
    expect(page.locator("#state .state")).to_have_text("RUNNING")
    worker.until(lambda: there.exists() and there.stat().st_size > 0)


def failed(worker: Worker, name: str) -> bool:
    return bool(worker.get(f"/connectors/{name}/status")["tasks"][0]["state"] == "FAILED")


def test_figures_change_while_one_looks_and_what_is_typed_stays(page: Page, worker: Worker) -> None:
    page.goto(f"http://127.0.0.1:{worker.port}/ui/connectors")
    rate = page.locator("#connectors tbody tr").first.locator("td.number").nth(1)
    expect(rate).to_have_text(re.compile(r"[1-9]"))
    before = rate.inner_text()
    page.get_by_label("Search").fill("ORD")
    expect(rate).not_to_have_text(before)
    expect(page.get_by_label("Search")).to_have_value("ORD")
    expect(page.locator("#count")).to_have_text("1 of 1")
    page.get_by_label("Search").fill("nothing like it")
    expect(page.locator("#count")).to_have_text("0 of 1")
    expect(page.locator("#connectors tbody tr").first).to_be_hidden()


def test_charts_and_records_on_their_way_are_shown(page: Page, worker: Worker) -> None:
    page.goto(f"http://127.0.0.1:{worker.port}/ui/connectors/orders")
    chart = page.get_by_role("img", name="Records/s in the last 5 minutes")
    expect(chart).to_be_visible()  # once there is a first point, without a reload
    expect(page.locator("#charts figcaption").first).to_have_text(re.compile(r"Records/s: [1-9][\d.]* now"))
    page.get_by_role("link", name="Look at records on their way").click()
    page.get_by_label("How many").fill("2")
    page.get_by_role("button", name="Look at the next records").click()
    expect(page.get_by_role("heading", name=re.compile("Task 0 at .*: kept"))).to_have_count(2)
    expect(page.locator("section dd.payload").filter(has_text="orderid").first).to_be_visible()


def test_actions_are_done_and_a_deletion_is_asked_for_first(page: Page, worker: Worker) -> None:
    page.goto(f"http://127.0.0.1:{worker.port}/ui/connectors/orders")
    page.get_by_role("button", name="Pause").click()
    expect(page.get_by_text("The connector pauses.")).to_be_visible()
    expect(page.locator("#state .state")).to_have_text("PAUSED")
    page.reload()
    page.get_by_role("button", name="Resume").click()
    expect(page.locator("#state .state")).to_have_text("RUNNING")
    page.once("dialog", lambda dialog: dialog.dismiss())
    page.get_by_role("button", name="Delete").click()
    assert worker.get("/connectors") == ["orders"]
    page.once("dialog", lambda dialog: dialog.accept())
    page.get_by_role("button", name="Delete").click()
    expect(page.get_by_text("The connector was deleted.")).to_be_visible()
    assert worker.get("/connectors") == []


def test_many_are_paused_at_once_and_it_is_undone(page: Page, worker: Worker, topic: str) -> None:
    for name in ("archive", "backup"):
        put(worker, name, connector__class="FileStreamSink", topics=topic, file=worker.folder / name)
        worker.until_state(name, "RUNNING")
    page.goto(f"http://127.0.0.1:{worker.port}/ui/connectors")
    page.get_by_label("Search").fill("filestream")
    page.get_by_label("Select all that are shown").check()
    page.get_by_role("button", name="Pause").click()
    expect(page.get_by_text("2 connectors are paused.")).to_be_visible()
    for name, state in (("archive", "PAUSED"), ("backup", "PAUSED"), ("orders", "RUNNING")):
        worker.until_state(name, state)
    page.get_by_role("button", name="Undo").click()
    expect(page.get_by_text("2 connectors are resumed.")).to_be_visible()
    for name in ("archive", "backup"):
        worker.until_state(name, "RUNNING")


def test_a_connector_is_made_without_a_manual(page: Page, worker: Worker, topic: str) -> None:
    page.goto(f"http://127.0.0.1:{worker.port}/ui")
    page.get_by_role("link", name="New").click()
    page.get_by_label("Search").fill("filestreamsink")
    expect(page.locator("#count")).to_have_text(re.compile("^1 of"))  # no row moves any more
    page.get_by_role("link", name="FileStreamSinkConnector").click()
    page.get_by_role("button", name="Create").click()
    # What is missing stands beside its field.
    expect(page.get_by_role("alert")).to_contain_text("Nothing was created.")
    expect(page.locator(".setting.wrong").first).to_be_visible()
    page.locator("[name='key:name']").fill("archive")
    page.locator("[name='key:topics']").fill(topic)
    page.locator("[name='key:file']").fill(str(worker.folder / "archive.txt"))
    page.get_by_role("button", name="Create").click()
    expect(page.get_by_text("The connector is there")).to_be_visible()
    expect(page.locator("#state .state")).to_have_text("RUNNING")
    worker.until(lambda: (worker.folder / "archive.txt").stat().st_size > 0)


def test_a_dead_letter_is_corrected_and_replayed(page: Page, worker: Worker, broker: Broker, topic: str) -> None:
    lines, dead = f"{topic}-lines", f"{topic}-dead"
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers})
    for value in (b'{"n": 1}', b'{"n": }'):
        producer.produce(lines, value)
    assert producer.flush(30) == 0
    config = {
        "connector.class": "FileStreamSink",
        "topics": lines,
        "file": str(worker.folder / "lines"),
        "value.converter": "org.apache.kafka.connect.json.JsonConverter",
        "value.converter.schemas.enable": "false",
        "errors.tolerance": "all",
        "errors.deadletterqueue.topic.name": dead,
        "errors.deadletterqueue.topic.replication.factor": "1",
        "errors.deadletterqueue.context.headers.enable": "true",
    }
    assert worker.ask("PUT", "/connectors/lines/config", config)[0] == 201
    worker.until(lambda: worker.get("/connectors/lines/dlq").get("letters"))
    page.goto(f"http://127.0.0.1:{worker.port}/ui/connectors/lines")
    page.get_by_role("link", name="Dead letters").click()
    page.get_by_role("link", name="0:0").click()
    expect(page.get_by_role("heading", name="VALUE_CONVERTER")).to_be_visible()
    expect(page.get_by_label("Correct it here")).to_have_value('{"n": }')
    page.get_by_label("Correct it here").fill('{"n": 2}')
    page.get_by_role("button", name="Replay with this value").click()
    expect(page.get_by_text("The dead letters are written again.")).to_be_visible()
    worker.until(lambda: (worker.folder / "lines").read_text().splitlines() == ["{n=1}", "{n=2}"])
    page.goto(f"http://127.0.0.1:{worker.port}/ui/connectors/lines/dead-letters/0/0")
    page.get_by_role("button", name="Replay unchanged").click()
    expect(page.get_by_role("alert")).to_have_text("It was replayed before. Nothing was written.")


def test_the_graph_leads_to_a_connector_and_a_level_is_set(page: Page, worker: Worker, topic: str) -> None:
    put(worker, "archive", connector__class="FileStreamSink", topics=topic, file=worker.folder / "out")
    worker.until_state("archive", "RUNNING")
    page.goto(f"http://127.0.0.1:{worker.port}/ui/graph")
    drawing = page.locator("#graph")
    expect(drawing.locator("text", has_text=topic)).to_be_visible()
    expect(drawing.locator("path")).to_have_count(2)  # and the rates follow
    expect(drawing.get_by_text(re.compile(r"[1-9]\d*/s")).first).to_be_visible()
    drawing.get_by_role("link", name="archive").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("archive")
    page.get_by_role("link", name="Cluster").click()
    expect(page.locator("#workers tbody tr")).to_have_count(1)
    page.get_by_label("Logger").fill("connectors.file")
    page.get_by_label("Level").select_option("DEBUG")
    page.get_by_role("button", name="Set on all workers").click()
    expect(page.get_by_text("The level is set on all workers.")).to_be_visible()
    assert worker.get("/admin/loggers")["connectors.file"]["level"] == "DEBUG"


PHONE_PAGES = (
    *("/ui", "/ui/connectors", "/ui/connectors/orders", "/ui/connectors/orders/tap?records=1"),
    *("/ui/graph", "/ui/cluster", "/ui/new?class=Datagen", "/ui/plugins"),
)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing(browser: Browser, worker: Worker, topic: str, scheme: Literal["light", "dark"]) -> None:
    """The rules of axe-core for those who see little, or nothing, on every page, with a failure in them."""
    put(worker, "broken", connector__class="FileStreamSink", topics=topic, file="/no/such/folder/out")
    worker.until(lambda: [one["state"] for one in worker.get("/connectors/broken/status")["tasks"]] == ["FAILED"])
    opened = browser.new_page(color_scheme=scheme)
    found = {}
    for path in (*PHONE_PAGES, "/ui/connectors/broken", "/ui/connectors/nobody"):
        opened.goto(f"http://127.0.0.1:{worker.port}{path}")
        for violation in Axe().run(opened).response["violations"]:
            found[path, violation["id"]] = [node["html"] for node in violation["nodes"]]
    assert found == {}
    opened.evaluate("document.documentElement.removeAttribute('lang')")  # what is wrong would be found
    assert "html-has-lang" in [one["id"] for one in Axe().run(opened).response["violations"]]
    opened.close()


@pytest.mark.parametrize("path", PHONE_PAGES)
def test_a_page_fits_a_phone_and_is_walked_by_keyboard(browser: Browser, worker: Worker, path: str) -> None:
    phone = browser.new_page(viewport={"width": 360, "height": 740}, color_scheme="dark")
    phone.goto(f"http://127.0.0.1:{worker.port}{path}")
    assert phone.evaluate("document.documentElement.scrollWidth") <= 360
    phone.keyboard.press("Tab")
    expect(phone.locator(":focus")).to_have_text("To the content")
    phone.keyboard.press("Enter")
    expect(phone.locator("main")).to_be_focused()
    # Every field and button has a name for who does not see it.
    for field in phone.locator("input:not([type=hidden]), select, textarea, button").all():
        assert field.evaluate("it => it.labels?.length || it.ariaLabel || it.innerText.trim()")
    phone.close()


def test_long_names_and_reasons_fit_a_phone(browser: Browser, worker: Worker, topic: str) -> None:
    name = "a-name-without-an-end" * 10
    put(worker, name, connector__class="FileStreamSink", topics=topic, file=f"/no/such/folder/{'x' * 200}/out")
    worker.until(lambda: worker.get(f"/connectors/{name}/status")["tasks"][:1] and failed(worker, name))
    phone = browser.new_page(viewport={"width": 360, "height": 740})
    own = [f"/{name}", *(f"/{name}/{part}" for part in ("edit", "history", "history/1", "tap", "dead-letters"))]
    wide = []
    for path in ("", "/graph", "/cluster", *(f"/connectors{one}" for one in ("", f"/{'y' * 200}", *own))):
        phone.goto(f"http://127.0.0.1:{worker.port}/ui{path}")
        if phone.evaluate("document.documentElement.scrollWidth") > 360:
            wide.append(path)
    assert wide == []
    phone.close()
    # At a desk one name does not push the figures of all connectors out of sight, nor those of rebalances.
    desk = browser.new_page(viewport={"width": 1280, "height": 800})
    for path in ("connectors", "cluster"):
        desk.goto(f"http://127.0.0.1:{worker.port}/ui/{path}")
        hidden = "all => all.map(it => it.scrollWidth - it.clientWidth)"
        assert set(desk.locator("table").evaluate_all(hidden)) == {0}, path
    desk.close()


def test_more_windows_than_a_browser_has_connections_are_shown_and_live(browser: Browser, worker: Worker) -> None:
    context = browser.new_context()  # without a screen all its windows count as visible
    windows = [context.new_page() for _ in range(8)]
    for window in windows:
        window.goto(f"http://127.0.0.1:{worker.port}/ui/connectors/orders")
    assert worker.ask("PUT", "/connectors/orders/pause")[0] == 202
    for window in windows:
        expect(window.locator("#state .state")).to_have_text("PAUSED")
    context.close()


def test_the_page_says_when_its_worker_is_gone(page: Page, worker: Worker) -> None:
    page.goto(f"http://127.0.0.1:{worker.port}/ui")
    expect(page.locator("#overview")).to_contain_text("Everything runs.")
    worker.kill_tree()
    expect(page.locator("#live")).to_contain_text("Not up to date")


def test_without_events_a_page_is_loaded_again_and_again(page: Page, worker: Worker) -> None:
    page.route("**/ui/live?*", lambda route: route.fulfill(status=502))  # of a proxy that cannot do it
    page.goto(f"http://127.0.0.1:{worker.port}/ui/connectors/orders")
    assert worker.ask("PUT", "/connectors/orders/pause")[0] == 202
    expect(page.locator("#state .state")).to_have_text("PAUSED")
    page.route("**/ui/connectors/orders", lambda route: route.abort())
    expect(page.locator("#live")).to_contain_text("Not up to date")
    page.unroute("**/ui/connectors/orders")
    expect(page.locator("#live")).to_have_text("")


FILTERED_MS = """(text) => new Promise((done) => {
  const field = document.querySelector("[data-filter]"), began = performance.now();
  field.value = text;
  field.dispatchEvent(new Event("input"));
  requestAnimationFrame(() => setTimeout(() => done(performance.now() - began)));
})"""


#: An extension of the worker: an hour of a thousand connectors with ever other rates and lags, as if they had run.
FILLED_HOUR = """
import math, time
from connect.herder.last_hour import EVERY_S, POINTS, LastHour, TaskTotals

def fill(app, properties):
    began, look, done = time.time() - EVERY_S * POINTS, [0], [0.0] * 1000
    def totals():
        for number in range(1000):
            done[number] += 1000 * (1 + math.sin(number + look[0] / (5 + number % 50)))
        return {
            (f"connector-{number:04}", 0): TaskTotals(1, done[number], 0, 50 + number * look[0] % 997, 0.1, 1)
            for number in range(1000)
        }
    hour = LastHour(totals, lambda: EVERY_S * look[0], lambda: began + EVERY_S * look[0])
    for _ in range(POINTS):
        look[0] += 1
        hour.look()
    app.state.api.herder.metrics().hour = hour
"""


@pytest.mark.slow
@pytest.mark.timeout(400)
def test_a_thousand_connectors_are_listed_and_filtered(
    page: Page, workers: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    """Prints how long the browser takes for the list, with sparklines, and for a letter of the filter."""
    folder = workers.folder / "0"
    folder.mkdir()
    (folder / "filled_hour.py").write_text(FILLED_HOUR)
    worker: Worker = workers.start(rest__extension__classes="filled_hour:fill")
    for number in range(1000):
        config = {"connector.class": "FileStreamSink", "topics": f"topic-{number % 40}", "file": "out"}
        body = {"name": f"connector-{number:04}", "config": config, "initial_state": "STOPPED"}
        assert worker.ask("POST", "/connectors", body)[0] == 201
    loads, keys = [], []
    for text in ("connector-07", "topic-39", "0999"):
        page.goto(f"http://127.0.0.1:{worker.port}/ui/connectors")
        loads.append(page.evaluate("performance.getEntriesByType('navigation')[0].loadEventEnd"))
        expect(page.locator("#connectors tbody tr")).to_have_count(1000)
        expect(page.locator("#connectors .spark path")).to_have_count(2000)
        keys += [page.evaluate(FILTERED_MS, text[:length]) for length in range(1, len(text) + 1)]
        expect(page.locator("#count")).to_have_text(re.compile(r"^(100|25|1) of 1000$"))
    sizes = page.evaluate("performance.getEntriesByType('resource').reduce((sum, one) => sum + one.decodedBodySize, 0)")
    with capsys.disabled():
        sys.stderr.write(
            f"\n1,000 connectors: loaded in {max(loads):.0f} ms at most, a letter of the filter takes at most"
            f" {max(keys):.0f} ms; script and style have {sizes / 1024:.0f} KB, not compressed.\n"
        )
