"""Measured loads: they decide which tasks a member has, never how many, and move what runs only where it is worth."""

from __future__ import annotations

import random
from collections.abc import Mapping

import pytest

from connect.group.balance import WORTH_MOVING, WORTH_MOVING_SHARE, Loads
from connect.group.work import NOTHING, TaskId, Work

from .test_simulation import Group

CASES = 150


def carried(group: Group) -> dict[str, float]:
    return {worker.id: sum(group.tasks[task] for task in worker.owned.tasks) for worker in group.workers}


def spread(loads: Mapping[str, float]) -> float:
    return max(loads.values()) - min(loads.values())


def a_group(seed: int, case: int, workers: int | None = None, tasks: int | None = None) -> Group:
    """A group that has settled; loads are like those of life: most are idle, some take a core."""
    group = Group(random.Random(f"{seed} {case}"))
    chance = group.chance
    for number in range(chance.randrange(1, 80) if tasks is None else tasks):
        load = chance.choice([0.0, chance.uniform(0, 0.05), chance.lognormvariate(-2, 1.2)])
        group.tasks[TaskId(f"c{chance.randrange(6)}", number)] = load
    group.connectors = {task.connector for task in group.tasks}
    for _ in range(chance.randrange(1, 8) if workers is None else workers):
        group.join()
        group.round()
    group.settle()
    return group


@pytest.mark.promise("P3")
@pytest.mark.parametrize("case", range(CASES))
def test_a_group_with_any_loads_becomes_stable_and_even_in_numbers(seed: int, case: int) -> None:
    group = a_group(seed, case)
    group.check_stable()
    for _ in range(10):
        group.happen()
        group.round()
    if not group.workers:
        return
    group.settle()
    group.check_stable()


@pytest.mark.parametrize("case", range(CASES))
def test_loads_that_change_move_few_tasks_and_come_to_rest(seed: int, case: int) -> None:
    group = a_group(seed, case)
    for task in group.tasks:
        group.tasks[task] *= group.chance.lognormvariate(0, 1.5)
    before = {worker.id: worker.owned for worker in group.workers}
    average = sum(group.tasks.values()) / len(group.workers)
    was = carried(group)
    group.settle()
    group.check_stable()
    moved = sum(len(before[worker.id] - worker.owned) for worker in group.workers)
    if spread(was) < max(WORTH_MOVING, WORTH_MOVING_SHARE * average):
        assert moved == 0
    assert max(carried(group).values()) <= max(was.values()) + 1e-9, "the heaviest has not become heavier"


def test_the_noise_of_a_measurement_moves_next_to_nothing(seed: int) -> None:
    """Twenty rounds without cause in each of many groups, with loads measured again each time, a tenth up or down."""
    moved = []
    for case in range(CASES):
        group = a_group(seed, case, tasks=60)
        real = dict(group.tasks)
        moved.append(0)
        for _ in range(20):
            group.tasks = {task: load * group.chance.uniform(0.9, 1.1) for task, load in real.items()}
            before = {worker.id: worker.owned for worker in group.workers}
            group.settle()
            moved[-1] += sum(len(before[worker.id] - worker.owned) for worker in group.workers)
    assert moved.count(0) >= 0.8 * CASES
    assert sum(moved) <= CASES  # of 60 tasks less than one in twenty rounds


def test_heavy_tasks_that_met_on_one_worker_are_spread() -> None:
    group = Group(random.Random(0))
    group.tasks = {TaskId("x", number): 0.0 for number in range(16)}
    for _ in range(2):
        group.join()
    group.settle()
    heavy = sorted(group.workers[0].owned.tasks)[:4]
    group.tasks |= dict.fromkeys(heavy, 0.9)
    before = {worker.id: worker.owned for worker in group.workers}
    group.settle()
    group.check_stable()
    assert [len(worker.owned.tasks & set(heavy)) for worker in group.workers] == [2, 2]
    assert sum(len(before[worker.id] - worker.owned) for worker in group.workers) == 4  # two for two


@pytest.mark.parametrize("case", range(CASES))
def test_what_is_free_is_given_out_by_load(seed: int, case: int) -> None:
    """All at once, to members with nothing: nobody has more than an even share and the heaviest task besides."""
    chance = random.Random(f"{seed} {case}")
    members = [f"m{number}" for number in range(chance.randrange(1, 8))]
    tasks = {TaskId("x", number): chance.lognormvariate(-2, 1.5) for number in range(chance.randrange(1, 60))}
    given = Loads(tasks, dict.fromkeys(members, NOTHING)).place(Work.of((), tasks), dict.fromkeys(members, NOTHING))
    counts = [len(work.tasks) for work in given.values()]
    assert sum(counts) == len(tasks)
    assert max(counts) - min(counts) <= 1
    loads = [sum(tasks[task] for task in work.tasks) for work in given.values()]
    # As they are dealt by turns, heaviest first, two members differ by no more than the heaviest task.
    assert max(loads) - min(loads) <= max(tasks.values()) + 1e-9


def test_heavy_tasks_that_come_with_a_newcomer_do_not_stay_with_it() -> None:
    """It gets most of what is free, as it has least; what is heavy of that is exchanged then."""
    group = Group(random.Random(0))
    group.tasks = {TaskId("x", number): 0.0 for number in range(10)}
    for _ in range(2):
        group.join()
    group.settle()
    group.tasks |= {TaskId("y", number): 1.0 for number in range(6)}
    group.join()
    group.settle()
    group.check_stable()
    assert sorted(carried(group).values()) == [2.0, 2.0, 2.0]


def test_a_large_group_is_dealt_with_quickly_and_moves_a_little_at_a_time() -> None:
    chance = random.Random(1)
    tasks = {TaskId(f"c{number % 300}", number): chance.lognormvariate(-2, 1.5) for number in range(3000)}
    heaviest = sorted(tasks, key=lambda task: -tasks[task])
    kept = {f"m{number}": Work.of((), heaviest[number * 100 : (number + 1) * 100]) for number in range(30)}
    moved = Loads(tasks, kept).surplus(kept)
    assert 0 < sum(map(len, moved.values())) <= 40
