"""What somebody without a login does to a worker keeps nobody else waiting, and fills neither memory nor log."""

import base64
import time
from collections.abc import Iterator

import msgspec
import pytest

from connect import peers
from connect.kafka.broker.embedded import Broker
from rest.security.forwarded import HEADER, SIGNATURE, Forwarded
from tests.support.attacks import MIB, SLOW, crowd, post, raw
from tests.support.waiting import until

from .guarded_worker import ADA, GuardedWorker, a_guarded_worker

FORGED = {peers.SIGNATURE_HEADER: peers.sign(b"x" * 32, b"", "HmacSHA256"), peers.ALGORITHM_HEADER: "HmacSHA256"}
LARGE = 30 * MIB
VALIDATE = "/connector-plugins/FileStreamSource/config/validate"
CONFIG = {"connector.class": "FileStreamSource", "topic": "x", "note": "x" * 200_000}


@pytest.fixture(scope="module")
def worker(broker: Broker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[GuardedWorker]:
    with a_guarded_worker(broker.bootstrap_servers, tmp_path_factory.mktemp("guarded")) as made:
        made.ask("PUT", VALIDATE, CONFIG)  # starts the plug-in's process
        made.until(lambda: made.ask("POST", "/connectors/a/tasks", b"[]", FORGED).status == 403)  # there is a key
        yield made


def served(worker: GuardedWorker) -> None:
    """Users are answered, also those who send more than a little."""
    for _ in range(20):
        assert worker.ask("GET", "/connectors") == (200, [])
    assert worker.ask("PUT", VALIDATE, CONFIG).status == 200


@pytest.mark.promise("P6", "P7")
def test_more_slow_connections_than_descriptors(worker: GuardedWorker) -> None:
    memory, logged = worker.memory(), worker.logged()
    with crowd(worker.port, 1_500, SLOW) as others:
        until(lambda: others.opened >= 1_500, 60)
        served(worker)
    assert worker.memory() - memory < 100 * MIB
    assert worker.logged() - logged < 100_000


@pytest.mark.promise("P6", "P7")
@pytest.mark.parametrize("kind", ["nobody", "signed", "sent on"])
def test_large_bodies_that_stall(worker: GuardedWorker, kind: str) -> None:
    headers, path = {
        "nobody": ({}, "/connectors"),
        "signed": (FORGED, "/connectors/a/tasks"),
        "sent on": (sent_on(), "/connectors"),
    }[kind]
    memory, logged = worker.memory(), worker.logged()
    with crowd(worker.port, 60, post(path, headers, LARGE), LARGE - 1) as others:
        until(lambda: others.opened >= 60 and others.sent and others.stalls(), 60, progress=lambda: others.sent)
        served(worker)
        assert worker.memory() - memory < 100 * MIB
    assert worker.logged() - logged < 100_000


def sent_on() -> dict[str, str]:
    """Headers that say that another worker sends a request on, as of now. Nobody has signed them."""
    told = Forwarded("CN=root", "10.0.0.7", "r1", "w1", time.time())
    return {
        HEADER: base64.b64encode(msgspec.json.encode(told)).decode(),
        SIGNATURE: base64.b64encode(b"x" * 32).decode(),
    }


def test_what_no_worker_signed_is_refused_and_one_line(worker: GuardedWorker) -> None:
    for _ in range(50):
        status = worker.ask("PUT", "/connectors/a/pause", headers=sent_on()).status
        assert status in (403, 409)  # 409 while the session key is new
    for _ in range(50):
        assert worker.ask("POST", "/connectors/a/tasks", b"[]", FORGED).status == 403
    assert worker.log.count("claims to be forwarded") <= 2
    assert "10.0.0.7" not in worker.audit.read_text()


def test_whom_no_proxy_of_ours_names_is_who_is_connected(worker: GuardedWorker) -> None:
    """So nobody guesses passwords without end by calling himself somebody else each time."""
    statuses = []
    for number in range(14):
        wrong = base64.b64encode(f"ada:{number}".encode()).decode()
        headers = {"Authorization": f"Basic {wrong}", "X-Forwarded-For": f"10.7.0.{number}"}
        statuses.append(worker.ask("GET", "/connectors", headers=headers).status)
    assert statuses[-1] == 429
    assert "10.7.0." not in worker.audit.read_text()
    assert worker.ask("GET", "/connectors").status == 200


def test_nobody_fills_the_audit_log(worker: GuardedWorker) -> None:
    before = len(worker.lines())
    for _ in range(100):
        assert worker.ask("POST", "/connectors", headers={}).status == 401
    assert len(worker.lines()) - before < 30


def test_pages_of_other_sites_and_other_names_get_nothing(worker: GuardedWorker) -> None:
    login = f"Authorization: {ADA['Authorization']}\r\n"
    restart = f"POST /connectors/a/restart HTTP/1.1\r\nHost: localhost:{worker.port}\r\n{login}Content-Length: 0\r\n"
    assert raw(worker.port, f"{restart}Origin: http://evil.example\r\n\r\n".encode())[0] == 403
    assert raw(worker.port, f"{restart}Origin: http://localhost:{worker.port}\r\n\r\n".encode())[0] == 404
    rebound = f"GET /connectors HTTP/1.1\r\nHost: evil.example:{worker.port}\r\n{login}\r\n"
    assert raw(worker.port, rebound.encode())[0] == 421
    both = f"POST /connectors HTTP/1.1\r\nHost: localhost\r\n{login}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n"
    status, answer = raw(worker.port, f"{both}\r\n0\r\n\r\n{rebound}".encode())
    assert (status, answer.count(b"HTTP/1.1 ")) == (400, 1)
