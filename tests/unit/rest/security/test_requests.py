"""Whoever asks is known, does what their role says, and learns nothing of what they may not see."""

import re
from typing import Any

import pytest

from connect.plugins import Plugins
from connect.settings.worker_keys import STANDALONE
from rest.app import create_app
from rest.rules import ConnectRules

from .conftest import Guarded, basic, bearer

Client = Any
LEAST = {
    "bootstrap.servers": "localhost:9092",
    "key.converter": "StringConverter",
    "value.converter": "StringConverter",
    "offset.storage.file.filename": "offsets",
}

CONFIG = {"connector.class": "Known", "pin": "1234567", "name": "a1"}


@pytest.fixture(autouse=True)
def connectors(herder) -> None:
    herder.configs["a1"] = dict(CONFIG)
    herder.configs["b1"] = {**CONFIG, "name": "b1"}


def test_nobody_passes_who_says_not_who_they_are(client: Client, herder) -> None:
    for method, path in [("GET", "/"), ("GET", "/connectors"), ("GET", "/connectors/a1"), ("GET", "/docs")]:
        answer = client.request(method, path)
        assert answer.status_code == 401
        assert answer.json()["error_code"] == 401
        assert answer.headers.get_list("WWW-Authenticate") == [
            'Basic realm="Kafka Connect", charset="UTF-8"',
            'Bearer realm="Kafka Connect"',
        ]
    assert client.delete("/connectors/a1").status_code == 401
    assert client.put("/connectors/a1/pause").status_code == 401
    assert client.get("/no/such/path").status_code == 401
    assert herder.asked == []
    assert "a1" in herder.configs


@pytest.mark.parametrize(
    "headers",
    [
        basic("ada", "wrong"),
        basic("unknown"),
        basic("", ""),
        {"Authorization": "Basic !!!"},
        {"Authorization": "Basic"},
        {"Authorization": "Digest x"},
        {"Authorization": ""},
        bearer("connect_other"),
        bearer(""),
    ],
)
def test_wrong_credentials_are_all_answered_alike(client: Client, headers: dict[str, str]) -> None:
    answer = client.get("/connectors", headers=headers)
    assert answer.status_code == 401
    assert answer.json()["message"] == "These credentials are wrong."


#: For each request the roles that may, for connector a1; the worker's own for all.
REQUESTS = [
    ("GET", "/connectors", None, "viewer"),
    ("GET", "/connectors?expand=info&expand=status", None, "viewer"),
    ("GET", "/connectors/a1", None, "viewer"),
    ("HEAD", "/connectors/a1", None, "viewer"),
    ("GET", "/connectors/a1/", None, "viewer"),
    ("GET", "/connectors/a1/config", None, "viewer"),
    ("GET", "/connectors/a1/status", None, "viewer"),
    ("GET", "/connectors/a1/tasks", None, "viewer"),
    ("GET", "/connectors/a1/tasks/0/status", None, "viewer"),
    ("GET", "/connectors/a1/restarts", None, "viewer"),
    ("GET", "/connectors/a1/lag", None, "viewer"),
    ("GET", "/connectors?expand=metrics", None, "viewer"),
    ("GET", "/connectors/a1/topics", None, "viewer"),
    ("GET", "/connectors/a1/offsets", None, "viewer"),
    ("GET", "/connectors/a1/timeseries", None, "viewer"),
    ("GET", "/connectors/a1/history", None, "viewer"),
    ("GET", "/connectors/a1/history/10", None, "viewer"),
    ("GET", "/connector-plugins", None, "viewer"),
    ("GET", "/", None, "viewer"),
    ("GET", "/openapi.json", None, "viewer"),
    ("OPTIONS", "/connectors", None, "viewer"),
    ("PUT", "/connectors/a1/pause", None, "operator"),
    ("PUT", "/connectors/a1/resume", None, "operator"),
    ("PUT", "/connectors/a1/stop", None, "operator"),
    ("PUT", "/connectors/a1/topics/reset", None, "operator"),
    ("POST", "/connectors/a1/restart", None, "operator"),
    ("POST", "/connectors/a1/tasks/0/restart", None, "operator"),
    ("GET", "/connectors/a1/tap", None, "operator"),
    ("GET", "/connectors/a1/dlq", None, "operator"),
    ("GET", "/connectors/a1/dlq/groups", None, "operator"),
    ("GET", "/connectors/a1/dlq/0/1", None, "operator"),
    ("POST", "/connectors/a1/dlq/replay", {}, "editor"),
    ("GET", "/connector-plugins/Known/config", None, "editor"),
    ("PUT", "/connector-plugins/Known/config/validate", CONFIG, "editor"),
    ("PUT", "/connector-plugins/Known/config/try", {"config": CONFIG}, "editor"),
    ("GET", "/connector-plugins/Known/config/choices", None, "editor"),
    ("PUT", "/connector-plugins/Known/config/topic/choices", CONFIG, "editor"),
    ("PUT", "/connectors/a1/config", CONFIG, "editor"),
    ("PATCH", "/connectors/a1/config", {"x": "y"}, "editor"),
    ("POST", "/connectors/a1/history/10/restore", None, "editor"),
    ("PATCH", "/connectors/a1/offsets", {"offsets": [{"partition": {"a": 1}, "offset": None}]}, "editor"),
    ("DELETE", "/connectors/a1/offsets", None, "editor"),
    ("POST", "/connectors", {"name": "a2", "config": {"connector.class": "Known"}}, "editor"),
    ("DELETE", "/connectors/a1", None, "editor"),
    ("GET", "/admin/loggers", None, "admin"),
    ("PUT", "/admin/loggers/connect.x", {"level": "DEBUG"}, "admin"),
    ("GET", "/cluster/audit", None, "admin"),
    ("GET", "/no/such/path", None, "admin"),
]
USERS = {"viewer": "vera", "operator": "otto", "editor": "edna", "admin": "ada"}


