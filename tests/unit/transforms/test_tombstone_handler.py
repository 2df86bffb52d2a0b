"""TombstoneHandler."""

import logging
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from connect import ConfigError, DataError, Schema, SinkBatch, SinkRecord
from connect.data import schema as schemas
from connect.data.values import Text
from connect.testing.conformance import TransformationConformance
from transforms.tombstone_handler import TombstoneHandler

from .forms import forms, told, with_config

ROW = Schema.struct({"id": schemas.INT32}, optional=True)
_values = st.sampled_from([(None, None), (ROW, None), (ROW, {"id": 1}), (None, "text"), (None, {"id": 1}), (None, "")])


class TestConformance(TransformationConformance):
    transformation = TombstoneHandler

    def config(self) -> dict[str, str]:
        return {"behavior": "ignore"}

    def values(self) -> Any:
        return _values


@given(st.lists(_values, max_size=8))
def test_tombstones_are_dropped_with_and_without_a_schema(values: list[Any]) -> None:
    made = with_config(TombstoneHandler, {"behavior": "ignore"})
    records = [SinkRecord("t", value, schema, offset=offset) for offset, (schema, value) in enumerate(values)]
    expected = [told(record) for record in records if record.value is not None]
    assert [told(record) for record in map(made.apply, records) if record is not None] == expected
    for batch in forms(records):
        assert list(map(told, made.apply_batch(batch))) == expected


def test_texts_are_not_decoded_for_it() -> None:
    values = Text([b"a", None, b"b"], schemas.OPTIONAL_STRING)
    kept = with_config(TombstoneHandler, {}).apply_batch(SinkBatch("t", values, offsets=[0, 1, 2]))
    assert isinstance(kept.values, Text)
    assert [(record.offset, record.value) for record in kept] == [(0, "a"), (2, "b")]


def test_a_batch_without_tombstones_is_the_same_object() -> None:
    for batch in forms([SinkRecord("t", {"id": 1}, ROW)]):
        assert with_config(TombstoneHandler, {}).apply_batch(batch) is batch


@pytest.mark.parametrize(
    ("config", "level"), [({}, "WARNING"), ({"behavior": "WARN"}, "WARNING"), ({"behavior": "ignore"}, "DEBUG")]
)
def test_a_batch_logs_one_line(config: dict[str, str], level: str, caplog: pytest.LogCaptureFixture) -> None:
    records = [SinkRecord("a", None), SinkRecord("b", 1), SinkRecord("a", None), SinkRecord("c", None)]
    with caplog.at_level(logging.DEBUG, "transforms.tombstone_handler"):
        assert len(with_config(TombstoneHandler, config).apply_batch(forms(records)[0])) == 1
    assert [(record.levelname, record.message) for record in caplog.records] == [
        (level, "Dropped 3 tombstones of a, c.")
    ]


def test_fail_refuses_them() -> None:
    made = with_config(TombstoneHandler, {"behavior": "fail"})
    live, dead = SinkRecord("orders", 1), SinkRecord("orders", None, ROW)
    assert made.apply(live) is live
    for act in (lambda: made.apply(dead), lambda: made.apply_batch(forms([live, dead])[0])):
        with pytest.raises(DataError, match=r"A record of orders is a tombstone.*behavior=warn"):
            act()


def test_other_behaviors_are_refused() -> None:
    with pytest.raises(ConfigError) as caught:
        with_config(TombstoneHandler, {"behavior": "drop"})
    assert caught.value.key == "behavior"
