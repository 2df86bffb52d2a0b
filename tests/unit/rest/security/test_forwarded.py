"""What workers tell each other of whoever asks: believed once, for a minute, and from workers only."""

import base64
import threading
from collections.abc import Iterator, Mapping
from concurrent.futures import Future
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import msgspec
import pytest

from connect.herder.errors import ForbiddenError
from connect.peers import PeerClient
from rest.body_room import MOST_BYTES
from rest.security.certificates import CERTIFICATE as SHOWN
from rest.security.forwarded import AUDITED, HEADER, SIGNATURE, DisbelievedError, Vouching
from rest.security.roles import Identity

from .conftest import Guarded, basic

KEY = b"k" * 32
CERTIFICATE = Identity("certificate", "CN=ops,O=Example")


class Group:
    """The requests of workers, and their key."""

    peers = PeerClient()

    def __init__(self) -> None:
        self.key: bytes | None = KEY
        self.settled = True

    def key_settled(self) -> bool:
        return self.settled

    def check_headers(self, headers: Mapping[str, str]) -> None:
        pass

    def session_key(self) -> bytes | None:
        return self.key

    def put_task_configs(self, connector: str, body: bytes, headers: Mapping[str, str]) -> Future[None]:
        done: Future[None] = Future()
        done.set_result(None)
        return done

    def fence_zombies(self, connector: str) -> Future[None]:
        return self.put_task_configs(connector, b"", {})

    def check_signature(self, body: bytes, headers: Mapping[str, str]) -> None:
        pass


@pytest.fixture
def group() -> Group:
    return Group()


@pytest.fixture
def now() -> list[float]:
    return [1_000_000.0]


@pytest.fixture
def vouching(group: Group, now: list[float]) -> Vouching:
    return Vouching(group.session_key, "first:8083", lambda: now[0])


def test_what_a_worker_signs_is_believed_once(vouching: Vouching) -> None:
    headers = vouching.vouch(CERTIFICATE, "10.0.0.7", "r1")("PUT", "/a?forward=true", b"body")
    asked = (headers[HEADER], headers[SIGNATURE], "PUT", "/a?forward=true", b"body")
    told = vouching.check(*asked)
    assert (told.certificate, told.address, told.request, told.worker) == (
        CERTIFICATE.name,
        "10.0.0.7",
        "r1",
        "first:8083",
    )
    with pytest.raises(DisbelievedError, match="used before"):
        vouching.check(*asked)


def test_only_certificates_are_vouched_for(vouching: Vouching) -> None:
    for number, identity in enumerate((None, Identity("user", "ada"), Identity("token", "ci"))):
        headers = vouching.vouch(identity, "10.0.0.7", f"r{number}")("PUT", "/a", b"")
        told = vouching.check(headers[HEADER], headers[SIGNATURE], "PUT", "/a", b"")
        assert told.certificate is None


@pytest.mark.parametrize("part", ["method", "target", "body", "header", "signature", "key", "late", "early", "none"])
def test_what_was_changed_on_the_way_or_comes_late_is_not_believed(
    vouching: Vouching, group: Group, now: list[float], part: str
) -> None:
    headers = vouching.vouch(CERTIFICATE, "10.0.0.7", "r1")("PUT", "/a", b"body")
    asked: dict[str, Any] = {
        "header": headers[HEADER],
        "signature": headers[SIGNATURE],
        "method": "PUT",
        "target": "/a",
        "body": b"body",
    }
    told = msgspec.json.decode(base64.b64decode(headers[HEADER]))
    other = base64.b64encode(msgspec.json.encode({**told, "certificate": "CN=root"})).decode()
    changes = {"method": "DELETE", "target": "/b", "body": b"bodies", "header": other, "signature": "AAAA"}
    if part in changes:
        asked[part] = changes[part]
    elif part == "key":
        group.key = b"x" * 32
    elif part == "none":
        group.key = None
    else:
        now[0] += 61 if part == "late" else -61
    with pytest.raises(DisbelievedError):
        vouching.check(**asked)


def test_without_a_key_nothing_is_sent_on(leader: Any, group: Group, herder) -> None:
    herder.leader = "http://127.0.0.1:1/"
    group.key = None
    answer = leader.put("/connectors/a1/pause", headers=basic("otto"))
    assert answer.status_code == 409
    assert answer.json()["message"].startswith("Cannot complete request")


