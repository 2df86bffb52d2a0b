"""The question to Prometheus, what becomes of its answer, and what is said where there is none."""

from __future__ import annotations

import asyncio
import json
import re
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final
from urllib.parse import parse_qs

import pytest

from connect.ports import free_port
from connect.settings.worker_keys import STANDALONE
from connect.telemetry.catalogue import KAFKA
from rest.errors import ApiError
from rest.models.figures import TimeSeries
from rest.prometheus import EVERY_S, Prometheus, expression, text
from tests.support.exposed import EXPOSED, read

from .conftest import LEAST, Client, Serve
from .fake_herder import FakeHerder

NOW: Final = 1_700_000_007.0
END: Final = 1_700_000_000 // 15 * 15
HUGE: Final = b"[" * (5 << 20)


class Server(ThreadingHTTPServer):
    """Answers as the test wants, and notes what it is asked.

    Attributes:
        status, content: of its answers.
        hangs: whether it answers only when the test is over.
        asked: the fields of each question, and its Authorization.
    """

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.status, self.content = 200, figures()
        self.hangs = False
        self.over = threading.Event()
        self.asked: list[tuple[dict[str, str], str | None]] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


class _Handler(BaseHTTPRequestHandler):
    server: Server

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        fields = {name: values[0] for name, values in parse_qs(body, strict_parsing=True).items()}
        self.server.asked.append(({"path": self.path, **fields}, self.headers["Authorization"]))
        if self.server.hangs:
            self.server.over.wait()
            return
        self.send_response(self.server.status)
        self.send_header("Content-Length", str(len(self.server.content)))
        self.end_headers()
        self.wfile.write(self.server.content)

    def log_message(self, *args: Any) -> None:
        pass


