"""One line for every change, refused change and failed login, with names and no values."""

import asyncio
import errno
import json
import logging
import os
from pathlib import Path
from typing import Any

import pytest

from connect.errors import ConfigError
from connect.herder.replay import Replayed, Sent
from rest import dlq
from rest.security.audit import AuditFile, AuditLine, LeftOut, StrangersLines, encoded

from .conftest import Guarded, basic, bearer

BEFORE = {"connector.class": "Known", "pin": "1234567", "url": "http://old", "name": "a1"}


@pytest.fixture(autouse=True)
def connector(herder) -> None:
    herder.configs["a1"] = dict(BEFORE)


def test_a_change_is_a_line_that_names_who_what_and_how_it_ended(guarded: Guarded) -> None:
    client = guarded.serve()
    after = {"connector.class": "Known", "pin": "7654321", "token": "shh-99", "name": "a1"}
    answer = client.put("/connectors/a1/config?forward=false", headers=basic("edna"), json=after)
    assert answer.status_code == 200
    (line,) = guarded.lines()
    assert line.pop("time").endswith("Z")
    assert line.pop("request") == answer.headers["X-Request-Id"]
    assert line == {
        "user": "user:edna",
        "method": "basic",
        "address": "127.0.0.1",
        "http": "PUT",
        "path": "/connectors/a1/config",
        "connector": "a1",
        "status": 200,
        "changed": {"added": ["token"], "changed": ["pin"], "removed": ["url"]},
    }


def test_no_value_is_written_whatever_is_asked(guarded: Guarded) -> None:
    client = guarded.serve()
    secret = {"connector.class": "Known", "pin": "sekret-1", "x": "sekret-2"}
    client.post("/connectors", headers=basic("edna"), json={"name": "a2", "config": secret})
    client.request("PATCH", "/connectors/a1/config", headers=basic("edna"), json={"pin": "sekret-3", "url": None})
    client.put("/connectors/b/config?password=sekret-4", headers=basic("edna"), json=secret)
    client.post("/connectors", headers=basic("sekret-5", "sekret-6"), json={})
    client.get("/connectors", headers=bearer("sekret-7"))
    entries = {"offsets": [{"partition": {"sekret-8": 1}, "offset": {"sekret-9": 1}}]}
    client.request("PATCH", "/connectors/a1/offsets", headers=basic("edna"), json=entries)
    lines = guarded.lines()
    assert len(lines) == 6
    assert "sekret" not in guarded.log.read_text()
    assert lines[0]["changed"] == {"added": ["connector.class", "name", "pin", "x"]}
    assert lines[1]["changed"] == {"changed": ["pin"], "removed": ["url"]}
    assert lines[5]["changed"] == {"offsets": 1}


def test_a_replay_says_how_much_and_of_what_nothing(guarded: Guarded, monkeypatch) -> None:
    done = Replayed("dead", False, [Sent(0, 1, "t", 2, 3)], [], 0, True, None)
    monkeypatch.setattr(dlq, "replay", lambda *_: done)
    client = guarded.serve()
    order = {"key": "sekret-1", "set": {"sekret-2": "sekret-3"}}
    client.post("/connectors/a1/dlq/replay", headers=basic("edna"), json=order)
    client.get("/connectors/a1/dlq", headers=basic("edna"))
    (line,) = guarded.lines()
    assert (line["connector"], line["changed"]) == ("a1", {"replayed": 1, "edited": True})
    assert "sekret" not in guarded.log.read_text()


CHANGES: list[tuple[str, str, Any]] = [
    ("PUT", "/connectors/a1/pause", None),
    ("PUT", "/connectors/a1/resume", None),
    ("PUT", "/connectors/a1/stop", None),
    ("POST", "/connectors/a1/restart", None),
    ("POST", "/connectors/a1/tasks/0/restart", None),
    ("PUT", "/connectors/a1/topics/reset", None),
    ("DELETE", "/connectors/a1/offsets", None),
    ("PUT", "/admin/loggers/connect.x", {"level": "DEBUG"}),
    ("DELETE", "/connectors/a1", None),
    ("DELETE", "/connectors/a1", None),
]


