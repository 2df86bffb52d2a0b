"""Hide the values of fields: MaskField.

https://kafka.apache.org/documentation/#org.apache.kafka.connect.transforms.MaskField
"""

from __future__ import annotations

import datetime as dt
import re
from decimal import Decimal
from functools import partial
from typing import Any

from connect import DataError, Schema, SchemaAndValue, Type, Values, logical, settings
from connect.data.schema import INT_BITS
from connect.data.struct_columns import FieldColumn, StructColumns
from connect.data.text import float32
from connect.data.times import EPOCH
from connect.settings import Config
from transforms.fields import Fields, FieldsTransformation, Plan, Struct
from transforms.paths import SYNTAX, VERSION, by_parent, parse
from transforms.structs import DEFAULTS, WITH_DEFAULTS, copied, defaults_of, names, with_default

_EMPTY: dict[type, Any] = {
    bool: False,
    int: 0,
    float: 0.0,
    str: "",
    Decimal: Decimal(0),
    dt.datetime: EPOCH,
    dt.date: EPOCH.date(),
    dt.time: dt.time(),
}
_KINDS = {
    **dict.fromkeys(INT_BITS, int),
    Type.FLOAT32: float,
    Type.FLOAT64: float,
    Type.BOOLEAN: bool,
    Type.STRING: str,
    Type.ARRAY: list,
    Type.MAP: dict,
}
_NUMBER = re.compile(r"[-+]?(\d+(?:\.\d*)?|\.\d+)([eE][-+]?\d+)?")


class MaskField(FieldsTransformation):
    """Replaces the values of fields by an empty value of the same type, or by a replacement.

    Nulls stay null. Strings become "", numbers 0, dates 1970-01-01, lists and maps empty. A replacement is for strings
    and numbers only.
    """

    purpose = "masking fields"
    settings = (
        settings.define(
            settings.List("fields", importance="HIGH", validator=names, doc="The names of the fields to mask."),
            settings.String(
                "replacement",
                default=None,
                importance="LOW",
                validator=settings.non_empty,
                doc="The replacement for the values, which must then be strings or numbers. Default: 0, an empty "
                "string, false, 1970-01-01.",
            ),
        )
        | DEFAULTS
        | SYNTAX
    )

    def configure(self, config: Config) -> None:
        self._with_defaults: bool = config[WITH_DEFAULTS]
        self._masks = _Masks(config["replacement"])
        paths = dict.fromkeys(parse(name, config[VERSION], "fields") for name in config["fields"])
        self.changes = {parent: partial(self._masked, last) for parent, last in by_parent(paths).items()}

    def convert(self, schema: Schema | None, value: Any) -> SchemaAndValue:
        if value is None:
            raise DataError("Null cannot be masked. Exclude tombstones by a predicate: RecordIsTombstone, negated.")
        return super().convert(schema, value)

    def convert_column(self, schema: Schema | None, items: list[Any]) -> Values:
        if None in items:
            self.convert(schema, None)
        return super().convert_column(schema, items)

    def _masked(self, fields: list[str], schema: Schema | None) -> Plan:
        masks = self._masks
        defaults = defaults_of(schema, replace_null=self._with_defaults)
        if schema is None:
            return Plan(None, partial(_by_type, fields, masks))
        schemas = {field.name: field.schema for field in schema.fields if field.name in fields}

        def items(structs: list[Struct]) -> list[Struct]:
            copies = copied(structs, defaults)
            for name, field in schemas.items():
                # Only made where there is a value: not every type can be masked.
                mask = masks.of(field) if any(copy.get(name) is not None for copy in copies) else None
                if isinstance(mask, list | dict):
                    for copy in copies:
                        if copy.get(name) is not None:
                            copy[name] = mask.copy()
                else:
                    for copy in copies:
                        copy[name] = None if copy.get(name) is None else mask
            return copies

        return Plan(schema, items, partial(self._columns, schemas))

    def _columns(self, masked: dict[str, Schema], column: StructColumns) -> Fields | None:
        columns: list[Any] = [with_default(field) if self._with_defaults else field for field in column.fields]
        for name, schema in masked.items():
            place = column.struct.field(name)
            assert place is not None
            try:
                mask = self._masks.of(schema)
            except DataError:
                return None  # all may be null
            if isinstance(mask, list | dict | Decimal):
                return None  # in Arrow a decimal would get the scale of its column
            columns[place.index] = _mask_column(columns[place.index], mask)
        return columns


def _mask_column(column: FieldColumn, mask: Any) -> Any:
    if column.is_arrow:
        import pyarrow as pa
        import pyarrow.compute as pc

        array = column.array
        masks = pa.repeat(pa.scalar(mask, array.type), len(array))
        return masks if array.null_count == 0 else pc.if_else(array.is_valid(), masks, pa.scalar(None, array.type))
    items = column.items
    return [None if item is None else mask for item in items] if None in items else [mask] * len(items)


def _by_type(fields: list[str], masks: _Masks, structs: list[Struct]) -> list[Struct]:
    copies = [struct.copy() for struct in structs]
    for name in fields:
        for copy in copies:
            value = copy.get(name)
            copy[name] = None if value is None else masks[type(value)]
    return copies


class _Masks(dict[type, Any]):
    """The masks of schemaless values by type; `of` returns the mask for a field's schema."""

    def __init__(self, replacement: str | None) -> None:
        super().__init__({} if replacement is not None else _EMPTY)
        self._replacement = replacement

    def __missing__(self, kind: type) -> Any:
        if self._replacement is None:
            if kind is list or kind is dict:
                return kind()  # a new one each time: a caller may change it
            raise DataError(f"A value of type {kind.__name__} cannot be masked.")
        mask = self[kind] = self._replaced(kind, Type.FLOAT64 if kind is float else Type.INT64)
        return mask

    def of(self, schema: Schema) -> Any:
        """The mask for the values of a field."""
        kind = logical.python_type(schema) or _KINDS.get(schema.type)
        if kind is None:
            raise DataError(f"A {schema.type.name} cannot be masked.")
        return self[kind] if self._replacement is None else self._replaced(kind, schema.type)

    def _replaced(self, kind: type, schema_type: Type) -> Any:
        text = self._replacement
        assert text is not None
        if kind is str:
            return text
        if kind not in (int, float, Decimal):
            raise DataError(f"A {kind.__name__} cannot be masked by a replacement. Mask it without one.")
        # Java looks at one half of a surrogate pair at a time, which is no digit.
        if not _NUMBER.fullmatch(text) or max(text) > "\uffff":
            raise DataError(f'The replacement "{text}" is not a number, but the field to mask holds one.')
        number = Decimal(text)
        if kind is float:
            found = 0.0 if number.is_zero() else float(text)  # a decimal has no negative zero
            return float32(found) if schema_type is Type.FLOAT32 else found
        return number if kind is Decimal else _wrapped(number, INT_BITS[schema_type])


def _wrapped(number: Decimal, bits: int) -> int:
    """The lowest bits of a number's whole part, as in Java's narrowing conversion."""
    exponent = number.as_tuple().exponent
    assert isinstance(exponent, int)
    if exponent >= bits or number.adjusted() < 0:
        return 0
    return (int(number) + (1 << (bits - 1))) % (1 << bits) - (1 << (bits - 1))


class MaskFieldKey(MaskField):
    """MaskField for keys."""

    part = "keys"


class MaskFieldValue(MaskField):
    """MaskField for values."""
