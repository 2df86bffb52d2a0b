"""The Avro schema of a Connect schema, with the same text as Confluent's converter: a registry returns the same id.

What only Connect has (names of simple types, versions, int8 and int16, parameters) is written beside it in connect.*
properties, unless connect.meta.data is off.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from connect.converters.avro import names
from connect.converters.avro.keys import AvroOptions
from connect.data import logical
from connect.data.schema import Schema, Type
from connect.errors import DataError

#: A schema as JSON. Named types stand in full wherever they are used; see `connect.converters.avro.text`.
Json = Any

_PLAIN: Final = {
    Type.INT8: "int",
    Type.INT16: "int",
    Type.INT32: "int",
    Type.INT64: "long",
    Type.FLOAT32: "float",
    Type.FLOAT64: "double",
    Type.BOOLEAN: "boolean",
    Type.STRING: "string",
    Type.BYTES: "bytes",
}
_LOGICAL: Final = {
    logical.DATE_NAME: (Type.INT32, "date"),
    logical.TIME_NAME: (Type.INT32, "time-millis"),
    logical.TIMESTAMP_NAME: (Type.INT64, "timestamp-millis"),
    logical.DECIMAL_NAME: (Type.BYTES, "decimal"),
}


class FromConnect:
    """Makes the Avro schema of one Connect schema."""

    def __init__(self, options: AvroOptions) -> None:
        self._options = options
        self._unnamed: dict[Schema, str] = {}
        self._entries: dict[tuple[Schema, Schema], str] = {}

    def schema(self, schema: Schema, *, optional: bool | None = None) -> Json:
        """The Avro schema in JSON.

        Args:
            schema: of Connect.
            optional: whether null is a value; by default as the schema says.

        Raises:
            DataError: Avro has no such name.
        """
        made = self._union(schema) if is_union(schema) else self._type(schema)
        if not (schema.optional if optional is None else optional):
            return made
        if isinstance(made, list):
            return ["null", *made]
        return [made, "null"] if schema.default is not None else ["null", made]

    def _type(self, schema: Schema) -> Json:
        known = _LOGICAL.get(schema.name or "")
        after: dict[str, Any] = {}
        match schema.type:
            case Type.STRUCT:
                made = self._record(schema)
            case Type.ARRAY:
                assert schema.value_schema is not None
                made = {"type": "array", "items": self.schema(schema.value_schema)}
            case Type.MAP:
                made = self._map(schema)
            case Type.STRING if enum := self._enum_key(schema):
                made = self._enum(schema, enum)
            case Type.BYTES if schema.name is not None and names.FIXED_SIZE in schema.parameters and not known:
                made = {"type": "fixed", **self._named(schema.name), "size": int(schema.parameters[names.FIXED_SIZE])}
            case _:
                made = {"type": _PLAIN[schema.type]}
                if schema.type in (Type.INT8, Type.INT16) and self._options.meta_data:
                    after[names.CONNECT_TYPE] = schema.type.value
                if known is not None and known[0] is schema.type:
                    after["logicalType"] = known[1]
                    if known[1] == "decimal":
                        precision = int(schema.parameters.get(names.PRECISION, names.MOST_DIGITS))
                        made |= {"scale": logical.scale_of(schema), "precision": precision}
        if self._options.meta_data:
            made |= self._meta_data(schema)
        logical_type = after.pop("logicalType", None)
        made |= after
        made |= {key: value for key, value in schema.parameters.items() if key.startswith("avro")}
        if logical_type is not None:
            made["logicalType"] = logical_type
        if self._options.remove_java:
            made = {key: value for key, value in made.items() if not key.startswith("avro.java")}
        return made["type"] if len(made) == 1 and made["type"] in _PLAIN.values() else made

    def _meta_data(self, schema: Schema) -> dict[str, Any]:
        """Connect's own attributes, as properties."""
        made: dict[str, Any] = {}
        if schema.doc is not None:
            made[names.CONNECT_DOC] = schema.doc
        if schema.version is not None:
            made[names.CONNECT_VERSION] = schema.version
        hidden = () if self._options.discard else (names.FIELD_DEFAULT,)
        parameters = {key: value for key, value in schema.parameters.items() if key not in hidden}
        if parameters:
            made[names.CONNECT_PARAMETERS] = parameters
        if schema.default is not None and (self._options.discard or names.FIELD_DEFAULT not in schema.parameters):
            made[names.CONNECT_DEFAULT] = self._default(schema, schema.default)
        if schema.name is not None:
            made[names.CONNECT_NAME] = schema.name
        return made

    def _record(self, schema: Schema) -> dict[str, Any]:
        made: dict[str, Any] = {"type": "record", **self._record_name(schema)}
        doc = schema.parameters.get(names.OLD_RECORD_DOC if self._options.discard else names.RECORD_DOC)
        if doc is not None:
            made["doc"] = doc
        made["fields"] = [self._field(schema, field.name, field.schema) for field in schema.fields]
        return made

    def _field(self, struct: Schema, name: str, schema: Schema) -> dict[str, Any]:
        made: dict[str, Any] = {"name": self._valid(name), "type": self.schema(schema)}
        doc = schema.doc if self._options.discard else struct.parameters.get(names.FIELD_DOC + name)
        if doc is not None:
            made["doc"] = doc
        if schema.default is not None:
            if not _is_pairs(schema, self._options) or not schema.default:
                made["default"] = self._default(schema, schema.default)
        elif schema.optional:
            made["default"] = None
        return made

    def _record_name(self, schema: Schema) -> dict[str, Any]:
        if schema.name is not None:
            return self._named(schema.name)
        plain = schema.replace(optional=False, default=None)
        if plain not in self._unnamed:
            number = len(self._unnamed) + 1
            self._unnamed[plain] = names.DEFAULT_NAME + (str(number) if number > 1 else "")
        return {"name": self._unnamed[plain], "namespace": names.NAMESPACE}

    def _map(self, schema: Schema) -> dict[str, Any]:
        key, value = schema.key_schema, schema.value_schema
        assert key is not None
        assert value is not None
        if not _is_pairs(schema, self._options):
            return {"type": "map", "values": self.schema(value)}
        fields = [self._field(schema, names.KEY, key), self._field(schema, names.VALUE, value)]
        entry: dict[str, Any] = {"type": "record"}
        if schema.name is not None:
            entry |= {**self._named(schema.name), "fields": fields, names.INTERNAL_TYPE: names.MAP_ENTRY}
        else:
            number = len(self._entries) + 1
            known = self._entries.setdefault((key, value), names.MAP_ENTRY + (str(number) if number > 1 else ""))
            entry |= {"name": known, "namespace": names.NAMESPACE, "fields": fields}
            if known != names.MAP_ENTRY:
                entry[names.INTERNAL_TYPE] = names.MAP_ENTRY
        return {"type": "array", "items": entry}

    def _enum_key(self, schema: Schema) -> str | None:
        """The parameter that marks a string as an enum, if enums are written."""
        options = self._options
        if options.generalized and names.GENERAL_ENUM in schema.parameters:
            return names.GENERAL_ENUM
        if options.enhanced and options.meta_data and names.ENUM in schema.parameters:
            return names.ENUM
        return None

    def _enum(self, schema: Schema, key: str) -> dict[str, Any]:
        found = schema.parameters
        made: dict[str, Any] = {"type": "enum", **self._named(found[key])}
        own = (schema.name or "").rpartition(".")[2]
        doc = found.get(names.OLD_ENUM_DOC if self._options.discard else f"{names.ENUM_DOC}{own}")
        if doc is not None:
            made["doc"] = doc
        symbols = [name[len(key) + 1 :] for name in found if name.startswith(f"{key}.")]
        made["symbols"] = [self._valid(symbol) for symbol in symbols]
        default = found.get(f"{names.ENUM_DEFAULT}{own}")
        if default is not None and not self._options.discard:
            made["default"] = default
        return made

    def _union(self, schema: Schema) -> list[Json]:
        return [self.schema(field.schema, optional=False) for field in schema.fields]

    def _named(self, full: str) -> dict[str, str]:
        space, _, name = full.rpartition(".")
        if self._options.scrub:
            name, space = names.scrubbed(name), ".".join(map(names.scrubbed, space.split(".")))
        return {"name": name, "namespace": space}

    def _valid(self, name: str) -> str:
        found = names.scrubbed(name) if self._options.scrub else name
        if not names.is_valid(found):
            raise DataError(
                f'Avro has no name "{found}": a name is of letters, digits and _, and does not begin with a digit. '
                "Rename it, by ReplaceField for example; AvroConverter does so with scrub.invalid.names=true."
            )
        return found

    def _default(self, schema: Schema, value: Any) -> Json:
        """A value of Connect as the default in JSON."""
        if value is None:
            return None
        if is_union(schema):
            for field in schema.fields:
                if value.get(field.name) is not None:
                    return self._default(field.schema, value[field.name])
            return None
        if logical.python_type(schema) is not None:
            value = logical.encode(schema, value)
        match schema.type:
            case Type.BYTES:
                return bytes(value).decode("latin-1")
            case Type.FLOAT32 | Type.FLOAT64:
                return Number(schema.type, float(value))
            case Type.ARRAY:
                assert schema.value_schema is not None
                return [self._default(schema.value_schema, each) for each in value]
            case Type.MAP:
                assert schema.key_schema is not None
                assert schema.value_schema is not None
                pairs = [
                    [self._default(schema.key_schema, key), self._default(schema.value_schema, each)]
                    for key, each in value.items()
                ]
                return pairs if _is_pairs(schema, self._options) else dict(pairs)
            case Type.STRUCT:
                return {
                    self._valid(field.name): self._default(field.schema, value.get(field.name))
                    for field in schema.fields
                }
        return value


