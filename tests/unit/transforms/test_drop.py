"""Drop."""

from typing import Any

import pytest

from connect import ConfigError, DataError, Schema
from connect.data.schema import INT32, OPTIONAL_STRING
from connect.testing.conformance import TransformationConformance
from transforms.drop import DropKey, DropValue

from .forms import with_config
from .shaping import changed, refused, shaped

_ROW = Schema.struct({"id": INT32}, name="row", version=3)


class TestValues(TransformationConformance):
    transformation = DropValue

    def config(self) -> dict[str, str]:
        return {"schema.behavior": "force_optional"}


class TestKeys(TransformationConformance):
    transformation = DropKey


@pytest.mark.parametrize("value", [{"id": 1}, None])
@pytest.mark.parametrize("schema", [_ROW, _ROW.as_optional(), None])
@pytest.mark.parametrize("behavior", ["", "nullify", "retain", "FORCE_OPTIONAL"])
def test_the_value_is_null_and_its_schema_as_chosen(behavior: str, schema: Schema | None, value: Any) -> None:
    expected = {"retain": schema, "FORCE_OPTIONAL": None if schema is None else schema.as_optional()}.get(behavior)
    config = {"schema.behavior": behavior} if behavior else {}
    assert shaped(DropValue, config, schema, value) == (expected, None)


def test_validate_wants_an_optional_schema() -> None:
    config = {"schema.behavior": "validate"}
    assert shaped(DropValue, config, None, {"id": 1}) == (None, None)
    assert shaped(DropValue, config, OPTIONAL_STRING, "x") == (OPTIONAL_STRING, None)
    error = refused(DropValue, config, _ROW, {"id": 1})
    assert isinstance(error, DataError)
    assert "The schema of the value is not optional" in str(error)
    assert "force_optional" in str(error)


def test_keys() -> None:
    one = changed(DropKey, {}, _ROW, {"id": 1})
    assert (one.key, one.key_schema, one.value, one.value_schema) == (None, None, {"id": 1}, _ROW)


def test_other_behaviors_are_refused() -> None:
    with pytest.raises(ConfigError) as caught:
        with_config(DropValue, {"schema.behavior": "drop"})
    assert caught.value.key == "schema.behavior"
