"""The sink of objects, over a store in memory: what becomes of records that are unusual, and legal."""

import csv
import datetime as dt
import io
import json
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any, cast

import fastavro
import pyarrow.parquet as pq
import pytest

from connect import (
    ConnectError,
    DataError,
    Header,
    Headers,
    Schema,
    SinkRecord,
    TopicPartition,
    Type,
    Values,
    logical,
    schema,
)
from connect.testing import Message
from connectors.azure import AzureBlobSinkConnector
from connectors.objects.formats import parquet_file
from connectors.objects.sink.task import ObjectSinkTask
from connectors.s3.sink.plan import S3SinkPlan
from tests.support.waiting import until
from tests.unit.connectors.objects.in_memory import ObjectRun

JSONL = {"format.output.type": "jsonl", "file.compression.type": "none"}


def test_line_ends_within_fields_of_csv_are_quoted() -> None:
    rows = [{"a": "x\ny", "b": 'q"r'}, {"a": "x\ry", "b": None}, {"a": "x\r\ny", "b": ","}]
    with ObjectRun({"flush.size": "3", "format.class": "csv"}) as run:
        run.put(*rows, {"a": "an\nother\nname"})
        run.await_committed(3)
    (content,) = run.contents.values()
    found = list(csv.DictReader(io.StringIO(content.decode(), newline="")))
    assert found == [{"a": row["a"], "b": row["b"] or ""} for row in rows]


def test_line_ends_within_names_of_csv_are_quoted() -> None:
    with ObjectRun({"flush.size": "1", "format.class": "csv"}) as run:
        run.put({"a\nb": "1", "c": "2"})
        run.await_committed(1)
    assert list(run.contents.values()) == [b'"a\nb",c\n1,2\n']


@pytest.mark.promise("P1")
@pytest.mark.parametrize("rules", [{"flush.size": "2"}, {}], ids=["by records", "by commits"])
def test_two_topics_that_transformations_give_one_name_do_not_pass_for_each_other(rules: dict[str, str]) -> None:
    router = {"transforms": "r", "transforms.r.type": "RegexRouter", "transforms.r.regex": ".*"}
    with ObjectRun({"topics": "a,b", **router, "transforms.r.replacement": "x", **rules}) as run:
        run.put({"n": 1}, {"n": 2}, topic="a")
        run.await_committed(2, "a")
        run.put({"n": 3}, {"n": 4}, topic="b")
        with pytest.raises(ConnectError, match="holds records of the topic a: .* topic and b the same name"):
            run.await_committed(2, "b")
        assert run.committed.get(TopicPartition("b", 0), 0) == 0
    assert run.contents == {"topics/x/partition=0/x+0+0000000000.json": b'{"n":1}\n{"n":2}\n'}


@pytest.mark.promise("P1")
def test_they_do_not_replace_each_others_objects_either() -> None:
    router = {"transforms": "r", "transforms.r.type": "RegexRouter", "transforms.r.regex": ".*"}
    config = {"topics": "a,b", "flush.size": "2", "enable.conditional.writes": "false"}
    with ObjectRun({**config, **router, "transforms.r.replacement": "x"}) as run:
        run.put({"n": 1}, {"n": 2}, topic="a")
        run.await_committed(2, "a")
        with pytest.raises(ConnectError, match="the topics a and b the same name"):
            run.put({"n": 3}, {"n": 4}, topic="b")
    assert run.contents == {"topics/x/partition=0/x+0+0000000000.json": b'{"n":1}\n{"n":2}\n'}


@pytest.mark.parametrize(
    ("names", "key"),
    [
        ({"partitioner.class": "field", "partition.field.name": "f"}, "topics/test/f=a\0b/test+0+0000000000"),
        ({"file.name.template": "{{key}}"}, "a\0b"),
    ],
)
def test_a_nul_in_a_name_is_no_offset(names: dict[str, str], key: str) -> None:
    with ObjectRun({**names, "format.class": "json", "flush.size": "1"}) as run:
        run.put({"f": "a\0b"}, key="a\0b")
        run.await_committed(1)
    assert [name.removesuffix(".json") for name in run.contents] == [key]


