"""The config topic: whatever its records hold, nothing is raised, and the state stays one that holds together."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from connect.storage import config_state as written
from connect.storage.config_state import ConfigReader, ConfigState, RestartRequest, SessionKey
from tests.fuzz.damage import damaged
from tests.fuzz.running import Fuzz

pytestmark = pytest.mark.quick

#: Stands for a number that Python writes to nobody.
LONG = "a number of five thousand digits"


def as_json(content: Any) -> bytes:
    """JSON, also of what Python does not write."""
    text = json.dumps(content, ensure_ascii=False).replace(f'"{LONG}"', "9" * 5000)
    return text.encode("utf-8", "surrogatepass")


NAMES = ["a", "a-1", "a-1-0", "", "-", "ä b", "\x00"]
PREFIXES = [
    written.CONNECTOR, written.TASK, written.COMMIT, written.TARGET_STATE, written.RESTART, written.LOGGER,
    written.FENCING, written.SESSION_KEY,
]  # fmt: skip
CONFIGS = st.dictionaries(st.sampled_from(["topics", "name", "x"]), st.text(max_size=3), max_size=3)
RIGHT = st.one_of(
    st.builds(written.connector_record, st.sampled_from(NAMES), CONFIGS).map(lambda one: [one]),
    st.builds(written.task_records, st.sampled_from(NAMES), st.lists(CONFIGS, max_size=3)),
    st.builds(written.removal_records, st.sampled_from(NAMES)),
    st.builds(
        lambda name, target: [written.target_record(name, target)],
        st.sampled_from(NAMES),
        st.sampled_from(["STARTED", "PAUSED", "STOPPED"]),
    ),
    st.builds(lambda name, count: [written.fencing_record(name, count)], st.sampled_from(NAMES), st.integers(0, 3)),
    st.builds(lambda name: [written.restart_record(RestartRequest(name, True, True))], st.sampled_from(NAMES)),
    st.just([written.session_key_record(SessionKey(b"key", "HmacSHA256", 1))]),
    st.just([written.logger_record("connect", "DEBUG")]),
)
ANY_JSON: st.SearchStrategy[Any] = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=4), st.just(LONG)),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)
FIELDS = st.sampled_from(
    ["properties", "tasks", "state", "state.v2", "task-count", "key", "algorithm", "creation-timestamp", "level"]
)
CONTENTS = st.one_of(
    st.dictionaries(FIELDS, ANY_JSON, max_size=4), st.fixed_dictionaries({"properties": CONFIGS | ANY_JSON}), ANY_JSON
)
KEYS = st.one_of(
    st.none(),
    st.builds(lambda prefix, name: (prefix + name).encode(), st.sampled_from(PREFIXES), st.sampled_from(NAMES)),
    st.builds(
        lambda name, number: f"{written.TASK}{name}-{number}".encode(),
        st.sampled_from(NAMES),
        st.sampled_from(["0", "1", "-1", "²", "9" * 5000, "0x1", "1_0", " 1"]),
    ),
    damaged(st.sampled_from([each.encode() for each in PREFIXES])),
)
VALUES = st.one_of(
    st.none(),
    CONTENTS.map(as_json),
    damaged(CONTENTS.map(as_json), [b"{", b"[", b'"', b"\\ud800", b"\xff", b"1e999", b"NaN"]),
    st.sampled_from([b"", b"[" * 5000, b'{"a":' * 5000, b"\xff\xfe{\0", b'{"properties":{"a":' + b"[" * 3000]),
)
RECORDS = st.lists(st.one_of(RIGHT, st.builds(lambda key, value: [(key, value)], KEYS, VALUES)), max_size=12)


def test_records_of_the_config_topic_are_taken_or_passed_over(fuzz: Fuzz) -> None:
    @given(RECORDS)
    @example([[(b"commit-a", b'{"tasks": %s}' % (b"9" * 5000))]])
    @example([[(b"connector-a", b'{"properties": {"x": %s}}' % (b"9" * 5000))]])
    @example([[written.connector_record("a", {})], [(b"commit-a", b'{"tasks": 1000000000000}')]])
    def holds(changes: list[list[tuple[bytes | None, bytes | None]]]) -> None:
        reader = ConfigReader()
        offset = 0
        for change in changes:
            for key, value in change:
                before = reader.state
                event = reader.take(key, value, offset)
                offset += 1
                fuzz.met["taken" if event is not None else "passed over or kept"] += 1
                assert reader.state.offset == offset
                assert_consistent(reader.state)
                if value is not None and key is not None and not key.startswith(b"connector-"):
                    assert reader.state.connectors == before.connectors

    fuzz.check(holds)


def assert_consistent(state: ConfigState) -> None:
    """What every reader of the state counts on."""
    assert set(state.written) == set(state.connectors)
    for one in (state.task_counts, state.commits, state.applied):
        assert set(one) <= set(state.connectors)
    assert state.inconsistent <= set(state.connectors)
    assert {name for name, _ in state.tasks} <= set(state.connectors)
    for name, config in state.connectors.items():
        assert all(isinstance(part, str) for entry in config.items() for part in entry)
        assert len(state.task_configs(name)) == len(state.task_ids(name))
        state.to_cut(name)
        assert state.target(name) in ("STARTED", "PAUSED", "STOPPED")


def test_records_of_the_config_topic_are_taken_in_linear_time(fuzz: Fuzz) -> None:
    def take(data: bytes) -> None:
        key, _, value = data.partition(b"|")
        ConfigReader().take(key, value, 0)

    shapes = [(prefix.encode(), b'|{"tasks":0}') for prefix in PREFIXES]
    shapes += [(b"connector-a|" + head, tail) for head in (b'{"properties":{', b'{"a":') for tail in (b"", b"}}")]
    fuzz.growth(take, AssertionError, shapes, [b"-", b"a-", b"0", b"\xff", b"task-", b"[", b'{"a":', b'"a":1,', b"9"])
