"""What names say of topic, partition and order."""

import pytest

from connect import ConnectError
from connectors.s3.source import S3SourceConnector, keys
from connectors.s3.source.layout import Layout, Place


def layout_of(config: dict[str, str]) -> Layout:
    parsed = keys.S3SourceOptions.parse({"s3.bucket.name": "b", **config})
    parsed.check()
    return Layout(parsed)


@pytest.mark.parametrize(
    ("config", "name", "place"),
    [
        (
            {},
            "topics/orders/partition=3/orders+3+0000000120.json.gz",
            ("orders", 3, "topics/orders/partition=3/orders+3+"),
        ),
        (
            {},
            "topics/orders/year=2024/hour=01/orders+3+0000000120.avro",
            ("orders", 3, "topics/orders/year=2024/hour=01/orders+3+"),
        ),
        (
            {"partitioner.class": "io.confluent.connect.storage.partitioner.HourlyPartitioner"},
            "topics/orders/year=2024/orders+3+0000000120.avro",
            ("orders", 3, ""),
        ),
        ({}, "topics/orders/partition=3/orders+3+0000000120.keys.avro", None),
        ({}, "topics/orders/partition=3/orders+3+0000000120.headers.avro", None),
        ({}, "topics/orders/partition=3/README", None),
        ({}, "topics/orders/", None),
        (
            {"topics.dir": "", "directory.delim": "_", "file.delim": "-"},
            "a.b_partition=1_a.b-1-7",
            ("a.b", 1, "a.b_partition=1_a.b-1-"),
        ),
        (
            {"directory.delim": "."},
            "topics.a.b.partition=1.a.b+1+0000000007.json.gz",
            ("a.b", 1, "topics.a.b.partition=1.a.b+1+"),
        ),
        (
            {"directory.delim": "_", "file.delim": "_"},
            "topics_a_1_partition=1_a_1_1_0000000007.json",
            ("a_1", 1, "topics_a_1_partition=1_a_1_1_"),
        ),
        ({"directory.delim": "."}, "topics.b.b.x.y.b.b+1+7.json", ("b.b", 1, "topics.b.b.x.y.b.b+1+")),
        ({"directory.delim": "."}, "topics.a.b.a.b+1+7.json", ("a.b", 1, "topics.a.b.a.b+1+")),
        ({"directory.delim": "."}, "topics.a.a+1+7.json", ("a", 1, "topics.a.a+1+")),
        ({"directory.delim": "__"}, "topics__a__b__f=1__a__b+1+7", ("a__b", 1, "topics__a__b__f=1__a__b+1+")),
        ({"directory.delim": "."}, "topics.moved.here.a+1+7.json", ("a", 1, "topics.moved.here.a+1+")),
        (
            {"file.name.template": "{{topic}}-{{partition}}-{{start_offset}}"},
            "customer-topic-1-1734445664111.txt",
            ("customer-topic", 1, "customer-topic-1-"),
        ),
        (
            {"file.name.template": "{{topic}}-{{partition}}-{{start_offset:padding=true}}"},
            "22-11-2022/topic-1-000020202.txt",
            ("topic", 1, "22-11-2022/topic-1-"),
        ),
        (
            {"file.name.template": "{{topic}}/{{partition}}/{{start_offset}}"},
            "customer-topic/1/1734445664111.txt",
            ("customer-topic", 1, "customer-topic/1/"),
        ),
        (
            {"file.name.template": "topic/{{topic}}/partition/{{partition}}/startOffset/{{start_offset}}"},
            "topic/a/partition/1/startOffset/5",
            ("a", 1, "topic/a/partition/1/startOffset/"),
        ),
        (
            {"file.name.template": "{{timestamp:unit=yyyy}}/{{topic}}-{{partition}}-{{start_offset}}"},
            "2024/a-1-5",
            ("a", 1, ""),
        ),
        ({"file.name.template": "{{topic}}-{{partition}}", "aws.s3.prefix": "in-"}, "in-a-1", ("a", 1, "")),
        ({"file.name.template": "{{key}}-{{topic}}"}, "x y-a", ("a", None, "")),
        ({"file.name.template": ".*", "topic": "t"}, "any/thing", ("t", None, "")),
        ({"file.name.template": "log", "topic": "t"}, "a/catalog.txt", ("t", None, "")),
        ({"file.name.template": "logs$", "topic": "t"}, "a/catalog.txt", None),
        ({"topic": "t"}, "any/thing.json", ("t", None, "")),
        ({"topic.regex.list": "o:.*/orders/.*,r:.*"}, "in/orders/1", ("o", None, "")),
        ({"topic.regex.list": "o:.*/orders/.*,r:.*"}, "in/others/1", ("r", None, "")),
        ({"topic.regex.list": "o:.*/orders/.*"}, "in/others/1", None),
        ({"topic": "t", "done.action": "move", "done.prefix": "done/"}, "done/a", None),
        ({"topic": "t", "done.action": "move", "done.prefix": "done/", "done.bucket": "c"}, "done/a", ("t", None, "")),
        ({"topic": "t", "done.action": "move", "done.prefix": "done/", "done.bucket": "b"}, "done/a", None),
    ],
)
def test_names(config: dict[str, str], name: str, place: Place | None) -> None:
    assert layout_of(config).place(name) == place


