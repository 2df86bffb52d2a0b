"""The page of a pool in a real browser: who came and who went is seen without a reload, and who changed what."""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Literal, NoReturn

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, expect

from connect.kafka.broker.embedded import Broker
from rest.security.passwords import PasswordHash
from tests.integration.distributed.pool import Pool, a_pool, steady
from tests.servers.chromium import ChromiumUnavailable, chromium

pytestmark = pytest.mark.slow

#: Milliseconds. Generous: it ends a run that hangs, and measures nothing.
PATIENCE_MS = 90_000
ADA = {"Authorization": f"Basic {base64.b64encode(b'ada:pw').decode()}"}


@pytest.fixture(scope="module")
def browser(cannot_have: Callable[[str, object], NoReturn]) -> Iterator[Browser]:
    with ExitStack() as stack:
        try:
            started = stack.enter_context(chromium())
        except ChromiumUnavailable as error:
            cannot_have("Chromium", error)
        expect.set_options(timeout=PATIENCE_MS)
        yield started


@pytest.fixture
def pool(broker: Broker, tmp_path: Path) -> Iterator[Pool]:
    """Workers that know ada."""
    with a_pool(broker.bootstrap_servers, tmp_path) as made:
        users = tmp_path / "users"
        users.write_text(f"ada:{PasswordHash.make('pw')}\n")
        users.chmod(0o600)
        made.settings |= {"rest.security.authentication": "basic", "rest.security.users.file": str(users)}
        yield made


def test_who_came_and_went_and_who_changed_what_is_seen_without_a_reload(
    browser: Browser, pool: Pool, tmp_path: Path
) -> None:
    first, *_ = pool.start(1)
    page = browser.new_page(http_credentials={"username": "ada", "password": "pw"})
    page.set_default_timeout(PATIENCE_MS)
    page.goto(f"{first.url}ui/cluster")
    lanes = page.locator("#rebalances figure")
    expect(lanes).to_have_count(1)
    second, *_ = pool.start(1)
    lane = page.get_by_role("img", name=f"{second.id} in the last hour")
    expect(lane).to_be_visible()
    expect(lane.locator("rect.joined")).to_have_count(1)
    expect(page.locator("#rebalances tbody tr").first).to_contain_text(second.id)
    second.kill()
    expect(lane.locator("rect.left")).to_have_count(1)
    expect(page.locator("#rebalances tbody tr", has_text=f"{second.id} left")).to_have_count(1)
    page.get_by_role("link", name="Audit log").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Audit log")
    created = first.ask("POST", "/connectors", {"name": "steady", "config": steady(tmp_path)}, ADA)
    assert created.status == 201, created
    line = page.locator("#audit tbody tr", has_text="POST /connectors")
    expect(line).to_contain_text("user:ada")  # it appears by itself
    assert first.ask("PUT", "/connectors/steady/pause", headers=ADA).status == 202
    page.get_by_label("Connector").fill("steady")
    page.get_by_label("User").fill("nobody")
    page.get_by_role("button", name="Show").click()
    expect(page.get_by_text("There is no such line.")).to_be_visible()
    page.get_by_label("User").fill("ada")
    page.get_by_role("button", name="Show").click()
    expect(page.locator("#audit tbody tr")).to_have_count(2)
    page.close()
    check_for_all(browser, (f"{first.url}ui/cluster", f"{first.url}ui/cluster/audit"))


def check_for_all(browser: Browser, addresses: tuple[str, ...]) -> None:
    """axe finds nothing in light and dark, and a page fits a phone."""
    schemes: tuple[Literal["light", "dark"], ...] = ("light", "dark")
    for scheme in schemes:
        phone = browser.new_page(
            viewport={"width": 360, "height": 740},
            color_scheme=scheme,
            http_credentials={"username": "ada", "password": "pw"},
        )
        for address in addresses:
            phone.goto(address)
            assert {one["id"]: one["nodes"] for one in Axe().run(phone).response["violations"]} == {}
            assert phone.evaluate("document.documentElement.scrollWidth") <= 360
        phone.close()
