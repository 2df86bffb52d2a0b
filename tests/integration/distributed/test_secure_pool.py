"""Two workers that speak https and ask who users are: whichever is asked, the leader acts for whoever asked it."""

from __future__ import annotations

import http.client
import json
import ssl
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from connect import peers
from connect.kafka.broker.embedded import Broker
from rest.security.passwords import PasswordHash
from tests.support.rest import Answer, exchange

from .pool import Pool, PoolWorker, steady

ROLES = """
[[grant]]
role = "admin"
to = ["user:ada"]

[[grant]]
role = "editor"
to = ["certificate:CN=edna"]
connectors = ["a*"]
secrets = true
"""
ADA = {"Authorization": "Basic YWRhOnB3"}  # ada:pw
KEY = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2")


class SecureWorker(PoolWorker):
    """A worker at https. Asks as ada, or as the owner of a certificate."""

    def __init__(self, folder: Path, settings: Mapping[str, str], tls: ssl.SSLContext) -> None:
        super().__init__(folder, settings)
        self._settings["listeners"] = f"https://127.0.0.1:{self.port}"
        self._tls = tls

    def ask(
        self, method: str, path: str, body: Any = None, headers: Mapping[str, str] | None = None, timeout: float = 100
    ) -> Answer:
        return self.ask_as(self._tls, method, path, body, ADA if headers is None else headers, timeout)

    def ask_as(
        self,
        tls: ssl.SSLContext,
        method: str,
        path: str,
        body: Any = None,
        headers: Mapping[str, str] | None = None,
        timeout: float = 100,
    ) -> Answer:
        connection = http.client.HTTPSConnection("127.0.0.1", self.port, timeout=timeout, context=tls)
        return exchange(connection, method, path, body, headers)


class SecurePool:
    """Two workers of one group that trust one authority, and one audit log."""

    def __init__(self, folder: Path, broker: Broker, name: str) -> None:
        self.folder = folder
        self._openssl("req", "-x509", *KEY, "-subj", "/CN=authority", "-keyout", "ca.key", "-out", "ca.pem")
        self.tls = ssl.create_default_context(cafile=folder / "ca.pem")
        self._certificate("worker", "subjectAltName=IP:127.0.0.1")
        self._certificate("edna")
        self.edna = ssl.create_default_context(cafile=folder / "ca.pem")
        self.edna.load_cert_chain(folder / "edna.pem", folder / "edna.key")
        (folder / "users").write_text(f"ada:{PasswordHash.make('pw')}\n")
        (folder / "users").chmod(0o600)
        (folder / "roles.toml").write_text(ROLES)
        self.log = folder / "audit.log"
        both = folder / "worker.both"
        both.write_text((folder / "worker.key").read_text() + (folder / "worker.pem").read_text())
        self.pool = Pool(name, folder, broker.bootstrap_servers)
        self.pool.settings |= {
            "listeners.https.ssl.keystore.type": "PEM",
            "listeners.https.ssl.keystore.location": str(both),
            "listeners.https.ssl.truststore.type": "PEM",
            "listeners.https.ssl.truststore.location": str(folder / "ca.pem"),
            "listeners.https.ssl.client.auth": "requested",
            "rest.security.authentication": "basic,certificate",
            "rest.security.users.file": str(folder / "users"),
            "rest.security.roles.file": str(folder / "roles.toml"),
            "rest.security.audit.log": str(self.log),
        }

    def start(self) -> None:
        workers = [SecureWorker(self.folder, self.pool.settings, self.tls) for _ in range(2)]
        self.pool.workers += workers
        for worker in workers:
            worker.start()
        self.pool.until(lambda: all(worker.ready() for worker in workers), "the workers answer")

    @property
    def follower(self) -> SecureWorker:
        found = self.pool.followers()[0]
        assert isinstance(found, SecureWorker)
        return found

    def lines(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.log.read_text().splitlines()]

    def _certificate(self, name: str, extension: str = "") -> None:
        self._openssl("req", "-new", *KEY[:-2], "-subj", f"/CN={name}", "-keyout", f"{name}.key", "-out", f"{name}.csr")
        (self.folder / "extensions").write_text(f"{extension}\n")
        self._openssl(
            *("x509", "-req", "-in", f"{name}.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial"),
            *("-days", "2", "-extfile", "extensions", "-out", f"{name}.pem"),
        )

    def _openssl(self, *words: str) -> None:
        subprocess.run(["openssl", *words], cwd=self.folder, check=True, capture_output=True)


@pytest.fixture(scope="module")
def secure(broker: Broker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecurePool]:
    folder = tmp_path_factory.mktemp("secure")
    made = SecurePool(folder, broker, f"secure-{folder.name}-{id(folder)}")
    try:
        made.start()
        yield made
    finally:
        made.pool.close()