@pytest.mark.promise("P7")
def test_memory_is_bounded_over_all_files_of_keys() -> None:
    config = {"file.name.template": "{{key}}", "format.class": "string", "s3.memory.bytes": str(16 << 20)}
    with ObjectRun(config, batch_rows=100) as run:
        files = cast("ObjectSinkTask", run.task)._files
        for start in range(0, 800, 100):  # 40 MB before the first commit
            run.put(*(SinkRecord("test", "x" * 50_000, schema.STRING, f"k{start + n}") for n in range(100)))
        run.put(SinkRecord("test", "last", schema.STRING, "k0"))
        run.await_committed(801)
        assert files.memory.most < 24 << 20
    assert (len(run.contents), run.contents["k0"]) == (800, b"last\n")


@pytest.mark.promise("P7")
def test_small_files_that_wait_for_a_slow_store_count_as_memory() -> None:
    """By what each takes beside its few bytes: or else tens of thousands wait, in ten times the memory allowed."""
    records = [SinkRecord("test", "x", schema.STRING) for _ in range(1000)]
    with ObjectRun({"flush.size": "1", "format.class": "string", "s3.memory.bytes": str(16 << 20)}) as run:
        memory = cast("ObjectSinkTask", run.task)._files.memory
        run.store.open.clear()
        run.put(*records)
        assert memory.used > len(records) * 2048
        run.store.open.set()
        run.await_committed(len(records))
        assert memory.used == 0
        run.store.open.clear()
        run.put(*records)
        assert memory.used > len(records) * 2048
        run.revoke(TopicPartition("test", 0))
        run.store.open.set()
        until(lambda: memory.used == 0)


@pytest.mark.parametrize(
    ("policy", "files"),
    [
        ({"schema.compatibility": "BACKWARD"}, [b"a\n1\n", b"a,b\n2,3\n4,\n"]),
        ({"schema.compatibility": "FORWARD"}, [b"a\n1\n2\n4\n"]),
        ({"schema.evolution": "none"}, [b"a\n1\n", b"a,b\n2,3\n4,\n"]),
        ({"schema.evolution": "add"}, [b"a\n1\n", b"a,b\n2,3\n4,\n"]),
    ],
)
@pytest.mark.parametrize("with_schema", [True, False])
def test_other_columns_of_csv_follow_the_policy(policy: dict[str, str], files: list[bytes], with_schema: bool) -> None:
    few = Schema.struct({"a": schema.OPTIONAL_INT64}) if with_schema else None
    more = Schema.struct({"a": schema.OPTIONAL_INT64, "b": schema.OPTIONAL_STRING}) if with_schema else None
    with ObjectRun({"format.class": "csv", "flush.size": "9", "rotate.schedule.interval.ms": "50", **policy}) as run:
        values = (({"a": 1}, few), ({"a": 2, "b": "3"}, more), ({"a": 4}, few))
        run.put(*(SinkRecord("test", value, given) for value, given in values))
        run.await_committed(3)
    assert list(run.contents.values()) == files


def test_a_file_for_each_key_has_the_last_of_several_records_of_a_batch() -> None:
    config = {
        "file.name.template": "{{key}}",
        "file.compression.type": "none",
        "format.output.fields.value.encoding": "none",
    }
    with ObjectRun(config) as run:
        run.put(*(SinkRecord("test", f"v{n}", schema.STRING, key, schema.STRING) for n, key in enumerate("aaba")))
        run.await_committed(4)
    assert run.contents == {"a": b"v3\n", "b": b"v2\n"}


@pytest.mark.parametrize("digits", ["1234567890123456789012345678.0123456789", "-0.0000000001", "1e-10"])
def test_decimals_of_any_length_fit_a_file_of_another_schema(digits: str) -> None:
    fields = {"d": logical.decimal(10)}
    wider = Schema.struct({**fields, "more": schema.OPTIONAL_STRING})
    with ObjectRun({"flush.size": "2", "format.class": "avro", "schema.compatibility": "BACKWARD"}) as run:
        run.put({"d": Decimal(digits), "more": "x"}, schema=wider)
        run.put({"d": Decimal(digits)}, schema=Schema.struct(fields))
        run.await_committed(2)
    (content,) = run.contents.values()
    found = list(fastavro.reader(io.BytesIO(content)))
    assert found == [{"d": Decimal(digits), "more": "x"}, {"d": Decimal(digits), "more": None}]


