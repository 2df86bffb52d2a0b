"""The names of objects by Aiven's templates."""

from typing import Any
from zoneinfo import ZoneInfo

from connect import SinkBatch, SinkRecord
from connectors.objects.sink.object_names import Templates


def places(template: str, *records: SinkRecord, prefix: str = "", zone: str = "UTC") -> list[str]:
    named = Templates(template, prefix, ZoneInfo(zone), now=False)
    found = named.of(SinkBatch.of(records), None)
    return [named.key(place, record.offset) for place, record in zip(found, records, strict=True)]


def record(offset: int, key: Any = None, timestamp: int = 0) -> SinkRecord:
    return SinkRecord("orders", {}, None, key, None, 3, offset, timestamp)


def test_topic_partition_and_offset() -> None:
    assert places("{{topic}}-{{partition}}-{{start_offset}}.gz", record(5), prefix="in/") == ["in/orders-3-5.gz"]
    padded = "{{topic}}/{{ partition:padding=true }}-{{start_offset:padding=true}}"
    assert places(padded, record(5)) == ["orders/0000000003-00000000000000000005"]


def test_timestamps_and_keys() -> None:
    day = "{{timestamp:unit=yyyy}}/{{timestamp:unit=MM}}/{{timestamp:unit=dd}}/{{timestamp:unit=HH}}"
    name = f"{day}/{{{{topic}}}}-{{{{partition}}}}-{{{{start_offset}}}}"
    assert places(name, record(5, timestamp=1000), zone="Europe/Zurich") == ["1970/01/01/01/orders-3-5"]
    assert places("x-{{key}}", record(5, "a"), record(6), record(7, b"b")) == ["x-a", "x-null", "x-b"]


def test_a_key_may_stand_beside_the_offset() -> None:
    template = "{{topic}}-{{partition}}-{{key}}-{{start_offset}}"
    assert places(template, record(5, "a"), record(6), record(7, "\0")) == [
        "orders-3-a-5",
        "orders-3-null-6",
        "orders-3-\ufffd-7",
    ]
    named = Templates(template, "", ZoneInfo("UTC"), now=False)
    assert not named.replaces
    assert named.belongs("orders-3-a-5", "orders", 3)
    assert not named.belongs("orders-3-a-5", "orders", 1)


def test_whose_objects_they_are_can_be_told() -> None:
    named = Templates("{{topic}}-{{partition:padding=true}}-{{start_offset}}.gz", "in/", ZoneInfo("UTC"), now=False)
    assert named.folder("orders") == "in/orders-"
    assert named.belongs("in/orders-0000000003-17.gz", "orders", 3)
    assert not named.belongs("in/orders-0000000013-17.gz", "orders", 3)
    assert not named.belongs("in/other-0000000003-17.gz", "orders", 3)


def test_another_topic_whose_name_goes_on_with_a_number_has_its_own_objects() -> None:
    named = Templates("{{topic}}-{{partition}}-{{start_offset}}", "", ZoneInfo("UTC"), now=False)
    assert named.belongs("orders-1-17", "orders", 1)
    assert named.belongs("orders-1-0-17", "orders-1", 0)
    assert not named.belongs("orders-1-0-17", "orders", 1)
    partition_last = Templates("{{topic}}-{{start_offset}}-{{partition}}", "", ZoneInfo("UTC"), now=False)
    assert partition_last.belongs("orders-17-1", "orders", 1)
    assert not partition_last.belongs("orders-17-12", "orders", 1)
