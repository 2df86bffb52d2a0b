"""A worker that has its old tasks fenced by the leader, before it starts new ones."""

from types import SimpleNamespace
from typing import Any

import pytest

from connect.group.work import TaskId
from connect.herder import fencing
from connect.peers import PeerError
from connect.storage.config_log import MemoryConfigLog


class ElsewhereLeader:
    """Answers with these statuses, one after another, and has then fenced the tasks."""

    def __init__(self, log: MemoryConfigLog, *statuses: int) -> None:
        self._log = log
        self._statuses = list(statuses)

    def ask(self, method: str, path: str, body: bytes) -> None:
        if self._statuses:
            raise PeerError("refused", self._statuses.pop(0))
        self._log.put_fencing("numbers", 1)


@pytest.fixture
def before_start(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Starts the task of a source at a worker that does not lead; the leader's answers are given."""
    monkeypatch.setattr(fencing, "_ASK_AGAIN_S", 0)
    monkeypatch.setattr(fencing, "connector_type", lambda *_: "source")
    log = MemoryConfigLog()
    log.put_connector("numbers", {})
    log.put_tasks("numbers", [{}])
    worker = SimpleNamespace(
        config={"exactly.once.source.support": "enabled"}, plugins=None, resolved=lambda _: SimpleNamespace(values={})
    )
    member = SimpleNamespace(role=SimpleNamespace(leader=False), owned=SimpleNamespace(tasks={TaskId("numbers", 0)}))
    pool: Any = SimpleNamespace(worker=worker, log=log, member=member, state=log.state)

    def start(*statuses: int) -> bool:
        leader: Any = ElsewhereLeader(log, *statuses)
        fencing.Fencing(pool, leader).before_start("numbers")
        return "numbers" not in log.state.pending_fencing

    assert "numbers" in log.state.pending_fencing
    return start


def test_a_signature_with_a_key_that_is_just_renewed_is_made_again(before_start: Any) -> None:
    assert before_start(409, 403, 503)


def test_a_leader_that_refuses_the_signature_again_is_believed(before_start: Any) -> None:
    with pytest.raises(PeerError, match="refused"):
        before_start(403, 403)
    with pytest.raises(PeerError, match="refused"):
        before_start(403, 400)
