"""The Connect schema of an Avro type, as Confluent's converter has it.

| Avro | Connect |
|---|---|
| int, long, float, double, boolean, string, bytes | INT32, INT64, FLOAT32, FLOAT64, BOOLEAN, STRING, BYTES |
| date, time-millis, timestamp-millis, decimal | Date, Time, Timestamp, Decimal; other logical types are ignored |
| record, map, array | STRUCT, MAP, ARRAY; an array of MapEntry records is a MAP whose keys are not strings |
| enum, fixed | STRING, BYTES with parameters |
| union of null and one other | that one, optional |
| union of several | a STRUCT with an optional field for each, one of which is set |
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from connect.converters.avro import names
from connect.converters.avro.keys import AvroOptions
from connect.converters.avro.types import NO_DEFAULT, AvroField, AvroType
from connect.data import logical
from connect.data.schema import Schema, Type
from connect.data.text import float32
from connect.errors import DataError

_PLAIN: Final = {
    "boolean": Type.BOOLEAN,
    "int": Type.INT32,
    "long": Type.INT64,
    "float": Type.FLOAT32,
    "double": Type.FLOAT64,
    "bytes": Type.BYTES,
    "fixed": Type.BYTES,
    "string": Type.STRING,
    "enum": Type.STRING,
}
_SMALL: Final = {"int8": Type.INT8, "int16": Type.INT16}
_LOGICAL: Final = {
    ("int", "date"): logical.DATE_NAME,
    ("int", "time-millis"): logical.TIME_NAME,
    ("long", "timestamp-millis"): logical.TIMESTAMP_NAME,
    ("bytes", "decimal"): logical.DECIMAL_NAME,
    ("fixed", "decimal"): logical.DECIMAL_NAME,
}


class ToConnect:
    """Makes the Connect schemas of one Avro schema.

    Attributes:
        schemas: the schema of each type except null and those that only a union with null makes optional.
    """

    def __init__(self, options: AvroOptions) -> None:
        self._options = options
        self._open: set[int] = set()
        self._unions = 0

    def schema(self, avro: AvroType, version: int | None = None) -> Schema:
        """The schema of a whole record's key or value.

        Args:
            avro: its type.
            version: under its subject; a version in the schema itself has precedence.

        Raises:
            DataError: Connect has no schema for it.
        """
        return self._schema(avro, version=version)

    def _schema(
        self,
        avro: AvroType,
        *,
        optional: bool = False,
        default: Any = NO_DEFAULT,
        doc: str | None = None,
        version: int | None = None,
    ) -> Schema:
        inner = avro.nullable
        if inner is not None:
            return self._schema(inner, optional=True, doc=doc, version=version)
        if avro.kind == "union" and len(avro.branches) == 1 and self._options.flatten:
            return self._schema(avro.branches[0], optional=optional, default=default, doc=doc, version=version)
        if avro.kind == "null":
            raise DataError("an Avro type that is null alone has no schema in Connect.")
        if id(avro) in self._open:
            raise DataError(f"the Avro record {avro.name} holds itself, which a schema in Connect cannot say.")
        self._open.add(id(avro))
        try:
            attributes = self._base(avro)
            self._annotate(attributes, avro, default, doc, version)
        finally:
            self._open.discard(id(avro))
        if optional:
            attributes["optional"] = True
        return Schema(**attributes)

    def _base(self, avro: AvroType) -> dict[str, Any]:
        """The schema of the type itself."""
        if avro.kind == "record":
            return self._record(avro)
        if avro.kind == "union":
            return self._union(avro)
        if avro.kind == "map":
            assert avro.items is not None
            return {"type": Type.MAP, "key_schema": Schema(Type.STRING), "value_schema": self._schema(avro.items)}
        if avro.kind == "array":
            assert avro.items is not None
            if is_map_entry(avro.items):
                key, value = (self._schema(each.type) for each in avro.items.fields)
                return {"type": Type.MAP, "key_schema": key, "value_schema": value}
            return {"type": Type.ARRAY, "value_schema": self._schema(avro.items)}
        attributes: dict[str, Any] = {"type": _PLAIN[avro.kind], "parameters": {}}
        if avro.kind == "int" and names.CONNECT_TYPE in avro.props:
            found = avro.props[names.CONNECT_TYPE]
            if not isinstance(found, str) or found not in _SMALL:
                raise DataError(f'an Avro int has the {names.CONNECT_TYPE} "{found}"; there are int8 and int16.')
            attributes["type"] = _SMALL[found]
        known = _LOGICAL.get((avro.kind, avro.logical or ""))
        if known is not None:
            attributes |= {"name": known, "version": 1}
            if known == logical.DECIMAL_NAME:
                attributes["parameters"] = _of_decimal(avro)
        elif avro.kind == "fixed":
            attributes["parameters"] = {names.FIXED_SIZE: str(avro.size)}
        elif avro.kind == "enum":
            attributes["parameters"] = self._of_enum(avro)
        return attributes

    def _record(self, avro: AvroType) -> dict[str, Any]:
        fields, parameters = {}, {}
        meta_data = self._options.meta_data
        if avro.doc is not None and meta_data:
            parameters[names.OLD_RECORD_DOC if self._options.discard else names.RECORD_DOC] = avro.doc
        for each in avro.fields:
            if each.doc is not None and meta_data and not self._options.discard:
                parameters[names.FIELD_DOC + each.name] = each.doc
            fields[each.name] = self._schema(each.type, default=each.default, doc=each.doc)
        return {"type": Type.STRUCT, "fields": fields, "parameters": parameters}

    def _union(self, avro: AvroType) -> dict[str, Any]:
        attributes: dict[str, Any] = {"type": Type.STRUCT, "name": names.UNION, "parameters": {}}
        if self._options.generalized:
            name = f"connect_union_{self._unions}"
            self._unions += 1
            attributes |= {"name": name, "parameters": {names.GENERAL_UNION: name}}
        members = union_members(avro, self._options)
        attributes["fields"] = {name: self._schema(branch, optional=True) for name, branch in members}
        if len(members) < len(avro.branches):
            attributes["optional"] = True
        return attributes

    def _of_enum(self, avro: AvroType) -> dict[str, str]:
        found: dict[str, str] = {}
        if not self._options.meta_data:
            pass
        elif self._options.discard:
            # The documentation is written under both names.
            found = {} if avro.doc is None else {names.OLD_ENUM_DOC: avro.doc, names.OLD_RECORD_DOC: avro.doc}
        else:
            found = {} if avro.doc is None else {f"{names.ENUM_DOC}{avro.short_name}": avro.doc}
            if avro.default is not None:
                found[f"{names.ENUM_DEFAULT}{avro.short_name}"] = avro.default
        key = names.GENERAL_ENUM if self._options.generalized else names.ENUM
        found[key] = str(avro.name)
        for position, symbol in enumerate(avro.symbols):
            found[f"{key}.{symbol}"] = str(position) if self._options.generalized else symbol
        return found

    def _annotate(
        self, attributes: dict[str, Any], avro: AvroType, default: Any, doc: str | None, version: int | None
    ) -> None:
        """Add the type's annotations: name, version, documentation, parameters, default."""
        props, meta_data = avro.props, self._options.meta_data
        if meta_data:
            found = props.get(names.CONNECT_DOC)
            attributes["doc"] = (doc or avro.doc or found) if self._options.discard else found
        own = props.get(names.CONNECT_VERSION)
        attributes["version"] = own if isinstance(own, int) else attributes.get("version", version)
        parameters = attributes.setdefault("parameters", {})
        given = props.get(names.CONNECT_PARAMETERS)
        if isinstance(given, Mapping) and meta_data:
            parameters |= {str(key): str(value) for key, value in given.items()}
        parameters |= {key: _text(value) for key, value in props.items() if key.startswith("avro")}
        name = props.get(names.CONNECT_NAME)
        if not isinstance(name, str):
            name = attributes.get("name") or (avro.name if avro.name and not names.is_unnamed(avro.name) else None)
        attributes["name"] = name
        self._set_default(attributes, avro, default)

    def _set_default(self, attributes: dict[str, Any], avro: AvroType, default: Any) -> None:
        in_type = names.CONNECT_DEFAULT in avro.props
        if default is not NO_DEFAULT and not in_type and self._options.meta_data and not self._options.discard:
            attributes["parameters"][names.FIELD_DEFAULT] = "true"
        given = default
        if given is NO_DEFAULT or (given is None and in_type):
            given = avro.props.get(names.CONNECT_DEFAULT)
        if given is not None and given is not NO_DEFAULT:
            schema = Schema(**{key: value for key, value in attributes.items() if key != "default"})
            attributes["default"] = self._value(avro, schema, given)

    def _value(self, avro: AvroType, schema: Schema, given: Any) -> Any:
        """A default in JSON as Connect's value."""
        try:
            return default_value(avro, schema, given, self._options)
        except (KeyError, ValueError, TypeError, AttributeError, AssertionError) as error:
            raise DataError(f"the default {given!r} does not fit the Avro type {avro.name or avro.kind}.") from error


