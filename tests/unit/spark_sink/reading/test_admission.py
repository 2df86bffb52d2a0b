"""How much of what waits a batch takes: never more than the limit, of every partition something, and at a pace."""

import math
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from connect.data.record import TopicPartition
from spark_sink.reading import admission
from spark_sink.reading.admission import Pace, take

from .conftest import StandingTime

P = [TopicPartition("t", number) for number in range(12)]

places = st.dictionaries(st.sampled_from(P), st.tuples(st.integers(0, 2**40), st.integers(0, 2**40)), min_size=1)


@given(places, st.one_of(st.integers(0, 2**42), st.just(math.inf)), st.integers(0, 50))
def test_a_batch_takes_no_more_than_its_limit_and_nothing_that_is_not_there(counts, most, turn):
    begin = {place: first for place, (first, _) in counts.items()}
    ends = {place: first + count for place, (first, count) in counts.items()}
    taken = take(begin, ends, most, turn)
    assert all(begin[place] < offset <= ends[place] for place, offset in taken.items())
    waiting = sum(count for _, count in counts.values())
    rows = sum(offset - begin[place] for place, offset in taken.items())
    assert rows <= most
    assert rows >= min(waiting, most) - len(begin)  # the shares are whole records
    if waiting <= most:
        assert rows == waiting
    else:
        assert (rows > 0) == (most > 0)


@given(places, st.integers(1, 2**42))
def test_every_partition_in_which_records_wait_gets_its_share(counts, most):
    begin = {place: first for place, (first, _) in counts.items()}
    ends = {place: first + count for place, (first, count) in counts.items() if count}
    waiting = sum(end - begin[place] for place, end in ends.items())
    taken = take(begin, ends, most)
    if most < len(ends):
        assert len(taken) == most
        return
    assert set(taken) == set(ends)
    for place, offset in taken.items():
        fair = (ends[place] - begin[place]) * min(1.0, most / max(1, waiting))
        assert offset - begin[place] >= max(1, int(fair) - len(ends) - fair * 1e-9)


@given(st.lists(st.integers(1, 5), min_size=1, max_size=12), st.integers(1, 12), st.data(), st.integers(0, 100))
def test_nobody_waits_for_ever_behind_partitions_that_are_always_full(counts, most, data, turn):
    """One partition in turn is where it is; all others get new records faster than they are read."""
    slow = data.draw(st.sampled_from(range(len(counts))))
    begin = dict.fromkeys(P[: len(counts)], 0)
    for _ in range(counts[slow] * len(counts) + 1):
        ends = {place: begin[place] + 10**6 for place in begin} | {P[slow]: counts[slow]}
        taken = take(begin, ends, most, turn)
        turn += len(taken)
        begin |= taken
        if begin[P[slow]] == counts[slow]:
            return
    pytest.fail(f"{begin[P[slow]]} of {counts[slow]} records were read")


def test_a_small_partition_goes_on_beside_a_large_one():
    begin = {P[0]: 0, P[1]: 50}
    assert take(begin, {P[0]: 10**9, P[1]: 51}, 100) == {P[0]: 99, P[1]: 51}
    assert take(begin, {P[0]: 300, P[1]: 150}, 40) == {P[0]: 29, P[1]: 60}


@pytest.fixture
def time(monkeypatch: pytest.MonkeyPatch) -> Iterator[StandingTime]:
    stands = StandingTime()
    monkeypatch.setattr(admission, "time", stands)
    return stands


def test_without_a_pace_any_number_may_be_read(time):
    pace = Pace(0)
    pace.spend(10**9)
    pace.wait()
    assert pace.allowed() == math.inf
    assert time.now == 5000.0


@pytest.mark.parametrize("every", [0.1, 0.7, 1.0, 5.0, 60.0])
def test_the_pace_is_kept_on_average_however_often_a_batch_is_made(time, every):
    pace, read = Pace(100), 0.0
    began = time.now
    while time.now < began + 600:
        read += (now := pace.allowed())
        pace.spend(int(now))
        time.now += every
    assert read == pytest.approx(100 * 600, rel=0.01, abs=100 + every * 100)


def test_what_was_not_wanted_is_not_saved_up(time):
    pace = Pace(100)
    pace.allowed()
    for _ in range(100):
        time.now += 0.5
        assert pace.allowed() == 100
    time.now += 3
    assert pace.allowed() == 300
    pace.spend(300)
    assert pace.allowed() == 0


@pytest.mark.parametrize("rate", [*range(1, 40), 997, 100_003])
def test_who_has_to_go_on_waits_until_one_may_be_read(time, rate):
    time.now = 1234.56789
    pace = Pace(rate)
    pace.wait()
    assert time.now == 1234.56789
    for _ in range(5):
        pace.spend(int(pace.allowed()))
        assert pace.allowed() == 0
        before = time.now
        pace.wait()
        assert time.now == pytest.approx(before + 1 / rate)
        assert pace.allowed() == 1
