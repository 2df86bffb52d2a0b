"""docs/kit.md is right: it names what the kit has, and its sink does what the page promises."""

from __future__ import annotations

import re
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

import connect.kit
from connect import ConnectError, TopicPartition
from connect.testing import SinkRun

PAGE = (Path(__file__).parents[3] / "docs" / "kit.md").read_text("utf-8")
((_, CODE),) = re.findall(r"<!-- file: (\S+) -->\s*```python\n(.*?)```", PAGE, re.DOTALL)
FIRST = TopicPartition("test", 0)


class Hook(ThreadingHTTPServer):
    """A server that notes what is posted, and refuses as many requests as it is told."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.lines: list[str] = []
        self.refuses = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


class Handler(BaseHTTPRequestHandler):
    server: Hook

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        refused = self.server.refuses > 0
        if refused:
            self.server.refuses -= 1
        else:
            self.server.lines += body.splitlines()
        self.send_response(503 if refused else 204)
        self.end_headers()

    def log_message(self, *args: Any) -> None:
        pass


@pytest.fixture
def hook() -> Iterator[Hook]:
    with Hook() as server:
        Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        yield server
        server.shutdown()


@pytest.fixture
def sink() -> Any:
    made: dict[str, Any] = {}
    exec(CODE, made)
    return made["WebhookSink"]


def test_the_page_names_what_there_is() -> None:
    named = set(re.findall(r"^\| `(\w+)`", PAGE, re.MULTILINE))
    assert named == set(connect.kit.__all__) - {"Chore", "CredentialsProvider"}


def test_the_sink_posts_and_commits(hook: Hook, sink: Any) -> None:
    with SinkRun(sink, {"url": hook.url}) as run:
        run.put("a", "b")
        run.put("c")
        run.commit()
        assert hook.lines == ["a", "b", "c"]
        assert run.committed == {FIRST: 3}


def test_the_sink_posts_again_what_failed(hook: Hook, sink: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("connect.kit.retries.backoff", lambda *_: 0.0)
    hook.refuses = 3
    with SinkRun(sink, {"url": hook.url}) as run:
        run.put("a")
        run.commit()
        assert run.committed == {}
        for value in "bcd":
            run.put(value)
            run.commit()
        assert hook.lines == ["a", "b", "c", "d"]
        assert run.committed == {FIRST: 4}
        assert run.retries > 0


def test_the_sink_gives_up(hook: Hook, sink: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("connect.kit.retries.backoff", lambda *_: 0.0)
    hook.refuses = 1000

    def puts() -> None:
        with SinkRun(sink, {"url": hook.url}) as run:
            for _ in range(9):
                run.put("a")
                run.commit()

    with pytest.raises(ConnectError, match=r"503.* Given up after 5 retries \(max\.retries\)"):
        puts()
