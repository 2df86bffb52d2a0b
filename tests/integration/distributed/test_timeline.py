"""What a pool tells of its rebalances and of its audit log: whichever worker is asked, the same, of all of them."""

from __future__ import annotations

import base64
import json
import signal
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from rest.security.passwords import PasswordHash
from tests.integration.group.java_worker import java_worker
from tests.support.rest import Answer

from .pool import Pool, PoolWorker, steady

#: How long the work of a worker that is gone waits for it.
DELAY_MS = 1500


def told(worker: PoolWorker, **known: Any) -> list[dict[str, Any]]:
    """The rebalances that it tells of, newest first, where these fields are so."""
    found = worker.get("/cluster/rebalances") or {"rebalances": []}
    return [one for one in found["rebalances"] if all(one[key] == value for key, value in known.items())]


def until_told(pool: Pool, worker: PoolWorker, **known: Any) -> dict[str, Any]:
    found: dict[str, Any] = pool.until(lambda: told(worker, **known), f"{worker.id} tells of {known}")[0]
    return found


def share(one: Mapping[str, Any], worker: PoolWorker) -> dict[str, Any]:
    """A worker's part of a rebalance."""
    (found,) = [share for share in one["shares"] if share["worker_id"] == worker.id]
    return dict(found)


def moved(work: Mapping[str, Any]) -> set[str]:
    """Connectors and tasks by their names."""
    return {*work["first_connectors"], *(f"{task['connector']}-{task['task']}" for task in work["first_tasks"])}


@pytest.mark.quick
def test_each_rebalance_is_told_with_its_cause_and_who_it_was(pool: Pool, tmp_path: Path) -> None:
    pool.settings |= {"scheduled.rebalance.max.delay.ms": str(DELAY_MS)}
    first, *_ = pool.start(1)
    began = until_told(pool, first, cause="start", joined=[first.id])
    assert (began["leader"], began["members"]) == (first.id, [first.id])
    first.create("moved", steady(tmp_path, 2))
    pool.until(lambda: pool.shared(1, 2), "it runs")

    created = until_told(pool, first, cause="configuration", reason="there is a connector moved")
    assert moved(share(created, first)["assigned"]) >= {"moved"}

    second, *_ = pool.start(1)
    pool.until(lambda: pool.shared(1, 2), "both have work")
    for worker in (first, second):  # whoever is asked
        joined = until_told(pool, worker, joined=[second.id])
        assert joined["cause"] in ("start", "joined")  # what it says itself, if it was there in time
        assert (joined["leader"], joined["members"]) == (first.id, sorted([first.id, second.id]))
        gave = [one for one in told(worker) if moved(share(one, first)["revoked"])]
        got = until_told(pool, worker, cause="given_back")
        (given,) = [moved(share(one, first)["revoked"]) for one in gave]
        assert moved(share(got, second)["assigned"]) == given
    names = [(one["generation"], one["cause"]) for one in told(first)]
    assert names == [(one["generation"], one["cause"]) for one in told(second)]
    assert names == sorted(names, reverse=True)
    assert all(one["began"] <= one["ended"] for one in told(first))

    second.kill()
    left = until_told(pool, first, cause="left", left=[second.id])
    assert left["members"] == [first.id]
    (waiting,) = left["waiting"]
    assert (waiting["worker_id"], moved(waiting["work"])) == (second.id, given)
    after = until_told(pool, first, cause="delay")
    assert moved(share(after, first)["assigned"]) == given
    assert first.get("/cluster/rebalances")["unreachable"] == []

    second.start()
    pool.until(second.ready, "it answers again")
    again = until_told(pool, second, joined=[second.id])
    assert again["generation"] > after["generation"]
    first.do("DELETE", "/connectors/moved")
    until_told(pool, second, cause="configuration", reason="connector moved was deleted")

    # The leader goes: the next one knows that it did.
    first.kill()
    left = until_told(pool, second, left=[first.id])  # the cause may be that work is given back at the same time
    assert (left["leader"], left["members"]) == (second.id, [second.id])


