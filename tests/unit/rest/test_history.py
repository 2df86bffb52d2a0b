"""/connectors/{connector}/history: what each version of a configuration changed, and the way back."""

import pytest

from connect.herder.errors import ForbiddenError

HISTORY = "/connectors/x/history"


@pytest.fixture(autouse=True)
def _changed_three_times(client) -> None:
    """Versions 10, 20 and 30 of connector x."""
    client.put("/connectors/x/config", json={"a": "1", "b": "1", "db.password": "first"})
    client.patch("/connectors/x/config", json={"a": "2", "db.password": "second"})
    client.patch("/connectors/x/config", json={"b": None, "c": "3"})


def test_the_list_says_which_keys_each_version_changed_newest_first(client) -> None:
    versions = client.get(HISTORY).json()["versions"]
    assert [(one["version"], one["changes"]) for one in versions] == [
        (30, {"added": ["c"], "changed": [], "removed": ["b"]}),
        (20, {"added": [], "changed": ["a", "db.password"], "removed": []}),
        (10, {"added": ["a", "b", "db.password", "name"], "changed": [], "removed": []}),
    ]
    assert versions[0] | {"changes": None} == {
        "version": 30,
        "at": 1_700_000_000_030,
        "by": None,
        "deleted": False,
        "changes": None,
    }


def test_a_version_is_compared_with_the_one_before_or_with_any_other(client) -> None:
    assert client.get(f"{HISTORY}/30").json()["differences"] == [
        {"key": "b", "before": "1", "after": None},
        {"key": "c", "before": None, "after": "3"},
    ]
    compared = client.get(f"{HISTORY}/30?since=10").json()
    assert compared["since"] == 10
    assert [(one["key"], one["before"], one["after"]) for one in compared["differences"]] == [
        ("a", "1", "2"),
        ("b", "1", None),
        ("c", None, "3"),
        ("db.password", "[hidden]", "[hidden]"),
    ]
    backwards = client.get(f"{HISTORY}/10?since=30").json()
    assert backwards["differences"][0] == {"key": "a", "before": "2", "after": "1"}


def test_the_first_version_is_compared_with_nothing(client) -> None:
    first = client.get(f"{HISTORY}/10").json()
    assert first["since"] is None
    assert first["config"] == {"a": "1", "b": "1", "db.password": "[hidden]", "name": "x"}
    assert {one["before"] for one in first["differences"]} == {None}


def test_no_secret_is_shown(client) -> None:
    for path in ("", "/10", "/20", "/30", "/30?since=10"):
        answer = client.get(HISTORY + path).text
        assert "first" not in answer, path
        assert "second" not in answer, path


def test_a_version_is_restored_with_its_secrets(client, herder) -> None:
    answer = client.post(f"{HISTORY}/10/restore")
    assert answer.status_code == 200
    assert answer.json()["config"] == {"a": "1", "b": "1", "db.password": "[hidden]", "name": "x"}
    assert herder.configs["x"] == {"a": "1", "b": "1", "db.password": "first", "name": "x"}
    assert client.get(HISTORY).json()["versions"][0]["version"] == 40  # a version like any other


def test_a_deleted_connector_keeps_its_history_and_can_be_restored(client, herder) -> None:
    client.delete("/connectors/x")
    versions = client.get(HISTORY).json()["versions"]
    assert (versions[0]["version"], versions[0]["deleted"]) == (40, True)
    assert versions[0]["changes"]["removed"] == ["a", "c", "db.password", "name"]
    assert client.get(f"{HISTORY}/40").json()["config"] is None
    refused = client.post(f"{HISTORY}/40/restore")
    assert (refused.status_code, refused.json()["message"]) == (
        400,
        "Version 40 of connector x is its deletion. Restore an earlier one.",
    )
    assert client.post(f"{HISTORY}/30/restore").status_code == 200
    assert herder.configs["x"] == {"a": "2", "c": "3", "db.password": "second", "name": "x"}


@pytest.mark.parametrize(
    ("method", "path", "status", "message"),
    [
        ("GET", "/connectors/x/history/31", 404, "The history has no version 31 of connector x."),
        ("GET", "/connectors/x/history/30?since=31", 404, "The history has no version 31 of connector x."),
        ("POST", "/connectors/x/history/31/restore", 404, "The history has no version 31 of connector x."),
        ("GET", "/connectors/y/history", 404, "Connector y not found"),
        ("GET", "/connectors/x/history/last", 400, None),
        ("GET", "/connectors/x/history/-1", 400, None),
    ],
)
def test_what_is_not_there_is_named(client, method: str, path: str, status: int, message: str | None) -> None:
    answer = client.request(method, path)
    assert answer.status_code == status
    assert message in (None, answer.json()["message"])


def test_a_connector_whose_versions_are_not_recorded_yet(client, herder) -> None:
    herder.versions.clear()
    answer = client.get(HISTORY)
    assert (answer.status_code, answer.json()["message"]) == (404, "The history has no version of connector x yet.")


def test_a_worker_without_a_history_says_so(client, herder, monkeypatch: pytest.MonkeyPatch) -> None:
    def none(name: str) -> None:
        raise ForbiddenError("This worker keeps no history of configurations.")

    monkeypatch.setattr(herder, "history", none)
    for method, path in (("GET", ""), ("GET", "/10"), ("POST", "/10/restore")):
        answer = client.request(method, HISTORY + path)
        assert (answer.status_code, answer.json()["message"]) == (
            403,
            "This worker keeps no history of configurations.",
        )
