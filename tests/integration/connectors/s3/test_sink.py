"""Records in, objects out: names, formats, ends of files; over a real server, with the task's loop in memory."""

import datetime as dt
import gzip
import io
import json
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import cramjam
import fastavro
import pyarrow.parquet as pq
import pytest
import zstandard

from connect import ConnectError, Schema, SinkRecord, TopicPartition, logical, schema
from connect.testing import Message
from tests.integration.connectors.s3.sink_runs import PLACE, await_committed, json_lines, numbers, sink_run
from tests.servers.s3 import S3Bucket
from tests.support.waiting import until

POINT = Schema.struct({"n": schema.INT64, "name": schema.OPTIONAL_STRING})
ERRORS = {"errors.tolerance": "all", "errors.log.enable": "true"}


def rows(count: int, start: int = 0) -> list[dict[str, Any]]:
    return [{"n": n, "name": f"name {n}"} for n in range(start, start + count)]


def record(value: Any, timestamp: int, value_schema: Schema | None = None, **more: Any) -> SinkRecord:
    return SinkRecord("test", value, value_schema, None, None, 0, 0, timestamp, **more)


@pytest.mark.quick
@pytest.mark.promise("P1")
def test_a_file_ends_at_flush_size_and_offsets_follow_it(s3_bucket: S3Bucket) -> None:
    with sink_run(s3_bucket, {"flush.size": "3"}) as run:
        run.put(*rows(8))
        await_committed(run, 6)
        run.commit()
        assert run.committed == {PLACE: 6}
        assert s3_bucket.keys() == [f"topics/test/partition=0/test+0+000000000{n}.json" for n in (0, 3)]
        assert json_lines(s3_bucket, s3_bucket.keys()[1]) == rows(3, 3)
        run.put(*rows(1, 8))
        await_committed(run, 9)
        assert numbers(s3_bucket) == list(range(9))
        assert run.metric("s3_records_written_total") == 9
        assert run.metric("s3_objects_written_total") == 3
        assert s3_bucket.uploads() == []


@pytest.mark.slow
def test_large_files_go_up_in_parts_and_nobody_sees_one_before_its_end(s3_bucket: S3Bucket) -> None:
    wide = [{"n": n, "text": f"{n}" * 1000} for n in range(1000, 5000)]  # 16 MB
    with sink_run(s3_bucket, {"flush.size": "8000", "s3.part.size": str(5 << 20)}) as run:
        run.put(*wide)
        until(s3_bucket.uploads, 30)
        assert s3_bucket.keys() == []
        run.put(*wide)
        await_committed(run, 8000)
    (key,) = s3_bucket.keys()
    assert json_lines(s3_bucket, key) == wide + wide
    assert s3_bucket.client.head_object(Bucket=s3_bucket.name, Key=key)["ETag"].strip('"').endswith("-7")
    assert s3_bucket.uploads() == []


@pytest.mark.parametrize("packed", ["none", "gzip", "snappy", "zstd"])
def test_json_in_every_compression(s3_bucket: S3Bucket, packed: str) -> None:
    with sink_run(s3_bucket, {"flush.size": "5000", "s3.compression.type": packed}) as run:
        run.put(*rows(5000))
        await_committed(run, 5000)
    (key,) = s3_bucket.keys()
    extension = {"none": "", "gzip": ".gz", "snappy": ".snappy", "zstd": ".zst"}[packed]
    assert key == f"topics/test/partition=0/test+0+0000000000.json{extension}"
    data = s3_bucket.get(key)
    assert [json.loads(line) for line in UNPACK[packed](data).splitlines()] == rows(5000)


def snappy_java(data: bytes) -> bytes:
    """What Java's SnappyOutputStream wrote: a head, and blocks with their lengths."""
    assert data[:8] == b"\x82SNAPPY\x00"
    at, found = 16, []
    while at < len(data):
        length = int.from_bytes(data[at : at + 4], "big")
        found.append(bytes(cramjam.snappy.decompress_raw(data[at + 4 : at + 4 + length])))
        at += 4 + length
    return b"".join(found)


def zstd(data: bytes) -> bytes:
    return zstandard.ZstdDecompressor().stream_reader(io.BytesIO(data), read_across_frames=True).read()


UNPACK: dict[str, Callable[[bytes], bytes]] = {
    "none": bytes,
    "gzip": gzip.decompress,
    "snappy": snappy_java,
    "zstd": zstd,
}