@pytest.mark.parametrize(
    "config",
    [
        {"format.output.type": "jsonl", "format.output.fields": "value,timestamp"},
        {
            "file.name.template": "{{timestamp:unit=yyyy}}-{{topic}}-{{partition}}-{{start_offset}}",
            "file.name.timestamp.source": "event",
        },
    ],
    ids=["jsonl", "names"],
)
def test_a_record_whose_timestamp_is_no_date_goes_to_the_error_policy_alone(config: dict[str, str]) -> None:
    """Of a producer that sends microseconds."""
    policy = {"errors.tolerance": "all", "errors.log.enable": "true", "file.compression.type": "none"}
    with ObjectRun({**config, **policy}) as run:
        times = (1_700_000_000_000, 1_700_000_000_000_000, 1_700_000_000_001)
        run.put(*(SinkRecord("test", str(n), schema.STRING, timestamp=time) for n, time in enumerate(times)))
        run.await_committed(3)
        ((record, error),) = run.errant
    assert (record.offset, "1700000000000000 ms since 1970" in str(error)) == (1, True)
    (content,) = run.contents.values()
    assert len(content.splitlines()) == 2


@pytest.mark.parametrize(
    ("config", "folder"),
    [
        ({"partitioner.class": "field", "partition.field.name": "f"}, "f=q"),
        ({"partitioner.class": "daily", "timestamp.extractor": "RecordField", "timestamp.field": "t",
          "rotate.interval.ms": "1000"}, "year=1970/month=01/day=01"),
    ],
    ids=["by field", "by time"],
)  # fmt: skip
def test_keys_without_values_are_written_whatever_names_folders(config: dict[str, str], folder: str) -> None:
    keys = {"behavior.on.null.values": "write", "store.kafka.keys": "true", "keys.format.class": "string"}
    with ObjectRun({**config, **keys, "flush.size": "3"}) as run:
        values = (None, {"f": "q", "t": 5}, None)
        run.put(*(SinkRecord("test", value, key=f"k{n}", timestamp=10_000 * n) for n, value in enumerate(values)))
        run.await_committed(3)
    assert run.contents == {
        "topics/test/tombstone/test+0+0000000000.keys.txt": b"k0\nk2\n",
        f"topics/test/{folder}/test+0+0000000001.keys.txt": b"k1\n",
        f"topics/test/{folder}/test+0+0000000001.json": b'{"f":"q","t":5}\n',
    }


def test_a_null_that_the_schema_forbids_goes_to_the_error_policy_with_parquet() -> None:
    """No converter makes one, and transformations may."""
    struct = Schema.struct({"a": schema.INT32, "b": schema.OPTIONAL_STRING})
    policy = {"errors.tolerance": "all", "errors.log.enable": "true"}
    with ObjectRun({"flush.size": "2", "format.class": "parquet", **policy}) as run:
        run.put({"a": 1, "b": "x"}, {"a": None, "b": "x"}, {"b": "x"}, {"a": 2, "b": None}, schema=struct)
        run.await_committed(4)
        assert [(record.offset, '"a", which its schema requires' in str(error)) for record, error in run.errant] == [
            (1, True),
            (2, True),
        ]
    (content,) = run.contents.values()
    assert pq.read_table(io.BytesIO(content)).to_pylist() == [{"a": 1, "b": "x"}, {"a": 2, "b": None}]


@pytest.mark.parametrize(
    ("change", "same"),
    [
        ({"max.retries": "1000"}, True),
        ({"retry.backoff.ms": "1"}, True),
        ({"errors.tolerance": "all"}, True),
        ({"openlineage.integration.enabled": "true"}, True),
        ({"s3.upload.threads": "8"}, True),
        ({"flush.size": "101"}, False),
        ({"transforms": "t"}, False),
    ],
)
def test_what_cannot_change_where_files_end_may_change_between_a_crash_and_the_next_start(
    change: dict[str, str], same: bool
) -> None:
    config = {"s3.bucket.name": "b", "flush.size": "100"}
    before, after = (S3SinkPlan.parse(given).fingerprint for given in (config, {**config, **change}))
    assert (before == after) is same


