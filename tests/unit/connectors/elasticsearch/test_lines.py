"""Records as lines of bulk requests, without a cluster."""

from typing import Any

from connect import SinkBatch, SinkRecord
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