@pytest.mark.quick
def test_parquet_of_structs_with_types_that_nest(s3_bucket: S3Bucket) -> None:
    kind = Schema.struct(
        {
            "n": schema.INT64,
            "when": logical.TIMESTAMP,
            "price": logical.decimal(2),
            "tags": Schema.map(schema.STRING, schema.INT32),
            "inner": Schema.struct({"day": logical.DATE, "list": Schema.array(schema.STRING)}),
        }
    )
    value = {
        "n": 1,
        "when": dt.datetime(2026, 1, 2, 3, 4, 5, 678000, dt.UTC),
        "price": Decimal("12.34"),
        "tags": {"a": 1},
        "inner": {"day": dt.date(2026, 1, 2), "list": ["x", "y"]},
    }
    with sink_run(s3_bucket, {"flush.size": "2", "format.class": "parquet"}) as run:
        run.put(value, value, schema=kind)
        await_committed(run, 2)
    (key,) = s3_bucket.keys()
    assert key.endswith("+0000000000.snappy.parquet")
    table = pq.read_table(io.BytesIO(s3_bucket.get(key)))
    assert table.to_pylist() == [{**value, "tags": [("a", 1)]}] * 2
    assert str(table.schema.field("n").type) == "int64"
    assert not table.schema.field("n").nullable


@pytest.mark.parametrize("codec", ["null", "deflate", "snappy", "bzip2", "zstandard"])
def test_avro_in_every_codec_is_read_by_others(s3_bucket: S3Bucket, codec: str) -> None:
    config = {"flush.size": "3000", "format.class": "io.confluent.connect.s3.format.avro.AvroFormat"}
    with sink_run(s3_bucket, {**config, "avro.codec": codec}) as run:
        run.put(*rows(3000), schema=POINT)
        await_committed(run, 3000)
    (key,) = s3_bucket.keys()
    assert key.endswith(".avro")
    reader = fastavro.reader(io.BytesIO(s3_bucket.get(key)))
    assert list(reader) == rows(3000)
    assert reader.writer_schema["fields"][0]["type"] == "long"


def test_csv_of_structs_and_maps_with_a_header_for_each_set_of_fields(s3_bucket: S3Bucket) -> None:
    with sink_run(s3_bucket, {"flush.size": "3", "format.class": "csv"}) as run:
        run.put({"a": 1, "b": 'say "x", then\ny'}, {"a": None, "b": True}, *[{"c": [1]}] * 3)
        await_committed(run, 5)
    first, second = s3_bucket.keys()
    assert s3_bucket.get(first) == b'a,b\n1,"say ""x"", then\ny"\n,true\n'
    assert s3_bucket.get(second) == b"c\n" + b"[1]\n" * 3


def test_bytes_texts_and_arrays(s3_bucket: S3Bucket) -> None:
    cases = [
        ("|", "bytes", [b"\x00\x01", b"\xff"], b"\x00\x01|\xff|"),
        ("\n", "bytes", [b"a", b"b"], b"a\nb\n"),
        (r"\t", "bytes", [b"a", b"b"], b"a\tb\t"),
        ("", "string", ["a", "b"], b"a\nb\n"),
        ("", "jsonarray", [{"a": 1}, {"a": 2}], b'[\n{"a":1},\n{"a":2}\n]'),
    ]
    for number, (separator, kind, values, expected) in enumerate(cases):
        kept = f"{kind}{number}"
        config = {"flush.size": "2", "format.class": kind, "topics.dir": kept, "format.bytearray.separator": separator}
        with sink_run(s3_bucket, config) as run:
            run.put(*values)
            await_committed(run, 2)
        (key,) = s3_bucket.keys(f"{kept}/")
        assert s3_bucket.get(key) == expected


@pytest.mark.promise("P5")
def test_a_record_that_the_format_cannot_take_is_found_and_costs_no_other(s3_bucket: S3Bucket) -> None:
    with sink_run(s3_bucket, {"flush.size": "5", "format.class": "parquet", **ERRORS}) as run:
        good = [record(row, 0, POINT) for row in rows(6)]
        run.put(*good[:3], record({"n": "text", "name": "x"}, 0, POINT), record({"n": 9}, 0), *good[3:])
        await_committed(run, 7)
        assert [each.offset for each, _ in run.errant] == [3, 4]
    (key,) = s3_bucket.keys()
    assert pq.read_table(io.BytesIO(s3_bucket.get(key))).to_pylist() == rows(5)


