"""A connector is created and changed in a real browser: what exists is picked, and errors are said while one types."""

import re
from typing import Any, Literal

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Locator, Page, Route, expect

from tests.servers.postgresql import PostgresDatabase

from .conftest import Worker, put

pytestmark = pytest.mark.slow


@pytest.fixture
def worker(workers: Any) -> Worker:
    started: Worker = workers.start()
    return started


@pytest.fixture
def shop(postgres_database: PostgresDatabase) -> PostgresDatabase:
    postgres_database.execute("CREATE TABLE orders (id bigint PRIMARY KEY); CREATE TABLE items (id bigint)")
    return postgres_database


def field(page: Page, key: str) -> Locator:
    return page.locator(f"[name='key:{key}']")


def setting(page: Page, key: str) -> Locator:
    return page.locator(f"[data-key='{key}']")


def log_in(page: Page, shop: PostgresDatabase) -> None:
    field(page, "connection.url").fill(shop.jdbc_url)
    field(page, "connection.user").fill(shop.user)
    field(page, "connection.password").fill(shop.password)


def test_a_connector_is_created_with_a_table_that_is_picked_and_changed_while_errors_are_said(
    page: Page, worker: Worker, shop: PostgresDatabase, topic: str
) -> None:
    page.goto(f"http://127.0.0.1:{worker.port}/ui/new?class=JdbcSource")
    log_in(page, shop)
    page.get_by_role("button", name="List values of table.whitelist").click()
    expect(page.get_by_role("status").filter(has_text="2 values")).to_be_visible()
    page.get_by_label("public.orders").check()
    expect(field(page, "table.whitelist")).to_have_value("public.orders")
    # All that was typed is still there.
    expect(field(page, "connection.url")).to_have_value(shop.jdbc_url)
    field(page, "name").fill("shop")
    field(page, "mode").fill("incrementing")
    field(page, "topic.prefix").fill(f"{topic}-")
    page.get_by_role("button", name="Create").click()
    expect(page.get_by_text("The connector is there")).to_be_visible()
    worker.until_state("shop", "RUNNING")
    config = worker.get("/connectors/shop/config")
    assert (config["table.whitelist"], config["connection.password"]) == ("public.orders", "[hidden]")
    # An error appears beside the field while somebody types, who notices nothing else.
    page.get_by_role("link", name="Edit as a form").click()
    rows = field(page, "batch.max.rows")
    page.locator("details", has=rows).locator("summary").click()
    rows.press_sequentially("many")
    error = setting(page, "batch.max.rows").locator(".findings")
    expect(error).to_have_text('"many" is not a whole number.')
    expect(rows).to_have_attribute("aria-invalid", "true")
    expect(rows).to_be_focused()
    expect(rows).to_have_value("many")
    assert re.fullmatch(r"e-\S+ d-\S+", rows.get_attribute("aria-describedby") or "")
    expect(page.locator("#checked")).to_have_text("1 thing is wrong.")
    page.get_by_role("button", name="Store").click()
    expect(page.get_by_role("alert")).to_have_text("1 thing is wrong. Nothing was stored.")
    rows.fill("500")
    expect(error).to_be_empty()
    expect(page.get_by_role("alert")).to_have_count(0)
    expect(rows).not_to_have_attribute("aria-invalid", "true")
    expect(page.locator("#file")).to_contain_text('"batch.max.rows": "500"')
    page.get_by_role("button", name="Store").click()
    expect(page.get_by_text("The new configuration is stored")).to_be_visible()
    # The password was neither shown nor touched: the connector still logs in with it.
    assert worker.get("/connectors/shop/config") == {**config, "batch.max.rows": "500"}
    worker.until_state("shop", "RUNNING")