PAUSE = "/connectors/a1/pause?forward=true"


def test_without_a_key_no_other_worker_is_asked_for_what_it_knows(leader: Any, group: Group, herder) -> None:
    here = herder.status("a1")
    herder.status = lambda _: replace(here, connector=replace(here.connector, worker_id="there:1"))
    group.key = None
    answer = leader.get("/connectors?expand=metrics", headers=basic("vera"))
    assert answer.status_code == 409
    assert answer.json()["message"].startswith("Cannot complete request")


def test_the_audit_log_alone_keeps_no_request_from_being_sent_on(guarded: Guarded, group: Group, herder) -> None:
    herder.leader = "http://127.0.0.1:1/"
    group.key = None
    client = guarded.serve({"rest.security.authentication": ""}, requests_of_workers=group)
    answer = client.put("/connectors/a1/pause")
    assert (answer.status_code, "has no answer" in answer.json()["message"]) == (500, True)
    assert [line["status"] for line in guarded.lines()] == [500]


def test_a_worker_is_named_as_everywhere_else(guarded: Guarded, group: Group, herder, monkeypatch: Any) -> None:
    sent: list[Mapping[str, str]] = []

    def exchange(self: PeerClient, method: str, url: str, body: Any, headers: Any, *_: Any) -> Any:
        sent.append(headers)
        return 202, [], b""

    monkeypatch.setattr(PeerClient, "exchange", exchange)
    herder.leader = "http://leader:8083/"
    client = guarded.serve({"listeners": "http://[2001:db8::7]:8083"}, requests_of_workers=group)
    assert client.put("/connectors/a1/pause", headers=basic("otto")).status_code == 202
    assert msgspec.json.decode(base64.b64decode(sent[0][HEADER]))["worker"] == "[2001:db8::7]:8083"


@pytest.fixture
def leader(guarded: Guarded, group: Group, herder) -> Any:
    herder.configs["a1"] = {"name": "a1"}
    return guarded.serve(
        {**tls(guarded), "rest.security.authentication": "basic,certificate"}, requests_of_workers=group
    )


def tls(guarded: Guarded) -> dict[str, str]:
    """An https listener that asks for certificates; nothing listens in these tests."""
    return {"listeners": "https://localhost:8443", "listeners.https.ssl.client.auth": "requested"}


def from_worker(identity: Identity | None, target: str = PAUSE, body: bytes = b"") -> dict[str, str]:
    return Vouching(lambda: KEY, "first:8083").vouch(identity, "10.9.9.9", "r-17")("PUT", target, body)


def test_the_leader_acts_for_whom_another_worker_vouches_and_writes_it_down(leader: Any, guarded: Guarded) -> None:
    answer = leader.put(PAUSE, headers=from_worker(CERTIFICATE))
    assert answer.status_code == 202
    assert answer.headers[AUDITED] == "r-17"
    (line,) = guarded.lines()
    assert (
        line.items()
        >= {
            "request": "r-17",
            "user": str(CERTIFICATE),
            "method": "certificate",
            "address": "10.9.9.9",
            "forwarded_by": "first:8083",
            "status": 202,
        }.items()
    )


def test_the_leader_asks_its_own_roles(leader: Any) -> None:
    assert leader.put(PAUSE, headers=from_worker(Identity("certificate", "CN=other"))).status_code == 403
    target = "/connectors/b1/pause"
    assert leader.put(target, headers=from_worker(CERTIFICATE, target)).status_code == 403


def test_a_password_is_checked_by_the_leader_too(leader: Any, guarded: Guarded) -> None:
    assert leader.put(PAUSE, headers={**from_worker(None), **basic("otto")}).status_code == 202
    assert leader.put(PAUSE, headers={**from_worker(None), **basic("otto", "x")}).status_code == 401
    # Credentials count, not whom somebody vouches for beside them.
    assert leader.put(PAUSE, headers={**from_worker(CERTIFICATE), **basic("vera")}).status_code == 403
    assert leader.put(PAUSE, headers=from_worker(None)).status_code == 401
    assert [line["address"] for line in guarded.lines()] == ["10.9.9.9"] * 4