@pytest.fixture
def server() -> Iterator[Server]:
    with Server() as started:
        thread = threading.Thread(target=started.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        yield started
        started.over.set()
        started.shutdown()
        thread.join()


def figures(**values: list[tuple[float, str]]) -> bytes:
    result = [{"metric": {"figure": name}, "values": points} for name, points in values.items()]
    return json.dumps({"status": "success", "data": {"resultType": "matrix", "result": result}}).encode()


def ask(url: str, hours: int = 6, connector: str = "x", login: str | None = None) -> TimeSeries:
    asked = Prometheus(url, {}, "jmx", login, wall=lambda: NOW)
    return asyncio.run(asked.series(connector, hours))


@pytest.mark.parametrize("every", EVERY_S.values())
def test_the_question_asks_for_what_workers_export(every: int) -> None:
    question = read(expression('or"d\\ers', every, {"job": "a,b", "instance": "w"}, "jmx"))
    assert question.labels == frozenset()  # one series of each figure
    for selector in question.selectors:
        matchers = {(label, value) for label, operator, value in selector.matchers if operator == "="}
        assert matchers == {("job", "a,b"), ("instance", "w"), ("connector", 'or"d\\ers')}


def test_the_question_has_the_names_that_the_worker_exports() -> None:
    short = {metric.prometheus("short") for metric in KAFKA} | {name for name in EXPOSED if name.startswith("connect_")}
    asked = set(re.findall(r"(\w+)\{", expression("x", 60, {}, "short")))
    assert len(asked) == 9
    assert asked <= short
    assert asked - {metric.prometheus("jmx") for metric in KAFKA} - EXPOSED.keys()  # and they are others


@pytest.mark.parametrize(
    ("value", "written"),
    [
        ("orders-1 é", '"orders-1 é"'),
        ('"} or up{x="', '"\\U00000022} or up{x=\\U00000022"'),
        ("a\\", '"a\\U0000005c"'),
        ("a\nb\u2028", '"a\\U0000000ab\\U00002028"'),
        ("{{x}} $y `z` 'q'", "\"{{x}} $y `z` 'q'\""),
    ],
)
def test_a_name_is_a_text_in_promql(value: str, written: str) -> None:
    assert text(value) == written
    (selector,) = read(f"connect_task_stalled{{connector={written}}}").selectors
    assert selector.matchers == (("connector", "=", value),)


@pytest.mark.parametrize("hours", EVERY_S)
def test_all_points_are_there_and_what_is_not_known_is_null(server: Server, hours: int) -> None:
    every = EVERY_S[hours]
    count = hours * 3600 // every
    server.content = figures(
        records_per_second=[(END - every, "12.34567"), (END, "NaN")],
        lag=[(END, "+Inf"), (END - 2 * every, "7"), (END + 9 * every, "9"), (END - hours * 7200, "9")],
        tasks=[(END, "2")],
        colour=[(END, "1")],
    )
    found = ask(server.url, hours)
    (series,) = found.series
    assert (found.every_ms, found.longest_hours, found.unreachable) == (every * 1000, 720, [])
    assert series.worker_id is None
    assert count <= 400
    assert series.at == [(END - every * (count - 1 - number)) * 1000 for number in range(count)]
    assert series.records_per_second == [None] * (count - 2) + [12.346, None]
    assert series.lag == [None] * (count - 3) + [7, None, None]
    assert series.tasks == [0] * (count - 1) + [2]
    assert series.put_ms == [None] * count
    ((fields, _),) = server.asked
    question = fields.pop("query")
    assert f"[{max(every, 240)}s]" in question
    span = {"start": str(series.at[0] // 1000), "end": str(END), "step": str(every), "timeout": "5s"}
    assert fields == {"path": "/api/v1/query_range", **span}


def test_a_connector_that_it_does_not_know_has_no_series(server: Server) -> None:
    assert ask(server.url).series == []


@pytest.mark.parametrize(
    ("status", "content", "words"),
    [
        (200, b"<html>", "answers something else than figures. Does metrics.prometheus.url lead to its HTTP API?"),
        (200, b'{"status": "success"}', "answers something else than figures."),
        (200, b'{"data": {"result": [{"metric": {}, "values": [[1, 2, 3]]}]}}', "answers something else than figures."),
        (200, b"\xff", "answers something else than figures."),
        (200, HUGE, "the answer is longer than"),
        (401, b"", "refuses the worker's login (HTTP 401). Set metrics.prometheus.bearer.auth.token or"),
        (404, b"404 page not found", "answers with HTTP 404: Does metrics.prometheus.url lead to its HTTP API?"),
        (422, b'{"status": "error", "error": "too\\nmuch"}', "answers with HTTP 422: too much"),
        (302, b"", "answers with HTTP 302"),
    ],
)
def test_what_is_no_answer_is_said(server: Server, status: int, content: bytes, words: str) -> None:
    server.status, server.content = status, content
    with pytest.raises(ApiError, match=re.escape(words)) as caught:
        ask(f"{server.url}/secret-path")
    assert caught.value.status == 502
    assert str(caught.value).startswith(f"Prometheus at {server.url} ")
    assert "secret-path" not in str(caught.value)


def test_a_server_that_is_not_there_is_said() -> None:
    url = f"http://127.0.0.1:{free_port()}"
    with pytest.raises(ApiError, match="cannot be reached: Connection refused. metrics.prometheus.url names it."):
        ask(url)


def test_a_server_that_hangs_is_given_up(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rest.prometheus._TIMEOUT_S", 0.2)
    server.hangs = True
    with pytest.raises(ApiError, match=r"had no answer within 0\.2 seconds|cannot be reached: timed out"):
        ask(server.url)


def test_one_that_hangs_does_not_use_up_the_worker(server: Server) -> None:
    server.hangs = True

    async def many() -> list[object]:
        asked = Prometheus(server.url, {}, "jmx", wall=lambda: NOW)
        waiting = [asyncio.ensure_future(asked.series(f"c{number}", 6)) for number in range(6)]
        refused, _ = await asyncio.wait(waiting, timeout=60, return_when=asyncio.FIRST_COMPLETED)
        server.over.set()  # now the others are ended
        return [one.exception() for one in refused]

    found = asyncio.run(many())
    assert found
    assert {getattr(error, "status", None) for error in found} == {503}


def test_a_page_that_asks_again_and_again_costs_one_question(server: Server) -> None:
    now = [NOW]

    async def pages() -> None:
        asked = Prometheus(server.url, {}, "jmx", wall=lambda: now[0])
        for moment in (NOW, NOW + 1, NOW + 15):
            now[0] = moment
            for hours in (6, 24):
                await asked.series("x", hours)
            await asked.series("y", 6)

    asyncio.run(pages())
    assert len(server.asked) == 6


def prometheus_keys(url: str, **more: str) -> dict[str, str]:
    return {"metrics.prometheus.url": url, **{f"metrics.prometheus.{key.replace('_', '.')}": more[key] for key in more}}


@pytest.fixture
def orders(herder: FakeHerder) -> str:
    herder.configs["orders"] = {"name": "orders", "connector.class": "Known"}
    return "/connectors/orders/timeseries"


def test_hours_are_a_choice_of_a_few(client: Client, orders: str) -> None:
    for wrong in ("0", "2", "-6", "6.0", "many", "", "٦"):
        answer = client.get(f"{orders}?hours={wrong}")
        assert answer.status_code == 400
        assert answer.json()["message"] == "hours is 1, 6, 24, 168 or 720."
    assert client.get(f"{orders}?hours=1").json() == client.get(orders).json()
    assert client.get("/connectors/nobody/timeseries?hours=6").status_code == 404


def test_without_a_prometheus_the_key_is_named(client: Client, orders: str) -> None:
    answer = client.get(f"{orders}?hours=24")
    assert answer.status_code == 400
    assert "set metrics.prometheus.url" in answer.json()["message"]
    assert client.get(orders).json()["longest_hours"] == 1
    page = client.get("/ui/connectors/orders").text
    assert "?hours=" not in page
    page = client.get("/ui/connectors/orders?hours=24").text
    assert "set metrics.prometheus.url" in page
    assert '<a href="?hours=1"' in page  # the way back


@pytest.mark.parametrize(
    ("more", "authorization"),
    [
        ({}, None),
        ({"bearer_auth_token": "tok"}, "Bearer tok"),
        ({"basic_auth_user_info": "me:pw"}, "Basic bWU6cHc="),
    ],
)
def test_the_worker_asks_as_it_is_configured(
    serve: Serve, server: Server, orders: str, more: dict[str, str], authorization: str | None
) -> None:
    server.content = figures(records_per_second=[(time.time() - 600, "9")])
    client = serve(prometheus_keys(server.url + "/prefix/", labels="job=connect,team=a", **more))
    assert client.get(orders).json()["longest_hours"] == 720
    assert server.asked == []  # the last hour is in memory
    answer = client.get(f"{orders}?hours=6")
    assert answer.status_code == 200
    assert 9 in answer.json()["series"][0]["records_per_second"]
    ((fields, login),) = server.asked
    assert login == authorization
    assert fields["path"] == "/prefix/api/v1/query_range"
    assert '{job="connect",team="a",connector="orders"' in fields["query"]
    page = client.get("/ui/connectors/orders?hours=6").text
    assert 'aria-label="Records/s in the last 6 hours, from 0 to 10"' in page
    assert '<a href="?hours=6" aria-current="true">6 hours</a>' in page
    server.status = 500
    page = client.get("/ui/connectors/orders?hours=720").text
    assert f"Prometheus at {server.url} answers with HTTP 500" in page
    assert '<a href="?hours=1"' in page


def errors(**keys: str) -> dict[str, list[str]]:
    config = LEAST | prometheus_keys(keys.pop("url", "http://p:9090"), **keys)
    return {found.name: found.errors for found in STANDALONE.validate(config) if found.errors}


@pytest.mark.parametrize("url", ["http://p", "https://p.example:9090/mimir/prometheus", "http://[::1]:9090/"])
def test_an_address_of_a_server_is_right(url: str) -> None:
    assert errors(url=url) == {}


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        ({"url": "p:9090"}, "not the address of a server. Write http://host:9090"),
        ({"url": ""}, "not the address of a server"),
        ({"url": "ftp://p"}, "not the address of a server"),
        ({"url": "http://p:x"}, "not the address of a server"),
        ({"url": "http://a b"}, "not the address of a server"),
        ({"url": "http://[1"}, "not the address of a server"),
        ({"url": "http://me:7654321@p:9090"}, "Write that as metrics.prometheus.basic.auth.user.info"),
        ({"url": "http://p:9090?token=7654321"}, "after ? or #"),
        ({"labels": "connect"}, "of the form label=value"),
        ({"labels": "job="}, "of the form label=value"),
        ({"labels": "1job=a"}, "of the form label=value"),
        ({"labels": "__name__=a"}, "of the form label=value"),
        ({"labels": "connector=a"}, "select by"),
        ({"basic_auth_user_info": "7654321"}, "of the form <user>:<password>"),
    ],
)
def test_what_is_wrong_with_a_key_is_said_and_no_secret(keys: dict[str, str], words: str) -> None:
    ((said,),) = errors(**keys).values()
    assert words in said
    assert "7654321" not in said


def test_a_label_has_what_a_user_wrote(server: Server) -> None:
    config = STANDALONE.parse(LEAST | prometheus_keys(server.url, labels="job=a=b, team=x y"))
    made = Prometheus.of(config)
    assert made is not None
    asyncio.run(made.series("x", 6))
    assert '{job="a=b",team="x y",connector="x"' in server.asked[0][0]["query"]
    assert Prometheus.of(STANDALONE.parse(LEAST)) is None
