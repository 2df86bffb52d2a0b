"""What is answered, where comparing with Java's worker cannot show it."""

import asyncio
import threading

import pytest

from connect.herder.model import Health, OffsetEntry, TargetState
from rest.headers import parse_rules


def test_a_request_that_takes_too_long_says_what_the_worker_is_busy_with(serve, herder) -> None:
    herder.hanging.add("put")
    answer = serve(timeout=0.05).put("/connectors/a/config", json={"x": "1"})
    assert answer.status_code == 500
    assert answer.json()["message"] == "Request timed out. The worker is currently counting sheep"


@pytest.mark.parametrize(
    ("path", "status", "code"),
    [
        ("/health", "healthy", 200),
        ("/health", "starting", 503),
        ("/health", "unhealthy", 500),
        ("/health/live", "healthy", 200),
        ("/health/live", "starting", 200),
        ("/health/live", "unhealthy", 500),
        ("/health/ready", "healthy", 200),
        ("/health/ready", "starting", 503),
        ("/health/ready", "waiting", 503),
        ("/health/ready", "unhealthy", 500),
    ],
)
def test_health_is_a_code_too(client, herder, path: str, status, code: int) -> None:
    herder.state = Health(status, "so it is")
    answer = client.get(path)
    assert (answer.status_code, answer.json()) == (code, {"status": status, "message": "so it is"})


@pytest.mark.parametrize(
    ("state", "target"),
    [
        ("PAUSED", TargetState.PAUSED),
        ("stopped", TargetState.STOPPED),
        ("Running", TargetState.STARTED),
        (None, None),
    ],
)
def test_a_connector_begins_in_the_state_that_is_asked_for(client, herder, state, target) -> None:
    body = {"name": "a", "config": {}, "initial_state": state}
    assert client.post("/connectors", json=body).status_code == 201
    assert herder.targets["a"] is target


def test_a_validation_refuses_the_nulls_that_a_creation_refuses(client, herder) -> None:
    config = {"connector.class": "Known", "odd": None, "name": None}
    refused = client.put("/connectors/a/config", json=config)
    assert (refused.status_code, refused.json()["message"]) == (
        400,
        "Null value can not be supplied as the configuration value of odd.",
    )
    found = client.put("/connector-plugins/Known/config/validate", json=config).json()
    assert {one["value"]["name"]: one["value"]["errors"] for one in found["configs"] if one["value"]["errors"]} == {
        "odd": ["Null value can not be supplied as the configuration value."]
    }
    assert found["error_count"] == 1
    del config["odd"]
    assert client.put("/connectors/a/config", json=config).status_code == 201  # its name is that of the path


def test_numbers_in_a_configuration_are_text_as_they_were_written(client, herder) -> None:
    body = '{"a": 1.50, "b": 1e3, "c": 12345678901234567890, "d": false, "e": "1.50"}'
    client.put("/connectors/n/config", content=body, headers={"Content-Type": "application/json"})
    expected = {"a": "1.50", "b": "1e3", "c": "12345678901234567890", "d": "false", "e": "1.50", "name": "n"}
    assert herder.configs["n"] == expected


@pytest.mark.parametrize("body", ["[" * 100_000, '{"a": NaN}', b'{"a": "\xff"}', '{"a": [1]}', '{"a": {}}', "1", '"x"'])
def test_a_broken_body_is_the_clients_error(client, body) -> None:
    answer = client.put("/connectors/n/config", content=body, headers={"Content-Type": "application/json"})
    assert answer.status_code == 400
    assert answer.json()["error_code"] == 400