def test_a_worker_that_was_frozen_is_named_and_then_was_out_of_the_group(pool: Pool, tmp_path: Path) -> None:
    first, *_ = pool.start(1)
    second, *_ = pool.start(1)
    until_told(pool, first, joined=[second.id])
    second.signal(signal.SIGSTOP)
    (unreachable,) = pool.until(lambda: first.get("/cluster/rebalances")["unreachable"], "it is missed")
    assert unreachable["worker_id"] == second.id
    until_told(pool, first, cause="left", left=[second.id])
    second.signal(signal.SIGCONT)
    for worker in (first, second):
        lost = until_told(pool, worker, cause="lost", joined=[second.id])
        assert "no answer" in lost["reason"]
        assert lost["members"] == sorted([first.id, second.id])


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("leads", ["java", "python"])
def test_of_a_java_worker_is_told_what_the_others_know(pool: Pool, tmp_path: Path, leads: str) -> None:
    pool.settings |= {"offset.storage.partitions": "1", "status.storage.partitions": "1"}
    if leads == "python":
        (ours,) = pool.start(1)
    with java_worker(pool.bootstrap, pool.name, "sessioned", tmp_path) as java:
        java.until(lambda: java.get("/connectors") is not None)
        if leads == "java":
            (ours,) = pool.start(1)
        answer = pool.until(lambda: (now := ours.get("/cluster/rebalances"))["unreachable"] and now, "it is named")
        assert [(one["worker_id"], one["error"]) for one in answer["unreachable"]] == [
            (java.id, "It does not know this request: a Java worker, or an older version.")
        ]
        if leads == "python":
            until_told(pool, ours, cause="joined", joined=[java.id])
        else:
            started = until_told(pool, ours, cause="start", joined=[ours.id])
            assert (started["leader"], started["members"]) == (java.id, None)
        java.process.kill()
        until_told(pool, ours, cause="left", left=[java.id])


# The audit log.


ROLES = """
[[grant]]
role = "admin"
to = ["user:ada"]

[[grant]]
role = "viewer"
to = ["user:vera"]
"""


def basic(user: str, password: str | None = None) -> dict[str, str]:
    text = f"{user}:{f'pw-{user}' if password is None else password}"
    return {"Authorization": f"Basic {base64.b64encode(text.encode()).decode()}"}


class LoggedIn(PoolWorker):
    """Asked by ada, who may do everything, unless other headers are given."""

    def ask(
        self, method: str, path: str, body: Any = None, headers: Mapping[str, str] | None = None, timeout: float = 100
    ) -> Answer:
        return super().ask(method, path, body, basic("ada") if headers is None else headers, timeout)

    def audit(self, query: str = "") -> list[tuple[Any, ...]]:
        """Who did what with which result at which worker, oldest first."""
        lines = self.get(f"/cluster/audit{query}")["lines"]
        return [(one.get("user"), one["path"], one["status"], one["worker_id"]) for one in reversed(lines)]


@pytest.mark.quick
def test_the_audit_log_of_all_workers_is_read_at_each(pool: Pool, tmp_path: Path, name: str) -> None:
    users = tmp_path / "users"
    users.write_text("".join(f"{user}:{PasswordHash.make(f'pw-{user}')}\n" for user in ("ada", "vera")))
    users.chmod(0o600)
    (tmp_path / "roles.toml").write_text(ROLES)
    pool.settings |= {
        "rest.security.authentication": "basic",
        "rest.security.users.file": str(users),
        "rest.security.roles.file": str(tmp_path / "roles.toml"),
    }
    workers = [LoggedIn(tmp_path, pool.settings) for _ in range(2)]
    pool.workers += workers
    for worker in workers:
        worker.start()
    pool.until(lambda: all(worker.ready() for worker in workers), "the workers answer")
    leader = next(worker for worker in workers if worker is pool.leader())
    follower = next(worker for worker in workers if worker is not leader)
    follower.create(name, steady(tmp_path, secret_pin="s3cret"))
    pool.until(lambda: leader.runs(name, 1), "it runs")
    pause = f"/connectors/{name}/pause"
    leader.do("PUT", pause)
    assert follower.ask("PUT", pause, headers=basic("vera")).status == 403
    assert follower.ask("GET", "/connectors", headers=basic("vera", "wrong")).status == 401
    expected = [
        ("user:ada", "/connectors", 201, leader.id),  # it was forwarded
        ("user:ada", pause, 202, leader.id),
        ("user:vera", pause, 403, follower.id),
        ("user:vera", "/connectors", 401, follower.id),
    ]
    for worker in workers:
        settled = [one for one in worker.audit() if one[2] != 409]  # asked again while sharing out
        assert settled == expected
        assert worker.audit("?user=vera") == expected[2:]
        assert worker.audit(f"?connector={name}&user=vera") == expected[2:3]
        assert worker.audit("?limit=1") == expected[-1:]
        answer = worker.ask("GET", "/cluster/audit")
        assert answer.body["unreachable"] == []
        assert "s3cret" not in json.dumps(answer.body)
        assert worker.ask("GET", "/cluster/audit", headers=basic("vera")).status == 403
        assert worker.ask("GET", "/cluster/rebalances", headers=basic("vera")).status == 200
    lines = leader.get(f"/cluster/audit?connector={name}")["lines"]
    (created,) = [one for one in lines if one["status"] == 201]
    assert created["forwarded_by"] == follower.id
    # The page at one has the lines of the other; and one that is gone is named.
    page = follower.ask("GET", "/ui/cluster/audit")
    assert page.status == 200
    assert leader.id in str(page.body)
    leader.kill()
    answer = follower.ask("GET", "/cluster/audit")
    assert [one["worker_id"] for one in answer.body["unreachable"]] == [leader.id]
    assert {one["worker_id"] for one in answer.body["lines"]} == {follower.id}
