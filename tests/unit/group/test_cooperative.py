import math
from collections.abc import Mapping

import pytest

from connect.group.cooperative import Delays, Member, Memory, Round, rebalance
from connect.group.work import NOTHING, TaskId, Work

DELAYS = Delays(lost=5, stopped=30)


def worker(name: str, *owned: str, id: str = "") -> Member:  # noqa: A002
    """A worker `a` at http://a/ with tasks: "x0" is task 0 of connector x, "x" the connector."""
    tasks = [(item[0], int(item[1:])) for item in owned if len(item) > 1]
    return Member(id or f"{name}-1", f"http://{name}/", Work.of([item for item in owned if len(item) == 1], tasks))


def tasks_of(connector: str, count: int) -> dict[TaskId, float]:
    return {TaskId(connector, number): 1.0 for number in range(count)}


def lead(
    *members: Member,
    tasks: Mapping[TaskId, float],
    connectors: str = "",
    memory: Memory | None = None,
    now: float = 100.0,
    stopped: tuple[str, ...] = (),
    delays: Delays = DELAYS,
    complete_at: float = math.inf,
) -> Round:
    return rebalance(
        members, connectors, tasks, memory or Memory(), now, delays=delays, stopped=stopped, complete_at=complete_at
    )


def given(outcome: Round) -> dict[str, Work]:
    return {id: share.new for id, share in outcome.shares.items() if share.new}  # noqa: A001


def revoked(outcome: Round) -> dict[str, Work]:
    return {id: share.revoked for id, share in outcome.shares.items() if share.revoked}  # noqa: A001


def test_a_worker_alone_gets_everything_at_once() -> None:
    outcome = lead(worker("a"), tasks=tasks_of("x", 3), connectors="x")
    assert given(outcome) == {"a-1": Work.of("x", tasks_of("x", 3))}
    assert not revoked(outcome)
    assert outcome.delay == 0


def test_what_a_newcomer_gets_is_revoked_first_and_given_in_the_next_round() -> None:
    first = lead(worker("a", "x0", "x1", "x2", "x3"), worker("b"), tasks=tasks_of("x", 4))
    assert not given(first)
    (taken,) = revoked(first).values()
    assert len(taken) == 2
    left = worker("a").owned | (Work.of((), tasks_of("x", 4)) - taken)
    second = lead(Member("a-1", "http://a/", left), worker("b"), tasks=tasks_of("x", 4), memory=first.memory, now=101)
    assert given(second) == {"b-1": taken}
    assert not revoked(second)


def test_a_worker_that_vanished_is_waited_for_shortly() -> None:
    memory = lead(worker("a", "x0"), worker("b", "x1"), tasks=tasks_of("x", 2)).memory
    outcome = lead(worker("a", "x0"), tasks=tasks_of("x", 2), memory=memory, now=110)
    assert not given(outcome)
    assert outcome.delay == 5
    earlier = lead(worker("a", "x0"), tasks=tasks_of("x", 2), memory=outcome.memory, now=112)
    assert not given(earlier)
    assert earlier.delay == 3
    late = lead(worker("a", "x0"), tasks=tasks_of("x", 2), memory=earlier.memory, now=115)
    assert given(late) == {"a-1": Work.of((), [("x", 1)])}
    assert late.delay == 0


def test_a_loss_is_waited_for_from_when_all_were_there_last() -> None:
    """Not from when the last of those that are left has noticed it and joined again."""
    memory = lead(worker("a", "x0"), worker("b", "x1"), tasks=tasks_of("x", 2)).memory
    outcome = lead(worker("a", "x0"), tasks=tasks_of("x", 2), memory=memory, now=110, complete_at=107)
    assert outcome.delay == 2
    in_order = lead(
        worker("a", "x0"), tasks=tasks_of("x", 2), memory=memory, now=110, complete_at=107, stopped=("http://b/",)
    )
    assert in_order.delay == 30
    noticed_late = lead(worker("a", "x0"), tasks=tasks_of("x", 2), memory=memory, now=110, complete_at=104)
    assert given(noticed_late) == {"a-1": Work.of((), [("x", 1)])}
    assert noticed_late.delay == 0