def test_without_an_error_policy_the_record_is_named_and_fails_the_task(s3_bucket: S3Bucket) -> None:
    with sink_run(s3_bucket, {"flush.size": "5", "format.class": "parquet"}) as run:  # noqa: SIM117
        with pytest.raises(Exception, match="topic test, partition 0, offset 1 cannot be written: Parquet needs a sch"):
            run.put(record(rows(1)[0], 0, POINT), record({"n": 1}, 0))
    assert s3_bucket.keys() == []


def test_folders_by_fields(s3_bucket: S3Bucket) -> None:
    config = {
        "flush.size": "4",
        "partitioner.class": "io.confluent.connect.storage.partitioner.FieldPartitioner",
        "partition.field.name": "city,at.day",
        **ERRORS,
    }
    with sink_run(s3_bucket, config) as run:
        run.put(
            {"n": 0, "city": "Bern", "at": {"day": 1}},
            {"n": 1, "city": "Genf", "at": {"day": True}},
            {"n": 2, "city": None, "at": {"day": 1}},
            {"n": 3, "city": "Bern", "at": {"day": 1}},
            {"n": 4, "city": "Bern", "at": {"day": 2}},
        )
        await_committed(run, 5)
        assert [each.offset for each, _ in run.errant] == [2]
    assert s3_bucket.keys() == [
        "topics/test/city=Bern/at.day=1/test+0+0000000000.json",
        "topics/test/city=Bern/at.day=2/test+0+0000000004.json",
        "topics/test/city=Genf/at.day=true/test+0+0000000001.json",
    ]
    assert numbers(s3_bucket) == [0, 1, 3, 4]


HOUR = 3_600_000
TIME = {
    "partitioner.class": "time",
    "path.format": "'year'=YYYY/'month'=MM/'day'=dd/'hour'=HH",
    "partition.duration.ms": str(HOUR),
    "timestamp.extractor": "Record",
    "timezone": "Europe/Zurich",
}


def test_folders_by_time_with_late_records_in_few_files(s3_bucket: S3Bucket) -> None:
    config = {**TIME, "rotate.interval.ms": str(3 * HOUR), "rotate.file.on.partition.change": "false"}
    with sink_run(s3_bucket, config) as run:
        times = [0, HOUR, 10, HOUR + 10, 2 * HOUR, 20]
        run.put(*(record({"n": n}, time) for n, time in enumerate(times)))
        run.put(record({"n": 6}, 3 * HOUR))
        await_committed(run, 6)
    assert s3_bucket.keys() == [
        "topics/test/year=1970/month=01/day=01/hour=01/test+0+0000000000.json",
        "topics/test/year=1970/month=01/day=01/hour=02/test+0+0000000001.json",
        "topics/test/year=1970/month=01/day=01/hour=03/test+0+0000000004.json",
    ]
    assert [each["n"] for each in json_lines(s3_bucket, s3_bucket.keys()[0])] == [0, 2, 5]


def test_a_change_of_folder_ends_files_unless_that_is_switched_off(s3_bucket: S3Bucket) -> None:
    with sink_run(s3_bucket, {**TIME, "rotate.interval.ms": str(3 * HOUR)}) as run:
        run.put(*(record({"n": n}, time) for n, time in enumerate([0, HOUR, 10, HOUR + 10])))
        await_committed(run, 3)
    assert len(s3_bucket.keys()) == 3


def test_no_more_than_so_many_files_are_open(s3_bucket: S3Bucket) -> None:
    config = {"flush.size": "6", "partitioner.class": "field", "partition.field.name": "c"}
    with sink_run(s3_bucket, {**config, "partitioner.max.open.files": "2"}) as run:
        run.put(*({"n": n, "c": c} for n, c in enumerate("abcabc")))
        await_committed(run, 6)
    assert numbers(s3_bucket) == list(range(6))
    assert len(s3_bucket.keys()) == 6


def test_files_end_by_bytes_and_by_records_of_their_own(s3_bucket: S3Bucket) -> None:
    config = {
        "flush.size": "100",
        "file.max.bytes": "30",
        "value.converter": "org.apache.kafka.connect.json.JsonConverter",
        "value.converter.schemas.enable": "false",
        "key.converter": "org.apache.kafka.connect.storage.StringConverter",
    }
    with sink_run(s3_bucket, config) as run:
        run.put(*(Message("test", b'{"n":%d}' % n, b"key") for n in range(10)))
        await_committed(run, 9)
        assert [len(json_lines(s3_bucket, key)) for key in s3_bucket.keys()] == [3, 3, 3]  # noqa: SIM118  ten bytes each
    with sink_run(s3_bucket, {"flush.size": "100", "file.max.records": "4", "topics.dir": "other"}) as run:
        run.put(*rows(10))
        await_committed(run, 8)
        assert len(s3_bucket.keys("other/")) == 2


