"""A task whose start fails leaves nothing behind of what it had opened: no connection, no thread."""

import json
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from connect import ConnectError
from connect.testing import SinkRun, SourceRun
from connectors.elasticsearch.sink import OpenSearchSinkConnector
from connectors.jdbc.sink import JdbcSinkConnector
from connectors.jdbc.source import JdbcSourceConnector
from connectors.s3.sink import S3SinkConnector
from tests.support.waiting import until


class Refusing(ThreadingHTTPServer):
    """A cluster that lets nobody in, over connections that stay open until the client closes them."""

    daemon_threads = True

    def __init__(self) -> None:
        self.opened = self.closed = 0
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def setup(self) -> None:
                server.opened += 1
                super().setup()

            def finish(self) -> None:
                super().finish()
                server.closed += 1

            def do_GET(self) -> None:
                body = json.dumps({"status": 403, "error": {"type": "security_exception", "reason": "no"}}).encode()
                self.send_response(403)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: Any) -> None: ...

        super().__init__(("127.0.0.1", 0), Handler)


@pytest.fixture
def cluster() -> Iterator[Refusing]:
    with Refusing() as server:
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        yield server
        server.shutdown()


def test_the_opensearch_sink_closes_its_connections(cluster: Refusing) -> None:
    url = f"http://127.0.0.1:{cluster.server_port}"
    config = {"connection.url": url, "key.ignore": "true", "max.retries": "0"}
    config |= {"existing.resource.type": "index", "topic.to.existing.resource.mapping": "test:things"}
    run = SinkRun(OpenSearchSinkConnector, config)
    with pytest.raises(ConnectError, match="security_exception") as caught:  # kept: it holds the task
        run.start()
    assert cluster.opened
    until(lambda: cluster.closed == cluster.opened)
    assert caught


def test_the_jdbc_sink_closes_its_connection(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    connections = []

    def fail(writer: Any, options: Any, database: Any, ledger: Any) -> None:
        connections.append(database.connect())
        raise ConnectError("There is no such table.")

    monkeypatch.setattr("connectors.jdbc.sink.writer.Writer.__init__", fail)
    with pytest.raises(ConnectError, match="There is no such table"):
        SinkRun(JdbcSinkConnector, {"connection.url": f"jdbc:sqlite:{tmp_path}/db"}).start()
    assert [connection.closed for connection in connections] == [True]


def test_the_jdbc_source_closes_its_connection_and_ends_its_watch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    connections = []

    def fail(reader: Any, part: Any, options: Any, server: Any, stored: Any) -> None:
        connections.append(server.connect())
        raise ConnectError("There is no such table.")

    monkeypatch.setattr("connectors.jdbc.source.reader.Reader.__init__", fail)
    with closing(sqlite3.connect(tmp_path / "db")) as database:
        database.execute("CREATE TABLE t (id INTEGER PRIMARY KEY)")
    config = {"connection.url": f"jdbc:sqlite:{tmp_path}/db", "mode": "bulk", "topic.prefix": "t-"}
    with pytest.raises(ConnectError, match="There is no such table"):
        SourceRun(JdbcSourceConnector, config).start()
    assert [connection.closed for connection in connections] == [True]
    assert not _threads("watch tables")


def test_the_s3_sink_ends_its_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    running = []

    def fail(task: Any) -> None:
        running.extend(_threads("object-writer"))
        raise ConnectError("There is no such time.")

    monkeypatch.setattr("connectors.s3.sink.task.S3SinkTask._next_schedule", fail)
    config = {"s3.bucket.name": "things", "s3.region": "eu-central-1", "format.class": "json", "flush.size": "3"}
    with pytest.raises(ConnectError, match="There is no such time"):
        SinkRun(S3SinkConnector, config).start()
    assert len(running) == 1
    assert not running[0].is_alive()


def _threads(name: str) -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name.startswith(name)]