def test_a_worker_that_stopped_in_good_order_is_waited_for_longer() -> None:
    memory = lead(worker("a", "x0"), worker("b", "x1"), tasks=tasks_of("x", 2)).memory
    outcome = lead(worker("a", "x0"), tasks=tasks_of("x", 2), memory=memory, now=110, stopped=("http://b/",))
    assert outcome.delay == 30
    late = lead(worker("a", "x0"), tasks=tasks_of("x", 2), memory=outcome.memory, now=140)
    assert given(late) == {"a-1": Work.of((), [("x", 1)])}


def test_no_delay_reassigns_at_once() -> None:  # KAFKA-15693
    memory = lead(worker("a", "x0"), worker("b", "x1"), tasks=tasks_of("x", 2)).memory
    outcome = lead(worker("a", "x0"), tasks=tasks_of("x", 2), memory=memory, delays=Delays.of(0))
    assert given(outcome) == {"a-1": Work.of((), [("x", 1)])}
    assert outcome.delay == 0


def test_the_key_set_by_the_user_holds_for_both_cases() -> None:
    assert Delays.of(300_000) == Delays(lost=300, stopped=300)
    assert Delays.of(None) == Delays()
    assert Delays().lost < Delays().stopped


def test_a_worker_that_returns_gets_its_own_back() -> None:
    before = [worker("a", "x0", "x1"), worker("b", "x2", "x3"), worker("c", "x4", "x5")]
    memory = lead(*before, tasks=tasks_of("x", 6)).memory
    memory = lead(worker("a", "x0", "x1"), tasks=tasks_of("x", 6), memory=memory).memory
    back = lead(worker("a", "x0", "x1"), worker("c", id="c-2"), tasks=tasks_of("x", 6), memory=memory, now=103)
    assert given(back) == {"c-2": Work.of((), [("x", 4), ("x", 5)])}
    assert not revoked(back)
    assert back.delay == 2, "b is still waited for"


def test_a_worker_that_returned_before_it_was_missed_gets_its_own_back() -> None:
    memory = lead(worker("a", "x0", "x1"), worker("b", "x2", "x3"), tasks=tasks_of("x", 4)).memory
    outcome = lead(worker("a", "x0", "x1"), worker("b", id="b-2"), tasks=tasks_of("x", 4), memory=memory)
    assert given(outcome) == {"b-2": Work.of((), [("x", 2), ("x", 3)])}


def test_a_newcomer_replaces_a_worker_that_is_gone() -> None:
    memory = lead(worker("a", "x0", "x1"), worker("b", "x2", "x3"), tasks=tasks_of("x", 4)).memory
    outcome = lead(worker("a", "x0", "x1"), worker("new"), tasks=tasks_of("x", 4), memory=memory)
    assert given(outcome) == {"new-1": Work.of((), [("x", 2), ("x", 3)])}
    assert not revoked(outcome)


def test_a_member_that_gave_its_work_up_gets_it_back_at_once() -> None:
    memory = lead(worker("a", "x2", "x3"), worker("b", "x0", "x1"), tasks=tasks_of("x", 4)).memory
    outcome = lead(worker("a"), worker("b"), tasks=tasks_of("x", 4), memory=memory)
    assert given(outcome) == {"a-1": Work.of((), [("x", 2), ("x", 3)]), "b-1": Work.of((), [("x", 0), ("x", 1)])}


def test_a_second_loss_does_not_prolong_the_first() -> None:
    memory = lead(worker("a", "x0"), worker("b", "x1"), worker("c", "x2"), tasks=tasks_of("x", 3)).memory
    first = lead(worker("a", "x0"), worker("c", "x2"), tasks=tasks_of("x", 3), memory=memory, now=100)
    second = lead(worker("a", "x0"), tasks=tasks_of("x", 3), memory=first.memory, now=104)
    assert second.delay == 1
    third = lead(worker("a", "x0"), tasks=tasks_of("x", 3), memory=second.memory, now=105)
    assert given(third) == {"a-1": Work.of((), [("x", 1)])}
    assert third.delay == 4