def test_the_wall_clock_ends_files(s3_bucket: S3Bucket) -> None:
    with sink_run(s3_bucket, {"rotate.schedule.interval.ms": "200"}) as run:
        run.put(*rows(3))
        await_committed(run, 3)
    assert numbers(s3_bucket) == [0, 1, 2]


@pytest.mark.parametrize(
    ("compatibility", "files"),
    [("NONE", [1, 1, 3]), ("BACKWARD", [1, 3]), ("FORWARD", [3])],
)
def test_schemas_that_change(s3_bucket: S3Bucket, compatibility: str, files: list[int]) -> None:
    newer = Schema.struct(
        {"n": schema.INT64, "name": schema.OPTIONAL_STRING, "extra": schema.OPTIONAL_INT32}, version=2
    )
    config = {"flush.size": "3", "format.class": "parquet", "schema.compatibility": compatibility}
    with sink_run(s3_bucket, config) as run:
        run.put(
            record({"n": 0, "name": "a"}, 0, POINT),
            record({"n": 1, "name": "b", "extra": 5}, 0, newer),
            *(record({"n": n, "name": "c"}, 0, POINT) for n in range(2, 5)),
        )
        await_committed(run, sum(files))
    tables = [pq.read_table(io.BytesIO(s3_bucket.get(key))).to_pylist() for key in s3_bucket.keys()]  # noqa: SIM118
    assert [len(table) for table in tables] == files
    assert [row["n"] for table in tables for row in table] == list(range(sum(files)))
    if compatibility == "BACKWARD":
        assert tables[1][1] == {"n": 2, "name": "c", "extra": None}


SMALL = Schema.struct({"n": schema.INT32, "name": schema.OPTIONAL_STRING})
#: By what is wrong with a record for a file of SMALL: the record's schema, its value, and what is said.
NAME = {"name": schema.OPTIONAL_STRING}
OTHERS = {
    "new": (
        Schema.struct({"n": schema.INT32, **NAME, "new": schema.OPTIONAL_INT32}),
        {"n": 1, "new": 5},
        'field "new"',
    ),
    "wide": (Schema.struct({"n": schema.INT64, **NAME}), {"n": 2**40}, "its value does not fit"),
    "null": (Schema.struct({"n": schema.INT32.as_optional(), **NAME}), {"n": None}, 'field "n" is null'),
    "text": (Schema.struct({"n": schema.STRING, **NAME}), {"n": "1"}, "is of type string"),
}
QUARANTINE = {"errors.tolerance": "all", "errors.log.enable": "true", "schema.evolution.on.mismatch": "quarantine"}


def tables_of(bucket: S3Bucket) -> list[list[dict[str, Any]]]:
    """The rows of each file, in the order of their offsets."""
    return [pq.read_table(io.BytesIO(bucket.get(key))).to_pylist() for key in sorted(bucket.keys())]


@pytest.mark.parametrize("form", ["avro", "parquet"])
@pytest.mark.parametrize("wrong", OTHERS)
def test_a_record_that_does_not_fit_its_file_goes_where_on_mismatch_says(
    s3_bucket: S3Bucket, form: str, wrong: str
) -> None:
    other, value, why = OTHERS[wrong]
    records = [record({"n": 0}, 0, SMALL), record(value, 0, other), record({"n": 2}, 0, SMALL)]
    config = {"flush.size": "2", "format.class": form}
    with sink_run(s3_bucket, config | QUARANTINE) as run:
        run.put(*records)
        await_committed(run, 2)
        ((bad, error),) = run.errant
    assert (bad.original_offset, why in str(error)) == (1, True), error
    assert len(s3_bucket.keys()) == 1
    failing = config | QUARANTINE | {"schema.evolution.on.mismatch": "fail", "topics.dir": "failing"}
    with pytest.raises(ConnectError, match=f"offset 1 cannot be written: .*{why}"):  # noqa: SIM117
        with sink_run(s3_bucket, failing) as run:
            run.put(*records)