@pytest.mark.quick
def test_whoever_asks_a_follower_is_who_acts_at_the_leader(secure: SecurePool, name: str, tmp_path: Path) -> None:
    pool, follower = secure.pool, secure.follower
    ours, others = f"a{name}", f"b{name}"
    for connector in (ours, others):  # one runs at each worker, which writes its tasks through the leader
        follower.create(connector, steady(tmp_path, 2))
    pool.until(lambda: follower.runs(ours, 2) and follower.runs(others, 2), "both run")
    assert len({follower.states(one)["connector"][1] for one in (ours, others)}) == 2

    before = len(secure.lines())
    pool.until(lambda: follower.ask_as(secure.edna, "PUT", f"/connectors/{ours}/pause").status == 202, "it is taken")
    pool.until(lambda: follower.runs(ours, 2, "PAUSED"), "it is paused")
    assert follower.ask_as(secure.edna, "PUT", f"/connectors/{others}/pause").status == 403
    assert follower.ask_as(secure.edna, "GET", "/connectors").body == [ours]
    assert follower.ask_as(secure.tls, "PUT", f"/connectors/{ours}/resume").status == 401
    follower.do("PUT", f"/connectors/{ours}/resume")
    written = [line for line in secure.lines()[before:] if line["status"] != 409]  # asked again while sharing out
    assert [(line["user"], line["status"], line.get("forwarded_by")) for line in written] == [
        ("certificate:CN=edna", 202, follower.id),
        ("certificate:CN=edna", 403, None),
        (None, 401, None),
        ("user:ada", 202, follower.id),
    ]
    assert len({line["request"] for line in written}) == 4
    for connector in (ours, others):
        follower.do("DELETE", f"/connectors/{connector}")


@pytest.mark.promise("P8")
def test_terraforms_provider_finds_what_it_sent_at_either_worker(secure: SecurePool, name: str, tmp_path: Path) -> None:
    """Its library (ricardo-ch v3) sends a configuration, and reads it until each value is the one that it sent."""
    ours = f"a{name}"
    follower, leader = secure.follower, secure.pool.leader()
    assert isinstance(leader, SecureWorker)
    path = f"/connectors/{ours}/config"
    follower.create(ours, steady(tmp_path, **{"db.password": "first"}))
    sent = {**steady(tmp_path, **{"db.password": "second"}), "name": ours}
    secure.pool.until(lambda: follower.ask_as(secure.edna, "PUT", path, sent).status == 200, "it is taken")
    for worker in (follower, leader):
        secure.pool.until(lambda: worker.ask_as(secure.edna, "GET", path).body == sent, "it is up to date")  # noqa: B023
        assert worker.get(path) == {**sent, "db.password": "[hidden]"}  # ada may do more, and was not granted that
    follower.do("DELETE", f"/connectors/{ours}")


def test_every_change_is_one_line_whichever_worker_is_asked(secure: SecurePool, name: str, tmp_path: Path) -> None:
    leader = secure.pool.leader()
    for worker in (secure.follower, leader):
        before = len(secure.lines())
        worker.create(f"a{name}", steady(tmp_path))
        secure.pool.until(lambda: worker.runs(f"a{name}", 1), "it runs")  # noqa: B023
        worker.do("PUT", f"/connectors/a{name}/stop")
        worker.do("DELETE", f"/connectors/a{name}")
        told = [line for line in secure.lines()[before:] if line["status"] < 400]
        assert [line["http"] for line in told] == ["POST", "PUT", "DELETE"]
        assert told[0]["changed"]["added"] == sorted([*steady(tmp_path), "name"])
        assert {line.get("forwarded_by") for line in told} == {None if worker is leader else worker.id}


def test_what_workers_ask_of_each_other_has_to_be_signed(secure: SecurePool, name: str) -> None:
    leader = secure.pool.leader()
    path = f"/connectors/{name}/tasks"
    assert leader.ask("POST", path, [], headers={}).status == 400
    forged = {peers.SIGNATURE_HEADER: peers.sign(b"x", b"[]", "HmacSHA256"), peers.ALGORITHM_HEADER: "HmacSHA256"}
    # A young group has no key yet.
    secure.pool.until(lambda: leader.ask("POST", path, [], headers=forged).status == 403, "it is refused")
    assert leader.ask("POST", path, [], headers=ADA).status == 400
    assert [line["status"] for line in secure.lines()[-3:]] == [400, 403, 400]


def test_the_history_names_who_asked_whichever_worker_was_asked(secure: SecurePool, name: str, tmp_path: Path) -> None:
    follower, ours = secure.follower, f"a{name}"
    path = f"/connectors/{ours}"
    follower.create(ours, steady(tmp_path))
    change = {"number": "1"}
    secure.pool.until(
        lambda: follower.ask_as(secure.edna, "PATCH", f"{path}/config", change).status == 200, "it is taken"
    )
    secure.pool.until(lambda: len(follower.history(ours)) == 2, "both are recorded")
    newest, first = follower.history(ours)
    assert (newest["by"], first["by"]) == ("certificate:CN=edna", "user:ada")

    restore = f"{path}/history/{first['version']}/restore"
    assert follower.ask_as(secure.tls, "POST", restore).status == 401
    secure.pool.until(lambda: follower.ask_as(secure.edna, "POST", restore).status == 200, "it is taken")
    secure.pool.until(lambda: len(follower.history(ours)) == 3, "it is recorded")
    assert follower.history(ours)[0]["by"] == "certificate:CN=edna"
    assert "number" not in follower.get(f"{path}/config")
    (line,) = [line for line in secure.lines() if (line["http"], line["path"]) == ("PUT", f"{path}/config")]
    assert (line["user"], line["changed"]) == ("certificate:CN=edna", {"removed": ["number"]})
    follower.do("DELETE", path)
    assert follower.ask_as(secure.edna, "GET", f"/connectors/b{name}/history").status == 403