def test_every_change_is_one_line(guarded: Guarded) -> None:
    client = guarded.serve()
    for number, (method, path, body) in enumerate(CHANGES, 1):
        answer = client.request(method, path, headers=basic("ada"), json=body)
        lines = guarded.lines()
        assert len(lines) == number
        assert (lines[-1]["http"], lines[-1]["path"], lines[-1]["status"]) == (method, path, answer.status_code)
        assert lines[-1]["user"] == "user:ada"


def test_reading_and_checking_are_no_lines(guarded: Guarded) -> None:
    client = guarded.serve()
    for method, path in (("GET", "/connectors"), ("HEAD", "/connectors/a1"), ("OPTIONS", "/connectors")):
        client.request(method, path, headers=basic("ada"))
    client.put("/connector-plugins/Known/config/validate", headers=basic("edna"), json=BEFORE)
    client.get("/admin/loggers", headers=basic("vera"))  # refused, but it changes nothing
    client.get("/connectors")  # nobody
    client.get("/health")
    assert guarded.lines() == []


def test_what_is_refused_is_a_line_with_the_reason(guarded: Guarded) -> None:
    client = guarded.serve()
    client.put("/connectors/a1/pause", headers=basic("vera"))
    client.post("/connectors", headers=basic("edna"), json={"name": "b1", "config": BEFORE})
    client.put("/connectors/a1/pause")
    found = [(line["user"], line["status"], line.get("reason"), line.get("connector")) for line in guarded.lines()]
    assert found == [
        ("user:vera", 403, 'lacks the role operator for connector "a1"', "a1"),
        ("user:edna", 403, 'lacks the role editor for connector "b1"', "b1"),
        (None, 401, None, "a1"),
    ]
    assert all("changed" not in line for line in guarded.lines())


def test_a_failed_login_is_a_line_that_names_only_whom_there_is(guarded: Guarded) -> None:
    client = guarded.serve()
    client.get("/connectors", headers=basic("vera", "x"))
    client.get("/connectors", headers=basic("a-password-in-the-wrong-field", "x"))
    client.get("/connectors", headers=bearer("x"))
    guarded.write("tokens", guarded.tokens.read_text().strip() + ":2020-01-01\n")
    client.get("/connectors", headers=bearer())
    found = [(line["user"], line["method"], line["status"], line["reason"]) for line in guarded.lines()]
    assert found == [
        ("user:vera", None, 401, "wrong password"),
        (None, None, 401, "unknown user"),
        (None, None, 401, "unknown token"),
        ("token:ci", None, 401, "expired token"),
    ]


def test_a_change_that_failed_says_so(guarded: Guarded, herder) -> None:
    def broken(_: str) -> None:
        raise RuntimeError("x")

    herder.pause = broken
    client = guarded.serve()
    assert client.put("/connectors/a1/pause", headers=basic("ada")).status_code == 500
    assert [line["status"] for line in guarded.lines()] == [500]


def test_the_log_is_kept_without_logins_too(guarded: Guarded) -> None:
    client = guarded.serve({"rest.security.authentication": ""})
    assert client.put("/connectors/a1/pause").status_code == 202
    assert client.get("/admin/loggers").status_code == 200
    (line,) = guarded.lines()
    assert (line["user"], line["method"], line["status"]) == (None, None, 202)


def test_without_a_file_lines_go_to_a_logger(guarded: Guarded, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "connect.audit")
    client = guarded.serve({"rest.security.audit.log": ""})
    client.put("/connectors/a1/pause", headers=basic("ada"))
    (record,) = [record for record in caplog.records if record.name == "connect.audit"]
    assert json.loads(record.getMessage())["user"] == "user:ada"


def line(path: str) -> AuditLine:
    return AuditLine("now", "id", None, None, "10.0.0.1", "PUT", path, 200)


def test_a_file_that_was_moved_away_is_made_anew(tmp_path: Path) -> None:
    path = tmp_path / "audit.log"
    log = AuditFile(str(path))
    log.write(line("/1"))
    path.rename(tmp_path / "audit.log.1")
    log.write(line("/2"))
    path.unlink()
    log.write(line("/3"))
    assert "/1" in (tmp_path / "audit.log.1").read_text()
    assert json.loads(path.read_text())["path"] == "/3"
    assert path.stat().st_mode & 0o007 == 0
    again = AuditFile(str(path))
    again.write(line("/4"))
    assert len(path.read_text().splitlines()) == 2
    log.close()
    again.close()