def test_series_that_nothing_else_can_stand_in_are_known() -> None:
    assert layout_of({}).closed
    assert not layout_of({"file.delim": "-"}).closed
    assert layout_of({"file.name.template": "{{topic}}/{{partition}}/{{start_offset}}"}).closed
    assert not layout_of({"file.name.template": "{{topic}}-{{partition}}-{{start_offset}}"}).closed


@pytest.mark.parametrize(
    ("config", "key"),
    [
        ({"mode": "GENERIC"}, "topic"),
        ({"topic": "a,b"}, "topic"),
        ({"topic": "a", "done.action": "move"}, "done.prefix"),
        ({"topic": "a", "done.action": "move", "done.bucket": "b"}, "done.prefix"),
        ({"topic": "a", "done.action": "move", "aws.s3.prefix": "in/", "done.prefix": "in"}, "done.prefix"),
        ({"topic": "a", "distribution.type": "partition_in_filename"}, "distribution.type"),
        ({"topic": "a", "object.order": "partition"}, "object.order"),
        ({"topic": "a", "file.name.template": "{{offset}}"}, "file.name.template"),
        ({"topic": "a", "topic.regex.list": "a"}, "topic.regex.list"),
        ({"topic": "a", "format.class": "x.ProtobufFormat"}, "format.class"),
        ({"topic": "a", "csv.separator.char": ",,"}, "csv.separator.char"),
        ({"topic": "a", "done.tag": "x"}, "done.tag"),
        ({"topic": "a", "file.discovery.starting.timestamp": "yesterday"}, "file.discovery.starting.timestamp"),
        ({"topic": "a", "aws.access.key.id": "x"}, "aws.secret.access.key"),
    ],
)
def test_what_is_wrong_is_said_at_its_key(config: dict[str, str], key: str) -> None:
    found = S3SourceConnector().validate({"s3.bucket.name": "b", **config})
    assert [value.name for value in found if value.errors] == [key]


def test_others_names_of_keys_are_taken() -> None:
    config = {
        "aws.s3.bucket.name": "b",
        "topics": "t",
        "input.type": "jsonl",
        "aws_s3_prefix": "in/",
        "ring.buffer.size": "7",
    }
    parsed = keys.S3SourceOptions.parse(config)
    assert (parsed.topic, parsed.format, parsed.prefix, parsed.aws_s3_fetch_buffer_size) == (
        "t", "jsonl", "in/", 7,
    )  # fmt: skip
    parsed = keys.S3SourceOptions.parse(
        {"s3.bucket.name": "b", "format.class": "io.confluent.connect.s3.format.json.JsonFormat"}
    )
    assert (parsed.format, parsed.mode) == ("jsonl", "RESTORE_BACKUP")


def test_a_wrong_offset_is_refused() -> None:
    connector = S3SourceConnector()
    share = frozenset({"bucket": "b", "prefix": "", "share": "0/16"}.items())
    assert connector.alter_offsets({}, {share: {"after": "a"}})
    assert connector.alter_offsets({}, {share: None})
    for partition, offset in [
        (frozenset({"file": "a"}.items()), {"after": "a"}),
        (share, {"position": 1}),
        (share, {"after": 1}),
        (share, {"after": "a", "object": "b"}),
        (share, {"after": "a", "done": "?"}),
    ]:
        with pytest.raises(ConnectError):
            connector.alter_offsets({}, {partition: offset})


def test_signs_that_are_blanks_can_be_written() -> None:
    parsed = keys.S3SourceOptions.parse(
        {"s3.bucket.name": "b", "csv.separator.char": r"\t", "format.bytearray.separator": "\n"}
    )
    options = parsed.reading()
    assert (options.csv.separator, options.separator) == ("\t", b"\n")
    parsed = keys.S3SourceOptions.parse({"s3.bucket.name": "b", "format.class": "a.ByteArrayFormat"})
    assert parsed.reading().separator == b"\n"