def test_what_no_worker_signed_is_refused_and_half_of_it_counts_for_nothing(leader: Any, guarded: Guarded) -> None:
    headers = from_worker(CERTIFICATE)
    forged = {**headers, SIGNATURE: base64.b64encode(b"x" * 32).decode()}
    for more in ({}, basic("otto")):
        answer = leader.put(PAUSE, headers={**forged, **more})
        assert answer.status_code == 403
        assert "not one of this group" in answer.json()["message"]
    assert leader.put(PAUSE, headers={HEADER: headers[HEADER]}).status_code == 401
    answer = leader.put(PAUSE, headers={HEADER: headers[HEADER], **basic("otto")})
    assert answer.status_code == 202
    assert AUDITED not in answer.headers
    assert [(line["user"], line["address"], line["status"]) for line in guarded.lines()] == [
        (None, "127.0.0.1", 403),
        (None, "127.0.0.1", 403),
        (None, "127.0.0.1", 401),
        ("user:otto", "127.0.0.1", 202),
    ]


@pytest.mark.parametrize(("part", "status"), [("signature", 403), ("again", 403), ("late", 409), ("none", 409)])
def test_what_may_be_right_in_a_moment_is_to_be_sent_again(
    vouching: Vouching, group: Group, now: list[float], part: str, status: int
) -> None:
    headers = vouching.vouch(CERTIFICATE, "10.0.0.7", "r1")("PUT", "/a", b"")
    asked = [headers[HEADER], headers[SIGNATURE], "PUT", "/a", b"changed" if part == "signature" else b""]
    if part == "again":
        vouching.check(*asked)
    elif part == "late":
        now[0] += 61
    elif part == "none":
        group.key = None
    with pytest.raises(DisbelievedError) as refused:
        vouching.check(*asked)
    assert refused.value.status == status


def test_while_a_key_is_new_a_worker_may_have_signed_with_the_other(leader: Any, group: Group) -> None:
    forged = {**from_worker(CERTIFICATE), SIGNATURE: base64.b64encode(b"x" * 32).decode()}
    group.settled = False
    answer = leader.put(PAUSE, headers=forged)
    assert answer.status_code == 409
    assert answer.json()["message"].startswith("Cannot complete request")


def test_many_forgeries_are_one_line_of_the_log_and_a_count(
    leader: Any, guarded: Guarded, caplog: pytest.LogCaptureFixture
) -> None:
    forged = {**from_worker(CERTIFICATE), SIGNATURE: base64.b64encode(b"x" * 32).decode()}
    for _ in range(30):
        assert leader.put(PAUSE, headers=forged).status_code == 403
    (said,) = [record for record in caplog.records if "claims to be forwarded" in record.getMessage()]
    assert said.levelname == "WARNING"
    assert len(guarded.lines()) == 10
    assert {line["reason"] for line in guarded.lines()} == {"not believed: its signature is not one of this group."}


class NotToBeRead(Exception):
    """Somebody reads a body."""


def test_a_body_is_not_read_before_what_goes_before_it_is_right(leader: Any, group: Group, guarded: Guarded) -> None:
    async def unreadable() -> Any:
        raise NotToBeRead
        yield b""

    def status(method: str, path: str, headers: Mapping[str, str]) -> int:
        sent = {**headers, "Content-Type": "application/json", "Content-Length": "1000"}
        found: int = leader.request(method, path, headers=sent, content=unreadable()).status_code
        return found

    right = from_worker(CERTIFICATE)
    assert status("POST", "/connectors", {}) == 401
    assert status("POST", "/connectors", basic("otto", "wrong")) == 401
    assert status("PUT", "/connectors/b1/config", basic("edna")) == 403
    assert status("PUT", "/connectors/a1/config", basic("edna")) == 500  # who may is listened to
    assert status("PUT", PAUSE, {**right, SIGNATURE: "AAAA"}) == 403
    assert status("PUT", PAUSE, {**right, SIGNATURE: "no base64"}) == 403
    assert status("PUT", PAUSE, {**right, HEADER: "AAAA"}) == 403

    def refuse(headers: Mapping[str, str]) -> None:
        assert headers["X-Connect-Authorization"] == "x"
        raise ForbiddenError("no signature of this group")

    group.check_headers = refuse
    for method, path in (("POST", "/connectors/a1/tasks"), ("PUT", "/connectors/a1/fence")):
        assert status(method, path, {"x-connect-authorization": "x"}) == 403


