"""PostgreSQL's text of values, defaults of columns, and places in the log."""

import datetime as dt
from decimal import Context, Decimal
from typing import Any

import pytest

from connect import ConnectError
from connectors.jdbc.capture import text
from connectors.jdbc.capture.catalog import PgType, Types
from connectors.jdbc.capture.copying import _split
from connectors.jdbc.capture.pgoutput import Begin
from connectors.jdbc.capture.position import Resume, Transaction, Visible, stored, streamed
from connectors.jdbc.capture.replication import lsn_text, parameters, parse_lsn
from connectors.jdbc.capture.tables import default_of
from connectors.jdbc.capture.types import ColumnType, Modes, column_type

DAY = 86_400_000_000


@pytest.mark.parametrize(
    ("written", "days"),
    [
        ("1970-01-01", 0),
        ("2024-02-29", 19782),
        ("0001-01-01", -719162),
        ("0001-12-31 BC", -719163),
        ("0044-03-15 BC", -735160),
        ("10000-01-01", 2932897),
        ("infinity", 2**31 - 1),
        ("-infinity", -(2**31)),
    ],
)
def test_days(written: str, days: int) -> None:
    assert text.days(written.encode()) == days


@pytest.mark.parametrize(
    ("written", "micros"),
    [
        ("1970-01-01 00:00:00", 0),
        ("1969-12-31 23:59:59.999999", -1),
        ("2024-02-29 13:45:01.5", 1709214301500000),
        ("2024-02-29 13:45:01.123456+00", 1709214301123456),
        ("2024-02-29 13:45:01+00", 1709214301000000),
        ("0001-12-31 00:00:01 BC", -719163 * DAY + 1_000_000),
        ("12024-02-29 12:00:00", 317278728000000000),
    ],
)
def test_micros(written: str, micros: int) -> None:
    assert text.micros(written.encode()) == micros
    assert text.millis(written.encode()) == micros // 1000


@pytest.mark.parametrize(
    ("written", "digits", "iso"),
    [
        ("2024-02-29 13:45:01.123456+00", 6, "2024-02-29T13:45:01.123456Z"),
        ("2024-02-29 13:45:01.12+00", 6, "2024-02-29T13:45:01.120000Z"),
        ("2024-02-29 13:45:01+00", 0, "2024-02-29T13:45:01Z"),
        ("2024-02-29 13:45:01.1+00", 3, "2024-02-29T13:45:01.100Z"),
        ("0044-03-15 10:00:00+00 BC", 6, "-0043-03-15T10:00:00.000000Z"),
        ("12024-02-29 13:45:01+00", 0, "+12024-02-29T13:45:01Z"),
        ("infinity", 6, "infinity"),
    ],
)
def test_zoned_timestamps(written: str, digits: int, iso: str) -> None:
    assert text.zoned_timestamp(digits)(written.encode()) == iso


@pytest.mark.parametrize(
    ("written", "iso"),
    [
        ("13:45:01.5+02:30", "11:15:01.5Z"),
        ("00:30:00+01", "23:30:00Z"),
        ("23:30:00-01:00:01", "00:30:01Z"),
        ("24:00:00+00", "00:00:00Z"),
    ],
)
def test_zoned_times(written: str, iso: str) -> None:
    assert text.zoned_time(written.encode()) == iso


@pytest.mark.parametrize(
    ("written", "micros", "iso"),
    [
        ("1 year 2 mons 3 days 04:05:06.789", 37091106789000, "P1Y2M3DT4H5M6.789S"),
        ("-3 days -04:05:06", -273906000000, "P0Y0M-3DT-4H-5M-6S"),
        ("-1 years", -31557600000000, "P-1Y0M0DT0H0M0S"),
        ("00:00:00", 0, "P0Y0M0DT0H0M0S"),
        ("-00:00:00.5", -500000, "P0Y0M0DT0H0M-0.5S"),
        ("1 mon -1 days", 2543400000000, "P0Y1M-1DT0H0M0S"),
    ],
)
def test_intervals(written: str, micros: int, iso: str) -> None:
    assert text.interval_micros(written.encode()) == micros
    assert text.interval_iso(written.encode()) == iso


