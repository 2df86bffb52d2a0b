"""MaskField. Expected values are what Kafka Connect's own class gives."""

import copy
import datetime as dt
from decimal import Decimal
from typing import Any

import pytest

from connect import ConfigError, DataError, Schema, SinkRecord, logical
from connect.data.schema import BYTES, FLOAT32, INT8, INT32, OPTIONAL_INT8, OPTIONAL_STRING, STRING
from transforms.mask_field import MaskFieldKey, MaskFieldValue

from .forms import configured, forms, told


def _masked(schema: Schema | None, value: Any, **config: str) -> Any:
    """The masked value, the same in each form of a batch; the input is left alone."""
    before = copy.deepcopy(value)
    mask = configured(MaskFieldValue, **config)
    record = SinkRecord("t", value, schema)
    changed = mask.apply(record)
    for batch in forms([record] * 3):
        assert [told(r) for r in mask.apply_batch(batch)] == [told(changed)] * 3
    assert value == before
    assert changed.value_schema is schema
    return changed.value


_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)


@pytest.mark.parametrize(
    ("value", "masked"),
    [
        (5, 0),
        (2.5, 0.0),
        (True, False),
        ("x", ""),
        (Decimal("1.25"), Decimal(0)),
        (_EPOCH.replace(year=2024), _EPOCH),
        (dt.date(2024, 1, 1), dt.date(1970, 1, 1)),
        (dt.time(5), dt.time()),
        ([1], []),
        ({"a": 1}, {}),
        (None, None),
    ],
)
def test_values_become_empty_ones_of_their_type(value: Any, masked: Any) -> None:
    found = _masked(None, {"a": value, "b": "kept"}, fields="a")
    assert found == {"a": masked, "b": "kept"}
    assert type(found["a"]) is type(masked)


def test_each_record_gets_an_empty_list_of_its_own() -> None:
    mask = configured(MaskFieldValue, fields="a")
    first, second = mask.apply_batch(forms([SinkRecord("t", {"a": [1]}), SinkRecord("t", {"a": [2]})])[0]).values
    assert first["a"] is not second["a"]


def test_a_field_that_a_schemaless_value_lacks_is_null() -> None:
    assert _masked(None, {"b": 1}, fields="a,b") == {"a": None, "b": 0}


@pytest.mark.parametrize(
    ("schema", "replacement", "expected"),
    [
        (STRING, "xy", "xy"),
        (INT32, "99999999999999999999", 1661992959),
        (INT32, "1e999999999", 0),
        (INT8, "300", 44),
        (INT8, "-3.7", -3),
        (FLOAT32, "3.7", 3.700000047683716),
        (logical.decimal(2), "7", Decimal(7)),
        (logical.decimal(2), "1.25", Decimal("1.25")),
    ],
)
def test_a_replacement_takes_the_fields_type(schema: Schema, replacement: str, expected: Any) -> None:
    values = {"string": "s", "int32": 4, "int8": 4, "float": 0.5, "bytes": Decimal("1.11")}
    value = {"a": values[schema.type.value]}
    found = _masked(Schema.struct({"a": schema}), value, fields="a", replacement=replacement)["a"]
    assert (found, type(found)) == (expected, type(expected))


_STRUCT = Schema.struct({"a": OPTIONAL_STRING.replace(default="dflt"), "b": INT32, "c": OPTIONAL_INT8})


def test_defaults_stand_in_for_nulls() -> None:
    value = {"a": None, "b": 4, "c": None}
    assert _masked(_STRUCT, value, fields="b,c") == {"a": "dflt", "b": 0, "c": None}
    assert _masked(_STRUCT, value, fields="a") == {"a": "", "b": 4, "c": None}
    assert _masked(_STRUCT, value, fields="a,b", replace_null_with_default="false") == {"a": None, "b": 0, "c": None}


def test_fields_inside_of_others_are_masked_by_their_path() -> None:
    value = {"card": {"no": "1234", "by": "x"}, "list": [1]}
    assert _masked(None, value, fields="card.no", field_syntax_version="V2") == {**value, "card": {"no": "", "by": "x"}}
    schema = Schema.struct({"card": Schema.struct({"no": STRING}, name="card").as_optional(), "n": INT32})
    config = {"fields": "card.no,n", "field_syntax_version": "V2"}
    assert _masked(schema, {"card": {"no": "1"}, "n": 5}, **config) == {"card": {"no": ""}, "n": 0}
    assert _masked(schema, {"card": None, "n": 5}, **config) == {"card": None, "n": 0}


def test_a_masked_decimal_has_one_scale_in_each_form() -> None:
    schema = Schema.struct({"in": Schema.struct({"d": logical.decimal(2)}), "d": logical.decimal(2)})
    record = SinkRecord("t", {"in": {"d": Decimal("1.25")}, "d": Decimal("1.25")}, schema)
    mask = configured(MaskFieldValue, fields="in.d,d", field_syntax_version="V2")
    for batch in forms([record]):
        (changed,) = mask.apply_batch(batch)
        assert [str(changed.value["in"]["d"]), str(changed.value["d"])] == ["0", "0"]


@pytest.mark.parametrize(
    ("schema", "value", "replacement"),
    [
        (None, None, {}),  # a tombstone is an error, as in Java
        (None, "text", {}),
        (STRING, "text", {}),
        (None, {"a": b"x"}, {}),
        (Schema.struct({"a": BYTES}), {"a": b"x"}, {}),
        (Schema.struct({"a": _STRUCT}), {"a": {"b": 1}}, {}),
        (None, {"a": 5}, {"replacement": "x"}),
        (None, {"a": True}, {"replacement": "x"}),
        (None, {"a": [1]}, {"replacement": "5"}),
    ],
)
def test_what_cannot_be_masked_is_an_error(schema: Schema | None, value: Any, replacement: dict[str, str]) -> None:
    mask = configured(MaskFieldValue, fields="a", **replacement)
    record = SinkRecord("t", value, schema)
    with pytest.raises(DataError):
        mask.apply(record)
    for batch in forms([record]):
        with pytest.raises(DataError):
            mask.apply_batch(batch)


def test_bytes_that_are_null_need_no_mask() -> None:
    schema = Schema.struct({"a": BYTES.as_optional(), "n": INT32})
    assert _masked(schema, {"a": None, "n": 1}, fields="a") == {"a": None, "n": 1}


def test_keys_are_masked_and_values_left_alone() -> None:
    changed = configured(MaskFieldKey, fields="a").apply(SinkRecord("t", {"a": 1}, key={"a": 1}))
    assert (changed.key, changed.value) == ({"a": 0}, {"a": 1})


@pytest.mark.parametrize("config", [{}, {"fields": ""}, {"fields": "a,,"}, {"fields": "a", "replacement": ""}])
def test_wrong_settings_are_refused(config: dict[str, str]) -> None:
    with pytest.raises(ConfigError):
        configured(MaskFieldValue, **config)
