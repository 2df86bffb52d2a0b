"""The operations page honours roles: it asks the interface with the rights of whoever looks."""

from typing import Any
from urllib.parse import urlencode

import pytest

from .conftest import basic

Client = Any
CONFIG = {"connector.class": "Known", "pin": "1234567", "name": "a1"}


@pytest.fixture(autouse=True)
def connectors(herder) -> None:
    herder.configs["a1"] = dict(CONFIG)
    herder.configs["b1"] = {**CONFIG, "name": "b1"}


def press(client: Client, name: str, button: str, who: str) -> Any:
    headers = {**basic(who), "Content-Type": "application/x-www-form-urlencoded"}
    return client.post(f"/ui/connectors/{name}", content=urlencode({"do": button}), headers=headers)


def test_nobody_sees_a_page_who_says_not_who_they_are(client: Client) -> None:
    for path in ("/ui", "/ui/connectors", "/ui/static/page.js"):
        assert client.get(path).status_code == 401
    assert client.get("/ui", headers=basic("nobody")).status_code == 403


def test_a_page_shows_what_its_reader_may_see(client: Client) -> None:
    page = client.get("/ui/connectors", headers=basic("vera")).text
    assert "/ui/connectors/a1" in page
    assert "b1" not in page
    assert client.get("/ui/connectors/b1", headers=basic("vera")).status_code == 403
    assert "/ui/connectors/b1" in client.get("/ui/connectors", headers=basic("ada")).text


def changes(herder) -> list[Any]:
    return [asked for asked in herder.asked if asked[0] != "settings"]


def test_a_button_does_what_its_reader_may_do(client: Client, herder) -> None:
    refused = press(client, "a1", "pause", "vera")
    assert refused.status_code == 403
    assert "operator" in refused.text
    assert changes(herder) == []
    assert press(client, "a1", "pause", "otto").status_code == 303
    assert changes(herder) == [("pause", "a1")]
    assert press(client, "a1", "delete", "otto").status_code == 403
    assert herder.configs.keys() == {"a1", "b1"}


def test_a_page_of_another_site_presses_no_button(client: Client, herder) -> None:
    answer = client.post(
        "/ui/connectors/a1",
        content="do=pause",
        headers={**basic("ada"), "Content-Type": "application/x-www-form-urlencoded", "Origin": "https://evil.example"},
    )
    assert answer.status_code == 403
    assert changes(herder) == []
