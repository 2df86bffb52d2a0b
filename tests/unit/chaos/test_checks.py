"""Each check of the chaos suite finds what it is for, and nothing else."""

import math
import random
from xml.etree import ElementTree

import pytest

from tests.chaos.suite import audits, checks
from tests.chaos.suite.leaks import Limit, Sample, leaks, slope
from tests.chaos.suite.picture import picture
from tests.chaos.suite.timeline import Event, Timeline

#: Ten records, by turns in two partitions.
PLACES = {n: (n % 2, n // 2) for n in range(10)}


def test_a_lost_record_is_found() -> None:
    (found,) = checks.lost("flow", range(10), [n for n in range(10) if n not in (3, 4, 7)])
    assert str(found) == "lost: flow: 3 of 10: 3-4, 7"


def test_what_was_deleted_before_it_could_be_read_is_excused_and_no_more() -> None:
    assert not checks.lost("flow", range(10), range(5), excused=range(5, 10))
    assert checks.lost("flow", range(10), range(5), excused=range(6, 10))
    assert not checks.lost("flow", range(10), range(10), excused=range(5, 10))


def test_an_invented_record_is_found() -> None:
    assert checks.invented("flow", range(10), [*range(10), 12])
    assert not checks.invented("flow", range(10), [1, 1])


def test_a_repeated_record_is_found() -> None:
    (found,) = checks.repeated("flow", [0, 1, 2, 1, 3, 1])
    assert found.text == "1: 1"
    assert checks.repeats([0, 1, 2, 1, 3, 1]) == {1: 2}
    assert not checks.repeated("flow", range(10))
    assert not checks.repeated("flow", [0, 1, 2, 1], excused=[1])


def test_an_offset_ahead_of_the_target_is_found() -> None:
    there = [0, 1, 2, 3, 5]
    assert not checks.ahead("flow", {0: 2, 1: 3}, PLACES, there)
    (found,) = checks.ahead("flow", {0: 3, 1: 3}, PLACES, there)
    assert "not there: 4" in found.text
    assert not checks.ahead("flow", {0: 3, 1: 3}, PLACES, there, excused=[4])


@pytest.mark.parametrize("once", [True, False])
def test_a_record_before_its_turn_is_found(once: bool) -> None:
    assert not checks.order("flow", [1, 0, 3, 5, 2, 4, 6, 8, 7, 9], PLACES, once=once)
    assert checks.order("flow", [0, 1, 4, 2, 3, 5, 6, 7, 8, 9], PLACES, once=once)


def test_with_at_least_once_records_may_come_again_but_none_before_its_turn() -> None:
    assert not checks.order("flow", [0, 2, 4, 0, 4, 2, 6, 8], PLACES, once=False)
    assert checks.order("flow", [0, 2, 4, 0, 8, 2, 4, 6], PLACES, once=False)
    assert checks.order("flow", [0, 2, 4, 2, 4, 6, 8], PLACES, once=True)


def mark(pid: int, at: float, what: str = "begins") -> dict[str, object]:
    return {"pid": pid, "at": at, "what": what}


def test_two_owners_are_found() -> None:
    assert not checks.owners("task", [mark(1, 0.0), mark(1, 1.0), mark(2, 2.0), mark(1, 3.0, "ended"), mark(2, 4.0)])
    (found,) = checks.owners("task", [mark(1, 0.0), mark(2, 2.0), mark(1, 3.0)])
    assert "[1]" in found.text


def samples(of: str, per_second: float, noise: float, count: int = 120) -> list[Sample]:
    chance = random.Random(7)
    base = {"pss": 80e6, "threads": 12.0, "descriptors": 30.0, "children": 0.0, "forked": 4.0}
    found = []
    for number in range(count):
        at = number * 5.0
        values = {**base, of: base[of] + at * per_second + chance.gauss(0, noise)}
        found.append(Sample(at, **values))
    return found


@pytest.mark.parametrize(
    ("of", "per_second", "noise"),
    [("pss", 60_000, 2e6), ("threads", 0.02, 1), ("descriptors", 0.05, 2), ("children", 0.02, 0.3)],
)
def test_a_leak_is_found_by_its_slope(of: str, per_second: float, noise: float) -> None:
    (found,) = leaks({"worker": samples(of, per_second, noise)})
    assert found.check == "leak"
    assert not leaks({"worker": samples(of, 0, noise)})


def test_what_a_process_takes_to_get_warm_is_no_leak() -> None:
    warm = [each._replace(pss=80e6 * (1 - math.exp(-each.at / 20))) for each in samples("pss", 0, 0)]
    assert not leaks({"worker": warm})


def test_what_grows_with_the_number_of_tasks_is_no_leak() -> None:
    tasks = [4 + number // 20 for number in range(120)]
    more = [
        each._replace(descriptors=each.descriptors + 6 * forked, forked=forked)
        for each, forked in zip(samples("descriptors", 0, 1), tasks, strict=True)
    ]
    assert not leaks({"worker": more})
    (found,) = leaks({"worker": [each._replace(descriptors=each.descriptors + each.at * 0.1) for each in more]})
    assert "descriptors" in found.text


def test_what_is_taken_once_is_no_leak() -> None:
    one_step = [each._replace(threads=12.0 + 8 * (each.at > 340)) for each in samples("threads", 0, 0.5)]
    assert not leaks({"worker": one_step})


def test_a_worker_is_warm_later() -> None:
    early = [each._replace(threads=12.0 + min(each.at, 290.0) / 10) for each in samples("threads", 0, 0.5)]
    assert not leaks({"worker 2 (4711)": early})
    assert leaks({"worker 2 (4711)": samples("threads", 0.03, 0.5)})


def test_what_a_large_process_takes_in_its_first_minutes_is_no_leak() -> None:
    def grown(mebibytes: float) -> list[Sample]:
        return [each._replace(pss=(140 << 20) + each.at * mebibytes * 2**20 / 300) for each in samples("pss", 0, 0)]

    assert not leaks({"worker 2 forked (25601)": [each for each in grown(15) if each.at < 345]})
    assert leaks({"worker 2 forked (25601)": grown(15)})


def test_a_record_whose_offset_no_broker_has_said_is_not_judged_by_it() -> None:
    places = {0: (0, 0), 1: (0, None), 2: (0, 1)}
    assert not checks.order("flow", [0, 1, 2], places, once=True)
    assert not checks.ahead("flow", {0: 2}, places, [0, 2])
    assert checks.ahead("flow", {0: 2}, places, [0])


def test_a_process_that_was_seen_for_a_moment_is_not_judged() -> None:
    assert not leaks({"worker": samples("pss", 1e6, 0, count=40)})


def test_a_slope_is_less_certain_where_samples_are_alike() -> None:
    times = [float(n) for n in range(100)]
    chance = random.Random(3)
    alone = [chance.gauss(0, 1) for _ in times]
    steps = [alone[n // 20] for n in range(100)]
    assert slope(times, steps).within > slope(times, alone).within
    assert abs(slope(times, [3 * at + 1 for at in times]).slope - 3) < 1e-9


def test_limits_are_of_growth_that_is_certain() -> None:
    assert not leaks({"worker": samples("pss", 60_000, 2e6)}, {"pss": Limit(1 << 30, 0)})


def test_a_standstill_is_a_time_in_which_records_wait() -> None:
    timeline = Timeline()
    timeline.progress["flow"] = [(0, 5, 5), (10, 5, 5), (20, 9, 5), (30, 9, 5), (50, 9, 6), (60, 9, 9), (90, 9, 9)]
    assert timeline.standstill("flow") == 40


class Broken:
    """A flow in which everything is wrong that can be."""

    name = "broken"
    once = True
    ordered = True
    excused_lost = excused_repeated = frozenset()

    def written(self) -> range:
        return range(10)

    def arrived(self) -> list[int]:
        return [0, 1, 4, 2, 2, 11]

    def places(self) -> dict[int, tuple[int, int]]:
        return PLACES

    def marks(self) -> dict[int, list[dict[str, object]]]:
        return {0: [mark(1, 0.0), mark(2, 2.0), mark(1, 3.0)]}


def test_all_checks_are_put_to_a_flow_in_the_end() -> None:
    found = audits.finally_(Broken())
    assert {problem.check for problem in found} == {"lost", "invented", "repeated", "order", "owners"}


def test_the_picture_has_a_bar_for_each_fault_and_a_line_for_each_flow() -> None:
    timeline = Timeline()
    timeline.events.append(Event("worker cut from all brokers", "worker 2", 1, 5, 9))
    timeline.events.append(Event("target slow", 'a <"system">, 0.5 s late', 2, 3))
    timeline.progress["flow"] = [(0, 5, 5), (10, 500, 5), (20, 500, 500)]
    root = ElementTree.fromstring(picture(timeline, "seed 7 & more"))
    labels = [each.text for each in root.iter("{http://www.w3.org/2000/svg}text")]
    told = [each.text for each in root.iter("{http://www.w3.org/2000/svg}title")]
    assert {"worker 2", 'a <"system">', "flow", "at most 495"} <= set(labels)
    assert "worker cut from all brokers: worker 2, 4.0 s, all ran again after 4.0 s" in told
    assert len(list(root.iter("{http://www.w3.org/2000/svg}polyline"))) == 1
