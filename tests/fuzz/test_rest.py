"""The REST API: whatever is asked of a real worker, it answers, and never with a 5xx.

schemathesis thinks up requests that fit the description (`tests/conformance/openapi` holds the answers to it); here
bodies are damaged, and requests are not HTTP.
"""

from __future__ import annotations

import os
import random
import re
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import quote

import pytest

from connect.kafka.broker.embedded import Broker
from tests.conformance.rest.parties import party
from tests.conformance.rest.talk import Party
from tests.fuzz.running import LIMIT, SECONDS, Fuzz, corpus
from tests.support import rest
from tests.support.worker_process import our_command

HOOKS = Path(__file__).parents[1] / "conformance" / "openapi"
CONNECTOR = "tried"
CONFIG = b'{"connector.class":"FileStreamSource","file":"not-there","topic":"tried","tasks.max":"1","name":"tried"}'
OFFSETS = b'{"offsets":[{"partition":{"filename":"not-there"},"offset":{"position":20}}]}'
REQUESTS = [
    ("POST", "/connectors", b'{"name":"tried","initial_state":"STOPPED","config":' + CONFIG + b"}"),
    ("PUT", f"/connectors/{CONNECTOR}/config", CONFIG),
    ("PATCH", f"/connectors/{CONNECTOR}/config", b'{"topic":"other","x":null}'),
    ("PATCH", f"/connectors/{CONNECTOR}/offsets", OFFSETS),
    ("DELETE", f"/connectors/{CONNECTOR}/offsets", b""),
    ("PUT", "/connector-plugins/FileStreamSource/config/validate", CONFIG),
    ("PUT", "/admin/loggers/connect.tried", b'{"level":"INFO"}'),
    ("POST", f"/connectors/{CONNECTOR}/tasks", b"[]"),
    ("POST", f"/connectors/{CONNECTOR}/restart?includeTasks=true&onlyFailed=false", b""),
    ("PUT", f"/connectors/{CONNECTOR}/topics/reset", b""),
    ("GET", f"/connectors/{CONNECTOR}/status", b""),
    ("GET", "/connectors?expand=status&expand=info", b""),
    ("GET", "/connector-plugins/FileStreamSource/config", b""),
]
PIECES = [
    *b'{ } [ ] : , " \\ null true 1e999 NaN -0 "" "a" {} [] "\\ud800" \xff "name" "config"'.split(),
    *b'"config":null "name":1 "offsets":{} "partition":[] "initial_state":"x" "transforms":"a,a"'.split(),
    *b'"tasks.max":"-1"'.split(),
    *b'"connector.class":"x" "transforms":"${env:HOME}" "predicates":"p" "transforms.a.type":"Cast$Value"'.split(),
    *b'"topic":"\\u0000" "errors.tolerance":"all" "producer.override.x":"1" "header.converter":"x"'.split(),
    b"9" * 5000,
    b"[" * 3000,
    b'{"a":' * 3000,
    b"x" * 40_000,
    b"${" * 100,
    b"${a:" * 300,
    b"\0",
    b"\r\n",
    b"\n",
]
PATHS = [
    "",
    "/",
    *["..", "%2e%2e", "%00", "%0a", "%ff", "%C0%80", "%ED%A0%80", "ä", "status", "-1", "1_0", "²"],
    "a" * 5000,
    "9" * 30,
]
LINES = [
    *(b"GET / HTTP/1.1\r\n", b"POST /connectors HTTP/1.1\r\n", b"PUT /connectors/tried/config HTTP/1.0\r\n"),
    *(b"Content-Length: 5\r\n", b"Content-Length: -1\r\n", b"Content-Length: 99999999999999\r\n"),
    *(b"Transfer-Encoding: chunked\r\n", b"5\r\n{}\r\n", b"0\r\n\r\n", b"ffffffffffffffff\r\n"),
    *(b"Content-Type: application/json\r\n", b"Accept: text/html\r\n", b"Connection: close\r\n", b"Host: a\r\n"),
    *(b"Authorization: Basic \xff\xff\r\n", b"Upgrade: h2c\r\n", b"Expect: 100-continue\r\n"),
    *(b"X-Connect-Authorization: x\r\n", b"X-Connect-Request-Signature: \xff\r\n"),
    *(b"\r\n", b"\n", b"\0", b"\xff", b": \r\n", b"{}", b"a" * 9000),
]


@pytest.fixture(scope="module")
def worker(broker: Broker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Party]:
    """A standalone worker."""
    folder = tmp_path_factory.mktemp("fuzz") / "worker"
    with party("fuzz-rest", "standalone", our_command("standalone"), folder, broker.bootstrap_servers, {}) as worker:
        yield worker