@pytest.mark.parametrize(("method", "path", "body", "least"), REQUESTS)
def test_a_role_may_what_it_says_and_what_those_before_it_may(
    client: Client, method: str, path: str, body: object, least: str
) -> None:
    order = list(USERS)
    for role, user in USERS.items():
        answer = client.request(method, path, headers=basic(user), json=body)
        may = order.index(role) >= order.index(least)
        assert (answer.status_code == 403) is not may, (role, answer.text)
        assert answer.status_code != 401
        if not may and method != "HEAD":
            assert f"user:{user} needs the role {least}" in answer.json()["message"]
    assert client.request(method, path, headers=basic("nobody"), json=body).status_code == 403


def test_every_operation_has_been_thought_of(herder) -> None:
    """What is new needs an admin until it gets a rule; this says so to whoever adds it."""
    plain: dict[str, list[str]] = {method: [] for method in ("GET", "PUT", "POST", "PATCH", "DELETE")}
    for method, path, _, _ in REQUESTS:
        plain.get(method, []).append(path.partition("?")[0].rstrip("/") or "/")
    plain["GET"] += ["/health", "/health/live", "/health/ready", "/rights", "/docs", "/metrics", "/admin/loggers/x"]
    plain["GET"] += ["/cluster/rebalances"]
    plain["POST"] += ["/connectors/a1/tasks"]
    plain["PUT"] += ["/connectors/a1/fence"]
    rules: Any = create_app(herder, Plugins.discover(), STANDALONE.parse(LEAST), LEAST)
    while not isinstance(rules, ConnectRules):
        rules = rules._app
    assert len(rules._paths) > 20
    for known in rules._paths:
        for method in known.methods - {"HEAD", "OPTIONS"}:
            assert any(known.pattern.match(path) for path in plain[method]), (method, known.pattern.pattern)


REFUSED_FOR_B = [
    ("GET", "/connectors/{}", None),
    ("GET", "/connectors/{}/status", None),
    ("GET", "/connectors/{}/config", None),
    ("GET", "/connectors/{}/topics", None),
    ("GET", "/connectors/{}/timeseries", None),
    ("GET", "/connectors/{}/history", None),
    ("GET", "/connectors/{}/tap", None),
    ("GET", "/connectors/{}/history/10", None),
    ("POST", "/connectors/{}/history/10/restore", None),
    ("GET", "/connectors/{}/dlq/0/1", None),
    ("POST", "/connectors/{}/dlq/replay", {}),
    ("PUT", "/connectors/{}/pause", None),
    ("PUT", "/connectors/{}/config", CONFIG),
    ("DELETE", "/connectors/{}", None),
    ("POST", "/connectors/{}/restart", None),
    ("PATCH", "/connectors/{}/offsets", {"offsets": []}),
]


@pytest.mark.parametrize(("method", "path", "body"), REFUSED_FOR_B)
def test_whether_a_connector_exists_that_one_may_not_see_stays_unknown(
    client: Client, method: str, path: str, body: object
) -> None:
    there = client.request(method, path.format("b1"), headers=basic("vera"), json=body)
    missing = client.request(method, path.format("b2"), headers=basic("vera"), json=body)
    assert (there.status_code, missing.status_code) == (403, 403)
    assert there.text.replace("b1", "b2") == missing.text


def test_lists_show_only_what_one_may_see(client: Client) -> None:
    assert client.get("/connectors", headers=basic("vera")).json() == ["a1"]
    assert list(client.get("/connectors?expand=status&expand=info", headers=basic("vera")).json()) == ["a1"]
    assert client.get("/connectors", headers=basic("edna")).json() == ["a1", "b1"]
    assert client.get("/connectors", headers=bearer()).json() == ["a1"]


