"""Spans of what a worker does, by the words for it; and of rebalances."""

from __future__ import annotations

import pytest

from connect.group import Work
from connect.herder.current_operations import CurrentOperations
from connect.herder.membership import Role
from connect.herder.opentelemetry import trace_rebalance
from connect.herder.rebalances import Rebalances
from connect.telemetry.spans import Span, Tracer
from connect.worker.background import KeyedQueues


@pytest.fixture
def ended() -> list[Span]:
    return []


@pytest.fixture
def tracer(ended: list[Span]) -> Tracer:
    made = Tracer()
    made.start(ended.append)
    return made


@pytest.mark.parametrize(
    ("what", "name", "expected", "about"),
    [
        ("starting connector orders", "orders", "starting connector", {"connector": "orders"}),
        ("starting task orders-12", "orders", "starting task", {"connector": "orders", "task": "12"}),
        ("starting tasks of orders", "orders", "starting tasks", {"connector": "orders"}),
        ("making connector orders PAUSED", "orders", "making connector PAUSED", {"connector": "orders"}),
        ("starting task task-0", "task", "starting task", {"connector": "task", "task": "0"}),
        ("starting task 0-0", "0", "starting task", {"connector": "0", "task": "0"}),
        ("starting task a task-0-1", "a task-0", "starting task", {"connector": "a task-0", "task": "1"}),
        # What does not name it as expected is shortened: a name must be the same for all connectors.
        ("starting orders' tasks", "orders", "starting", {"connector": "orders"}),
        ("tidying", "", "tidying", {}),
    ],
)
def test_an_operation_is_named_without_what_it_is_about(
    what: str, name: str, expected: str, about: dict[str, str], tracer: Tracer, ended: list[Span]
) -> None:
    with CurrentOperations(tracer).enter(what, name):
        pass
    assert [(span.name, span.attributes) for span in ended] == [(expected, about)]


def test_queued_work_is_in_the_trace_of_who_submits_it(tracer: Tracer, ended: list[Span]) -> None:
    queues, operations = KeyedQueues(1), CurrentOperations(tracer)

    def work() -> None:
        with operations.enter("starting connector orders", "orders"):
            pass

    with tracer.span("request"):
        done = queues.submit("orders", work)
    queues.submit("orders", work).result(10)
    done.result(10)
    queues.close()
    request = next(span for span in ended if span.name == "request")
    parents = [span.parent for span in ended if span.name == "starting connector"]
    assert parents == [request.span, ""]


def test_a_rebalance_is_a_span(tracer: Tracer, ended: list[Span]) -> None:
    now = 0.0
    role = Role(leader=False, leader_url="http://other:8083/", protocol="sessioned", generation=7)
    work = Work.of(["orders"], [("orders", 0), ("orders", 1)])
    rebalances = Rebalances(lambda: role, lambda: work, clock=lambda: now, wall=lambda: 1000.0)
    rebalances.listen(lambda rebalance: trace_rebalance(tracer, rebalance))
    rebalances.began("lost", "no heartbeat")
    now = 2.5
    rebalances.ended("member")
    (span,) = ended
    assert (span.name, span.began, span.ended) == ("rebalance", 997_500_000_000, 1_000_000_000_000)
    assert span.attributes == {
        "connect.rebalance.cause": "lost",
        "connect.rebalance.reason": "no heartbeat",
        "connect.rebalance.generation": 7,
        "connect.rebalance.leader": "other:8083",
        "connect.rebalance.assigned": 3,
        "connect.rebalance.revoked": 0,
    }