def test_a_new_leader_knows_of_no_loss_and_gives_out_what_nobody_has() -> None:
    outcome = lead(worker("a", "x0"), tasks=tasks_of("x", 2))
    assert given(outcome) == {"a-1": Work.of((), [("x", 1)])}


def test_what_is_not_configured_any_more_is_revoked() -> None:
    outcome = lead(worker("a", "x", "x0", "x1"), tasks=tasks_of("x", 1))
    assert revoked(outcome) == {"a-1": Work.of("x", [("x", 1)])}


def test_of_two_owners_the_one_goes_on_that_the_leader_gave_it_to() -> None:
    memory = lead(worker("b", "x0"), tasks=tasks_of("x", 1)).memory
    zombie = lead(worker("a", "x0"), worker("b", "x0"), tasks=tasks_of("x", 1), memory=memory)
    assert revoked(zombie) == {"a-1": Work.of((), [("x", 0)])}
    assert not given(zombie)


def test_of_two_owners_unknown_to_the_leader_both_stop_before_one_begins() -> None:
    first = lead(worker("a", "x0"), worker("b", "x0"), tasks=tasks_of("x", 1))
    assert revoked(first) == {"a-1": Work.of((), [("x", 0)]), "b-1": Work.of((), [("x", 0)])}
    assert not given(first)
    second = lead(worker("a"), worker("b"), tasks=tasks_of("x", 1), memory=first.memory)
    assert list(given(second).values()) == [Work.of((), [("x", 0)])]


def test_rebalances_in_a_row_that_take_work_away_back_off() -> None:
    memory, now, pauses = Memory(), 100.0, []
    for _ in range(7):
        # Somebody with everything beside somebody with nothing, time and again.
        outcome = lead(worker("a", "x0", "x1"), worker("b"), tasks=tasks_of("x", 2), memory=memory, now=now)
        assert revoked(outcome)
        again = lead(worker("a", "x0", "x1"), worker("b"), tasks=tasks_of("x", 2), memory=outcome.memory, now=now)
        pauses.append(again.delay)
        now += again.delay
        memory = outcome.memory
    assert pauses == [0, 2, 4, 8, 16, 32, 60]
    calm = lead(worker("a", "x0", "x1"), worker("b"), tasks=tasks_of("x", 2), memory=memory, now=now + 61)
    assert calm.memory.revocations == 1


def test_a_pause_holds_back_no_work_that_nobody_has() -> None:
    memory = Memory(revocations=3, quiet_until=200.0)
    outcome = lead(worker("a", "x0", "x1", "x2"), worker("b"), tasks=tasks_of("x", 4), memory=memory)
    assert given(outcome) == {"b-1": Work.of((), [("x", 3)])}
    assert not revoked(outcome)
    assert outcome.delay == 100


def test_who_gets_what_is_heavy_gets_no_more_than_its_number() -> None:
    loads = tasks_of("x", 4) | {TaskId("y", 0): 4.0}
    outcome = lead(worker("a"), worker("b"), tasks=loads)
    assert sorted(map(len, given(outcome).values())) == [2, 3]
    # The next round would change nothing: one heavy task cannot be shared.
    settled = [Member(id, f"http://{id[0]}/", work) for id, work in given(outcome).items()]  # noqa: A001
    assert not revoked(lead(*settled, tasks=loads))


@pytest.mark.parametrize("load", [0.9, 1.0, 1.2])
def test_small_differences_of_measured_loads_move_nothing(load: float) -> None:
    loads = tasks_of("x", 4) | {TaskId("x", 0): load}
    outcome = lead(worker("a", "x0", "x1"), worker("b", "x2", "x3"), tasks=loads)
    assert not revoked(outcome)
    assert not given(outcome)


def test_an_empty_group_of_work_gives_nothing() -> None:
    assert lead(worker("a"), tasks={}).shares["a-1"].new == NOTHING