class Number:
    """A default of type float or double, written as Java does."""

    __slots__ = ("type", "value")

    def __init__(self, kind: Type, value: float) -> None:
        self.type = kind
        self.value = value


def is_union(schema: Schema) -> bool:
    """Whether a struct stands for a union in Avro."""
    if schema.type is not Type.STRUCT:
        return False
    return schema.name == names.UNION or names.GENERAL_UNION in schema.parameters


def _is_pairs(schema: Schema, options: AvroOptions) -> bool:
    """Whether a map is an array of entries in Avro, whose own maps have only strings as keys."""
    if schema.type is not Type.MAP:
        return False
    key = schema.key_schema
    assert key is not None
    return key.type is not Type.STRING or (key.optional and not options.optional_keys)


def visit(node: Json, change: Callable[[Mapping[str, Any]], None]) -> None:
    """Call `change` with every type of a schema that is a JSON object."""
    if isinstance(node, list):
        for each in node:
            visit(each, change)
    elif isinstance(node, dict):
        change(node)
        for each in node.get("fields", ()):
            visit(each["type"], change)
        for key in ("items", "values"):
            if key in node:
                visit(node[key], change)


def refuse_two_of_a_name(node: Json) -> None:
    """Raise DataError for two different types of one name: one of them would be lost."""
    found: dict[tuple[str, str], Any] = {}

    def look(each: Mapping[str, Any]) -> None:
        if each["type"] in ("record", "enum", "fixed"):
            name = (each["namespace"], each["name"])
            shape = _shape(each)
            if found.setdefault(name, shape) != shape:
                full = ".".join(filter(None, name))
                raise DataError(f'two different schemas are called "{full}", which Avro does not allow. Rename one.')

    visit(node, look)


def _shape(node: Json) -> Json:
    """A type without attributes that do not change its bytes."""
    if isinstance(node, list):
        return [_shape(each) for each in node]
    if not isinstance(node, dict):
        return node
    kept = {key: node[key] for key in ("type", "name", "namespace", "symbols", "size") if key in node}
    if len(kept) == 1 and not ({"items", "values", "fields"} & node.keys()):
        return node["type"]
    for key in ("items", "values"):
        if key in node:
            kept[key] = _shape(node[key])
    if "fields" in node:
        kept["fields"] = [(each["name"], _shape(each["type"])) for each in node["fields"]]
    return kept
