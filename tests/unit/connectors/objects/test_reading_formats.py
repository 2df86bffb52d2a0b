"""Every format is read as others write it, in every compression, and goes on after every record."""

import bz2
import csv
import datetime as dt
import gzip
import io
import json
import lzma
import math
import random
import struct
from collections.abc import Callable
from decimal import Decimal
from typing import Any, NoReturn, cast

import fastavro
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard

from connect import DataError, RetriableError, Schema, Values, schema
from connectors.objects.formats.avro import Avro
from connectors.objects.formats.read import ReadOptions, read
from connectors.objects.formats.read_csv import CsvOptions
from connectors.objects.formats.reading import CHUNK_BYTES


class Object:
    """Bytes that come in pieces as small as a network may give them."""

    def __init__(self, content: bytes, most: int = 1 << 30) -> None:
        self._file = io.BytesIO(content)
        self._most = most

    def read(self, size: int, /) -> bytes:
        return self._file.read(min(size, self._most))

    def file(self) -> Any:
        return self._file


def raise_bad(position: int, reason: str) -> NoReturn:
    """Leaves nothing out."""
    raise DataError(f"record {position}: {reason}")


def records(content: bytes, options: ReadOptions, skip: int = 0, most: int = 1 << 30, on_bad: Any = raise_bad) -> Any:
    """Each record with the position after it."""
    found = []
    for chunk in read(Object(content, most), options, skip, on_bad):
        found += list(zip(chunk.values.to_list(), chunk.ends, strict=True))
    return found


def until_it_fails(content: bytes, options: ReadOptions, skip: int = 0) -> tuple[list[Any], str]:
    """The values that come before the error, and what that says."""
    found: list[Any] = []
    try:
        for chunk in read(Object(content), options, skip, raise_bad):
            found += chunk.values.to_list()
    except DataError as error:
        return found, str(error)
    return found, ""