def default_value(avro: AvroType, schema: Schema, given: Any, options: AvroOptions) -> Any:
    """A default in JSON as Connect's value; the default of a union is of its first type."""
    if given is None:
        return None
    inner = avro.nullable
    if inner is not None:
        return default_value(inner, schema, given, options)
    if avro.kind == "union":
        if len(avro.branches) == 1 and options.flatten:
            return default_value(avro.branches[0], schema, given, options)
        (name, first), *_ = union_members(avro, options)
        field = schema.field(name)
        assert field is not None
        return {name: default_value(first, field.schema, given, options)}
    if avro.kind in ("bytes", "fixed"):
        return logical.decode(schema, str(given).encode("latin-1"))
    if avro.kind in ("float", "double"):
        number = float(given)
        return float32(number) if avro.kind == "float" else number
    if avro.kind in ("int", "long"):
        if not isinstance(given, int) or isinstance(given, bool):
            raise TypeError("no whole number")
        return logical.decode(schema, given)
    if avro.kind in ("boolean", "string", "enum"):
        if not isinstance(given, bool if avro.kind == "boolean" else str):
            raise TypeError("of another type")
        return given
    if avro.kind == "record":
        members = ((each, schema.field(each.name)) for each in avro.fields)
        return {each.name: _of_field(each, member.schema, given, options) for each, member in members if member}
    assert avro.items is not None
    assert schema.value_schema is not None
    if avro.kind == "map":
        return {key: default_value(avro.items, schema.value_schema, each, options) for key, each in given.items()}
    if schema.type is Type.MAP:
        assert schema.key_schema is not None
        key, value = avro.items.fields
        pairs = [(each[names.KEY], each[names.VALUE]) if isinstance(each, dict) else each for each in given]
        return {
            default_value(key.type, schema.key_schema, k, options): default_value(
                value.type, schema.value_schema, v, options
            )
            for k, v in pairs
        }
    return [default_value(avro.items, schema.value_schema, each, options) for each in given]


