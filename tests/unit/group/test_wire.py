from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from connect.group.wire import (
    CONFIG_MISMATCH,
    VERSIONS,
    Assignment,
    Metadata,
    WireError,
    decode_assignment,
    decode_metadata,
    encode_assignment,
    encode_metadata,
)
from connect.group.work import TaskId, Work

LEADER = "connect-127.0.0.1:38083-910633c3-8b23-4df0-9d3c-2f2d3a4b5c6d"
# An idle member's assignment, as a Java worker of Kafka 4.1 sent it.
IDLE = (
    bytes.fromhex("0002 0000 003c")
    + LEADER.encode()
    + bytes.fromhex("0017")
    + b"http://127.0.0.1:38083/"
    + bytes.fromhex("000000000000001b 00000000 00000000 00000000")
)

names = st.text(st.characters(codec="utf-8"), max_size=20)
works = st.builds(Work.of, st.sets(names, max_size=4), st.sets(st.tuples(names, st.integers(0, 2**31 - 1)), max_size=8))
offsets = st.integers(-1, 2**63 - 1)
assignments = st.builds(
    Assignment, st.sampled_from([0, CONFIG_MISMATCH]), names, names, offsets, works, works, st.integers(0, 2**31 - 1)
)


def test_a_java_workers_idle_assignment_reads_and_writes_the_same() -> None:
    idle = Assignment(0, LEADER, "http://127.0.0.1:38083/", 27)
    assert decode_assignment(IDLE) == idle
    assert encode_assignment(idle, "sessioned") == IDLE


def test_metadata_is_laid_out_as_java_reads_it() -> None:
    head = bytes.fromhex("0010") + b"http://worker:1/" + bytes.fromhex("0000000000000005")
    assert encode_metadata(Metadata("http://worker:1/", 5), "default") == b"\0\0" + head
    assert encode_metadata(Metadata("http://worker:1/", 5), "compatible") == b"\0\1" + head + b"\xff" * 4
    current = Assignment(0, LEADER, "http://127.0.0.1:38083/", 27)
    assert encode_metadata(Metadata("http://worker:1/", 5, current), "sessioned") == (
        b"\0\2" + head + len(IDLE).to_bytes(4, "big") + IDLE
    )


def test_a_connector_is_task_minus_one_beside_its_tasks() -> None:
    data = encode_assignment(Assignment(0, "", "", 0, Work.of(["a"], [("a", 1), ("a", 0), ("b", 0)])), "default")
    assert data == bytes.fromhex(
        "0000 0000 0000 0000 0000000000000000"
        "00000002 0001 61 00000003 ffffffff 00000000 00000001 0001 62 00000001 00000000"
    )


def test_null_lists_read_as_nothing() -> None:
    data = bytes.fromhex("0001 0000 0000 0000 0000000000000000 ffffffff 00000001 0001 61 ffffffff 00000007")
    assert decode_assignment(data) == Assignment(0, "", "", 0, delay=7)


@given(assignments, st.sampled_from(["compatible", "sessioned"]))
def test_what_a_cooperative_member_says_and_is_told_comes_back(assignment: Assignment, protocol: str) -> None:
    assert decode_assignment(encode_assignment(assignment, protocol)) == assignment
    metadata = Metadata(assignment.leader_url, assignment.offset, assignment)
    assert decode_metadata(encode_metadata(metadata, protocol)) == metadata
    assert metadata.owned == assignment.new


loads = st.dictionaries(st.builds(TaskId, names, st.integers(0, 2**31 - 1)), st.floats(0, 1000, width=32), max_size=8)


@given(assignments, loads, st.sampled_from(["compatible", "sessioned"]))
def test_loads_stand_behind_all_that_java_reads(
    assignment: Assignment, told: dict[TaskId, float], protocol: str
) -> None:
    bare = Metadata("http://worker:1/", 5, assignment)
    encoded = encode_metadata(replace(bare, loads=told), protocol)
    assert encoded.startswith(encode_metadata(bare, protocol))
    assert decode_metadata(encoded) == replace(bare, loads=told)


@given(loads, st.data())
def test_loads_that_are_not_whole_or_not_ours_are_passed_over(told: dict[TaskId, float], data: st.DataObject) -> None:
    bare = encode_metadata(Metadata("http://worker:1/", 5), "sessioned")
    whole = encode_metadata(Metadata("http://worker:1/", 5, loads=told), "sessioned")
    end = data.draw(st.integers(len(bare), max(len(bare), len(whole) - 1)))
    assert decode_metadata(whole[:end]).loads in ({}, told)
    assert decode_metadata(bare + data.draw(st.binary(max_size=50))).url == "http://worker:1/"


def test_an_eager_member_tells_no_loads() -> None:
    told = Metadata("http://worker:1/", 5, loads={TaskId("a", 0): 1.0})
    assert encode_metadata(told, "default") == encode_metadata(Metadata("http://worker:1/", 5), "default")


def test_a_load_that_is_no_number_is_passed_over() -> None:
    told = {TaskId("a", 0): float("nan"), TaskId("a", 1): -1.0, TaskId("a", 2): 0.5}
    assert decode_metadata(encode_metadata(Metadata("u", 5, loads=told), "sessioned")).loads == {TaskId("a", 2): 0.5}


@given(assignments)
def test_an_eager_assignment_has_neither_revocations_nor_a_delay(assignment: Assignment) -> None:
    read = decode_assignment(encode_assignment(assignment, "default"))
    assert read == Assignment(
        assignment.error, assignment.leader, assignment.leader_url, assignment.offset, assignment.new
    )


@given(assignments, st.sampled_from(list(VERSIONS)), st.data())
def test_bytes_that_end_too_soon_are_an_error(assignment: Assignment, protocol: str, data: st.DataObject) -> None:
    encoded = encode_assignment(assignment, protocol)
    end = data.draw(st.integers(0, len(encoded) - 1))
    with pytest.raises(WireError, match="middle of a value"):
        decode_assignment(encoded[:end])


@given(st.binary(max_size=200))
def test_no_bytes_of_another_member_raise_anything_but_a_wire_error(data: bytes) -> None:
    for decode in (decode_assignment, decode_metadata):
        try:
            decode(data)
        except WireError:
            pass


def test_an_unknown_version_is_an_error_that_names_it() -> None:
    with pytest.raises(WireError, match="version 3"):
        decode_metadata(b"\0\3")


def test_task_ids_read_as_java_writes_them() -> None:
    assert str(TaskId("orders", 0)) == "orders-0"
