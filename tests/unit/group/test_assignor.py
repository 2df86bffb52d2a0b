import pytest

from connect.group import Configured, Delays, Memory, Metadata, assign, decode_assignment, encode_metadata
from connect.group.assignor import deal
from connect.group.wire import CONFIG_MISMATCH, Assignment
from connect.group.work import NOTHING, TaskId, Work

CONFIGURED = Configured(7, ["x"], [TaskId("x", 0), TaskId("x", 1)])


def member(name: str, protocol: str, offset: int = 7, owned: Work = NOTHING) -> tuple[str, bytes]:
    current = Assignment(0, "somebody", "http://somebody/", 5, owned)
    return name, encode_metadata(Metadata(f"http://{name}/", offset, current), protocol)


@pytest.mark.parametrize("protocol", ["default", "compatible", "sessioned"])
def test_every_member_learns_the_leader_the_offset_and_its_share(protocol: str) -> None:
    encoded, _ = assign(
        protocol, "b", [member("a", protocol), member("b", protocol)], CONFIGURED, Memory(), 0.0, delays=Delays()
    )
    shares = {name: decode_assignment(data) for name, data in encoded.items()}
    assert {(share.error, share.leader, share.leader_url, share.offset) for share in shares.values()} == {
        (0, "b", "http://b/", 7)
    }
    assert shares["a"].new | shares["b"].new == Work.of(["x"], [("x", 0), ("x", 1)])
    assert not shares["a"].new & shares["b"].new


@pytest.mark.parametrize("protocol", ["default", "compatible", "sessioned"])
def test_a_leader_that_has_read_less_than_a_member_gives_nothing_out(protocol: str) -> None:
    remembered = Memory(revocations=3)
    encoded, memory = assign(
        protocol, "b", [member("a", protocol, 9), member("b", protocol)], CONFIGURED, remembered, 0.0, delays=Delays()
    )
    refusal = Assignment(CONFIG_MISMATCH, "b", "http://b/", 9)
    assert {decode_assignment(data) for data in encoded.values()} == {refusal}
    assert memory is remembered


def test_a_delay_reaches_all_members_in_milliseconds() -> None:
    _, memory = assign(
        "sessioned",
        "a",
        [member("a", "sessioned"), member("b", "sessioned")],
        CONFIGURED,
        Memory(),
        0.0,
        delays=Delays(),
    )
    owned = memory.members["a"].owned
    encoded, _ = assign(
        "sessioned",
        "a",
        [member("a", "sessioned", owned=owned)],
        CONFIGURED,
        memory,
        0.0,
        delays=Delays(lost=1.2345),
    )
    assert decode_assignment(encoded["a"]).delay == 1235


def test_a_group_that_falls_back_to_eager_stops_everything_before_it_gives_anything_out() -> None:
    members = [member("a", "sessioned"), member("b", "sessioned")]
    _, memory = assign("sessioned", "a", members, CONFIGURED, Memory(), 0.0, delays=Delays())
    members = [member("a", "default"), member("b", "default")]
    encoded, after = assign("default", "a", members, CONFIGURED, memory, 1.0, delays=Delays())
    assert not any(decode_assignment(data).new for data in encoded.values())
    encoded, _ = assign("default", "a", members, CONFIGURED, after, 2.0, delays=Delays())
    assert all(decode_assignment(data).new for data in encoded.values())


def test_eager_deals_round_robin_connectors_before_tasks() -> None:
    dealt = deal(["b", "a"], ["x", "y", "z"], [TaskId("x", 1), TaskId("x", 0), TaskId("y", 0)])
    assert dealt == {
        "a": Work.of(["x", "z"], [("x", 1)]),
        "b": Work.of(["y"], [("x", 0), ("y", 0)]),
    }


def test_loads_that_members_measured_are_remembered_when_a_task_moves() -> None:
    tasks = [TaskId("x", number) for number in range(8)]
    mine, yours = Work.of((), tasks[:4]), Work.of((), tasks[4:])

    def told(name: str, owned: Work, loads: dict[TaskId, float]) -> tuple[str, bytes]:
        current = Assignment(0, "a", "http://a/", 7, owned)
        return name, encode_metadata(Metadata(f"http://{name}/", 7, current, loads), "sessioned")

    def lead(members: list[tuple[str, bytes]], memory: Memory) -> tuple[dict[str, Assignment], Memory]:
        configured = Configured(7, [], tasks)
        encoded, after = assign("sessioned", "a", members, configured, memory, 0.0, delays=Delays())
        return {name: decode_assignment(data) for name, data in encoded.items()}, after

    busy = dict.fromkeys(tasks[:2], 0.875) | {TaskId("gone", 0): 1.0, tasks[7]: 9.0}  # one is not its own
    shares, memory = lead([told("a", mine, busy), told("b", yours, dict.fromkeys(tasks[4:], 0.0))], Memory())
    assert memory.loads == dict.fromkeys(tasks[:2], 0.875) | dict.fromkeys(tasks[4:], 0.0)
    (from_a,), (from_b,) = shares["a"].revoked.tasks, shares["b"].revoked.tasks
    assert from_a in tasks[:2]
    # Nobody has it and nobody tells of it: still it goes where less is to be done.
    left = [told("a", mine - shares["a"].revoked, busy), told("b", yours - shares["b"].revoked, {})]
    shares, _ = lead(left, memory)
    assert shares["b"].new == Work.of((), [from_a])
    assert shares["a"].new == Work.of((), [from_b])


@pytest.mark.parametrize("protocol", ["default", "compatible", "sessioned"])
@pytest.mark.parametrize("name", ["n" * 32_768, "ä" * 16_384])
def test_a_connector_whose_name_no_assignment_can_hold_is_given_to_nobody(protocol: str, name: str) -> None:
    configured = Configured(7, ["x", name], [TaskId("x", 0), TaskId(name, 0)])
    encoded, _ = assign(protocol, "a", [member("a", protocol)], configured, Memory(), 0.0, delays=Delays())
    assert decode_assignment(encoded["a"]).new == Work.of(["x"], [("x", 0)])


def test_the_longest_name_that_an_assignment_can_hold_is_given() -> None:
    configured = Configured(7, ["n" * 32_767], [])
    encoded, _ = assign("sessioned", "a", [member("a", "sessioned")], configured, Memory(), 0.0, delays=Delays())
    assert decode_assignment(encoded["a"]).new == Work.of(["n" * 32_767])