def _of_field(each: AvroField, schema: Schema, given: Mapping[str, Any], options: AvroOptions) -> Any:
    found = given.get(each.name, each.default)
    return None if found is NO_DEFAULT else default_value(each.type, schema, found, options)


def union_members(avro: AvroType, options: AvroOptions) -> list[tuple[str, AvroType]]:
    """The types of a union but null, with the names of their fields in Connect.

    Raises:
        DataError: two have the same.
    """
    found: dict[str, AvroType] = {}
    for position, branch in enumerate(avro.branches):
        if branch.kind == "null":
            continue
        if options.generalized:
            name = f"connect_union_field_{position}"
        else:
            name = (branch.name if options.enhanced else branch.short_name) or branch.kind
        if name in found:
            raise DataError(
                f'two types of an Avro union are both called "{name}". Set enhanced.avro.schema.support=true.'
            )
        found[name] = branch
    return list(found.items())


def is_map_entry(avro: AvroType) -> bool:
    """Whether an array of these records is a map whose keys are not strings."""
    if avro.kind != "record" or [each.name for each in avro.fields] != [names.KEY, names.VALUE]:
        return False
    return avro.name == f"{names.NAMESPACE}.{names.MAP_ENTRY}" or avro.props.get(names.INTERNAL_TYPE) == names.MAP_ENTRY


def _of_decimal(avro: AvroType) -> dict[str, str]:
    scale, precision = avro.props.get("scale", 0), avro.props.get("precision")
    found = {logical.SCALE: str(scale)}
    if precision is not None and precision != names.MOST_DIGITS:
        found[names.PRECISION] = str(precision)
    if avro.kind == "fixed":
        found[names.FIXED_SIZE] = str(avro.size)
    return found


def _text(value: Any) -> str:
    return value if isinstance(value, str) else "true" if value is True else "false" if value is False else str(value)
