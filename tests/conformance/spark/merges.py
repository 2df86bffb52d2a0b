"""Merges for both engines: what a table holds when records are late, deleted or of any order."""

import json
import random
from typing import Any, Final

from connect.converters import JsonConverter
from connect.data.schema import INT64, OPTIONAL_STRING, Schema
from tests.support.change_events import KEY, POSTGRESQL, UNAVAILABLE, of_postgresql

from .cases import JSON, Group, Raw

_PLAIN: Final = {
    "key.converter": JSON,
    "key.converter.schemas.enable": "false",
    "value.converter": JSON,
    "value.converter.schemas.enable": "false",
    "mode": "upsert",
}


def _raw(key: Any, value: Any) -> Raw:
    return Raw(json.dumps(key).encode(), None if value is None else json.dumps(value).encode())


def _changes(seed: int, deletions: float) -> list[Raw]:
    """Changes of a few keys, of which those of one are in one half of the records: halves go to partitions."""
    chosen = random.Random(seed)
    records = [_raw({"id": -1}, {"id": -1, "a": 1, "b": 1, "text": "first", "day": "2026-01-01"})]
    for n in range(80):
        id_ = chosen.randrange(6) + 10 * (n >= 40)
        value = {
            "id": id_,
            "a": chosen.choice([None, 1, 2, 3]),
            "b": chosen.choice([None, 1, 2]),
            "text": str(n),
            "day": "2026-01-01",
        }
        records.append(_raw({"id": id_}, None if chosen.random() < deletions else value))
    return records


def _group(records: list[Raw], **keys: str) -> Group:
    return Group(_PLAIN | {key.replace("__", "."): text for key, text in keys.items()}, {"none": ([], records)})


def _parts(seed: int, **keys: str) -> Group:
    """Records with a schema that has some of the columns."""
    chosen = random.Random(seed)
    converter = JsonConverter()
    converter.configure({"schemas.enable": "true"}, is_key=False)
    records = []
    for n in range(80):
        id_ = chosen.randrange(6) + 10 * (n >= 40)
        value = {"id": id_, "a": n % 7, **{name: f"{name}{n}" for name in chosen.sample("bcd", chosen.randint(0, 3))}}
        schema = Schema.struct({name: INT64 if name in ("id", "a") else OPTIONAL_STRING for name in value})
        body = None if chosen.random() < 0.1 else converter.from_connect_data("t", schema, value)
        records.append(Raw(json.dumps({"id": id_}).encode(), body))
    return _group(records, value__converter__schemas__enable="true", **keys)


def _events(seed: int, *, envelope: bool, unsent: float = 0, **keys: str) -> Group:
    """Debezium's events of a few rows, some of which come again, or late, or without a large value."""
    chosen = random.Random(seed)
    of_keys, of_values = JsonConverter(), JsonConverter()
    for converter, is_key in ((of_keys, True), (of_values, False)):
        converter.configure({"schemas.enable": str(envelope).lower()}, is_key=is_key)
    log = []
    for lsn in range(60):
        id_ = chosen.randrange(5) + 10 * (lsn >= 30)
        row = {"id": id_, "text": f"t{lsn}", "n": lsn if chosen.random() < 0.5 else None}
        op = chosen.choice("cuud")
        if op == "u" and chosen.random() < unsent:
            row["text"] = UNAVAILABLE
        value = of_postgresql(op, row if op in "ud" else None, None if op == "d" else row, lsn)
        log.append((id_, value))
    order = [row for half in (log[:30], log[30:]) for row in (*half, *chosen.sample(half, 10))]
    records = [_change(of_keys, of_values, id_, value) for id_, value in order]
    extra = {f"{part}.converter.schemas.enable": str(envelope).lower() for part in ("key", "value")}
    return _group(records, cdc__format="debezium", **extra, **keys)


def _change(of_keys: JsonConverter, of_values: JsonConverter, id_: int, value: Any) -> Raw:
    key = of_keys.from_connect_data("t", KEY, {"id": id_})
    return Raw(key, of_values.from_connect_data("t", POSTGRESQL, value))


MERGES: Final = {
    "newest": _group(_changes(1, 0.2)),
    "sequence": _group(_changes(2, 0.2), merge__sequence__by="a,b"),
    "sequence-of-offsets": _group(_changes(3, 0.2), merge__sequence__by="a,_offset"),
    "condition": _group(_changes(4, 0.2), merge__condition="t.day = s.day OR s.day IS NULL"),
    "partitions": _group(
        _changes(5, 0), pk__mode="record_value", pk__fields="day,id", partition__by="day", merge__sequence__by="text"
    ),
    "soft": _group(_changes(8, 0.3), delete__mode="soft"),
    "soft-sequence": _group(_changes(9, 0.3), delete__mode="soft", merge__sequence__by="a,b"),
    "soft-time": _group(
        _changes(10, 0.3), delete__mode="soft", delete__column__type="timestamp", merge__sequence__by="_timestamp"
    ),
    "versions": _group(_changes(12, 0.3), scd__type="2"),
    "versions-of-a-field": _group(
        _changes(13, 0.3), scd__type="2", merge__sequence__by="text", delete__enabled="false", partition__by="day"
    ),
    "events-versions": _events(14, envelope=True, scd__type="2"),
    "events": _events(6, envelope=True),
    "events-schemaless": _events(7, envelope=False),
    "events-soft": _events(11, envelope=True, delete__mode="soft"),
    "events-unsent": _events(15, envelope=True, unsent=0.7),
    "events-unsent-schemaless": _events(16, envelope=False, unsent=0.7),
    "events-unsent-soft": _events(17, envelope=True, unsent=0.7, delete__mode="soft"),
    "events-unsent-versions": _events(
        21, envelope=True, unsent=0.7, scd__type="2", merge__sequence__by="_source_position"
    ),
    "parts": _parts(18),
    "parts-sequence": _parts(19, merge__sequence__by="a"),
    "parts-soft": _parts(20, merge__sequence__by="a", delete__mode="soft"),
    "parts-versions": _parts(22, scd__type="2"),
}
