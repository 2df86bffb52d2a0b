"""The transformations that shape records pass the suite that every plug-in should pass."""

from functools import cache
from typing import Any, ClassVar

import pytest
from hypothesis import strategies as st

from connect import Schema, Transformation, Type
from connect.data.schema import INT32, OPTIONAL_BYTES, STRING
from connect.testing.conformance import TransformationConformance, any_values
from transforms.extract_field import ExtractFieldKey, ExtractFieldValue
from transforms.filter import Filter
from transforms.flatten import FlattenKey, FlattenValue
from transforms.hoist_field import HoistFieldValue
from transforms.replace_field import ReplaceFieldKey, ReplaceFieldValue
from transforms.set_schema_metadata import SetSchemaMetadataValue
from transforms.value_to_key import ValueToKey

pytestmark = pytest.mark.quick  # no server, some seconds

Pair = tuple[Schema | None, Any]

_WITH_DEFAULT = Schema(Type.STRING, optional=True, default="d")
_INNER = Schema.struct({"a": _WITH_DEFAULT, "b": STRING, "c": Schema.struct({"a": INT32}, optional=True)}, name="inner")
_STRUCTS = [
    Schema.struct({"a": _WITH_DEFAULT, "b": _INNER.as_optional(), "a.b": INT32, "l": Schema.array(INT32)}, name="top"),
    Schema.struct({"a": OPTIONAL_BYTES, "b": _INNER}, optional=True),
]
_ITEMS = {Type.INT32: st.integers(-9, 9), Type.STRING: st.text("xyz", max_size=2), Type.BYTES: st.binary(max_size=2)}


@cache
def _of(schema: Schema) -> st.SearchStrategy[Any]:
    if schema.type is Type.STRUCT:
        drawn = st.fixed_dictionaries({field.name: _of(field.schema) for field in schema.fields})
    elif schema.type is Type.ARRAY:
        drawn = st.lists(st.integers(-9, 9), max_size=2)
    else:
        drawn = _ITEMS[schema.type]
    return st.none() | drawn if schema.optional else drawn


_PAIRS = st.one_of(*(st.tuples(st.just(schema), _of(schema)) for schema in _STRUCTS))
_MAPS = st.recursive(
    st.none() | st.integers() | st.text("xyz", max_size=2) | st.lists(st.integers(), max_size=2),
    lambda inner: st.dictionaries(st.sampled_from(["a", "b", "a.b"]), inner, max_size=3),
    max_leaves=8,
)
_ALIKE = st.fixed_dictionaries({"a": _MAPS, "b": st.fixed_dictionaries({"a": st.integers(), "b": _MAPS})})


class _Shaping(TransformationConformance):
    examples = 30
    CONFIG: ClassVar[dict[str, str]] = {}

    def config(self) -> dict[str, str]:
        return self.CONFIG

    def values(self) -> st.SearchStrategy[Pair]:
        fit = _PAIRS | st.tuples(st.none(), _ALIKE)
        return st.integers(0, 9).flatmap(lambda drawn: fit if drawn else any_values() | st.tuples(st.none(), _MAPS))


def _suite(kind: type[Transformation], **config: str) -> type[_Shaping]:
    """The suite for one configuration; dots in keys are written as underscores."""
    renamed = {key.replace("_", "."): value for key, value in config.items()}
    return type(f"Test{kind.__name__}", (_Shaping,), {"transformation": kind, "CONFIG": renamed})


TestExtractField = _suite(ExtractFieldValue, field="b")
TestExtractFieldKey = _suite(ExtractFieldKey, field="a")
TestExtractFieldAtPath = _suite(ExtractFieldValue, field="b.a", field_syntax_version="V2")
TestFilter = _suite(Filter)
TestFlatten = _suite(FlattenValue)
TestFlattenKey = _suite(FlattenKey, delimiter="_")
TestHoistField = _suite(HoistFieldValue, field="a")
TestHoistFieldAtPath = _suite(HoistFieldValue, field="line", hoisted="b.a", field_syntax_version="V2")
TestReplaceField = _suite(ReplaceFieldValue, exclude="a", renames="b:c")
TestReplaceFieldKey = _suite(ReplaceFieldKey, include="a,b", renames="b:a,a:b", replace_null_with_default="false")
TestReplaceFieldAtPath = _suite(ReplaceFieldValue, include="b.a,a", renames="b.a:z,b:a,a:b", field_syntax_version="V2")
TestSetSchemaMetadata = _suite(SetSchemaMetadataValue, schema_name="other", schema_version="5")
TestValueToKey = _suite(ValueToKey, fields="a,b")
TestValueToKeyAtPath = _suite(ValueToKey, fields="b.a,b.b", field_syntax_version="V2")