@pytest.mark.promise("P8")
def test_a_password_is_in_no_address_file_or_log(page: Page, worker: Worker, shop: PostgresDatabase) -> None:
    addresses: list[str] = []
    page.on("request", lambda request: addresses.append(request.url))
    page.goto(f"http://127.0.0.1:{worker.port}/ui/new?class=JdbcSource")
    log_in(page, shop)
    field(page, "mode").fill("bulk")
    expect(page.locator("#file")).to_contain_text('"connection.password": "${env:NAME}"')
    page.get_by_role("button", name="List values of table.include.list").click()
    expect(page.get_by_label("public.items")).to_be_visible()
    field(page, "connection.password").fill("wrong")
    page.get_by_role("button", name="List values of table.include.list").click()
    expect(page.get_by_role("alert")).to_contain_text("refuses the connection")
    assert not [url for url in addresses if shop.password in url]
    assert shop.password not in page.locator("#elsewhere").inner_text() + worker.log


@pytest.mark.parametrize(("notation", "sign"), [("JSON", ": "), ("Properties", "=")])
def test_the_whole_is_written_as_a_text(page: Page, worker: Worker, topic: str, notation: str, sign: str) -> None:
    put(worker, "archive", connector__class="FileStreamSink", topics=topic, file=worker.folder / "out")
    page.goto(f"http://127.0.0.1:{worker.port}/ui/connectors/archive/edit")
    field(page, "file").fill(str(worker.folder / "other"))
    page.get_by_role("button", name=notation, exact=True).click()
    text = page.get_by_label(f"{notation}: every key with its value")
    typed = text.input_value()
    assert str(worker.folder / "other") in typed  # what was typed in the form
    assert worker.get("/connectors/archive/config")["file"] == str(worker.folder / "out")
    text.fill(typed.replace("FileStreamSink", "FileStreamSinc"))
    wrong = page.locator("#unplaced")
    expect(wrong).to_contain_text("connector.class")
    expect(text).to_have_attribute("aria-invalid", "true")
    text.fill(f"{typed[:-2]}\\u12" if notation == "Properties" else typed[:-2])
    expect(wrong).to_contain_text(f"This is not {'a properties file' if notation == 'Properties' else 'JSON'}: ")
    text.fill(typed)
    expect(wrong).to_be_empty()
    page.get_by_role("button", name="Form", exact=True).click()
    expect(field(page, "file")).to_have_value(str(worker.folder / "other"))
    page.get_by_role("button", name="Store").click()
    expect(page.get_by_text("The new configuration is stored")).to_be_visible()
    assert worker.get("/connectors/archive/config")["file"] == str(worker.folder / "other")
    assert sign in typed


def test_a_new_form_says_nothing_about_what_nobody_touched(page: Page, worker: Worker) -> None:
    page.goto(f"http://127.0.0.1:{worker.port}/ui/new?class=FileStreamSink")
    field(page, "tasks.max").press_sequentially("x")
    expect(setting(page, "tasks.max").locator(".findings")).to_contain_text("not a whole number")
    assert page.locator(".findings p").count() == 1  # though name and topics are missing
    page.keyboard.press("Enter")
    expect(page.get_by_role("alert")).to_contain_text("things are wrong. Nothing was created.")
    expect(setting(page, "name").locator(".findings")).not_to_be_empty()
    field(page, "name").fill("archive")
    expect(setting(page, "name").locator(".findings")).to_be_empty()


def test_what_was_typed_before_the_script_arrived_is_checked(page: Page, worker: Worker) -> None:
    held: list[Route] = []

    def hold(route: Route) -> None:
        held.append(route)

    page.route("**/check.js", hold)
    with page.expect_request("**/check.js"):
        page.goto(f"http://127.0.0.1:{worker.port}/ui/new?class=FileStreamSink", wait_until="commit")
    field(page, "tasks.max").fill("x")
    held[0].continue_()
    expect(setting(page, "tasks.max").locator(".findings")).to_contain_text("not a whole number")


#: Notes all that is ever shown as the file.
FILES = """() => {
  const file = document.getElementById("file");
  window.files = [];
  new MutationObserver(() => window.files.push(file.textContent)).observe(file, { childList: true });
}"""