def test_arrays() -> None:
    texts = text.array(bytes.decode)
    assert texts(b"{}") == []
    assert texts(b'{a,"b, c",NULL,"NULL","","\\"\\\\"}') == ["a", "b, c", None, "NULL", "", '"\\']
    assert text.array(int)(b"[0:2]={1,2,3}") == [1, 2, 3]
    assert text.array(int)(b"{{1,2},{3,NULL}}") == [1, 2, 3, None]


def test_other_values() -> None:
    assert text.hstore(b'"a"=>"1", "b c"=>NULL, "q\\""=>"\\\\", "=>"=>","') == {
        "a": "1",
        "b c": None,
        'q"': "\\",
        "=>": ",",
    }
    assert text.bits(b"000000000101") == b"\5"
    assert text.bits(b"1" + b"0" * 8) == b"\0\1"
    assert text.bits(b"000") == text.bits(b"") == b""
    assert text.money(b"-$1,234.56") == Decimal("-1234.56")
    assert text.bytea(b"\\x00ff") == b"\0\xff"
    assert text.as_time(b"24:00:00") == dt.time(23, 59, 59, 999000)
    assert text.as_date(b"0044-03-15 BC") == dt.date.min
    assert text.as_datetime(b"infinity").year == 9999


def test_lines_of_copy() -> None:
    assert _split(b"1\tplain\t\n") == [b"1", b"plain", b""]
    assert _split(b"\\N\ta\\tb\\\\N\\n\t\\\\N\n") == [None, b"a\tb\\N\n", b"\\N"]


MODES = Modes("precise", "adaptive", "bytes", "json", "numeric", 2, False, "gone")


def _type(name: str, modifier: int = -1) -> ColumnType:
    types = Types(lambda *_: [], {1: PgType(1, name, "b", 0, 0, -1)})
    found = column_type(types, 1, modifier, MODES)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("of", "expression", "default"),
    [
        (_type("int4"), "nextval('a_id_seq'::regclass)", 0),
        (_type("int4"), "'-3'::integer", -3),
        (_type("int4"), "(1 + 2)", None),
        (_type("text"), "'it''s (x)'::text", "it's (x)"),
        (_type("text"), "NULL::character varying", None),
        (_type("text"), "upper('a'::text)", None),
        (_type("bool"), "true", True),
        (_type("numeric", ((6 << 16) | 2) + 4), "1.5", Decimal("1.50")),
        (_type("numeric", ((40 << 16) | 10) + 4), f"'{'9' * 30}.5'::numeric", Decimal(f"{'9' * 30}.5000000000")),
        (_type("timestamp"), "now()", 0),
        (_type("timestamptz"), "CURRENT_TIMESTAMP", "1970-01-01T00:00:00.000000Z"),
        (_type("timestamptz"), "'2024-02-29 11:30:01+00'::timestamp with time zone", "2024-02-29T11:30:01.000000Z"),
        (_type("uuid"), "gen_random_uuid()", "00000000-0000-0000-0000-000000000000"),
        (_type("bit", 3), "B'101'::\"bit\"", b"\5"),
        (_type("bytea"), "'\\x00'::bytea", None),
        (_type("int4"), None, None),
    ],
)
def test_defaults(of: ColumnType, expression: str | None, default: Any) -> None:
    found = default_of(expression, of)
    assert found == default
    assert str(found) == str(default)


@pytest.mark.parametrize("written", ["9" * 5000, f"-0.{'9' * 5000}00", "12.50", "-100", "0.00"])
def test_a_number_of_any_length_has_all_of_its_digits(written: str) -> None:
    """PostgreSQL has up to 131,072 of them before the point."""
    found = _type("numeric").read(written.encode())
    unscaled = Decimal(int.from_bytes(found["value"], "big", signed=True))
    assert unscaled.scaleb(-found["scale"], Context(prec=10_000)) == Decimal(written)


