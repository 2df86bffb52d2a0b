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


def test_the_audit_page_is_for_admins_and_the_timeline_for_those_who_see_all(client: Client) -> None:
    press(client, "a1", "pause", "otto")
    refused = client.get("/ui/cluster/audit", headers=basic("edna"))
    assert refused.status_code == 403
    assert "user:edna needs the role admin for all connectors." in refused.text
    page = client.get("/ui/cluster/audit", headers=basic("ada"))
    assert page.status_code == 200
    assert "user:otto" in page.text
    assert "PUT /connectors/a1/pause" in page.text
    assert "There is no such line." in client.get("/ui/cluster/audit?user=vera", headers=basic("ada")).text
    assert "user:otto" in client.get("/ui/cluster/audit?user=otto&connector=a1", headers=basic("ada")).text
    cluster = client.get("/ui/cluster", headers=basic("vera"))
    assert cluster.status_code == 200
    assert "user:vera needs the role viewer for all connectors." in cluster.text
    assert "There was none since the workers started." in client.get("/ui/cluster", headers=basic("edna")).text


def test_without_an_audit_log_its_page_says_which_key_switches_it_on(serve: Any) -> None:
    page = serve().get("/ui/cluster/audit")
    assert page.status_code == 403
    assert "rest.security.authentication" in page.text


def test_a_line_of_the_audit_log_is_no_markup(guarded: Any) -> None:
    client = guarded.serve()
    client.request("DELETE", "/connectors/a%3Cb%3E%27", headers=basic("edna"))
    client.request("PATCH", "/connectors/a1/config", headers=basic("edna"), json={"<i>": "1", "pin": None})
    page = client.get("/ui/cluster/audit", headers=basic("ada")).text
    assert "<b>" not in page
    assert "<i>" not in page
    assert "/ui/connectors/a%3Cb%3E%27" in page
    assert "added: &lt;i&gt;; removed: pin" in page