def test_a_body_that_is_too_large_is_not_read_to_its_end(leader: Any) -> None:
    body = b" " * (MOST_BYTES + 1)
    assert leader.put(PAUSE, headers=from_worker(CERTIFICATE), content=body).status_code == 413
    sent = {**basic("ada"), "Content-Type": "application/json"}
    assert leader.put("/connectors/a1/config", headers=sent, content=body).status_code == 413


def test_the_certificate_of_a_worker_is_not_the_users(guarded: Guarded, group: Group, herder) -> None:
    """As `peer_certificate` puts it there: between workers it is the worker that shows one."""
    herder.configs["a1"] = {"name": "a1"}
    shown = {"subject": ((("organizationName", "Example"),), (("commonName", "ops"),))}

    def of_worker(app: Any) -> Any:
        return lambda scope, receive, send: app({**scope, SHOWN: shown}, receive, send)

    settings = {**tls(guarded), "rest.security.authentication": "basic,certificate"}
    client = guarded.serve(settings, requests_of_workers=group, around=of_worker)
    assert client.put("/connectors/a1/pause").status_code == 202
    assert client.put(PAUSE, headers=from_worker(None)).status_code == 401


def test_where_certificates_do_not_count_nobody_vouches_for_one(guarded: Guarded, group: Group, herder) -> None:
    herder.configs["a1"] = {"name": "a1"}
    client = guarded.serve({"rest.security.authentication": "basic"}, requests_of_workers=group)
    assert client.put(PAUSE, headers=from_worker(CERTIFICATE)).status_code == 401


def test_what_workers_sign_needs_no_user_and_users_have_no_part_in_it(leader: Any, guarded: Guarded) -> None:
    assert leader.post("/connectors/a1/tasks", json=[]).status_code == 204  # this herder checks no signature
    assert leader.put("/connectors/a1/fence", json={}).status_code == 204
    assert leader.post("/connectors/a1/tasks/0", json=[]).status_code == 401
    assert [line["path"] for line in guarded.lines()] == ["/connectors/a1/tasks/0"]


def test_in_standalone_mode_there_are_no_such_requests(guarded: Guarded) -> None:
    client = guarded.serve()
    assert client.post("/connectors/a1/tasks", json=[]).status_code == 401
    assert client.post("/connectors/a1/tasks", headers=basic("ada"), json=[]).status_code == 403


class Leader(HTTPServer):
    """Another worker that leads; `audits` says whether it keeps an audit log."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.audits = True
        self.seen: list[dict[str, str]] = []


class _Handler(BaseHTTPRequestHandler):
    server: Leader

    def do_PUT(self) -> None:
        headers = {name.lower(): value for name, value in self.headers.items()}
        self.server.seen.append(headers)
        self.send_response(202)
        if self.server.audits:
            self.send_header(AUDITED, msgspec.json.decode(base64.b64decode(headers[HEADER]))["request"])
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def other() -> Iterator[Leader]:
    server = Leader()
    threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()


@pytest.fixture
def follower(leader: Any, other: Leader, herder) -> Any:
    herder.leader = f"http://127.0.0.1:{other.server_address[1]}/"
    return leader


def test_who_sends_a_request_on_writes_only_the_line_that_the_other_does_not(
    follower: Any, other: Leader, guarded: Guarded
) -> None:
    answer = follower.put("/connectors/a1/pause", headers=basic("otto"))
    assert answer.status_code == 202
    assert AUDITED not in answer.headers
    assert guarded.lines() == []
    other.audits = False
    follower.put("/connectors/a1/pause", headers=basic("otto"))
    assert [(line["user"], line["status"]) for line in guarded.lines()] == [("user:otto", 202)]


def test_what_the_client_says_of_other_workers_is_not_sent_on(follower: Any, other: Leader, vouching: Vouching) -> None:
    mine = {HEADER: "mine", "X-Connect-Audited": "mine", **basic("otto")}
    assert follower.put("/connectors/a1/pause", headers=mine).status_code == 202
    (seen,) = other.seen
    assert seen["authorization"] == basic("otto")["Authorization"]
    assert seen[HEADER] != "mine"
    told = msgspec.json.decode(base64.b64decode(seen[HEADER]))
    assert (told["address"], told["certificate"]) == ("127.0.0.1", None)