ROWS = [{"id": n, "name": f'größe {n} "x", {{[', "none": None, "deep": {"a": [n, {"b": "\\"}]}} for n in range(7)]
PLAIN: list[dict[str, Any]] = [
    {"id": n, "name": f"größe {n}", "price": Decimal(n) / 100, "at": dt.datetime(2024, 2, 29, 12, n, tzinfo=dt.UTC)}
    for n in range(7)
]
AVRO = {
    "type": "record",
    "name": "row",
    "fields": [
        {"name": "id", "type": "long"},
        {"name": "name", "type": ["null", "string"]},
        {"name": "price", "type": {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2}},
        {"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}},
    ],
}


def _jsonl(rows: Any = ROWS) -> bytes:
    return b"".join(json.dumps(row, ensure_ascii=False).encode() + b"\n" for row in rows)


def _avro(codec: str = "null", rows: Any = PLAIN, **more: Any) -> bytes:
    file = io.BytesIO()
    exact = [{**row, "price": row["price"].quantize(Decimal("0.01"))} for row in rows]
    fastavro.writer(file, AVRO, exact, codec=codec, **more)
    return file.getvalue()


def _parquet(rows: Any = PLAIN, **more: Any) -> bytes:
    file = io.BytesIO()
    kind = pa.schema(
        [("id", pa.int64()), ("name", pa.string()), ("price", pa.decimal128(9, 2)), ("at", pa.timestamp("ms", "UTC"))]
    )
    pq.write_table(pa.Table.from_pylist(rows, kind), file, **more)
    return file.getvalue()


def _csv() -> bytes:
    file = io.StringIO()
    writer = csv.writer(file)
    writer.writerows([["id", "name"], *([str(n), f'a "{n}",\nb'] for n in range(7))])
    return file.getvalue().encode()


EXACT = [{**row, "price": row["price"].quantize(Decimal("0.01"))} for row in PLAIN]
CASES: dict[str, tuple[bytes, ReadOptions, list[Any]]] = {
    "jsonl": (_jsonl(), ReadOptions("jsonl"), ROWS),
    "jsonl without a last end": (_jsonl()[:-1], ReadOptions("jsonl"), ROWS),
    "json array": (json.dumps(ROWS, ensure_ascii=False).encode(), ReadOptions("json"), ROWS),
    "json array by lines": (
        b"\xef\xbb\xbf [\n" + b",\n".join(_jsonl().splitlines()) + b"\n]\n ",
        ReadOptions("json"),
        ROWS,
    ),
    "json laid out": (b"\n".join(json.dumps(row, indent=2).encode() for row in ROWS), ReadOptions("json"), ROWS),
    "json scalars": (
        b'1 "a" [2] {"b":3}null true ["]"]4',
        ReadOptions("json"),
        [1, "a", [2], {"b": 3}, None, True, ["]"], 4],
    ),
    "json array of scalars": (b'[1, "a,]", [2], {"b": 3}, null]', ReadOptions("json"), [1, "a,]", [2], {"b": 3}, None]),
    "text": ("a\r\nb\n\ngröße\n".encode(), ReadOptions("text"), ["a", "b", "", "größe"]),
    "csv": (_csv(), ReadOptions("csv"), [{"id": str(n), "name": f'a "{n}",\nb'} for n in range(7)]),
    "csv without a header": (
        b"1;'a;b'\n2;c\n",
        ReadOptions("csv", csv=CsvOptions(False, ["x", "y"], ";", "'")),
        [{"x": "1", "y": "a;b"}, {"x": "2", "y": "c"}],
    ),
    "avro": (_avro(), ReadOptions("avro"), EXACT),
    "avro of many blocks": (_avro("deflate", sync_interval=1), ReadOptions("avro"), EXACT),
    "parquet": (_parquet(), ReadOptions("parquet"), EXACT),
    "parquet of many row groups": (_parquet(row_group_size=2), ReadOptions("parquet"), EXACT),
    "bytes": (b"\0\1\2", ReadOptions("bytes"), [b"\0\1\2"]),
    "bytes in pieces": (b"abcdefg", ReadOptions("bytes", piece=3), [b"abc", b"def", b"g"]),
    "bytes with a separator": (
        b"a||b|c||||d||efghijkl||m",
        ReadOptions("bytes", separator=b"||"),
        [b"a", b"b|c", b"", b"d", b"efghijkl", b"m"],
    ),
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("most", [1 << 30, 1, 7])
def test_reads_what_others_write_and_goes_on_after_every_record(case: str, most: int) -> None:
    content, options, expected = CASES[case]
    found = records(content, options, most=most)
    assert [value for value, _ in found] == expected
    assert [end for _, end in found] == list(range(1, len(expected) + 1))
    for done in range(len(expected) + 1):
        assert records(content, options, done, most) == found[done:], f"going on after record {done}"


AVRO_CODECS: dict[str, Callable[[bytes], bytes]] = {
    "snappy": lambda block: pa.Codec("snappy").compress(block, asbytes=True) + bytes(4),
    "zstandard": zstandard.compress,
    "bzip2": bz2.compress,
    "xz": lzma.compress,
}


@pytest.mark.parametrize("codec", ["null", "deflate", *AVRO_CODECS])
def test_reads_avro_of_every_codec(codec: str) -> None:
    if codec in AVRO_CODECS:  # packed here: fastavro wants more libraries for them
        blocks = [_avro(rows=PLAIN[:4]), _avro(rows=PLAIN[4:])]
        header, marker = blocks[0][:-16].rpartition(blocks[0][-16:])[0], blocks[0][-16:]
        content = header.replace(
            b"\x14avro.codec\x08null", b"\x14avro.codec" + bytes([2 * len(codec)]) + codec.encode()
        )
        content += marker
        for block, count in zip(blocks, (4, 3), strict=True):
            plain = block[:-16].rpartition(block[-16:])[2]
            packed = AVRO_CODECS[codec](plain[_size_of_number(plain, 1) :])
            content += bytes([2 * count]) + _number(len(packed)) + packed + marker
    else:
        content = _avro(codec)
    assert [value for value, _ in records(content, ReadOptions("avro"))] == EXACT


def _size_of_number(data: bytes, start: int) -> int:
    while data[start] > 127:
        start += 1
    return start + 1


def _number(value: int) -> bytes:
    value, out = value * 2, b""
    while value > 127:
        out, value = out + bytes([value & 127 | 128]), value >> 7
    return out + bytes([value])


@pytest.mark.parametrize("codec", ["none", "snappy", "gzip", "zstd", "brotli", "lz4"])
def test_reads_parquet_of_every_codec(codec: str) -> None:
    assert [value for value, _ in records(_parquet(compression=codec), ReadOptions("parquet"))] == EXACT


def _xerial(content: bytes) -> bytes:
    """As snappy-java's SnappyOutputStream writes it."""
    out = b"\x82SNAPPY\x00" + struct.pack(">ii", 1, 1)
    for start in range(0, len(content), 100):
        block = pa.Codec("snappy").compress(content[start : start + 100], asbytes=True)
        out += struct.pack(">i", len(block)) + block
    return out


def _framed(content: bytes) -> bytes:
    """The framing format, its checksums left zero: nobody here looks at them."""
    out = b"\xff\x06\x00\x00sNaPpY"
    for number, start in enumerate(range(0, len(content), 100)):
        plain = content[start : start + 100]
        body = bytes(4) + (plain if number % 2 else pa.Codec("snappy").compress(plain, asbytes=True))
        out += bytes([number % 2]) + len(body).to_bytes(3, "little") + body
        out += b"\xfe" + (3).to_bytes(3, "little") + b"pad"
    return out


def _zstd(content: bytes) -> bytes:
    return zstandard.ZstdCompressor(write_checksum=True).compress(content)


PACKINGS: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.compress,
    "gzip of two members": lambda content: gzip.compress(content[:50]) + gzip.compress(content[50:]),
    "zstd": _zstd,
    "zstd of two frames": lambda content: _zstd(content[:50]) + _zstd(content[50:]),
    "snappy framed": _framed,
    "snappy of Java": _xerial,
}


@pytest.mark.parametrize("packing", PACKINGS)
@pytest.mark.parametrize("name", ["auto", "named"])
def test_takes_off_what_an_object_was_compressed_with(packing: str, name: str) -> None:
    content = _jsonl(ROWS * 100)
    options = ReadOptions("jsonl", compression=packing.split(maxsplit=1)[0] if name == "named" else "auto")
    for most in (1 << 30, 33):
        assert [value for value, _ in records(PACKINGS[packing](content), options, most=most)] == ROWS * 100
    assert records(PACKINGS[packing](b""), options) == []


@pytest.mark.parametrize("packing", PACKINGS)
def test_an_object_that_was_cut_off_is_no_short_one(packing: str) -> None:
    packed = PACKINGS[packing](random.Random(1).randbytes(5000))
    for cut in (len(packed) // 2 + 1, len(packed) - 1):
        with pytest.raises(DataError, match="cut off"):
            records(packed[:cut], ReadOptions("text", compression=packing.split(maxsplit=1)[0]))


@pytest.mark.parametrize("packing", PACKINGS)
def test_damaged_bytes_are_said(packing: str) -> None:
    packed = bytearray(PACKINGS[packing](b"x" * 50 + random.Random(1).randbytes(500)))
    packed[len(packed) // 2 : len(packed) // 2 + 20] = bytes(20)
    if packing == "snappy framed":
        packed[10] = 0x33  # the kind of a chunk
    with pytest.raises(DataError, match="damaged|cut off|unknown kind|impossible size|says no length"):
        records(bytes(packed), ReadOptions("bytes", compression=packing.split(maxsplit=1)[0]))


@pytest.mark.parametrize(
    ("cut", "kind"),
    [("avro", "avro"), ("avro of many blocks", "avro"), ("parquet", "parquet"), ("json array", "json")],
)
def test_a_cut_object_gives_what_is_whole_and_then_fails(cut: str, kind: str) -> None:
    content, options, expected = CASES[cut]
    for length in range(1, len(content) - 2, 11):
        found, error = until_it_fails(content[:length], options)
        assert error
        assert found == expected[: len(found)]


def test_bad_records_are_found_exactly_and_cost_no_other() -> None:
    lines = [b'{"n":%d}' % n for n in range(1000)]
    for bad in (0, 499, 998, 999):
        lines[bad] = b'{"n":'
    lines[500] = b"  "
    content = b"\n".join(lines)
    told: list[int] = []
    found = records(content, ReadOptions("jsonl"), on_bad=lambda position, _: told.append(position))
    assert told == [0, 499, 998, 999]
    wanted = [n for n in range(1000) if n not in (0, 499, 500, 998, 999)]
    assert found == [({"n": n}, n + 1) for n in wanted]
    seen, error = until_it_fails(content, ReadOptions("jsonl"), 1)
    assert error.startswith("record 499: ")
    assert [row["n"] for row in seen] == list(range(1, 499))


def test_rows_of_another_width_are_bad() -> None:
    told: list[str] = []
    found = records(b"a,b\n1,2\n3\n4,5\n", ReadOptions("csv"), on_bad=lambda at, why: told.append(f"{at} {why}"))
    assert found == [({"a": "1", "b": "2"}, 1), ({"a": "4", "b": "5"}, 3)]
    assert told == ["1 the row has 1 fields instead of 2."]


@pytest.mark.parametrize(
    ("options", "row"),
    [
        (CsvOptions(), {"i,d": "1", "name": "x"}),
        (CsvOptions(header=False), {"column1": "i,d", "column2": "name"}),
        (CsvOptions(header=False, encoding="utf8"), {"column1": "i,d", "column2": "name"}),
    ],
)
def test_a_byte_order_mark_before_a_quote_is_no_part_of_the_field(options: CsvOptions, row: dict[str, str]) -> None:
    content = b'\xef\xbb\xbf"i,d","name"\r\n"1","x"\r\n'
    assert records(content, ReadOptions("csv", csv=options), most=1)[0] == (row, 1)


def test_memory_is_bounded_by_chunks_and_long_records_are_refused() -> None:
    rows = [{"id": n, "text": "x" * 1000} for n in range(5000)]
    table = pa.Table.from_pylist(rows)
    file = io.BytesIO()
    pq.write_table(table, file, use_dictionary=True)
    avro = io.BytesIO()
    kind = {
        "type": "record",
        "name": "r",
        "fields": [{"name": "id", "type": "long"}, {"name": "text", "type": "string"}],
    }
    fastavro.writer(avro, kind, rows, sync_interval=1 << 24)
    for content, options in (
        (_jsonl(rows), ReadOptions("jsonl")),
        (json.dumps(rows).encode(), ReadOptions("json")),
        (file.getvalue(), ReadOptions("parquet")),
        (avro.getvalue(), ReadOptions("avro")),
    ):
        sizes = [sum(map(len, chunk.values.encoded_texts())) for chunk in read(Object(content), options, 0, raise_bad)]
        assert max(sizes) < 2 * CHUNK_BYTES
        assert len(sizes) > 3
    for name in ("jsonl", "json", "text", "bytes"):
        with pytest.raises(DataError, match="max.record.bytes"):
            records(b'"' + b"x" * 3_000_000 + b'"', ReadOptions(name, longest=1_000_000))


def test_a_schema_in_an_envelope_is_kept() -> None:
    line = b'{"schema":{"type":"struct","fields":[{"field":"n","type":"int32"}],"optional":false},"payload":{"n":5}}'
    (chunk,) = read(Object(line), ReadOptions("jsonl", envelope=True), 0, raise_bad)
    assert chunk.values.struct_columns is not None
    assert chunk.values.to_list() == [{"n": 5}]


def test_columns_that_connect_has_no_type_for_come_as_what_holds_them() -> None:
    table = pa.table(
        {
            "u8": pa.array([255], pa.uint8()),
            "u64": pa.array([1 << 63], pa.uint64()),
            "half": pa.array([0.5], pa.float16()),
            "word": pa.array(["a"]).dictionary_encode(),
            "fixed": pa.array([b"ab"], pa.binary(2)),
            "nanos": pa.array([1_700_000_000_123_456_789], pa.timestamp("ns")),
            "list": pa.array([[1, None]], pa.large_list(pa.uint16())),
            "map": pa.array([[("k", 1)]], pa.map_(pa.string(), pa.int32())),
            "struct": pa.array([{"a": None}], pa.struct([("a", pa.uint32())])),
            "null": pa.array([None], pa.null()),
        }
    )
    file = io.BytesIO()
    pq.write_table(table, file)
    ((row, _),) = records(file.getvalue(), ReadOptions("parquet"))
    moment = dt.datetime(2023, 11, 14, 22, 13, 20, 123000, tzinfo=dt.UTC)
    assert row == {
        "u8": 255, "u64": Decimal(1 << 63), "half": 0.5, "word": "a", "fixed": b"ab", "nanos": moment,
        "list": [1, None], "map": {"k": 1}, "struct": {"a": None}, "null": None,
    }  # fmt: skip


class Broken(io.BytesIO):
    """A file that cannot be read beyond half of it."""

    def read(self, size: int | None = -1, /) -> bytes:
        found = super().read(size)
        if self.tell() > len(self.getvalue()) // 2:
            raise RetriableError("the network is gone")
        return found


@pytest.mark.parametrize("case", [*CASES, "zstd", "gzip"])
def test_an_error_of_the_network_comes_out_as_it_is(case: str) -> None:
    content, options = (PACKINGS[case](b"x"), ReadOptions("text")) if case in PACKINGS else CASES[case][:2]
    broken = Object(content, 9)
    broken._file = Broken(content)
    with pytest.raises(RetriableError, match="^the network is gone$"):
        list(read(broken, options, 0, raise_bad))


@pytest.mark.parametrize(
    "field",
    [
        schema.FLOAT64.replace(default=math.inf),
        Schema.struct({"x": schema.INT32, "y": schema.OPTIONAL_STRING}).replace(default={"x": 1, "y": None}),
        Schema.map(schema.INT32, schema.INT32).replace(default={1: 1}),
    ],
)
def test_avro_is_written_with_any_default(field: Schema) -> None:
    value = {"a": field.default}
    values = Values([value, value], Schema.struct({"a": field}, default=value))
    form, content = Avro("snappy"), bytearray()
    encoded = form.encode(cast("Any", None), values)
    writer = form.writer(encoded.schemas[0], content.extend)
    writer.write(encoded.pick([0, 1]))
    writer.finish()
    assert [value for value, _ in records(bytes(content), ReadOptions("avro"))] == [value, value]


def test_parquet_with_two_columns_of_one_name_is_an_object_that_cannot_be_read() -> None:
    file = io.BytesIO()
    pq.write_table(pa.Table.from_arrays([pa.array([1]), pa.array([2])], ["n", "n"]), file)
    assert until_it_fails(file.getvalue(), ReadOptions("parquet")) == (
        [],
        "two columns of its Parquet have one name: n, n.",
    )