@pytest.mark.parametrize(
    "keys",
    [
        {"partitioner.class": "field", "partition.field.name": "f", "flush.size": "1"},
        {"partitioner.class": "field", "partition.field.name": "f", "partition.field.format.path": "false"},
    ],
)
def test_a_folder_that_leads_out_of_its_own_is_its_records_fault_in_azure(keys: dict[str, str]) -> None:
    policy = {"errors.tolerance": "all", "errors.log.enable": "true"}
    with ObjectRun({**keys, **policy}, AzureBlobSinkConnector) as run:
        run.put({"f": "a..b/.c"}, {"f": "x/../../../y"}, {"f": "a/./b"}, {"f": "..."})
        run.await_committed(4)
        assert [record.offset for record, _ in run.errant] == [1, 2]
    assert len(run.contents) == 2
    with ObjectRun({**keys, **policy}) as run:  # S3 takes a key as it is
        run.put({"f": "x/../../../y"})
        run.await_committed(1)
    assert len(run.contents) == 1


@pytest.mark.promise("P7")
@pytest.mark.parametrize("rows", [range(7, 8), range(10, 40), range(60), [3, 9], range(100)], ids=str)
def test_rows_that_wait_for_a_row_group_keep_no_others_of_their_batch_in_memory(rows: Sequence[int]) -> None:
    """Of a slow partition, between those of a fast one whose files end."""
    struct = Schema.struct({"n": schema.INT64, "text": schema.STRING})
    values = Values([{"n": n, "text": f"{n:1000}"} for n in range(100)], struct)
    payload = parquet_file.encode(values).pick(rows)
    assert [row["n"] for row in payload.content.to_pylist()] == list(rows)
    assert payload.content.get_total_buffer_size() < 2 * payload.size + 1024


@pytest.mark.parametrize("fields", ["value", "key,value,offset,timestamp,headers"])
@pytest.mark.parametrize("form", ["json", "jsonl"])
def test_aivens_fields_in_json_have_each_the_types_of_their_schema(form: str, fields: str) -> None:
    struct = Schema.struct(
        {
            "price": logical.decimal(2),
            "day": logical.DATE,
            "at": logical.TIMESTAMP.as_optional(),
            "by": Schema.map(schema.INT32, schema.STRING),
        }
    )
    moment = dt.datetime(1970, 1, 1, 0, 0, 1, tzinfo=dt.UTC)
    value = {"price": Decimal("1.10"), "day": dt.date(1970, 1, 3), "at": moment, "by": {7: "x"}}
    config = {"format.output.type": form, "format.output.fields": fields, "file.compression.type": "none"}
    with ObjectRun({**config, "json.decimal.format": "NUMERIC"}) as run:
        headers = Headers((Header("h", b"x", schema.BYTES), Header("h", dt.date(1970, 1, 4), logical.DATE)))
        run.put(SinkRecord("test", value, struct, dt.date(1970, 1, 2), logical.DATE, timestamp=0, headers=headers))
        run.put(SinkRecord("test", {"n": 1}, key="k"))
        run.await_committed(2)
    found = b"".join(run.contents.values()).decode()
    rows = json.loads(found) if form == "json" else list(map(json.loads, found.splitlines()))
    first = {"price": 1.1, "day": 2, "at": 1000, "by": [[7, "x"]]}
    whole = [
        {"key": 1, "value": first, "offset": 0, "timestamp": "1970-01-01T00:00:00Z",
         "headers": [{"key": "h", "value": "eA=="}, {"key": "h", "value": 3}]},
        {"key": "k", "value": {"n": 1}, "offset": 1, "timestamp": None, "headers": []},
    ]  # fmt: skip
    assert rows == [{name: row[name] for name in fields.split(",")} for row in whole]


JSON = {
    "key.converter": "org.apache.kafka.connect.storage.StringConverter",
    "value.converter": "org.apache.kafka.connect.json.JsonConverter",
    "value.converter.schemas.enable": "false",
}


AIVENS_CSV = {
    "format.output.type": "csv",
    "file.compression.type": "none",
    "format.output.fields.value.encoding": "none",
}


