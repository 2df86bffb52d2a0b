"""Records as lines of bulk requests, without a cluster."""

import datetime as dt
from decimal import Decimal
from typing import Any

import orjson
import pytest

from connect import Schema, SinkBatch, SinkRecord, Values, logical, schema
from connect.data.struct_columns import StructColumns
from connect.data.unavailable import UNAVAILABLE
from connectors.elasticsearch.sink.keys import ElasticsearchSinkOptions
from connectors.elasticsearch.sink.lines import Writer


def writer(**config: str) -> Writer:
    given = {key.replace("_", "."): value for key, value in config.items()}
    return Writer(ElasticsearchSinkOptions.parse({"connection.url": "http://nobody.invalid:9200", **given}))


def record(offset: int, value: Any, **more: Any) -> SinkRecord:
    return SinkRecord("t", value, offset=offset, **more)


def test_a_record_whose_time_is_no_date_has_no_index_and_the_others_have() -> None:
    """Of a producer that sends microseconds, and .NET's first moment east of Greenwich."""
    times = (1_700_000_000_000, 1_700_000_000_000_000)
    batch = SinkBatch.of([record(n, {}, timestamp=time) for n, time in enumerate(times)])
    parts, wrong = writer(index_name_format="${topic}-${timestamp:%Y}").parts(batch)
    assert ([part[1] for part in parts], list(wrong)) == (["t-2023"], [1])

    moments = ("2023-11-14T22:13:20+01:00", "0001-01-01T00:00:00+01:00", 1_700_000_000_000_000)
    batch = SinkBatch.of([record(n, {"at": moment}) for n, moment in enumerate(moments)])
    parts, wrong = writer(index_name_format="${topic}-${value.at:%Y}").parts(batch)
    assert ([part[1] for part in parts], list(wrong)) == (["t-2023"], [1, 2])


def test_a_record_whose_index_would_have_no_name_is_at_fault_alone() -> None:
    """A name begins with none of these signs, and has no others here."""
    batch = SinkBatch.of([record(n, {"x": x}) for n, x in enumerate(("a", "_", "-+"))])
    parts, wrong = writer(index_name_format="${value.x}").parts(batch)
    assert ([part[1] for part in parts], list(wrong)) == (["a"], [1, 2])
    parts, wrong = writer().parts(SinkBatch.of([SinkRecord("___", {}, offset=0)]))
    assert (parts, "topic ___" in str(wrong[0])) == ([], True)


def test_a_time_that_is_null_is_not_there_twice() -> None:
    fields = {"@timestamp": schema.OPTIONAL_INT64, "d": logical.decimal(2), "in": schema.OPTIONAL_STRING}
    value = {"@timestamp": None, "d": Decimal("12345678901234567890.10"), "in": '"@timestamp":null'}
    texts = (b'{"n":123456789012345678901, "@timestamp" : null}', b'{"@timestamp":null}', b'{"a":{"@timestamp":null}}')
    batch = SinkBatch.of(
        [
            SinkRecord("t", value, Schema.struct(fields), offset=0, timestamp=7),
            *(SinkRecord("t", text, schema.BYTES, offset=n, timestamp=7) for n, text in enumerate(texts, 1)),
        ]
    )
    made = writer(data_stream_type="logs", data_stream_dataset="d")
    ((topic, target, _, part),), _ = made.parts(batch)
    lines, wrong = made.lines(topic, target, part)
    assert wrong == {}
    assert [item.splitlines()[1] for item in lines.items] == [
        b'{"@timestamp":7,"d":12345678901234567890.10,"in":"\\"@timestamp\\":null"}',
        b'{"@timestamp":7,"n":123456789012345678901}',
        b'{"@timestamp":7}',
        b'{"@timestamp":7,"a":{"@timestamp":null}}',
    ]


@pytest.mark.parametrize("path", ["at.city", "/at/city"])
def test_the_field_of_the_routing_is_named_with_dots_or_by_a_pointer(path: str) -> None:
    batch = SinkBatch.of([record(n, {"at": {"city": city}}) for n, city in enumerate(("Bern", 7, None))])
    made = writer(key_ignore="true", routing_type="value", routing_type_record_value_path=path)
    lines, wrong = made.lines("t", "t", batch)
    assert wrong == {}
    actions = [orjson.loads(item.splitlines()[0])["index"] for item in lines.items]
    assert [action.get("routing") for action in actions] == ["Bern", "7", None]


def test_the_time_of_a_document_is_the_field_that_was_named_before_its_own() -> None:
    values = ({"@timestamp": 1, "at": 2}, {"at": 2}, {"@timestamp": 1, "at": None}, {"@timestamp": 1}, {})
    batch = SinkBatch.of([record(n, value, timestamp=7) for n, value in enumerate(values)])
    made = writer(data_stream_type="logs", data_stream_dataset="d", data_stream_timestamp_field="no,at")
    ((topic, target, _, part),), _ = made.parts(batch)
    lines, wrong = made.lines(topic, target, part)
    assert wrong == {}
    assert [orjson.loads(item.splitlines()[1])["@timestamp"] for item in lines.items] == [2, 2, 1, 1, 7]


@pytest.mark.parametrize("columns", [True, False])
def test_a_document_without_values_that_were_not_sent(columns: bool) -> None:
    """Behind transformations by columns, and without: dates and the rest are as of any record."""
    fields = {
        "id": schema.INT64,
        "day": logical.DATE,
        "text": schema.OPTIONAL_STRING,
        "list": Schema.array(schema.STRING).as_optional(),
    }
    rows = [
        {"id": 1, "day": dt.date(1970, 1, 3), "text": "a", "list": ["a"]},
        {"id": 2, "day": dt.date(1970, 1, 3), "text": UNAVAILABLE, "list": [UNAVAILABLE]},
        {"id": 3, "day": dt.date(1970, 1, 3), "text": UNAVAILABLE, "list": None},
    ]
    struct = Schema.struct(fields)
    values = (
        StructColumns(struct, [[row[name] for row in rows] for name in fields]) if columns else Values(rows, struct)
    )
    batch = SinkBatch("t", values, keys=Values(["a", "b", "c"]), offsets=range(3))
    made = writer(write_method="upsert", unavailable_value_placeholder=UNAVAILABLE, key_ignore="false")
    lines, wrong = made.lines("t", "t", batch)
    assert wrong == {}
    bodies = [orjson.loads(item.splitlines()[1]) for item in lines.items]
    day = 172_800_000
    assert bodies == [
        {"doc": {"id": 1, "day": day, "text": "a", "list": ["a"]}, "doc_as_upsert": True},
        {"doc": {"id": 2, "day": day}, "upsert": {"id": 2, "day": day, "text": UNAVAILABLE, "list": [UNAVAILABLE]}},
        {
            "doc": {"id": 3, "day": day, "list": None},
            "upsert": {"id": 3, "day": day, "text": UNAVAILABLE, "list": None},
        },
    ]
