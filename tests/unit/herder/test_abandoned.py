"""Removing the members that tasks left behind, while brokers come and go."""

import threading
from types import SimpleNamespace
from typing import Any

import pytest

from connect.errors import ConnectError
from connect.herder.abandoned import AbandonedMembers
from connect.worker.messages import Membership

MEMBER = Membership("connect-orders", "member-1")


def task(member: Membership | None = MEMBER, session: str = "45000") -> Any:
    """What a task that has ended looks like from here."""
    worker = {"bootstrap.servers": "localhost:1", "consumer.session.timeout.ms": session}
    return SimpleNamespace(
        id="orders-0",
        abandoned_member=member,
        spec=SimpleNamespace(worker_config=worker, connector_config={"name": "a"}),
    )


class Broker:
    """Fails so many times."""

    def __init__(self, failures: int, error: Exception) -> None:
        self.failures = failures
        self.error = error
        self.asked: list[tuple[Membership, dict[str, str]]] = []
        self.removed = threading.Event()

    def remove(self, member: Membership, connector: Any) -> None:
        self.asked.append((member, dict(connector)))
        if len(self.asked) <= self.failures:
            raise self.error
        self.removed.set()


def test_a_member_is_removed_as_soon_as_brokers_answer():
    broker = Broker(3, ConnectError("nobody answers"))
    members = AbandonedMembers(broker.remove, (0.01, 0.02))
    members.remove(task())
    assert broker.removed.wait(30)
    members.close(30)
    assert broker.asked == [(MEMBER, {"name": "a"})] * 4


def test_what_left_by_itself_is_not_asked_for():
    broker = Broker(0, ConnectError(""))
    members = AbandonedMembers(broker.remove)
    members.remove(task(None))
    members.close(30)
    assert broker.asked == []


def test_when_the_session_is_over_it_is_given_up_and_said(caplog):
    broker = Broker(10**6, ConnectError("nobody answers"))
    members = AbandonedMembers(broker.remove, (0.05, 10.0))
    members.remove(task(session="300"))
    members._threads.close(30)  # waits for what was begun, and lets it go on
    assert len(broker.asked) >= 2
    assert "could not remove the member" in caplog.text
    assert "nobody answers" in caplog.text


def test_of_one_that_was_told_no_id_nothing_is_said_where_brokers_do_not_answer(caplog):
    broker = Broker(10**6, ConnectError("not let in"))
    members = AbandonedMembers(broker.remove, (0.01, 0.02))
    members.remove(task(Membership("connect-orders", "", "orders-0-x")))
    members.close(30)
    assert len(broker.asked) == 1
    assert caplog.text == ""


def test_a_worker_that_stops_waits_for_no_other_try(caplog):
    asked = threading.Event()

    def remove(*_: Any) -> None:
        asked.set()
        raise ConnectError("nobody answers")

    members = AbandonedMembers(remove, (1000.0, 1000.0))
    members.remove(task(session="3600000"))
    assert asked.wait(30)
    members.close(30)
    assert "could not remove the member" in caplog.text


@pytest.mark.parametrize("session", ["45000", "no number"])
def test_a_mistake_is_said_and_not_repeated(caplog, session):
    broker = Broker(1, RuntimeError("a mistake"))
    members = AbandonedMembers(broker.remove, (0.01, 0.01))
    members.remove(task(session=session))
    members.close(30)
    assert len(broker.asked) <= 1
    assert "could not remove the member" in caplog.text
