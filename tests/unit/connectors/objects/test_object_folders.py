"""The folders of objects: by fields, by time and by key."""

import pytest

from connect import (
    DataError,
    Schema,
    SinkRecord,
    Type,
    schema,
)
from connectors.azure import AzureBlobSinkConnector
from connectors.gcs import GcsSinkConnector
from connectors.objects.sink.connector import ObjectSinkConnector
from connectors.s3.sink import S3SinkConnector
from tests.unit.connectors.objects.in_memory import ObjectRun

JSONL = {"format.output.type": "jsonl", "file.compression.type": "none"}


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


@pytest.mark.parametrize(
    "keys",
    [
        {"partitioner.class": "field", "partition.field.name": "f", "flush.size": "1"},
        {"partitioner.class": "field", "partition.field.name": "f", "partition.field.format.path": "false"},
    ],
)
@pytest.mark.parametrize("connector", [AzureBlobSinkConnector, S3SinkConnector])
def test_a_folder_that_leads_out_of_its_own_is_its_records_fault(
    connector: type[ObjectSinkConnector], keys: dict[str, str]
) -> None:
    policy = {"errors.tolerance": "all", "errors.log.enable": "true"}
    with ObjectRun({**keys, **policy}, connector) as run:
        run.put({"f": "a..b/.c"}, {"f": "x/../../../y"}, {"f": "a/./b"}, {"f": "..."})
        run.await_committed(4)
        assert [record.offset for record, _ in run.errant] == [1, 2]
    assert len(run.contents) == 2
    with ObjectRun({**keys, **policy}, GcsSinkConnector) as run:  # it takes such a name as it is
        run.put({"f": "x/../../../y"})
        run.await_committed(1)
    assert len(run.contents) == 1


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


@pytest.mark.parametrize(
    ("config", "key"),
    [
        (
            {"partitioner.class": "time", "path.format": "'year'=YYYY/"},
            "topics/test/year=1970/test+0+0000000000.json",
        ),
        (
            {"partitioner.class": "daily", "directory.delim": "|"},
            "topics|test|year=1970|month=01|day=01|test+0+0000000000.json",
        ),
    ],
    ids=["at the end of path.format", "between the parts of a day"],
)
def test_folders_are_parted_by_the_delimiter_once(config: dict[str, str], key: str) -> None:
    with ObjectRun({**config, "timestamp.extractor": "Record", "flush.size": "1"}) as run:
        run.put(SinkRecord("test", {"n": 1}, timestamp=0))
        run.await_committed(1)
    assert list(run.contents) == [key]


def test_times_of_fields_are_milliseconds_without_their_fraction() -> None:
    at = {"partitioner.class": "daily", "timestamp.extractor": "RecordField", "timestamp.field": "t"}
    last = "2026-01-31T23:59:59.999"
    with ObjectRun({**at, "flush.size": "5"}) as run:
        run.put(*({"t": t} for t in (f"{last}900Z", f"{last}Z", 1769903999999, 1769903999999.0, 1769903999999.9)))
        run.await_committed(5)
    assert list(run.contents) == ["topics/test/year=2026/month=01/day=31/test+0+0000000000.json"]
