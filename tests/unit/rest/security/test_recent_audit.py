"""/cluster/audit: the newest lines of the audit log, from memory, for admins alone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
import pytest

from connect.herder.rebalance_history import Led, Moved, Rebalance
from connect.peers import PeerClient, PeerError
from connect.telemetry.redaction import redactor
from rest.security.audit import AuditLine, LeftOut
from rest.security.recent_audit import KEPT, RecentAudit

from .conftest import Guarded, basic

Client = Any
CONFIG = {"connector.class": "Known", "pin": "1234567", "name": "a1"}


class Log:
    def __init__(self) -> None:
        self.written: list[msgspec.Struct] = []

    def write(self, line: msgspec.Struct) -> None:
        self.written.append(line)


def line(number: int, user: str | None = "user:ada", **more: Any) -> AuditLine:
    method = None if user is None else "basic"
    return AuditLine(f"{number:06}", str(number), user, method, "10.0.0.1", "PUT", "/", 200, **more)


def numbers(recent: RecentAudit) -> list[int]:
    return [int(msgspec.json.decode(one)["time"]) for one in recent.lines()]


def test_lines_go_on_to_the_log_and_the_newest_are_kept() -> None:
    log = Log()
    recent = RecentAudit(log)
    for number in range(KEPT + 5):
        recent.write(line(number))
    assert len(log.written) == KEPT + 5
    assert numbers(recent) == list(range(KEPT + 4, 4, -1))


def test_nobody_without_a_login_pushes_out_what_users_did() -> None:
    recent = RecentAudit(Log())
    recent.write(line(1))
    for number in range(2, KEPT + 5):
        recent.write(line(number, None))
    recent.write(LeftOut("009999", 12, 3))
    recent.write(line(5000))
    found = numbers(recent)
    assert found[:3] == [5000, 9999, KEPT + 4]  # in the order in which they were written, whatever the clock says
    assert found[-1] == 1
    assert len(found) == KEPT + 2


def test_lines_are_bounded_in_bytes_too() -> None:
    recent = RecentAudit(Log())
    for number in range(300):
        recent.write(line(number, changed={"added": [f"key.{key}" for key in range(2000)]}))
    kept = recent.lines()
    assert 10 < len(kept) < 100
    assert sum(map(len, kept)) <= 1024 * 1024
    recent.write(line(300, changed={"added": ["x" * 3_000_000]}))
    assert numbers(recent) == [300]


def test_what_is_hidden_in_the_file_is_hidden_in_memory() -> None:
    redactor.remember(["sekret-key-name"])
    recent = RecentAudit(Log())
    recent.write(line(1, connector="sekret-key-name"))
    assert b"sekret-key-name" not in recent.lines()[0]


# What REST shows.


@pytest.fixture(autouse=True)
def connector(herder) -> None:
    herder.configs["a1"] = dict(CONFIG)


@pytest.fixture
def active(client: Client) -> Client:
    """Somebody has done something."""
    client.put("/connectors/a1/pause", headers=basic("otto"))
    client.put("/connectors/a1/config", headers=basic("edna"), json={**CONFIG, "pin": "7654321"})
    client.put("/connectors/a1/resume", headers=basic("vera"))
    client.get("/connectors", headers=basic("ada", "wrong"))
    client.put("/admin/loggers/connect.x", headers=basic("ada"), json={"level": "DEBUG"})
    return client


def told(client: Client, query: str = "") -> list[tuple[Any, ...]]:
    answer = client.get(f"/cluster/audit{query}", headers=basic("ada"))
    assert answer.status_code == 200, answer.text
    assert answer.json()["unreachable"] == []
    return [(one.get("user"), one.get("connector"), one["status"]) for one in answer.json()["lines"]]


def test_an_admin_reads_what_happened_newest_first(active: Client, guarded: Guarded) -> None:
    assert told(active) == [
        ("user:ada", None, 200),
        ("user:ada", None, 401),
        ("user:vera", "a1", 403),
        ("user:edna", "a1", 200),
        ("user:otto", "a1", 202),
    ]
    lines = active.get("/cluster/audit", headers=basic("ada")).json()["lines"]
    assert {one.pop("worker_id") for one in lines} == {"here:1"}
    written = [{key: value for key, value in one.items() if value is not None} for one in guarded.lines()]
    assert lines[::-1] == written
    assert "7654321" not in str(lines)


def test_lines_are_found_by_connector_and_user(active: Client) -> None:
    assert told(active, "?connector=a1&limit=2") == [("user:vera", "a1", 403), ("user:edna", "a1", 200)]
    assert told(active, "?user=user:ada") == told(active, "?user=ada") == told(active)[:2]
    assert told(active, "?user=ada&connector=a1") == []
    assert told(active, "?user=ad") == []
    for limit in ("0", "1001", "x"):
        assert active.get(f"/cluster/audit?limit={limit}", headers=basic("ada")).status_code == 400


def test_only_admins_read_it(active: Client) -> None:
    for user in ("vera", "otto", "edna", "nobody"):
        answer = active.get("/cluster/audit", headers=basic(user))
        assert answer.status_code == 403
        assert "needs the role admin for all connectors" in answer.json()["message"]
    assert active.get("/cluster/audit").status_code == 401


def test_without_an_audit_log_the_answer_says_which_key_switches_it_on(serve) -> None:
    answer = serve().get("/cluster/audit")
    assert answer.status_code == 403
    assert "rest.security.authentication" in answer.json()["message"]
    assert "rest.security.audit.log" in answer.json()["message"]


def test_the_log_alone_is_shown_to_everybody_as_all_else_is(guarded: Guarded) -> None:
    client = guarded.serve({"rest.security.authentication": ""})
    client.put("/connectors/a1/pause")
    (found,) = client.get("/cluster/audit").json()["lines"]
    assert (found["http"], found["path"], found["status"]) == ("PUT", "/connectors/a1/pause", 202)


def test_the_lines_of_all_workers_are_one_list(active: Client, herder, monkeypatch: pytest.MonkeyPatch) -> None:
    led = Led(["here:1", "java:1", "other:1"], [], [], {}, {}, [])
    herder.rebalanced = [Rebalance(1, "here:1", "m", 0, 1, "start", "", Moved(), Moved(), led)]
    asked = []

    def send(_: PeerClient, method: str, url: str, body: Any, headers: Mapping[str, str], timeout: float) -> bytes:
        asked.append(url)
        if "java" in url:
            raise PeerError("...", 404)
        theirs = [
            {"worker_id": "other:1", "time": f"{time}-01-01T00:00:00.000Z", "user": "user:eve", "status": 202}
            for time in (2999, 1999)
        ]
        return msgspec.json.encode({"lines": theirs, "unreachable": []})

    monkeypatch.setattr(PeerClient, "send", send)
    answer = active.get("/cluster/audit?limit=3", headers=basic("ada")).json()
    assert [one["worker_id"] for one in answer["lines"]] == ["other:1", "here:1", "here:1"]
    (java,) = answer["unreachable"]
    assert java["worker_id"] == "java:1"
    assert asked == [f"http://{worker}:1/cluster/audit?limit=3&forward=false" for worker in ("java", "other")]
    asked.clear()
    active.get("/cluster/audit?connector=a%261&user=eve", headers=basic("ada"))
    assert asked[0].endswith("/cluster/audit?connector=a%261&user=eve&limit=100&forward=false")
    asked.clear()
    assert told(active, "?forward=false") == told(active, "?forward=false")
    assert asked == []


def test_the_timeline_is_for_those_who_see_all_connectors(client: Client) -> None:
    assert client.get("/cluster/rebalances", headers=basic("edna")).status_code == 200
    answer = client.get("/cluster/rebalances", headers=basic("vera"))
    assert answer.status_code == 403
    assert "needs the role viewer for all connectors" in answer.json()["message"]
