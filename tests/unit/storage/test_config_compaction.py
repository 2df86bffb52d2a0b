"""What compaction takes from the config topic changes nothing, or it is seen (P4)."""

from dataclasses import dataclass

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from connect.storage import config_state as written
from connect.storage.config_state import ConfigReader, ConfigState, Record, SessionKey

NAMES = ["a", "a-1", "a-1-0"]


@dataclass(frozen=True)
class Step:
    """What a leader did: one of its writes, by kind."""

    kind: str
    name: str
    count: int
    died_after: int | None


STEPS = st.builds(
    Step,
    st.sampled_from(["config", "tasks", "tasks", "tasks", "delete", "pause", "stop", "fence", "key", "restart"]),
    st.sampled_from(NAMES),
    st.integers(0, 3),
    st.one_of(st.none(), st.none(), st.integers(0, 2)),
)
# How far the cleaner knew the topic, and how far it came before it was interrupted, both as a share; and whether
# tombstones were old enough to go.
CLEANINGS = st.tuples(st.floats(0, 1), st.floats(0, 1), st.booleans())


def write(steps: list[Step]) -> list[Record]:
    """What leaders write, each value another one. A leader that dies leaves the first records of its step."""
    records: list[Record] = []
    exist: set[str] = set()
    for number, step in enumerate(steps):
        name, version = step.name, {"version": str(number)}
        done: list[Record] = []
        if step.kind == "config":
            done = [written.connector_record(name, version)]
        elif step.kind == "key":
            done = [written.session_key_record(SessionKey(bytes([number]), "HmacSHA256", number))]
        elif name in exist and step.kind == "tasks":
            done = written.task_records(name, [{**version, "task": str(task)} for task in range(step.count)])
        elif name in exist and step.kind == "delete":
            done = written.removal_records(name)
        elif step.kind in ("pause", "stop"):
            done = [written.target_record(name, "PAUSED" if step.kind == "pause" else "STOPPED")]
        elif name in exist and step.kind == "fence":
            done = [written.fencing_record(name, step.count)]
        elif name in exist:
            done = [written.restart_record(written.RestartRequest(name, include_tasks=True, only_failed=True))]
        done = done[: step.died_after]
        for key, value in done:
            if key == f"connector-{name}".encode():
                (exist.discard if value is None else exist.add)(name)
        records += done
    return records


Log = list[tuple[int, Record]]


def clean(log: Log, known: float, reached: float, *, tombstones: bool) -> Log:
    """As Kafka's log cleaner does it: from the beginning, whatever has a successor in what the cleaner knows.

    So an older record of a key never outlives a younger one.
    """
    known_to = round(known * len(log))
    reached_to = min(known_to, round(reached * len(log)))
    last = {record[0]: at for at, (_, record) in enumerate(log[:known_to])}
    first = {record[0]: at for at, (_, record) in reversed(list(enumerate(log)))}

    def stays(at: int, record: Record) -> bool:
        if at >= reached_to:
            return True
        # A tombstone goes in a cleaning after the one that took what it removes.
        expired = tombstones and record[1] is None and first[record[0]] == at
        return last[record[0]] == at and not expired

    return [(offset, record) for at, (offset, record) in enumerate(log) if stays(at, record)]


def read(log: Log) -> ConfigState:
    reader = ConfigReader()
    for offset, (key, value) in log:
        reader.take(key, value, offset)
    return reader.state


@pytest.mark.promise("P4")
@settings(max_examples=2000, deadline=None)
@given(st.lists(STEPS, max_size=30), st.lists(CLEANINGS, max_size=4))
# A connector was deleted and came back; the cleaner took its first configuration and the tombstone.
@example(
    [
        Step("config", "a", 0, None),
        Step("tasks", "a", 2, None),
        Step("delete", "a", 0, None),
        Step("config", "a", 0, None),
    ],
    [(1.0, 1.0, True)],
)
# The last set of tasks was written in part.
@example(
    [
        Step("config", "a", 0, None),
        Step("tasks", "a", 2, None),
        Step("tasks", "a", 2, None),
        Step("tasks", "a", 2, 1),
    ],
    [(1.0, 0.8, False)],
)
def test_compaction_changes_nothing_or_is_seen(steps: list[Step], cleanings: list[tuple[float, float, bool]]) -> None:
    whole: Log = list(enumerate(write(steps)))
    log = whole
    for known, reached, tombstones in cleanings:
        log = clean(log, known, reached, tombstones=tombstones)
    full, left = read(whole), read(log)
    assert left.connectors == full.connectors
    assert left.session_key == full.session_key
    assert left.fencing == full.fencing
    for name in full.connectors:
        assert left.target(name) == full.target(name)
        if name in left.inconsistent:
            assert left.task_configs(name) == []
        elif name not in full.inconsistent:
            assert left.task_configs(name) == full.task_configs(name)
            if left.task_ids(name):
                assert (name in left.pending_fencing) == (name in full.pending_fencing)
        # Whatever the reader has is one set that somebody wrote.
        assert len({config["version"] for config in left.task_configs(name)}) <= 1
    assert left.inconsistent <= left.connectors.keys()


@settings(max_examples=300, deadline=None)
@given(st.lists(STEPS, max_size=30), st.lists(CLEANINGS, max_size=3), st.integers(1, 3))
def test_writing_the_tasks_anew_heals(
    steps: list[Step], cleanings: list[tuple[float, float, bool]], count: int
) -> None:
    log: Log = list(enumerate(write(steps)))
    for known, reached, tombstones in cleanings:
        log = clean(log, known, reached, tombstones=tombstones)
    tasks = [{"task": str(task)} for task in range(count)]
    for name in read(log).inconsistent:
        log += [(log[-1][0] + 1 + at, record) for at, record in enumerate(written.task_records(name, tasks))]
        assert read(log).task_configs(name) == tasks
    assert read(log).inconsistent == frozenset()
