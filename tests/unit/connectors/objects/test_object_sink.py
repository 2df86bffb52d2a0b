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
    Header,
    Headers,
    Schema,
    SinkRecord,
    TopicPartition,
    Values,
    logical,
    schema,
)
from connect.testing import Message
from connectors.gcs import GcsSinkConnector
from connectors.objects.formats import parquet_file
from connectors.objects.sink.task import ObjectSinkTask
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
    config = {**names, "format.class": "json", "flush.size": "1"}
    with ObjectRun(config, GcsSinkConnector) as run:  # it allows one
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