@pytest.mark.parametrize(
    "body",
    [
        {"name": "b2", "config": {"connector.class": "Known"}},
        {"name": "b1", "config": {"connector.class": "Known"}},
        {"config": {"connector.class": "Known", "name": "b2"}},
        {"name": " b2 ", "config": {"connector.class": "Known", "name": "a1"}},
    ],
)
def test_a_connector_is_made_only_under_a_name_one_may_use(client: Client, herder, body: object) -> None:
    answer = client.post("/connectors", headers=basic("edna"), json=body)
    assert answer.status_code == 403
    assert 'role editor for connector "b' in answer.json()["message"]
    assert sorted(herder.configs) == ["a1", "b1"]


@pytest.mark.parametrize("what", ["validate", "name/choices"])
def test_an_unfinished_configuration_has_no_secrets_of_a_connector_that_one_may_not_change(
    client: Client, herder, what: str
) -> None:
    path = f"/connector-plugins/Known/config/{what}"
    stolen = {**CONFIG, "name": "b1", "pin": "[hidden]"}
    assert client.put(path, headers=basic("edna"), json=stolen).status_code == 403
    assert client.put(path, headers=basic("edna"), json={**stolen, "name": "a1"}).status_code == 200
    assert [config["name"] for config in herder.validated] == ["a1"]


def test_a_slash_in_a_name_belongs_to_the_name(client: Client, guarded: Guarded, herder) -> None:
    herder.configs["a/x"] = dict(CONFIG)
    assert client.get("/connectors/a%2Fx/config", headers=basic("vera")).status_code == 200
    assert client.get("/connectors/b%2Fx/config", headers=basic("vera")).status_code == 403
    assert client.get("/connectors/b1%2F..%2Fa1/config", headers=basic("vera")).status_code == 403
    guarded.write("roles.toml", '[[grant]]\nrole="viewer"\nto=["user:vera"]\nconnectors=["a/x"]\n')
    assert client.get("/connectors/a%2Fx/config", headers=basic("vera")).status_code == 200
    assert client.get("/connectors/%62%31/config", headers=basic("vera")).status_code == 403


def test_who_may_only_read_sees_no_secret_though_others_do(guarded: Guarded) -> None:
    client = guarded.serve({"rest.mask.secrets": "false"})
    for path in ("/connectors/a1", "/connectors/a1/config", "/connectors/a1/tasks", "/connectors?expand=info"):
        assert "1234567" not in client.get(path, headers=basic("vera")).text, path
        assert "1234567" in client.get(path, headers=basic("ada")).text, path
    # An editor of others only.
    assert "1234567" not in client.get("/connectors/b1", headers=basic("edna")).text
    assert "1234567" in client.get("/connectors/a1", headers=basic("edna")).text


@pytest.mark.parametrize("path", ["/health", "/health/live", "/health/ready"])
def test_the_health_is_open_and_says_no_more_than_it_has_to(
    client: Client, guarded: Guarded, herder, path: str
) -> None:
    herder.state = herder.state.__class__("unhealthy", "busy with connector b1")
    answer = client.get(path)
    assert answer.status_code == 500
    assert answer.json() == {"status": "unhealthy", "message": "The worker is unhealthy."}
    closed = guarded.serve({"rest.security.open.paths": ""})
    assert closed.get(path).status_code == 401
    assert closed.get(path, headers=basic("ada")).json()["message"] == "busy with connector b1"
    both = guarded.serve({"rest.security.open.paths": "/,/metrics"})
    assert both.get("/").status_code == 200
    assert both.put("/connectors").status_code == 401


def test_who_waits_in_vain_does_not_hear_of_connectors_they_may_not_see(guarded: Guarded, herder) -> None:
    herder.hanging.add("put")
    client = guarded.serve(timeout=0.01)
    asked = {"headers": basic("edna"), "json": CONFIG}
    assert "sheep" in client.put("/connectors/a1/config", **asked).json()["message"]  # sees all
    guarded.write("roles.toml", '[[grant]]\nrole="editor"\nto=["user:edna"]\nconnectors=["a*"]\n')
    answer = client.put("/connectors/a1/config", **asked)
    assert re.fullmatch("Request timed out.", answer.json()["message"])


def test_pages_of_other_origins_may_ask_what_they_may_do(guarded: Guarded) -> None:
    client = guarded.serve({"access.control.allow.origin": "http://ui"})
    ask = {"Origin": "http://ui", "Access-Control-Request-Method": "GET", "Access-Control-Request-Headers": "x"}
    assert client.request("OPTIONS", "/connectors", headers=ask).status_code == 200
    refused = client.get("/connectors", headers={"Origin": "http://ui"})
    assert refused.status_code == 401
    assert refused.headers["access-control-allow-origin"] == "http://ui"


def test_without_roles_whoever_logs_in_may_do_everything(guarded: Guarded) -> None:
    del guarded.settings["rest.security.roles.file"]
    client = guarded.serve()
    assert client.get("/admin/loggers", headers=basic("nobody")).status_code == 200
    assert client.get("/admin/loggers").status_code == 401
