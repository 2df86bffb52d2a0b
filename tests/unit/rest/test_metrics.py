"""What the REST interface says of what is measured, and how it asks others."""

import asyncio
import json
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import httpx2 as httpx
import pytest

from connect.herder.model import ConnectorState
from connect.peers import PeerClient
from connect.ports import free_port
from connect.storage import ConnectorStatus, State, TaskStatus


class Peer(HTTPServer):
    """Another worker: answers with what it was given, and notes what it is asked."""

    def __init__(self, answer: Any) -> None:
        self.asked: list[str] = []

        class Handler(BaseHTTPRequestHandler):
            server: Peer

            def do_GET(self) -> None:
                self.server.asked.append(self.path)
                body = json.dumps(answer).encode()
                self.send_response(200)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *args: Any) -> None:
                pass

        super().__init__(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def id(self) -> str:
        return f"127.0.0.1:{self.server_port}"

    def end(self) -> None:
        self.shutdown()
        self.server_close()


@pytest.fixture
def with_tasks_on(herder, monkeypatch):
    """Have the connector's tasks 0, 1, ... run on these workers."""

    def share(*workers: str) -> None:
        herder.configs["orders"] = {}
        tasks = [TaskStatus("orders", number, State.RUNNING, worker) for number, worker in enumerate(workers)]
        state = ConnectorState("orders", ConnectorStatus("orders", State.RUNNING, "here:1"), tasks, "sink")
        monkeypatch.setattr(herder, "status", lambda name: state)

    return share


def test_what_was_not_measured_lately_is_null(client, with_tasks_on) -> None:
    with_tasks_on("here:1")
    (found,) = client.get("/connectors?expand=metrics").json().values()
    assert found == {
        "metrics": {
            "worker_id": "here:1",
            "metrics": {"connector-metrics": {"status": "running"}},
            "tasks": [
                {
                    "id": 0,
                    "worker_id": "here:1",
                    "metrics": {
                        "connector-task-metrics": {"status": "running", "batch-size-avg": None, "batch-size-max": 3.0}
                    },
                }
            ],
            "unreachable": [],
        }
    }


def test_others_are_asked_for_their_own_alone_and_named_when_they_do_not_tell(client, with_tasks_on) -> None:
    theirs = {"worker_id": None, "metrics": {}, "unreachable": []}
    ours = Peer({"orders": {"metrics": {**theirs, "tasks": [{"id": 1, "worker_id": "there:2", "metrics": {}}]}}})
    java = Peer({"orders": {}})  # takes no notice of expand=metrics
    gone = f"127.0.0.1:{free_port()}"
    try:
        with_tasks_on("here:1", ours.id, java.id, gone)
        found = client.get("/connectors?expand=metrics&expand=status").json()["orders"]
    finally:
        ours.end()
        java.end()
    assert len(found["status"]["tasks"]) == 4
    assert [(task["id"], task["worker_id"]) for task in found["metrics"]["tasks"]] == [(0, "here:1"), (1, "there:2")]
    assert {one["worker_id"] for one in found["metrics"]["unreachable"]} == {java.id, gone}
    assert ours.asked == ["/connectors?expand=metrics&forward=false"]


def test_who_wants_one_connector_asks_all_workers_for_that_one(client, herder, with_tasks_on) -> None:
    other = Peer({})
    try:
        with_tasks_on("here:1", other.id)
        herder.configs["invoices"] = {}
        found = client.get("/connectors?expand=metrics&connector=orders&connector=no%20such").json()
    finally:
        other.end()
    assert list(found) == ["orders"]
    assert other.asked == ["/connectors?expand=metrics&forward=false&connector=orders&connector=no+such"]
    assert client.get("/connectors?connector=invoices").json() == ["invoices"]


def test_others_are_asked_in_the_way_in_which_a_pool_speaks(serve, with_tasks_on) -> None:
    """Not in that of the client: TLS may end at a proxy."""

    class Workers:
        peers = PeerClient()

        def session_key(self) -> None:
            return None

        def key_settled(self) -> bool:
            return True

    client = serve({"rest.forwarded.allow.ips": "127.0.0.1"}, requests_of_workers=Workers())
    other = Peer({"orders": {"metrics": {"worker_id": None, "metrics": {}, "tasks": [], "unreachable": []}}})
    try:
        with_tasks_on("here:1", other.id)
        found = client.get("/connectors?expand=metrics", headers={"X-Forwarded-Proto": "https"}).json()["orders"]
    finally:
        other.end()
    assert found["metrics"]["unreachable"] == []
    assert other.asked == ["/connectors?expand=metrics&forward=false"]


def test_others_that_hang_keep_nobody_from_metrics(serve, herder, with_tasks_on) -> None:
    """Each question waits in a thread of its own: the machine of a worker may be gone without a word."""

    async def ask(app: Any) -> tuple[int, int]:
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://worker:8083") as client:
            looks = [asyncio.create_task(client.get("/connectors/orders/tap?seconds=30")) for _ in range(40)]
            for _ in range(40):
                await accepted.get()
            shown = await asyncio.wait_for(client.get("/metrics"), 20)
            told = await asyncio.wait_for(client.get("/"), 20)
            for look in looks:
                look.cancel()
            await asyncio.gather(*looks, return_exceptions=True)
            return shown.status_code, told.status_code

    async def test() -> tuple[int, int]:
        async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            accepted.put_nowait(None)
            opened.append(writer)

        hanging = await asyncio.start_server(silent, "127.0.0.1", 0)
        with_tasks_on(f"127.0.0.1:{hanging.sockets[0].getsockname()[1]}")
        try:
            return await ask(serve()._transport.app)
        finally:
            for writer in opened:
                writer.close()
            hanging.close()

    accepted: asyncio.Queue[None] = asyncio.Queue()
    opened: list[asyncio.StreamWriter] = []
    herder.hanging.add("tap")
    assert asyncio.run(asyncio.wait_for(test(), 60)) == (200, 200)


def test_brokers_that_are_away_hold_up_no_answer(serve, herder, monkeypatch) -> None:
    """Probes ask for / again and again; Kafka Connect's own worker answers at once."""
    back, asked = threading.Event(), []

    def cluster_id() -> str | None:
        asked.append(1)
        return "a-cluster" if back.wait(60) else None

    monkeypatch.setattr(herder, "kafka_cluster_id", cluster_id)
    monkeypatch.setattr("rest.cluster_id._PATIENCE_S", 0.05)
    client = serve()
    try:
        for _ in range(3):
            answer = client.get("/")
            assert (answer.status_code, answer.json()["kafka_cluster_id"]) == (200, None)
    finally:
        back.set()
    monkeypatch.setattr("rest.cluster_id._PATIENCE_S", 60)
    assert client.get("/").json()["kafka_cluster_id"] == "a-cluster"
    assert len(asked) == 1  # one question at a time


def test_who_is_asked_by_another_asks_nobody(client, with_tasks_on) -> None:
    other = Peer({})
    try:
        with_tasks_on("here:1", other.id)
        found = client.get("/connectors?expand=metrics&forward=false").json()["orders"]["metrics"]
    finally:
        other.end()
    assert other.asked == []
    assert [task["id"] for task in found["tasks"]] == [0]


def test_requests_are_measured_by_route_and_answer(client, herder) -> None:
    herder.configs["orders"] = {}
    for path in ("/connectors/orders", "/connectors/orders", "/connectors/none", "/no/such/path"):
        client.get(path)
    seen = {
        (one.labels["method"], one.labels["route"], one.labels["status"]): one.value.seen
        for one in herder.measured.registry.snapshot()
        if one.name == "connect_rest_request_seconds"
    }
    assert seen == {
        ("GET", "/connectors/{connector}", "200"): 2,
        ("GET", "/connectors/{connector}", "404"): 1,
        ("GET", "none", "404"): 1,
    }


def test_lag_is_told_by_the_worker_of_the_connector_and_else_by_this_one(client, herder, with_tasks_on) -> None:
    with_tasks_on("here:1")
    found = client.get("/connectors/orders/lag").json()
    assert (found["status"], found["lag"], found["waiting_ms"]) == ("STALLED", 12, 3000)
    assert found["partitions"][0]["current_offset"] is None
    theirs = Peer({**found, "status": "OK", "lag": 0})
    try:
        state = ConnectorState("orders", ConnectorStatus("orders", State.RUNNING, theirs.id), [], "sink")
        herder.status = lambda name: state
        assert client.get("/connectors/orders/lag").json()["status"] == "OK"
        assert theirs.asked == ["/connectors/orders/lag?forward=false"]
        assert client.get("/connectors/orders/lag?forward=false").json()["status"] == "STALLED"
    finally:
        theirs.end()
    assert client.get("/connectors/orders/lag").json()["status"] == "STALLED"  # it is gone
