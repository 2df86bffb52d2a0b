"""Patterns of folders by time, in Joda-Time's letters."""

from zoneinfo import ZoneInfo

import pytest

from connectors.objects.sink.time_pattern import TimePattern, has_words

HOUR = 3_600_000
UTC = ZoneInfo("UTC")
#: 2026-03-05 07:08:09.123 UTC, a Thursday.
MOMENT = 1_772_694_489_123


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("'year'=YYYY/'month'=MM/'day'=dd/'hour'=HH", "year=2026/month=03/day=05/hour=07"),
        ("yyyy-MM-dd", "2026-03-05"),
        ("yy M d H m s SSS", "26 3 5 7 8 9 123"),
        ("MMM MMMM E EEEE", "Mar March Thu Thursday"),
        ("D DDD w e h a K k", "64 064 10 4 7 AM 7 7"),
        ("xxxx Z ZZ z", "2026 +0000 +00:00 UTC"),
        ("'it''s' ''yyyy''", "it's '2026'"),
    ],
)
def test_letters(pattern: str, expected: str) -> None:
    assert TimePattern(pattern, UTC, 1).all_of([MOMENT]) == [expected]


@pytest.mark.parametrize("pattern", ["bbbb", "'open", "YYYY q"])
def test_what_means_nothing_is_said(pattern: str) -> None:
    with pytest.raises(ValueError, match="quote|not a letter"):
        TimePattern(pattern, UTC, HOUR)


def test_times_are_cut_in_the_zones_own_time() -> None:
    day = TimePattern("dd HH:mm", ZoneInfo("Asia/Kolkata"), 24 * HOUR)  # half an hour off
    assert day.all_of([0, 18 * HOUR, 18 * HOUR + HOUR // 2]) == ["01 00:00", "01 00:00", "02 00:00"]


def test_days_on_which_clocks_change_have_folders_of_their_hours() -> None:
    hours = TimePattern("dd HH", ZoneInfo("Europe/Zurich"), HOUR)
    spring = 1_774_746_000_000  # 2026-03-29 01:00 UTC: the clock goes from 2 to 3
    assert hours.all_of([spring - HOUR, spring - 1, spring, spring + HOUR]) == ["29 01", "29 01", "29 03", "29 04"]


def test_zones_that_were_seconds_apart_have_their_own_hours() -> None:
    """Liberia was 44 minutes and 30 seconds behind until 1972."""
    for times, expected in ((range(2), ["09", "10"]), (range(1, -1, -1), ["10", "09"])):
        hours = TimePattern("HH", ZoneInfo("Africa/Monrovia"), HOUR)
        around = [-147_359_730_000 + 10_000 * (2 * time - 1) for time in times]  # 1965-05-01 10:44:30 UTC
        assert hours.all_of(around) == expected


def test_times_before_1970_and_beyond_the_calendar() -> None:
    pattern = TimePattern("YYYY-MM-dd HH", UTC, HOUR)
    assert pattern.all_of([-1]) == ["1969-12-31 23"]
    with pytest.raises(ValueError, match="outside the range of dates"):
        pattern.all_of([10**18])


def test_words_of_a_language_are_found() -> None:
    assert [has_words(pattern) for pattern in ("YYYY/MM", "MMM", "'MMM'", "E", "a")] == [False, True, False, True, True]
