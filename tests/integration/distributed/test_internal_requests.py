"""What workers ask of each other is for workers only: signed with the group's key under "sessioned" (KIP-507)."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest

from connect import peers

from .pool import Pool, steady

RIGHT = "HmacSHA256"


@pytest.fixture
def key(two: Pool, read: Any, end_of: Any) -> bytes:
    """The session key of the pool: the newest, for there is a new one every hour. A new pool writes it soon."""
    topic = f"{two.name}-config"

    def written() -> list[bytes]:
        records = read(two.bootstrap, topic, end_of(two.bootstrap, topic))
        return [each.value() for each in records if each.key() == b"session-key"]

    return base64.b64decode(json.loads(two.until(written, "there is a session key")[-1])["key"])


@pytest.mark.parametrize("at", ["leader", "follower"])
@pytest.mark.parametrize(("method", "what"), [("POST", "tasks"), ("PUT", "fence")])
def test_a_request_that_is_not_signed_with_the_key_is_refused(
    two: Pool, key: bytes, method: str, what: str, at: str, name: str, tmp_path: Path
) -> None:
    worker = two.leader() if at == "leader" else two.followers()[0]
    worker.create(name, steady(tmp_path))
    two.until(lambda: all(each.runs(name, 1) for each in two.workers), "it runs")
    path = f"/connectors/{name}/{what}"
    body = json.dumps([{"number": "7", "folder": "/", "task.class": "x"}]).encode()
    assert worker.ask(method, path, body).status == 400

    def signed(signature: str, algorithm: str) -> int:
        headers = {peers.SIGNATURE_HEADER: signature, peers.ALGORITHM_HEADER: algorithm}
        return worker.ask(method, path, body, headers).status

    assert signed(peers.sign(b"another key" * 3, body, RIGHT), RIGHT) == 403
    assert signed(peers.sign(key, body + b" ", RIGHT), RIGHT) == 403
    assert signed("no base64", RIGHT) == 403
    assert signed("\xe4", RIGHT) == 403
    assert signed(peers.sign(key, body, "HmacSHA1"), "HmacSHA1") == 400
    assert all(each.runs(name, 1) for each in two.workers)
    assert worker.get(f"/connectors/{name}/tasks")[0]["config"]["number"] == "0"
    worker.do("DELETE", f"/connectors/{name}")


def test_a_follower_that_has_the_key_is_heard(
    two: Pool, key: bytes, name: str, read: Any, end_of: Any, tmp_path: Path
) -> None:
    """What it sends is written. Here the connector's owner has its own tasks written again, after it."""
    worker = two.leader()
    worker.create(name, steady(tmp_path))
    two.until(lambda: all(each.runs(name, 1) for each in two.workers), "it runs")
    (task,) = [entry["config"] for entry in worker.get(f"/connectors/{name}/tasks")]
    body = json.dumps([task, {**task, "number": "1"}]).encode()
    headers = {peers.SIGNATURE_HEADER: peers.sign(key, body, RIGHT), peers.ALGORITHM_HEADER: RIGHT}
    assert worker.ask("POST", f"/connectors/{name}/tasks", body, headers).status == 204

    def written() -> list[bytes]:
        topic = f"{two.name}-config"
        return [each.key() for each in read(two.bootstrap, topic, end_of(two.bootstrap, topic))]

    assert f"task-{name}-1".encode() in written()
    two.until(lambda: all(each.runs(name, 1) for each in two.workers), "it has its own tasks again")
    worker.do("DELETE", f"/connectors/{name}")


@pytest.mark.slow
def test_the_key_is_renewed_when_it_is_too_old(pool: Pool, read: Any, end_of: Any, tmp_path: Path) -> None:
    """By whoever leads, and though nothing else happens; followers sign with the newest."""
    pool.start(2, inter_worker_key_ttl_ms="1000")

    def keys() -> list[str]:
        topic = f"{pool.name}-config"
        records = read(pool.bootstrap, topic, end_of(pool.bootstrap, topic))
        return [record.value().decode() for record in records if record.key() == b"session-key"]

    def generations() -> int:
        return sum(worker.log.count(" of the group (") for worker in pool.workers)

    before, quiet = len(keys()), generations()
    pool.until(lambda: len(keys()) >= before + 3, "three new keys")
    assert len(set(keys())) == len(keys())
    assert generations() == quiet, "the group had a rebalance for it"
    # Four connectors are at both workers: one of them has to sign.
    for number in range(4):
        pool.up[0].create(f"s{number}", steady(tmp_path))
    pool.until(lambda: pool.shared(4, 4), "all have their tasks")
    pool.leader().kill()
    (left,) = pool.up
    pool.until(lambda: left.runs("s0", 1) and pool.shared(4, 4), "the other one leads")
    before = len(keys())
    pool.until(lambda: len(keys()) >= before + 2, "and renews it")