HALF = '"\\ud800"'
LONG = "9" * 5_000
OFFSETS = '{"offsets": [{"partition": {"f": "x"}, "offset": {"position": %s}}]}'


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("POST", "/connectors", f'{{"name": {HALF}, "config": {{"a": "b"}}}}'),
        ("POST", "/connectors", f'{{"name": "n", "config": {{{HALF}: "b"}}}}'),
        ("PUT", "/connectors/n/config", f'{{"a": {HALF}}}'),
        ("PATCH", "/connectors/n/config", f'{{"a": {HALF}}}'),
        ("PUT", "/connector-plugins/Known/config/validate", f'{{"connector.class": "Known", "a": {HALF}}}'),
        ("PATCH", "/connectors/n/offsets", OFFSETS % HALF),
        ("PATCH", "/connectors/n/offsets", OFFSETS % LONG),
        ("PATCH", "/connectors/n/offsets", OFFSETS % "1e999"),
        ("PUT", "/admin/loggers/x", f'{{"level": {HALF}}}'),
        ("PUT", "/admin/loggers/x", f'{{"level": {LONG}}}'),
        ("POST", "/connectors/n/dlq/replay", f'{{"set": {{"a": {HALF}}}}}'),
        ("POST", "/connectors/n/dlq/replay", f'{{"limit": {LONG}}}'),
        ("POST", "/connectors/n/dlq/replay", f'{{"set": {{"a": {LONG}}}}}'),
    ],
)
def test_what_no_text_and_no_number_can_be_is_the_clients_error(client, herder, method, path, body) -> None:
    herder.configs["n"] = {"name": "n"}
    answer = client.request(method, path, content=body, headers={"Content-Type": "application/json"})
    assert answer.status_code == 400
    assert (list(herder.configs), herder.asked) == (["n"], [])


def test_whole_characters_and_long_numbers_are_taken(client, herder) -> None:
    herder.configs["n"] = {"name": "n"}
    headers = {"Content-Type": "application/json"}
    long = "9" * 999
    assert client.patch("/connectors/n/offsets", content=OFFSETS % long, headers=headers).status_code == 200
    assert herder.asked[-1][2][0].offset == {"position": int(long)}
    client.put("/connectors/n/config", content=f'{{"a": "\\ud83d\\udc18", "b": {LONG}}}', headers=headers)
    assert herder.configs["n"] == {"a": "\N{ELEPHANT}", "b": LONG, "name": "n"}


@pytest.mark.parametrize("path", ["%ED%A0%80", "%FF", "a%1B%5B31m", "9" * 5_000])
def test_whatever_stands_in_a_path_is_the_clients_error(client, path: str) -> None:
    assert client.get(f"/connectors/{path}/status").status_code == 404
    assert client.get(f"/connectors/n/tasks/{path}/status").status_code == 404
    assert client.get(f"/connectors/n/dlq/{path}/1").status_code in (400, 404)
    assert client.get(f"/connectors/n/dlq?since={path}").status_code in (400, 404)


def test_offsets_are_handed_on_as_they_are(client, herder) -> None:
    body = {
        "offsets": [{"partition": {"p": 1.5}, "offset": {"o": 12345678901234567890}}, {"partition": {}, "offset": None}]
    }
    assert client.patch("/connectors/a/offsets", json=body).json() == {"message": "altered"}
    entries = [OffsetEntry({"p": 1.5}, {"o": 12345678901234567890}), OffsetEntry({}, None)]
    assert herder.asked == [("alter", "a", entries)]


def test_an_error_that_nobody_foresaw_is_an_answer_too(client, herder) -> None:
    herder.connectors = lambda: 1 / 0
    answer = client.get("/connectors")
    assert (answer.status_code, answer.json()["error_code"]) == (500, 500)
    assert "Traceback" not in answer.text


@pytest.mark.promise("P8")
def test_an_error_shows_no_secret(client, herder) -> None:
    def fail() -> None:
        raise RuntimeError("cannot reach postgresql://me:pa55word@host")

    herder.connectors = fail
    assert "pa55word" not in client.get("/connectors").text


def test_admin_may_be_apart(serve) -> None:
    main, admin = serve(parts=frozenset({"connectors"})), serve(parts=frozenset({"admin"}))
    assert main.get("/connectors").status_code == admin.get("/admin/loggers").status_code == 200
    assert main.get("/admin/loggers").status_code == admin.get("/connectors").status_code == 404


def test_an_unknown_level_is_not_found(client) -> None:
    assert client.put("/admin/loggers/x", json={"level": "LOUD"}).status_code == 404
    assert client.put("/admin/loggers/x", json={"level": "INFO"}).json() == ["x"]
    assert client.put("/admin/loggers/x?scope=cluster", json={"level": "INFO"}).status_code == 204


