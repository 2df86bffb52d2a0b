"""Debezium's change events made rows. What Debezium itself makes of them is asked in tests/conformance/debezium."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from connect import Schema, SinkRecord
from connect.data import schema as schemas
from connect.testing.conformance import TransformationConformance
from transforms.extract_new_record_state import ExtractNewRecordState

from .forms import configured, forms, told, with_config

ROW = Schema.struct(
    {"id": schemas.INT32, "n": schemas.OPTIONAL_INT32.replace(default=5)}, optional=True, name="s.Value"
)
ENVELOPE = Schema.struct(
    {
        "before": ROW,
        "after": ROW,
        "source": Schema.struct({"db": schemas.STRING}),
        "op": schemas.STRING,
        "ts_ms": schemas.OPTIONAL_INT64,
    },
    name="s.Envelope",
)
_rows = st.none() | st.fixed_dictionaries({"id": st.integers(0, 9), "n": st.none() | st.integers(0, 9)})
_envelopes = st.tuples(
    st.just(ENVELOPE),
    st.none()
    | st.fixed_dictionaries(
        {"before": _rows, "after": _rows, "op": st.sampled_from("cud"), "source": st.just({"db": "x"})}
    ),
)
_values = st.one_of(_envelopes, _envelopes, st.just((None, None)), st.just((ROW, {"id": 1})), st.just((None, "text")))
CONFIGS: list[dict[str, str]] = [
    {},
    {"add.fields": "op,source.db,ts_ms"},
    {"delete.tombstone.handling.mode": "drop"},
    {"delete.tombstone.handling.mode": "rewrite", "add.fields": "op"},
    {"delete.tombstone.handling.mode": "rewrite-with-tombstone", "replace.null.with.default": "false"},
    {"delete.tombstone.handling.mode": "delete-to-tombstone", "add.headers": "op"},
    {"delete.tombstone.handling.mode": "rewrite-with-tombstone", "add.headers": "op,source.db", "add.fields": "op"},
    {"add.headers": "op,before.n"},
]


class TestConformance(TransformationConformance):
    transformation = ExtractNewRecordState

    def config(self) -> dict[str, str]:
        return {"delete.tombstone.handling.mode": "rewrite", "add.fields": "op", "add.headers": "source.db"}

    def values(self) -> Any:
        return _values


def event(before: Any, after: Any, op: str, offset: int = 0) -> SinkRecord:
    value = {"before": before, "after": after, "op": op, "source": {"db": "shop"}, "ts_ms": 9}
    return SinkRecord("orders", value, ENVELOPE, offset=offset)


@given(st.lists(_values, max_size=6), st.sampled_from(CONFIGS))
def test_records_lists_and_columns_give_the_same(values: list[Any], config: dict[str, str]) -> None:
    made = with_config(ExtractNewRecordState, config)
    records = [SinkRecord("t", value, schema, offset=offset) for offset, (schema, value) in enumerate(values)]
    expected = [told(result) for result in map(made.apply, records) if result is not None]
    for batch in forms(records):
        assert list(map(told, made.apply_batch(batch))) == expected


@pytest.mark.parametrize("config", [{"add.fields": "transaction.id"}, {"add.headers": "transaction.id"}])
def test_a_null_that_has_an_envelope_s_schema_is_a_tombstone_whatever_that_lacks(config: dict[str, str]) -> None:
    made = with_config(ExtractNewRecordState, {"delete.tombstone.handling.mode": "rewrite-with-tombstone", **config})
    records = [SinkRecord("t", None, ENVELOPE, offset=offset) for offset in range(2)]
    for batch in forms(records):
        assert list(map(told, made.apply_batch(batch))) == list(map(told, map(made.apply, records)))


def test_rows_that_need_nothing_are_not_touched() -> None:
    live, deleted = {"id": 1, "n": None}, {"id": 2, "n": 3}
    batch = forms([event(None, live, "c"), event(deleted, live, "u")])[1]
    plain = configured(ExtractNewRecordState).apply_batch(batch)
    assert [value is live for value in plain.values] == [True, True]
    added = configured(ExtractNewRecordState, add_fields="op,source.db").apply_batch(batch)
    assert list(added.values) == [{**live, "__op": op, "__source_db": "shop"} for op in "cu"]


def test_tombstones_keep_their_place_among_rows() -> None:
    records = [event(None, {"id": 1}, "c"), SinkRecord("orders", None, offset=1), event({"id": 3}, None, "d", 2)]
    for batch in forms(records):
        rewritten = with_config(
            ExtractNewRecordState, {"delete.tombstone.handling.mode": "rewrite-with-tombstone"}
        ).apply_batch(batch)
        assert [(record.offset, record.value) for record in rewritten] == [
            (0, {"id": 1, "n": 5, "__deleted": "false"}),
            (1, None),
            (2, {"id": 3, "n": 5, "__deleted": "true"}),
        ]


@pytest.mark.parametrize(
    ("config", "delete", "tombstone"),
    [
        ({}, None, "dropped"),
        ({"drop.tombstones": "false"}, "dropped", None),
        ({"drop.tombstones": "true"}, "dropped", "dropped"),
        ({"delete.handling.mode": "none"}, None, "dropped"),
        ({"delete.handling.mode": "rewrite"}, {"id": 1, "n": 5, "__deleted": "true"}, "dropped"),
        ({"delete.handling.mode": "rewrite", "delete.tombstone.handling.mode": "drop"}, "dropped", "dropped"),
    ],
)
def test_what_debezium_2_called_it_counts_where_the_newer_key_is_not_set(
    config: dict[str, str], delete: Any, tombstone: Any
) -> None:
    made = with_config(ExtractNewRecordState, config)
    results = [made.apply(event({"id": 1}, None, "d")), made.apply(SinkRecord("orders", None))]
    assert ["dropped" if result is None else result.value for result in results] == [delete, tombstone]
