"""Dates by Java's patterns. Every expected value is what Java's SimpleDateFormat gave, in UTC and English."""

import datetime as dt

import pytest

from connect import DataError
from transforms.java_dates import JavaDates

_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
_T = 1700000000123  # 2023-11-14T22:13:20.123Z


@pytest.mark.parametrize(
    ("pattern", "ms", "text"),
    [
        ("yyyy-MM-dd'T'HH:mm:ss.SSSXXX", _T, "2023-11-14T22:13:20.123Z"),
        ("EEE MMM dd HH:mm:ss Z yyyy", _T, "Tue Nov 14 22:13:20 +0000 2023"),
        (
            "y yy yyyyy M MMMM L D DDD E EEEE",
            _T,
            "2023 23 02023 11 November 11 318 318 Tue Tuesday",
        ),
        ("a aaa H k K h m s S SSSS", _T, "PM PM 22 22 10 10 13 20 123 0123"),
        ("k K h a", 0, "24 0 12 AM"),
        ("S.ss", _T, "123.20"),  # not the usual order
        ("z zzzz Z X XX", 0, "UTC Coordinated Universal Time +0000 Z Z"),
        ("''yyyy 'o''clock' 100%", _T, "'2023 o'clock 100%"),
        ("yyyy-MM-dd", -12219292800000, "1582-10-15"),
        ("yyyy", 253402300800000, "10000"),
        ("", _T, ""),
    ],
)
def test_writing(pattern: str, ms: int, text: str) -> None:
    assert JavaDates(pattern).format(ms) == text


@pytest.mark.parametrize(
    ("pattern", "text", "expected"),
    [
        ("yyyy-MM-dd'T'HH:mm:ss.SSSXXX", "2023-11-14T23:13:20.123+01:00", "2023-11-14 22:13:20.123"),
        ("yyyy-MM-dd'T'HH:mm:ss.SSSX", "2023-11-14T22:13:20.123Z and more", "2023-11-14 22:13:20.123"),
        ("EEE MMM dd HH:mm:ss Z yyyy", "Tue Nov 14 22:13:20 -0530 2023", "2023-11-15 03:43:20"),
        ("yyyy-MM-dd", "2024-13-45", "2025-02-14"),
        ("yyyy-MM-dd", "2024-1-5", "2024-01-05"),
        ("yyyy-MM-dd", "2024- 1- 5", "2024-01-05"),
        ("yyyy-MM-dd", "2024-01--5", "2023-12-26"),
        ("yyyy-MM-dd", "2024-00-00", "2023-11-30"),
        ("yyyyMMdd", "2024015", "2024-01-05"),
        ("yyyyMMdd", "202401051", "2024-02-20"),
        ("HHmmssSSS", "01020300456", "1970-01-01 01:02:03.456"),
        ("HH:mm:ss.SSS", "25:61:61.1000", "1970-01-02 02:02:02"),
        ("yyyyMMM", "2024january", "2024-01-01"),
        ("yyyy MMMM d", "2024 sep 4", "2024-09-04"),
        ("hh a", "12 AM", "1970-01-01 00:00"),
        ("h:mm a", "1:30 pm", "1970-01-01 13:30"),
        ("H a", "5 PM", "1970-01-01 05:00"),
        ("kk", "24", "1970-01-01 00:00"),
        ("EEE, dd MMM yyyy", "Fri, 01 Jan 2024", "2024-01-01"),
        ("yyyy EEE", "2024 Fri", "2024-01-05"),
        ("M/d/yyyy h:mm:ss a", "1/15/2024 1:02:03 PM", "2024-01-15 13:02:03"),
        ("d MMM yyyy HH:mm", "5 Feb 2024 07:08", "2024-02-05 07:08"),
        ("MM HH dd", "111 1 1  2", "1979-03-01 01:00:00"),  # fits the positions of the pattern by chance
        ("yyyy-DDD", "2023-366", "2024-01-01"),
        ("yyyy z", "2024 CEST", "2023-12-31 22:00"),
        ("yyyy z", "2024  GMT-5:30", "2024-01-01 05:30"),
        ("yyyy X", "2024 -0530", "2024-01-01 05:00"),  # one X takes hours alone
        ("yyyy XX", "2024 -0530", "2024-01-01 05:30"),
    ],
)
def test_reading(pattern: str, text: str, expected: str) -> None:
    form = JavaDates(pattern)
    moment = _EPOCH + dt.timedelta(milliseconds=form.parse(text))
    assert moment == dt.datetime.fromisoformat(expected).replace(tzinfo=dt.UTC)
    assert form.parse(text) == form.parse(text)  # the second time from what is remembered


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        ("yyyy", "+5"),
        ("yyyy", ""),
        ("yyyy", "x"),
        ("yyyy-MM-dd", "2024-Jan-01"),
        ("yyyy-MM-dd", "2024 -1-5"),
        ("yyyyMMM", "2024 Jan"),
        ("hh a", "5 P.M."),
        ("HH:mm:ss.SSS", "01:02:03"),
        ("yyyy Z", "2024 Z"),
        ("yyyy XXX", "2024 +0100"),
        ("yyyy z", "2024 GMT+1"),
        ("yyyy 'x'", "2024 X"),
    ],
)
def test_what_does_not_follow_the_pattern_is_refused(pattern: str, text: str) -> None:
    with pytest.raises(ValueError, match="does not match"):
        JavaDates(pattern).parse(text)