def test_a_file_that_cannot_be_written_is_said_at_the_start_and_its_lines_are_logged(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with pytest.raises(ConfigError, match=r"rest\.security\.audit\.log.*cannot be written"):
        AuditFile(str(tmp_path / "no" / "folder"))
    folder = tmp_path / "logs"
    folder.mkdir()
    log = AuditFile(str(folder / "audit.log"))
    (folder / "audit.log").unlink()
    folder.rmdir()
    log.write(line("/lost"))
    assert '"/lost"' in caplog.text
    log.close()


def test_a_line_behind_one_for_which_the_disk_had_no_room_is_whole(tmp_path: Path, monkeypatch) -> None:
    room = [10_000]

    def write(file: int, data: bytes) -> int:
        if not room[0]:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        size = real(file, data[: room[0]])
        room[0] -= size
        return size

    real = os.write
    monkeypatch.setattr(os, "write", write)
    log = AuditFile(str(tmp_path / "audit.log"))
    for path, left in (("/first", 10_000), ("/half", 20), ("/none", 0), ("/last", 10_000), ("/more", 10_000)):
        room[0] = left
        log.write(AuditLine("now", "id", None, None, "10.0.0.7", "PUT", path, 202))
    log.close()
    first, half, *others = (tmp_path / "audit.log").read_text().splitlines()
    assert (json.loads(first)["path"], len(half)) == ("/first", 20)
    assert [json.loads(line)["path"] for line in others] == ["/last", "/more"]


def test_a_name_cannot_begin_a_line_of_its_own(guarded: Guarded) -> None:
    client = guarded.serve()
    client.request("DELETE", "/connectors/a%0A%7B%22user%22:1%7D", headers=basic("edna"))
    (found,) = guarded.lines()
    assert found["connector"] == 'a\n{"user":1}'


def test_lines_about_strangers_are_few_and_the_others_counted(guarded: Guarded) -> None:
    client = guarded.serve()
    for _ in range(50):
        client.put("/connectors/a1/pause")
    # Whoever floods does not hide what he tries, nor what others do.
    client.get("/connectors", headers=basic("vera", "x"))
    client.put("/connectors/a1/pause", headers=basic("otto"))
    assert [(line["user"], line["status"]) for line in guarded.lines()] == [
        *[(None, 401)] * 10,
        ("user:vera", 401),
        ("user:otto", 202),
    ]


def test_what_was_left_out_is_told_with_its_number() -> None:
    class Lines:
        def __init__(self) -> None:
            self.written: list[Any] = []
            self.told = asyncio.Event()

        def write(self, line: Any) -> None:
            self.written.append(line)
            if isinstance(line, LeftOut):
                self.told.set()

    async def flood() -> list[Any]:
        lines = Lines()
        strangers = StrangersLines(lines, tell_after=0)
        for number in range(30):
            for last in range(250):
                strangers.write(
                    AuditLine("now", "id", None, None, f"10.0.{number}.{last}", "PUT", "/", 401), login=bool(last % 2)
                )
        await lines.told.wait()
        return lines.written

    *written, told = asyncio.run(asyncio.wait_for(flood(), 60))
    assert 100 <= len(written) < 1000  # however many addresses there are
    assert told.left_out == 30 * 250 - len(written)
    assert told.left_out - 100 <= told.addresses <= told.left_out
    assert json.loads(encoded(told))["left_out"] == told.left_out


def test_a_path_of_kilobytes_is_cut(guarded: Guarded) -> None:
    guarded.serve().put(f"/connectors/{'x' * 60_000}/pause")
    assert guarded.log.stat().st_size < 3_000
    (found,) = guarded.lines()
    assert found["path"].endswith("x...")


def test_so_are_a_method_and_a_reason(guarded: Guarded) -> None:
    """Anybody may send any method. A right that is lacking names the connector."""
    client = guarded.serve()
    client.request("X" * 60_000, "/connectors")
    client.request("DELETE", f"/connectors/{'x' * 60_000}", headers=basic("vera"))
    assert guarded.log.stat().st_size < 9_000
    strange, refused = guarded.lines()
    assert strange["http"].endswith("X...")
    assert refused["reason"].startswith('lacks the role editor for connector "xxx')