@pytest.mark.parametrize(
    ("config", "value", "content"),
    [
        ({"format.class": "csv"}, b'{"a":"\\ud800x"}', b"a\n?x\n"),
        ({"format.class": "string"}, b'{"a":"\\ud800x"}', b"{a=?x}\n"),
        ({"format.class": "bytes"}, b'"\\ud800x"', b"?x\n"),
        (AIVENS_CSV, b'"\\ud800x"', b"?x\n"),
    ],
    ids=["csv", "string", "bytes", "Aiven's csv"],
)
def test_half_of_a_surrogate_pair_is_a_question_mark_as_in_java(
    config: dict[str, str], value: bytes, content: bytes
) -> None:
    with ObjectRun({**JSON, **config}) as run:
        run.put(Message("test", value, b"k"))
        run.await_committed(1)
    assert list(run.contents.values()) == [content]


def deep() -> dict[str, Any]:
    """More objects within each other than any Python goes into."""
    value: dict[str, Any] = {}
    for _ in range(100_000):
        value = {"a": value}
    return value


@pytest.mark.promise("P5")
@pytest.mark.parametrize("name", ["a-b", ""])
def test_a_field_that_avro_has_no_name_for_goes_to_the_error_policy(name: str) -> None:
    policy = {"errors.tolerance": "all", "errors.log.enable": "true"}
    with ObjectRun({"format.class": "avro", **policy}) as run:
        for n, field in enumerate(("a", name, "a")):
            run.put({field: n}, schema=Schema.struct({field: schema.INT32}))
        run.await_committed(3)
        ((record, error),) = run.errant
    assert (record.offset, f'no name "{name}"' in str(error)) == (1, True)
    (content,) = run.contents.values()
    assert list(fastavro.reader(io.BytesIO(content))) == [{"a": 0}, {"a": 2}]


@pytest.mark.promise("P5")
@pytest.mark.parametrize(
    ("form", "wrong"),
    [
        ("csv", deep),
        ("csv", lambda: {"a": ["\ud800"]}),
        ("csv", lambda: {"a": {True: 1}}),
        ("string", deep),
    ],
    ids=["deep", "surrogate", "no text", "deep text"],
)
def test_what_a_format_cannot_take_within_a_value_costs_no_other_record(form: str, wrong: Callable[[], Any]) -> None:
    policy = {"errors.tolerance": "all", "errors.log.enable": "true"}
    with ObjectRun({"format.class": form, **policy}) as run:
        run.put({"a": 1}, wrong(), {"a": 2})
        run.await_committed(3)
        assert [record.offset for record, _ in run.errant] == [1]
    assert list(run.contents.values()) == [b"a\n1\n2\n" if form == "csv" else b"{a=1}\n{a=2}\n"]


def test_aivens_csv_has_keys_in_base64_times_in_milliseconds_and_each_header() -> None:
    fields = "key,value,offset,timestamp,headers"
    with ObjectRun({**AIVENS_CSV, "format.output.fields": fields}) as run:
        headers = Headers((Header("h", b"x", schema.BYTES), Header("h", b"y", schema.BYTES)))
        run.put(SinkRecord("test", "v", schema.STRING, "k", schema.STRING, timestamp=1_700_000_000_000_000))
        run.put(SinkRecord("test", b"v", schema.BYTES, None, headers=headers))
        run.await_committed(2)
    assert b"".join(run.contents.values()) == b"aw==,v,0,1700000000000000,\n,v,1,,aA==:eA==;aA==:eQ==;\n"


@pytest.mark.parametrize(
    ("config", "content"),
    [
        (AIVENS_CSV, b"\nv\n"),
        ({**AIVENS_CSV, "format.output.fields": "key,value"}, b"aw==,\naw==,v\n"),
        ({**AIVENS_CSV, "format.output.type": "jsonl"}, b'{"value":null}\n{"value":"v"}\n'),
        ({**AIVENS_CSV, "format.output.type": "jsonl", "format.output.envelope": "false"}, b'null\n"v"\n'),
    ],
)
def test_aivens_fields_of_a_record_without_a_value_are_empty(config: dict[str, str], content: bytes) -> None:
    with ObjectRun(config) as run:
        run.put(None, "v", key="k")
        run.await_committed(2)
    assert b"".join(run.contents.values()) == content


