"""/ui/live: a page's changes as server-sent events, of a real worker."""

import http.client
import json
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from rest.security.passwords import PasswordHash

from .conftest import Worker

pytestmark = pytest.mark.slow

#: Seconds. It ends a run that hangs, and measures nothing.
PATIENCE_S = 60.0


class Events:
    """The events of a page, each a name and its data."""

    def __init__(self, answer: http.client.HTTPResponse) -> None:
        self.answer = answer

    def __iter__(self) -> Iterator[tuple[str, Any]]:
        name = ""
        for line in self.answer:
            field, _, text = line.decode().rstrip("\n").partition(": ")
            if field == "event":
                name = text
            elif field == "data":
                yield name, json.loads(text)

    def until(self, name: str, words: str) -> Any:
        """The data of the next event of this name with these words; anything else is passed over."""
        return next(data for event, data in self if event == name and words in json.dumps(data))


@contextmanager
def followed(port: int, page: str, **headers: str) -> Iterator[Events]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE_S)
    try:
        connection.request("GET", f"/ui/live?page={quote(page, safe='&=')}", headers=headers)
        answer = connection.getresponse()
        assert answer.status == 200, answer.read()
        assert answer.headers["Content-Type"].startswith("text/event-stream")
        yield Events(answer)
    finally:
        connection.close()


@pytest.fixture
def worker(workers: Any, topic: str) -> Worker:
    started: Worker = workers.start()
    source = {"connector.class": "Datagen", "kafka.topic": topic, "quickstart": "orders", "rate": "50"}
    assert started.ask("PUT", "/connectors/up%2Fdown/config", source)[0] == 201
    started.until_state("up%2Fdown", "RUNNING")
    return started


def test_a_page_is_told_what_changes_until_its_connector_is_gone(worker: Worker) -> None:
    with followed(worker.port, "/ui/connectors/up%2Fdown") as events:
        name, first = next(iter(events))
        assert name == "parts"
        assert set(first) >= {"state", "charts", "tasks"}
        assert "RUNNING" in first["state"]
        assert worker.ask("PUT", "/connectors/up%2Fdown/pause")[0] == 202
        changed = events.until("parts", "PAUSED")
        assert "state" in changed
        assert worker.ask("DELETE", "/connectors/up%2Fdown")[0] == 204
        assert "404" in events.until("over", "")["message"]
        assert next(iter(events), None) is None


def test_what_does_not_change_is_not_sent_again(worker: Worker) -> None:
    assert worker.ask("PUT", "/connectors/up%2Fdown/stop")[0] == 204
    worker.until(lambda: worker.get("/connectors/up%2Fdown/status")["tasks"] == [])
    with followed(worker.port, "/ui/connectors?search=up") as events:
        assert "up/down" in next(iter(events))[1]["list"]
        rest = (line.strip() for line in events.answer)
        assert next(line for line in rest if line) == b":"  # that it is still there, and nothing else


def test_a_worker_ends_although_pages_are_open(worker: Worker) -> None:
    with followed(worker.port, "/ui") as events:
        next(iter(events))
        began = time.monotonic()
        assert worker.stop(PATIENCE_S) == 0
        assert time.monotonic() - began < 30  # the server would wait for a minute for its requests
        assert list(events) == []


def test_a_browser_with_many_windows_has_connections_left(worker: Worker) -> None:
    with ExitStack() as windows:
        for _ in range(4):
            next(iter(windows.enter_context(followed(worker.port, "/ui&browser=one"))))
        assert worker.ask("GET", "/ui/live?page=/ui&browser=one")[0] == 204
        for another in ("/ui&browser=two", "/ui"):
            next(iter(windows.enter_context(followed(worker.port, another))))

    def room() -> bool:
        connection = http.client.HTTPConnection("127.0.0.1", worker.port, timeout=PATIENCE_S)
        connection.request("GET", "/ui/live?page=/ui&browser=one")
        status = connection.getresponse().status
        connection.close()
        return status == 200

    worker.until(room)


def test_what_is_no_page_is_refused(worker: Worker) -> None:
    for page in ("/connectors", "/ui/live?page=/ui", "/ui/liv%65?page=/ui", "/ui/static/page.js", ""):
        status, _ = worker.ask("GET", f"/ui/live?page={quote(page, safe='')}")
        assert status == 400, page


def test_a_reader_without_the_role_sees_as_much_as_on_the_page(workers: Any, tmp_path: Path, topic: str) -> None:
    users, roles = tmp_path / "users", tmp_path / "roles.toml"
    users.write_text(f"ada:{PasswordHash.make('pw')}\n")
    users.chmod(0o600)
    roles.write_text('[[grant]]\nrole = "editor"\nto = ["user:ada"]\nconnectors = ["mine"]\n')
    worker = workers.start(
        rest__security__authentication="basic",
        rest__security__users__file=str(users),
        rest__security__roles__file=str(roles),
    )
    ada = {"Authorization": "Basic YWRhOnB3"}
    with followed(worker.port, "/ui/connectors/other", **ada) as events:
        assert "403" in events.until("over", "")["message"]
    with followed(worker.port, "/ui", **ada) as events:
        assert next(iter(events))[0] == "parts"