def test_a_number_with_a_negative_scale_has_all_of_its_digits() -> None:
    found = _type("numeric", ((40 << 16) | 0x800 - 2) + 4).read(b"9" * 38 + b"00")
    assert found.as_tuple() == Decimal(f"{'9' * 38}e2").as_tuple()


def test_positions_as_postgresql_writes_them() -> None:
    assert parse_lsn("16/B374D848") == 0x16B374D848
    assert lsn_text(0x16B374D848) == "16/B374D848"
    assert lsn_text(parse_lsn("0/0")) == "0/0"


def test_what_is_done_of_a_transaction() -> None:
    resume = Resume(100, 100, 7, (150, 2))
    assert [resume.done(7, 150, number) for number in (1, 2, 3)] == [True, True, False]
    assert resume.done(7, 149, 9)
    assert not resume.done(7, 151, 1)
    assert not resume.done(8, 120, 1)


def test_offsets_of_debezium_are_understood() -> None:
    kind, resume = stored(
        {"lsn_proc": 300, "messageType": "INSERT", "lsn_commit": 250, "lsn": 300, "txId": 9, "ts_usec": 1}
    )
    assert kind == "stream"
    assert resume is not None
    assert (resume.lsn, resume.committed, resume.xid) == (250, 250, 9)
    # It does not say which change at that place was the last: all of them were.
    assert resume.done(9, 300, 1)
    assert not resume.done(9, 301, 1)
    assert stored({"lsn": 5, "snapshot": "INITIAL", "snapshot_completed": False}) == ("snapshot", None)
    assert stored({"lsn": 5, "snapshot": "INITIAL", "snapshot_completed": True})[0] == "stream"
    assert stored(None) == ("nothing", None)
    with pytest.raises(ConnectError, match="Reset the connector's offsets"):
        stored({"position": 3})


def test_the_offset_after_the_last_change_is_that_after_the_transaction() -> None:
    transaction = Transaction(Begin(final=400, at=1, xid=9), before=250)
    transaction.last = (300, 2)
    assert streamed(transaction, 300, 2, None, None)["lsn_commit"] == 250  # more may come
    transaction.end = 410
    assert streamed(transaction, 300, 2, None, None)["lsn_commit"] == 410
    assert streamed(transaction, 300, 1, None, None)["lsn_commit"] == 250


def test_what_a_snapshot_has_seen() -> None:
    seen = Visible("100:110:102,105", 1000)

    def has(xid: int, final: int = 500) -> bool:
        return seen.has(Begin(final, 0, xid))

    assert [xid for xid in range(95, 115) if has(xid)] == [95, 96, 97, 98, 99, 100, 101, 103, 104, 106, 107, 108, 109]
    assert not has(99, final=1000)
    # Transactions count around after 2**32 of them.
    around = Visible(f"{2**32 + 5}:{2**32 + 10}:{2**32 + 7}", 1000)
    found = [around.has(Begin(500, 0, xid)) for xid in (2**32 - 1, 3, 7, 9, 10)]
    assert found == [True, True, False, True, False]


@pytest.mark.parametrize(
    ("url", "host", "port"),
    [
        ("jdbc:postgresql://one,two:5433/shop", "one,two", "5432,5433"),
        ("postgresql://me@/shop?host=one&host=two:5433", "one,two", "5432,5433"),
        ("jdbc:postgresql://[::1]:5433,[::2]/shop", "::1,::2", "5433,5432"),
        ("jdbc:postgresql://one:5433/shop", "one", "5433"),
        ("jdbc:postgresql:shop", "localhost", "5432"),
    ],
)
def test_each_host_of_a_url_is_told_to_libpq(url: str, host: str, port: str) -> None:
    found = parameters({"connection.url": url})
    assert (found["host"], found["port"], found["dbname"]) == (host, port, "shop")