def test_bodies_that_are_damaged_are_answered(fuzz: Fuzz, worker: Party) -> None:
    def one(chance: random.Random) -> None:
        for _ in range(40):
            method, path, body = chance.choice(REQUESTS)
            for _ in range(chance.choice([0, 1, 1, 2, 4])):
                start = chance.randrange(len(body) + 1)
                body = body[:start] + chance.choice(PIECES) + body[start + chance.choice([0, 0, 1, 6, 20]) :]
            if chance.random() < 0.2:
                path = "/".join(part if chance.random() < 0.7 else _part(chance) for part in path.split("/"))
            kind = chance.choice(["application/json"] * 8 + ["text/plain", "application/json; charset=utf-16", ""])
            ask(fuzz, worker, method, path if path.startswith("/") else f"/{path}", body, kind)
        for name in rest.ask(worker.port, "GET", "/connectors").body:
            rest.ask(worker.port, "DELETE", f"/connectors/{quote(name, safe='')}")

    for data in corpus("rest"):
        for method, path, _ in REQUESTS:
            ask(fuzz, worker, method, path, data, "application/json")
    with no_traceback(worker):
        fuzz.rounds(one, least=4)


def _part(chance: random.Random) -> str:
    return quote(chance.choice(PATHS), safe="%")


def ask(fuzz: Fuzz, worker: Party, method: str, path: str, body: bytes, kind: str) -> None:
    """One request, and its answer."""
    connection = HTTPConnection("127.0.0.1", worker.port, timeout=60)
    reply = rest.send(connection, method, path, body or None, {"Content-Type": kind} if kind else {})
    fuzz.met[f"{reply.status // 100}xx"] += 1
    assert reply.status < 500, f"{method} {path} {body!r}: {reply.status} {reply.content!r}"


def test_what_is_no_http_harms_nobody(fuzz: Fuzz, worker: Party) -> None:
    def one(chance: random.Random) -> None:
        for _ in range(20):
            sent = b"".join(chance.choices(LINES, k=chance.randrange(1, 9)))
            with socket.create_connection(("127.0.0.1", worker.port), timeout=60) as connection:
                try:
                    connection.sendall(sent)
                    connection.shutdown(socket.SHUT_WR)
                    answer = connection.recv(65536)
                except OSError:  # it has been refused before all of it was there
                    answer = b""
            status = answer[9:12]
            fuzz.met[status.decode("latin-1") or "closed"] += 1
            assert not status.startswith(b"5") or status in {b"501", b"505"}, f"{sent!r}: {answer!r}"
        assert rest.answers(worker.port), "the worker does not answer any more"

    with no_traceback(worker):
        fuzz.rounds(one, least=3)


@pytest.mark.skipif(not SECONDS, reason="tests/conformance/openapi asks a few; with FUZZ_SECONDS there are many")
@pytest.mark.timeout(LIMIT)
def test_whatever_fits_the_description_is_answered(fuzz: Fuzz, worker: Party, tmp_path: Path) -> None:
    environment = {
        **os.environ,
        "SCHEMATHESIS_HOOKS": "hooks",
        "PYTHONPATH": str(HOOKS),
        "TRIED_CONNECTOR": CONNECTOR,
        "TRIED_FILE": str(tmp_path / "not-there"),
    }
    command = [str(Path(sys.executable).with_name("schemathesis")), "--config-file", str(HOOKS / "schemathesis.toml")]
    command += ["run", f"http://127.0.0.1:{worker.port}/openapi.json", "--phases", "coverage,fuzzing,stateful"]
    command += ["--checks", "not_a_server_error", "--continue-on-failure", "--no-color", "--max-examples", "20"]
    until = time.monotonic() + SECONDS

    def one(chance: random.Random) -> None:
        seed = str(chance.getrandbits(32))
        left = max(1.0, until - time.monotonic()) + 60
        done = subprocess.run(
            [*command, "--seed", seed], cwd=tmp_path, env=environment, stdin=subprocess.DEVNULL, capture_output=True,
            text=True, check=False, timeout=left + LIMIT,
        )  # fmt: skip
        fuzz.met["runs"] += 1
        assert done.returncode == 0, f"seed {seed}\n{done.stdout}{done.stderr}"

    fuzz.rounds(one)


def test_the_name_of_a_class_that_is_too_long_for_a_file_is_refused(worker: Party) -> None:
    body = {"connector.class": "x" * 300, "topic": "t"}
    path = "/connector-plugins/FileStreamSource/config/validate"
    assert rest.ask(worker.port, "PUT", path, body).status < 500


def test_a_key_with_half_a_surrogate_pair_in_its_bytes_is_refused(worker: Party) -> None:
    body = b'{"connector.class":"FileStreamSource","\xed\xa0\x80":"x"}'
    assert rest.ask(worker.port, "PUT", f"/connectors/{CONNECTOR}/config", body).status == 400


@contextmanager
def no_traceback(worker: Party) -> Iterator[None]:
    """Hold that the worker logs none."""
    log = worker.folder / "worker.log"
    before = log.stat().st_size
    yield
    said = log.read_bytes()[before:].decode(errors="replace")
    records = re.split(r"^(?=\d{4}-\d\d-\d\dT)", said, flags=re.MULTILINE)
    bad = [each for each in records if "Traceback" in each]
    assert [each[:6000] for each in bad] == []
