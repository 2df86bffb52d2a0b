"""What a member owns, from what the group tells it."""

from types import SimpleNamespace
from typing import Any

import pytest

from connect.group import Assignment, TaskId, Work
from connect.group.wire import EAGER, NO_ERROR, decode_metadata, encode_assignment
from connect.herder.group_member import GroupMember
from connect.peers import PeerClient
from connect.settings.worker_keys import DISTRIBUTED

TOPICS = ("config.storage.topic", "offset.storage.topic", "status.storage.topic", "key.converter", "value.converter")

A, B = Work.of(["a"], [("a", 0)]), Work.of(["b"], [("b", 0)])


class Worker:
    """Notes what is stopped and started, and what was owned at that moment."""

    def __init__(self) -> None:
        self.stopped: list[tuple[Work, Work]] = []
        self.started: list[tuple[Work, Work]] = []
        raw = {"group.id": "g", "bootstrap.servers": "127.0.0.1:9", **dict.fromkeys(TOPICS, "t")}
        config: Any = SimpleNamespace(state=SimpleNamespace(offset=3))
        self.member = GroupMember(
            raw,
            DISTRIBUTED.parse(raw),
            "http://w:1/",
            config,
            PeerClient(),
            lambda _: None,
        )
        self.member._listener = self  # as if it had joined

    def start(self, work: Work) -> None:
        self.started.append((work, self.member.owned))

    def stop(self, work: Work) -> None:
        self.stopped.append((work, self.member.owned))

    def loads(self) -> dict[TaskId, float]:
        return {}

    def stopped_workers(self) -> list[str]:
        return []

    def joined(self, protocol: str, new: Work, revoked: Work | None = None) -> None:
        assignment = Assignment(NO_ERROR, "leader", "http://l:1/", 3, new, revoked or Work())
        self.member.joined(1, "me", protocol, encode_assignment(assignment, protocol))


@pytest.fixture
def worker() -> Worker:
    return Worker()


def test_what_is_given_back_is_no_more_owned_when_it_is_stopped(worker: Worker) -> None:
    worker.joined("sessioned", A | B)
    worker.joined("sessioned", Work(), A)
    assert worker.stopped == [(A, B)]
    assert worker.member.owned == B


def test_what_is_new_is_owned_when_it_is_started(worker: Worker) -> None:
    worker.joined("sessioned", A)
    worker.joined("sessioned", B)
    assert worker.started == [(A, A), (B, A | B)]


def test_what_was_stopped_for_an_eager_group_is_not_claimed_in_the_next(worker: Worker) -> None:
    worker.joined(EAGER, A)
    worker.member.rejoining(EAGER)
    assert worker.stopped == [(A, Work())]
    for metadata in worker.member.metadata().values():
        assert decode_metadata(metadata).owned == Work()


def test_nothing_is_stopped_for_a_cooperative_group(worker: Worker) -> None:
    worker.joined("compatible", A)
    worker.member.rejoining("compatible")
    assert worker.stopped == []
    assert decode_metadata(worker.member.metadata()["compatible"]).owned == A


def test_who_is_out_of_the_group_owns_nothing(worker: Worker) -> None:
    worker.joined("sessioned", A)
    worker.member.lost("no word")
    assert worker.stopped == [(A, Work())]
    assert worker.member.role.generation == -1