def test_a_record_that_does_not_fit_begins_a_file_of_its_own(s3_bucket: S3Bucket) -> None:
    other, value, _ = OTHERS["wide"]
    config = {"flush.size": "2", "format.class": "parquet", "schema.evolution": "add"}
    with sink_run(s3_bucket, config) as run:
        run.put(record({"n": 0}, 0, SMALL), record(value, 0, other), record({"n": 2}, 0, other))
        await_committed(run, 3)
    assert tables_of(s3_bucket) == [[{"n": 0, "name": None}], [{"n": 2**40, "name": None}, {"n": 2, "name": None}]]


@pytest.mark.parametrize(
    ("evolution", "wrong", "row"),
    [
        ("add", "new", {"n": 1, "name": None, "new": 5}),
        ("widen", "wide", {"n": 2**40, "name": None}),
        ("nullable", "null", {"n": None, "name": None}),
        ("full", "wide", {"n": 2**40, "name": None}),
    ],
)
def test_what_is_allowed_is_in_the_next_file(
    s3_bucket: S3Bucket, evolution: str, wrong: str, row: dict[str, Any]
) -> None:
    other, value, _ = OTHERS[wrong]
    config = {"flush.size": "2", "format.class": "parquet", "schema.evolution": evolution}
    with sink_run(s3_bucket, config | {"schema.evolution.on.mismatch": "fail"}) as run:
        run.put(record({"n": 0}, 0, SMALL), record(value, 0, other), record({"n": 2}, 0, SMALL))
        await_committed(run, 3)
    assert tables_of(s3_bucket) == [[{"n": 0, "name": None}], [row, {**dict.fromkeys(row), "n": 2}]]


def test_unknown_fields_are_left_out_of_a_file_where_that_is_said(s3_bucket: S3Bucket) -> None:
    other, value, _ = OTHERS["new"]
    config = {"flush.size": "2", "format.class": "parquet", "schema.evolution.unknown.fields": "ignore"}
    with sink_run(s3_bucket, config) as run:
        run.put(record({"n": 0}, 0, SMALL), record(value, 0, other))
        await_committed(run, 2)
    assert tables_of(s3_bucket) == [[{"n": 0, "name": None}, {"n": 1, "name": None}]]


def test_keys_and_headers_beside_and_tombstones_in_a_folder(s3_bucket: S3Bucket) -> None:
    config = {
        "flush.size": "3",
        "store.kafka.keys": "true",
        "store.kafka.headers": "true",
        "keys.format.class": "io.confluent.connect.s3.format.json.JsonFormat",
        "headers.format.class": "json",
        "behavior.on.null.values": "write",
    }
    with sink_run(s3_bucket, config) as run:
        run.put(*rows(2), key="k")
        run.put(None, key="gone")
        await_committed(run, 3)
    there = {key: s3_bucket.get(key) for key in s3_bucket.keys()}  # noqa: SIM118
    base = "topics/test/partition=0/test+0+0000000000"
    assert there == {
        f"{base}.headers.json": b'{"headers":[]}\n' * 2,
        f"{base}.json": b'{"n":0,"name":"name 0"}\n{"n":1,"name":"name 1"}\n',
        f"{base}.keys.json": b'"k"\n"k"\n',
        "topics/test/tombstone/test+0+0000000002.headers.json": b'{"headers":[]}\n',
        "topics/test/tombstone/test+0+0000000002.keys.json": b'"gone"\n',
    }


def test_tombstones_fail_or_are_left_out(s3_bucket: S3Bucket) -> None:
    with sink_run(s3_bucket, {"flush.size": "2"}) as run:  # noqa: SIM117
        with pytest.raises(Exception, match="no value. Set behavior.on.null.values=ignore"):
            run.put({"n": 0}, None)
    with sink_run(s3_bucket, {"flush.size": "2", "behavior.on.null.values": "ignore", **ERRORS}) as run:
        run.put({"n": 0}, None, {"n": 1})
        await_committed(run, 3)
        assert [each.offset for each, _ in run.errant] == [1]
    assert numbers(s3_bucket) == [0, 1]


def test_several_topics_and_partitions_have_files_of_their_own(s3_bucket: S3Bucket) -> None:
    with sink_run(s3_bucket, {"flush.size": "2", "topics": "a,b"}, partitions=2) as run:
        for topic in "ab":
            for partition in range(2):
                run.put(*rows(2), topic=topic, partition=partition)
        for topic in "ab":
            for partition in range(2):
                await_committed(run, 2, TopicPartition(topic, partition))
    assert s3_bucket.keys() == [f"topics/{t}/partition={p}/{t}+{p}+0000000000.json" for t in "ab" for p in range(2)]