@pytest.mark.parametrize(
    ("pattern", "named"),
    [
        ("yyyyb", "letter b"), ("yyyy'", "quote"), ("XXXX", "XXXX"), ("yyyy c", "letter c"),
        ("G yyyy", "letter G, .* 'AD'"), ("YYYY-MM-dd", "letter Y, .* write y"), ("yyyy-ww", "letter w, .* write D"),
        ("W E", "letter W, .* write d"), ("F E", "letter F, .* write d"), ("yyyy u", "letter u, .* write E"),
    ],
)  # fmt: skip
def test_a_pattern_that_is_none_is_refused(pattern: str, named: str) -> None:
    with pytest.raises(ValueError, match=named):
        JavaDates(pattern)


def test_dates_before_october_1582_are_refused() -> None:
    form = JavaDates("yyyy-MM-dd")
    for ms in (-12219292800001, -62135596800001, -62293622400000):
        with pytest.raises(DataError, match="before 15 October 1582"):
            form.format(ms)
    for text in ("1582-10-10", "1500-02-29", "1500-2000-01", "1582-10-14", "0001-01-01", "2024-01--200000"):
        with pytest.raises(ValueError, match="before 15 October 1582"):
            form.parse(text)
    with pytest.raises(ValueError, match="the day of the year 1582"):  # 278 in Java, 288 by the Gregorian calendar
        JavaDates("yyyyDDD").parse("1582288")
    with pytest.raises(DataError, match="the day of the year 1582"):
        JavaDates("yyyyDDD").format(-12219292800000)
    assert form.parse("1582-01-400") > form.parse("1582-10-15") == -12219292800000
    assert JavaDates("HH:mm").format(-12219292800001) == "23:59"


def test_two_digits_of_a_year_lie_within_eighty_years_back_and_twenty_ahead() -> None:
    year = dt.datetime.now(dt.UTC).year
    form = JavaDates("yy-MM-dd")
    for away in (-79, -1, 0, 19):
        ms = form.parse(f"{(year + away) % 100:02d}-06-15")
        assert (_EPOCH + dt.timedelta(milliseconds=ms)).year == year + away
    assert JavaDates("yy").parse("1700") == JavaDates("yyyy").parse("1700")


def test_reading_what_was_written_gives_it_back() -> None:
    patterns = [
        "yyyy-MM-dd'T'HH:mm:ss.SSSX",
        "EEE MMM dd HH:mm:ss.SSS zzz yyyy",
        "yyyyMMddHHmmssSSS",
        "d.M.yyyy h:m:s.S a",
    ]
    for pattern in patterns:
        form = JavaDates(pattern)
        for ms in (0, -1, _T, 951782400000, -12219292800000, 253402300799999):
            assert form.parse(form.format(ms)) == ms, (pattern, ms)


@pytest.mark.parametrize(
    ("pattern", "resolution"),
    [("yyyy", 86_400_000), ("HH", 3_600_000), ("mm", 60_000), ("s", 1000), ("S", 1), ("", 86_400_000)],
)
def test_how_fine_a_pattern_is(pattern: str, resolution: int) -> None:
    assert JavaDates(pattern).resolution == resolution