@pytest.mark.parametrize("form", ["parquet", "avro"])
@pytest.mark.parametrize(
    ("field", "given", "values", "rows"),
    [
        ("value", Schema.struct({"a": schema.INT32}), [{"a": 1}], [{"a": 1}]),
        ("value", schema.STRING, ["v", "w"], [{"value": "v"}, {"value": "w"}]),
        ("key", schema.INT64, [1, 2], [{"key": 1}, {"key": 2}]),
        ("value", Schema.array(schema.INT32), [[1, 2]], [{"value": [1, 2]}]),
        ("value", Schema.map(schema.STRING, schema.INT32), [{"b": 1, "a": 2}], [{"a": 2, "b": 1}]),
    ],
    ids=["struct", "text", "key", "array", "map"],
)
def test_aivens_field_without_an_envelope_has_columns_in_parquet_and_avro(
    form: str, field: str, given: Schema, values: list[Any], rows: list[dict[str, Any]]
) -> None:
    config = {"format.output.type": form, "format.output.fields": field, "format.output.envelope": "false"}
    with ObjectRun({**config, "file.compression.type": "none"}) as run:
        run.put(*(SinkRecord("test", value, given, value, given) for value in values))
        run.await_committed(len(values))
    (content,) = run.contents.values()
    file = io.BytesIO(content)
    assert (pq.read_table(file).to_pylist() if form == "parquet" else list(fastavro.reader(file))) == rows


@pytest.mark.parametrize("form", ["parquet", "avro"])
def test_aivens_fields_without_a_schema_are_told_what_they_need(form: str) -> None:
    config = {"format.output.type": form, "format.output.fields": "key,value"}
    with ObjectRun({**config, "errors.tolerance": "all", "errors.log.enable": "true"}) as run:
        run.put({"a": 1}, "text", key="k")
        run.await_committed(2)
        ((record, error),) = run.errant
    assert (record.offset, "record's value has none. Use a converter with schemas" in str(error)) == (0, True)


def test_maps_with_other_entries_are_in_another_file() -> None:
    config = {"format.output.type": "parquet", "format.output.envelope": "false"}
    with ObjectRun(config) as run:
        run.put({"a": 1}, {"b": 2}, {"a": 3}, schema=Schema.map(schema.STRING, schema.INT32))
        run.await_committed(3)
    found = [pq.read_table(io.BytesIO(content)).to_pylist() for content in run.contents.values()]
    assert [row for file in found for row in file] == [{"a": 1}, {"b": 2}, {"a": 3}]


def test_a_record_in_an_envelope_that_fits_the_file_of_a_wider_one_is_whole() -> None:
    wide = Schema.struct({"a": schema.INT32, "b": schema.OPTIONAL_STRING})
    config = {"format.output.type": "parquet", "format.output.fields": "key,value", "schema.evolution": "add"}
    with ObjectRun(config) as run:
        run.put(SinkRecord("test", {"a": 1, "b": "x"}, wide, "k", schema.STRING))
        run.put(SinkRecord("test", {"a": 2}, Schema.struct({"a": schema.INT32}), "k", schema.STRING))
        run.await_committed(2)
    rows = [row for content in run.contents.values() for row in pq.read_table(io.BytesIO(content)).to_pylist()]
    assert [(row["key"], row["value"]["a"], row["value"].get("b")) for row in rows] == [("k", 1, "x"), ("k", 2, None)]


def test_what_is_said_of_records_without_a_value_counts_for_aivens_fields_too() -> None:
    with ObjectRun({**AIVENS_CSV, "behavior.on.null.values": "ignore"}) as run:
        run.put(None, "v")
        run.await_committed(2)
    assert list(run.contents.values()) == [b"v\n"]
    with (
        ObjectRun({**AIVENS_CSV, "behavior.on.null.values": "fail"}) as run,
        pytest.raises(ConnectError, match="no value"),
    ):
        run.put(None)