def test_a_level_for_all_workers_keeps_no_other_request_waiting(client, herder, monkeypatch) -> None:
    begun, let_go = threading.Event(), threading.Event()

    def hangs(namespace: str, level: str, *, cluster: bool = False) -> list[str]:  # as while no broker answers
        begun.set()
        let_go.wait(5)
        return []

    async def both() -> tuple[int, bool, int]:
        body = {"json": {"level": "INFO"}}
        setting = asyncio.ensure_future(client._request("PUT", "/admin/loggers/x?scope=cluster", body))
        await asyncio.to_thread(begun.wait, 5)
        health = await client._request("GET", "/health/live", {})
        still = not setting.done()
        let_go.set()
        return health.status_code, still, (await setting).status_code

    monkeypatch.setattr(herder, "set_logger_level", hangs)
    assert client._runner.run(both()) == (200, True, 204)


def test_pages_of_other_origins_may_ask_where_that_is_allowed(serve) -> None:
    origin = {"Origin": "http://ui:3000"}
    closed, opened = serve(), serve({"access.control.allow.origin": "http://ui:3000"})
    assert "access-control-allow-origin" not in closed.get("/connectors", headers=origin).headers
    assert opened.get("/connectors", headers=origin).headers["access-control-allow-origin"] == "http://ui:3000"
    assert opened.get("/nope", headers=origin).headers["access-control-allow-origin"] == "http://ui:3000"
    other = opened.get("/connectors", headers={"Origin": "http://evil"})
    assert "access-control-allow-origin" not in other.headers


@pytest.mark.parametrize(
    ("origin", "may"),
    [
        ("https://ui.example.com", True),
        ("https://a.dev.example.com:8443", True),
        ("https://dev.example.com", False),
        ("https://a.dev.example.com.evil", False),
        ("https://uixexample.com", False),
        ("http://[::1]:3000", True),
    ],
)
def test_origins_may_be_patterns_as_in_kafka_connect(serve, origin: str, may: bool) -> None:
    allowed = r"https://ui.example.com, https://\w+\.dev\.example\.com(:\d+)?, http://[::1]:3000"
    client = serve({"access.control.allow.origin": allowed, "access.control.allow.methods": "PUT"})
    answer = client.get("/connectors", headers={"Origin": origin})
    assert answer.headers.get("access-control-allow-origin") == (origin if may else None)
    asked = {"Origin": origin, "Access-Control-Request-Method": "PUT"}
    assert client.request("OPTIONS", "/connectors/a/pause", headers=asked).status_code == (200 if may else 400)
    assert client.put("/connectors/a/pause", headers={"Origin": origin}).status_code == (202 if may else 403)


def test_answers_carry_the_headers_that_are_asked_for(serve) -> None:
    rules = 'add X-Frame-Options: DENY, "set Cache-Control: no-cache, no-store", addDate Expires: 0'
    headers = serve({"response.http.headers.config": rules}).get("/nope").headers
    assert (headers["x-frame-options"], headers["cache-control"]) == ("DENY", "no-cache, no-store")
    assert headers["expires"].endswith("GMT")


@pytest.mark.parametrize("rule", ["X-Frame-Options: DENY", "put A: b", "addDate Expires: soon"])
def test_a_rule_that_is_none_is_said(rule: str) -> None:
    with pytest.raises(Exception, match="response.http.headers.config"):
        parse_rules(rule)


def extend(app, worker) -> None:
    @app.get("/extra")
    async def extra() -> dict[str, str]:
        return {"key.converter": worker["key.converter"]}


def test_an_extension_adds_resources(serve) -> None:
    client = serve({"rest.extension.classes": f"{__name__}:extend"})
    assert client.get("/extra").json() == {"key.converter": "StringConverter"}
    assert client.get("/connectors").status_code == 200


@pytest.mark.parametrize("name", ["org.apache.Auth", "connect.nothing:here", "x"])
def test_an_extension_that_is_not_there_is_said(serve, name: str) -> None:
    with pytest.raises(Exception, match="rest.extension.classes"):
        serve({"rest.extension.classes": name})
