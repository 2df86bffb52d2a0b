"""What must hold when faults and users have ended for a while: all that is wanted runs once, and nothing else."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from connect.group import TaskId, Work
from connect.herder.model import TargetState
from connect.herder.views import STATES
from connect.storage import State
from tests.simulation.group import STABLE

if TYPE_CHECKING:
    from tests.simulation.world import World


def unsettled(world: World, since: float) -> str:
    """Why not everything is as it should be; empty when it is.

    Args:
        since: what runs has written after this moment.
    """
    return next(_faults(world, since), "")


def _faults(world: World, since: float) -> Iterator[str]:
    workers = list(world.workers.values())
    for worker in workers:
        if not worker.ready:
            yield f"{worker.name} does not answer"
            return
    group = world.coordinator.group
    if group.state != STABLE or len(group.members) != len(workers):
        yield f"the group is {group.state}, with {len(group.members)} members"
        return
    herders = {worker.name: worker.herder for worker in workers if worker.herder is not None}
    members = {name: herder._pool.member for name, herder in herders.items()}
    if len({member.role.generation for member in members.values()}) != 1:
        yield "workers are in different generations"
    state = world.invariants.configured
    # Who reads the topic after a compaction does not know the tasks of an older configuration, and asks for them to be
    # cut again. That waits for the user where the connector failed, and is paused.
    uncut = {connector for connector in state.connectors if _waits_for_a_user(herders, members, state, connector)}
    for name, herder in herders.items():
        theirs = herder._pool.log.state
        for part in ("connectors", "targets"):
            if getattr(theirs, part) != getattr(state, part):
                yield f"{name} knows other {part}: {getattr(theirs, part)} instead of {getattr(state, part)}"
        if theirs.inconsistent - uncut != state.inconsistent - uncut:
            yield f"{name} misses tasks of {theirs.inconsistent}, instead of {state.inconsistent}"
        for connector in state.connectors.keys() - uncut:
            if theirs.task_configs(connector) != state.task_configs(connector):
                yield f"{name} knows other tasks of {connector}: {theirs.task_configs(connector)}"
    owned = {name: member.owned for name, member in members.items()}
    wanted = Work.of(state.connectors, [(name, task) for name in state.connectors for task in state.task_ids(name)])
    yield from _shares(owned, wanted)
    for name, config in state.connectors.items():
        yield from _connector(world, herders, owned, name, config, since)
    for key, instances in list(world.invariants.live.items()):
        stopped = state.target(key[0]) == "STOPPED"
        if (stopped or TaskId(*key) not in wanted.tasks) and world.invariants.instances(key):
            yield f"{key} runs in {instances[0].process.machine.name}, though it is not wanted"
    for name, herder in herders.items():
        statuses = herder.worker.statuses
        for connector in statuses.connectors():
            if connector not in state.connectors:
                yield f"{name} has a status of {connector}, which was deleted"
            elif extra := [
                each.task for each in statuses.tasks(connector) if each.task not in state.task_ids(connector)
            ]:
                yield f"{name} has a status of {connector}-{extra[0]}, which does not exist"
        if left := [
            connector for connector in herder.worker.connectors.names() if connector not in owned[name].connectors
        ]:
            yield f"{left[0]} runs at {name}, which does not own it"


def _shares(owned: dict[str, Work], wanted: Work) -> Iterator[str]:
    for kind in ("connectors", "tasks"):
        shares = {name: getattr(work, kind) for name, work in owned.items()}
        everything = [one for share in shares.values() for one in share]
        if len(everything) != len(set(everything)):
            yield f"some {kind} have two owners: {_told(shares)}"
        if missing := getattr(wanted, kind) - set(everything):
            yield f"nobody owns {sorted(missing)}"
        if extra := set(everything) - getattr(wanted, kind):
            yield f"somebody owns {sorted(extra)}, which do not exist"
        sizes = [len(share) for share in shares.values()]
        if max(sizes) - min(sizes) > 1:
            yield f"{kind} are not balanced: {_told(shares)}"


def _told(shares: dict[str, Any]) -> str:
    return "; ".join(f"{name}: {' '.join(sorted(map(str, share)))}" for name, share in shares.items())


def _connector(
    world: World, herders: dict[str, Any], owned: dict[str, Work], name: str, config: Any, since: float
) -> Iterator[str]:
    state = world.invariants.configured
    target = TargetState(state.target(name))
    owner = next((worker for worker, work in owned.items() if name in work.connectors), "")
    runs_at = [worker for worker, herder in herders.items() if herder.worker.connectors.get(name) is not None]
    statuses = {worker: herder.worker.statuses.connector(name) for worker, herder in herders.items()}
    if target is TargetState.PAUSED and not runs_at and _stays_failed(statuses.values(), len(herders), owner):
        return
    if target is TargetState.STOPPED:
        if runs_at:
            yield f"{name} is stopped, and runs at {runs_at}"
        if state.task_ids(name) and not world.counts.get("stop refused"):
            yield f"{name} is stopped, and has tasks"  # unless the write broke off: then the user stops it again
    else:
        if runs_at != [owner]:
            yield f"{name} runs at {runs_at}, and is owned by {owner}"
        for worker in runs_at:
            if (version := herders[worker].worker.connectors.get(name).config["version"]) != config["version"]:
                yield f"{name} runs with version {version} of its configuration, instead of {config['version']}"
        if (count := len(state.task_ids(name))) != world.tasks_of({**config, "name": name}):
            yield f"{name} has {count} tasks, instead of {world.tasks_of({**config, 'name': name})}"
    for worker, status in statuses.items():
        if status is None or status.state is not STATES[target] or status.worker_id != f"{owner}:8083":
            yield f"{worker} sees {name} as {status}, which is to be {STATES[target]} at {owner}"
    for number in [] if target is TargetState.STOPPED else state.task_ids(name):
        yield from _task(world, herders, owned, name, number, config, since)


def _waits_for_a_user(herders: dict[str, Any], members: dict[str, Any], state: Any, name: str) -> bool:
    """Whether a connector is paused, and failed for good."""
    owner = next((worker for worker, member in members.items() if name in member.owned.connectors), "")
    statuses = [herder.worker.statuses.connector(name) for herder in herders.values()]
    return state.target(name) == "PAUSED" and _stays_failed(statuses, len(herders), owner)


def _stays_failed(statuses: Iterable[Any], count: int, owner: str) -> bool:
    """Whether every worker sees it as FAILED at its owner, for good: what fails while it is paused is not restarted."""
    found = list(statuses)
    return len(found) == count and all(
        each is not None
        and each.state is State.FAILED
        and each.worker_id == f"{owner}:8083"
        and (each.restart is None or each.restart.at_ms is None)
        for each in found
    )


def _task(
    world: World, herders: dict[str, Any], owned: dict[str, Work], name: str, number: int, config: Any, since: float
) -> Iterator[str]:
    state = world.invariants.configured
    paused = state.target(name) == "PAUSED"
    owner = next((worker for worker, work in owned.items() if (name, number) in work.tasks), "")
    instances = world.invariants.instances((name, number))
    statuses = [each for one in herders.values() for each in one.worker.statuses.tasks(name) if each.task == number]
    if name in world.invariants.paused and not instances and _stays_failed(statuses, len(herders), owner):
        return  # what failed while its connector was paused is not restarted by itself, see docs/reliability.md
    if len(instances) != 1:
        yield f"{name}-{number} runs {len(instances)} times"
        return
    [task] = instances
    if not task.process.machine.name.startswith(f"{owner}."):
        yield f"{name}-{number} runs in {task.process.machine.name}, and is owned by {owner}"
    if task.spec.config["version"] != config["version"]:
        yield f"{name}-{number} runs with version {task.spec.config['version']}, instead of {config['version']}"
    if not paused and world.invariants.wrote.get((name, number), 0.0) <= since:
        yield f"{name}-{number} writes nothing"
    right = State.PAUSED if paused else State.RUNNING
    for worker, herder in herders.items():
        status = next((each for each in herder.worker.statuses.tasks(name) if each.task == number), None)
        if status is None or status.state is not right or status.worker_id != f"{owner}:8083":
            yield f"{worker} sees {name}-{number} as {status}, which is to be {right} at {owner}"