@pytest.mark.parametrize(
    ("given", "key", "text"),
    [
        (schema.STRING, "a/b", "a/b"),
        (schema.BYTES, b"k", "k"),
        (schema.BOOLEAN, True, "true"),
        (None, None, "null"),
        (Schema.struct({"id": schema.INT64}), {"id": 7}, "Struct{id=7}"),
        (None, {"id": 7, "of": [True]}, "{id=7, of=[true]}"),
    ],
)
def test_names_and_headers_have_keys_and_values_as_java_prints_them(given: Schema | None, key: Any, text: str) -> None:
    with ObjectRun({**AIVENS_CSV, "file.name.template": "{{key}}"}) as run:
        run.put(SinkRecord("test", "v", schema.STRING, key, given))
        run.await_committed(1)
    assert list(run.contents) == [text]
    keys = {"store.kafka.headers": "true", "headers.format.class": "json", "flush.size": "1"}
    with ObjectRun(keys) as run:
        run.put(SinkRecord("test", "v", headers=Headers((Header("h", key, given),))))
        run.await_committed(1)
    (content,) = (content for name, content in run.contents.items() if ".headers." in name)
    assert json.loads(content) == {"headers": [{"key": "h", "value": None if key is None else text}]}


@pytest.mark.promise("P10")
def test_keys_beside_an_object_that_is_there_are_not_replaced_by_fewer() -> None:
    """Of an earlier task, which died amid its uploads: its objects end elsewhere, as they end by commits."""
    keys = {"store.kafka.keys": "true", "keys.format.class": "string", "format.class": "string"}
    config = {**keys, "partitioner.class": "field", "partition.field.name": "f", "topics.dir": ""}
    records = [SinkRecord("test", {"f": f}, key=f"{f}{n}") for n, f in enumerate("aaacaaabbbb")]
    with ObjectRun(config) as run:
        run.put(*records)
        run.await_committed(len(records))
        whole = dict(run.store.objects)
    with ObjectRun(config) as run:
        run.store.objects.update({key: found for key, found in whole.items() if "f=c" not in key})
        for start, end in ((0, 7), (7, 9), (9, 11)):
            run.put(*records[start:end])
            run.commit()
        run.await_committed(len(records))
    assert {key: body for key, (body, _) in whole.items()} == run.contents
    assert run.contents["test/f=b/test+0+0000000007.keys.txt"] == b"b7\nb8\nb9\nb10\n"