def test_the_newest_answer_is_shown(page: Page, worker: Worker) -> None:
    """The first answer is held back until something else is written: it is not shown, and neither is an error."""
    page.goto(f"http://127.0.0.1:{worker.port}/ui/new?class=FileStreamSink")
    held: list[Route] = []
    page.route("**/ui/check", lambda route: route.continue_() if held else held.append(route))
    page.evaluate(FILES)
    tasks = field(page, "tasks.max")
    with page.expect_request("**/ui/check"):
        tasks.fill("x")
    tasks.fill("2")
    held[0].fulfill(json={"errors": {"tasks.max": ["old"]}, "problem": "", "file": "old", "commands": ""})
    expect(page.locator("#file")).to_contain_text('"tasks.max": "2"')
    assert "old" not in page.evaluate("window.files")
    assert page.locator(".findings p").count() == 0
    page.unroute("**/ui/check")
    page.route("**/ui/check", lambda route: route.abort())
    tasks.fill("3")
    expect(page.locator("#checked")).to_contain_text("Not checked: ")


def test_without_a_script_all_of_it_works(browser: Browser, worker: Worker, shop: PostgresDatabase) -> None:
    plain = browser.new_context(java_script_enabled=False).new_page()
    plain.goto(f"http://127.0.0.1:{worker.port}/ui/new?class=JdbcSink")
    log_in(plain, shop)
    plain.get_by_role("button", name="List values of table.name.format").click()
    expect(field(plain, "table.name.format")).to_be_focused()
    offered = plain.locator("datalist option").evaluate_all("all => all.map(one => one.value)")
    assert {"public.orders", "public.items"} <= set(offered)
    field(plain, "table.name.format").fill("public.orders")
    field(plain, "name").fill("sink")
    field(plain, "tasks.max").fill("many")
    plain.get_by_role("button", name="Check").click()
    expect(plain.get_by_role("alert")).to_contain_text("wrong. Nothing was created.")
    expect(field(plain, "tasks.max")).to_have_attribute("aria-invalid", "true")
    field(plain, "tasks.max").fill("1")
    field(plain, "topics").fill("orders")
    plain.get_by_role("button", name="Properties", exact=True).click()
    plain.get_by_role("button", name="Create").click()
    expect(plain.get_by_text("The connector is there")).to_be_visible()
    assert worker.get("/connectors/sink/config")["table.name.format"] == "public.orders"
    plain.context.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_and_it_fits_a_phone(
    browser: Browser, worker: Worker, shop: PostgresDatabase, scheme: Literal["light", "dark"]
) -> None:
    file = worker.folder / "out"
    longest = {"errors__deadletterqueue__context__headers__enable": "true"}  # shown, because it is set
    put(worker, "archive", connector__class="FileStreamSink", topics="lines", file=file, **longest)
    phone = browser.new_page(viewport={"width": 360, "height": 740}, color_scheme=scheme)
    phone.set_default_timeout(60_000)
    edit = f"http://127.0.0.1:{worker.port}/ui/connectors/archive/edit"

    def look(state: str) -> None:
        found = {one["id"]: [node["html"] for node in one["nodes"]] for one in Axe().run(phone).response["violations"]}
        assert (state, found) == (state, {})
        assert phone.evaluate("document.documentElement.scrollWidth") <= 360, state

    for query in ("", "?as=json", "?as=properties"):
        phone.goto(edit + query)
        look(query)
    field(phone, "tasks.max").or_(phone.locator("#written")).first.fill("many")
    expect(phone.locator("#checked")).to_contain_text("wrong")
    look("with an error")
    phone.goto(f"http://127.0.0.1:{worker.port}/ui/new?class=JdbcSource")
    log_in(phone, shop)
    phone.get_by_role("button", name="List values of table.whitelist").click()
    expect(phone.get_by_label("public.orders")).to_be_visible()
    look("with values")
    field(phone, "connection.password").fill("wrong")
    phone.get_by_role("button", name="List values of table.whitelist").click()
    expect(phone.get_by_role("alert")).to_be_visible()
    look("without values")
    names = phone.locator("input:not([type=hidden]), select, textarea, button")
    assert (
        names.evaluate_all(
            "all => all.filter(it => !(it.labels?.length || it.ariaLabel || it.innerText.trim())).length"
        )
        == 0
    )
    phone.close()
