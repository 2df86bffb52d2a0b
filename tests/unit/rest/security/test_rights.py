"""/rights, and the buttons of pages: what the caller may not do is shown as such."""

import re
import tracemalloc
from typing import Any

import pytest

from rest.security.roles import Grant, Rights, Role

from .conftest import basic


@pytest.fixture(autouse=True)
def _connectors(herder: Any) -> None:
    for name in ("a1", "b1"):
        herder.configs[name] = {"name": name, "connector.class": "org.example.Known", "topics": "lines"}


@pytest.mark.parametrize(
    ("user", "connector", "role", "somewhere"),
    [
        ("vera", "a1", "viewer", "viewer"),
        ("vera", "b1", None, "viewer"),
        ("vera", None, None, "viewer"),
        ("otto", "a1", "operator", "operator"),
        ("edna", "a1", "editor", "editor"),
        ("edna", "b1", "viewer", "editor"),
        ("edna", None, "viewer", "editor"),
        ("ada", "none-such", "admin", "admin"),
    ],
)
def test_the_caller_is_told_their_role(client: Any, user: str, connector: str, role: str, somewhere: str) -> None:
    query = f"?connector={connector}" if connector else ""
    answer = client.get(f"/rights{query}", headers=basic(user)).json()
    assert answer == {"user": f"user:{user}", "role": role, "somewhere": somewhere}


def test_without_a_role_anywhere_nothing_is_told(client: Any) -> None:
    assert client.get("/rights", headers=basic("nobody")).status_code == 403


def buttons(page: str) -> dict[str, bool]:
    """The buttons of a page, and whether they can be pressed."""
    return {label: " disabled" not in attributes for attributes, label in re.findall(r"<button([^>]*)>([^<]*)", page)}


@pytest.mark.parametrize(
    ("user", "on", "off"),
    [
        ("vera", set(), {"Pause", "Restart", "Stop", "Delete", "Validate and store"}),
        ("otto", {"Pause", "Restart", "Stop"}, {"Delete", "Validate and store"}),
        ("edna", {"Pause", "Restart", "Stop", "Delete"}, set()),
    ],
)
def test_buttons_know_the_role_of_the_reader(client: Any, user: str, on: set[str], off: set[str]) -> None:
    page = client.get("/ui/connectors/a1", headers=basic(user)).text
    found = buttons(page)
    assert {label for label in found if found[label]} >= on
    assert {label for label in found if not found[label]} >= off
    assert f"You are user:{user}" in page
    assert on or 'title="This needs the role operator."' in page


@pytest.mark.parametrize(("user", "may"), [("vera", False), ("otto", True)])
def test_who_may_not_look_at_records_is_not_offered_to(client: Any, user: str, may: bool) -> None:
    page = client.get("/ui/connectors/a1/tap", headers=basic(user)).text
    assert buttons(page) == {"Look at the next records": may}
    assert f"You are user:{user}" in page


def test_an_admin_and_a_worker_without_logins_are_not_told_about_roles(client: Any, serve: Any) -> None:
    for page in (client.get("/ui/connectors/a1", headers=basic("ada")).text, serve().get("/ui/connectors/a1").text):
        assert "You are" not in page
        assert all(buttons(page).values())


def test_the_list_offers_actions_to_whoever_may_do_them_somewhere(client: Any) -> None:
    assert not buttons(client.get("/ui/connectors", headers=basic("vera")).text)["Pause"]
    assert buttons(client.get("/ui/connectors", headers=basic("otto")).text)["Pause"]


def test_names_that_no_connector_has_are_not_kept() -> None:
    """A path may be as long as a head of a request, and anybody who has logged in may ask for as many as they like."""
    rights = Rights([Grant(Role.VIEWER, frozenset({"*"}), ("a*",))])
    tracemalloc.start()
    try:
        assert all(rights.may(Role.VIEWER, f"a{number}{'x' * 60_000}") for number in range(200))
        kept, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert kept < 1_000_000