@pytest.mark.promise("P1")
@pytest.mark.parametrize("sent", [6, 12], ids=["amid parts", "before the last"])
def test_an_upload_that_the_store_has_lost_begins_again(sent: int) -> None:
    """As where a rule of the bucket removes unfinished ones."""
    config = {"flush.size": "13", "s3.part.size": str(5 << 20), "format.class": "string", "retry.backoff.ms": "1"}
    texts = [f"{n:07}" * (1 << 17) for n in range(13)]
    with ObjectRun(config) as run:
        run.put(*texts[:sent], schema=schema.STRING)
        until(lambda: sum(map(len, run.store.parts.values())) == sent // 6)
        run.store.parts.clear()
        run.put(*texts[sent:], schema=schema.STRING)
        run.await_committed(13)
    assert run.contents == {"topics/test/partition=0/test+0+0000000000.txt": "".join(f"{t}\n" for t in texts).encode()}
    assert not run.store.parts


class Forgetful(dict[Any, Any]):
    """Has nothing of what it is given."""

    def __contains__(self, _: object) -> bool:
        return False


@pytest.mark.promise("P9")
def test_a_store_that_loses_every_upload_fails_the_task() -> None:
    config = {"flush.size": "9", "s3.part.size": str(5 << 20), "format.class": "string"}
    with ObjectRun({**config, "retry.backoff.ms": "1", "max.retries": "2"}) as run:
        run.store.parts = Forgetful()
        run.put(*("x" * (1 << 20) for _ in range(6)), schema=schema.STRING)
        with pytest.raises(ConnectError, match="no such upload.*after 2 retries"):
            run.await_committed(6)


@pytest.mark.promise("P3")
def test_keys_beside_the_object_of_a_successor_are_not_replaced_by_fewer() -> None:
    """Of a task that has lost the partition, and still holds some of its records."""
    config = {"store.kafka.keys": "true", "keys.format.class": "string", "format.class": "string"}
    records = [SinkRecord("test", f"v{n}", schema.STRING, f"k{n}", schema.STRING) for n in range(5)]
    with ObjectRun(config) as successor:
        successor.put(*records[:4])
        successor.await_committed(4)
    with ObjectRun(config) as run:
        run.put(*records[:2])
        run.store.objects.update(successor.store.objects)
        run.commit()
        run.put(*records[2:])
        run.await_committed(5)
    assert run.contents == {
        **successor.contents,
        "topics/test/partition=0/test+0+0000000004.keys.txt": b"k4\n",
        "topics/test/partition=0/test+0+0000000004.txt": b"v4\n",
    }


def test_a_text_that_is_null_has_the_folder_null() -> None:
    row = Schema.struct({"city": schema.OPTIONAL_STRING, "year": Schema(Type.INT32, optional=True)})
    by_city = {"partitioner.class": "field", "partition.field.name": "city", "flush.size": "2"}
    with ObjectRun(by_city) as run:
        run.put(*(SinkRecord("test", {"city": city, "year": 1}, row) for city in (None, "Bern")))
        run.await_committed(2)
    assert [key.split("/")[2] for key in run.contents] == ["city=null", "city=Bern"]
    refused = pytest.raises(DataError, match='the field "year" of partition.field.name is missing or null')
    with ObjectRun({**by_city, "partition.field.name": "year"}) as run, refused:
        run.put(SinkRecord("test", {"city": "Bern", "year": None}, row))


def test_the_records_of_a_key_have_files_of_their_own_with_an_offset() -> None:
    with ObjectRun({"file.name.template": "{{topic}}-{{partition}}-{{key}}-{{start_offset}}", **JSONL}) as run:
        run.put(*(SinkRecord("test", {"n": n}, key=key) for n, key in enumerate("aba")))
        run.await_committed(3)
        run.put(SinkRecord("test", {"n": 3}, key="a"))
        run.await_committed(4)
    assert run.contents == {
        "test-0-a-0": b'{"value":{"n":0}}\n{"value":{"n":2}}\n',
        "test-0-b-1": b'{"value":{"n":1}}\n',
        "test-0-a-3": b'{"value":{"n":3}}\n',
    }


def test_a_path_may_end_with_the_delimiter_of_folders() -> None:
    by_year = {"partitioner.class": "time", "path.format": "'year'=YYYY/", "timestamp.extractor": "Record"}
    with ObjectRun({**by_year, "flush.size": "1"}) as run:
        run.put(SinkRecord("test", {"n": 1}, timestamp=0))
        run.await_committed(1)
    assert list(run.contents) == ["topics/test/year=1970/test+0+0000000000.json"]


def test_days_have_the_delimiter_of_folders_as_well() -> None:
    daily = {"partitioner.class": "daily", "directory.delim": "|", "timestamp.extractor": "Record"}
    with ObjectRun({**daily, "flush.size": "1"}) as run:
        run.put(SinkRecord("test", {"n": 1}, timestamp=0))
        run.await_committed(1)
    assert list(run.contents) == ["topics|test|year=1970|month=01|day=01|test+0+0000000000.json"]


def test_times_of_fields_are_milliseconds_without_their_fraction() -> None:
    at = {"partitioner.class": "daily", "timestamp.extractor": "RecordField", "timestamp.field": "t"}
    last = "2026-01-31T23:59:59.999"
    with ObjectRun({**at, "flush.size": "5"}) as run:
        run.put(*({"t": t} for t in (f"{last}900Z", f"{last}Z", 1769903999999, 1769903999999.0, 1769903999999.9)))
        run.await_committed(5)
    assert list(run.contents) == ["topics/test/year=2026/month=01/day=31/test+0+0000000000.json"]


@pytest.mark.promise("P10")
def test_no_offset_within_a_file_that_was_open_is_committed_where_another_object_is_found() -> None:
    """A task that began there would find no object of that name, and write the rest of the file again."""
    config = {"partitioner.class": "field", "partition.field.name": "f", "format.class": "string"}
    records = [{"f": f, "n": n} for n, f in enumerate("aaababb")]
    with ObjectRun(config) as run:
        run.put(*records)
        run.await_committed(len(records))
        earlier = {key: found for key, found in run.store.objects.items() if "f=b" in key}  # and died before the other
    run = ObjectRun(config)
    run.store.objects.update(earlier)
    with run:
        run.put(*records[:2])  # begins the file of a
        run.put(*records[2:5])  # finds the object of b, which goes on behind these
        run.commit()
        run.crash()
        run.restart()
        run.put(*records[5:])
        run.await_committed(len(records))
    written = b"".join(run.contents.values()).decode().splitlines()
    assert sorted(written) == sorted(f"{{f={each['f']}, n={each['n']}}}" for each in records)
