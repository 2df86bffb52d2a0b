"""Avro's types, from the JSON of a schema: names resolved, everything else as it is written.

https://avro.apache.org/docs/1.12.0/specification/#schema-declaration
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from connect.errors import DataError

PRIMITIVES: Final = frozenset({"null", "boolean", "int", "long", "float", "double", "bytes", "string"})
_NAMED: Final = frozenset({"record", "error", "enum", "fixed"})
_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)*\Z")
_MOST_BYTES: Final = 2**31 - 1  # of a fixed, as in Java
_STRUCTURE: Final = frozenset(
    {"type", "name", "namespace", "fields", "symbols", "items", "values", "size", "aliases", "doc", "default"}
)


class _Missing:
    def __repr__(self) -> str:
        return "no default"


NO_DEFAULT: Final = _Missing()


@dataclass(eq=False, slots=True)
class AvroType:
    """One type of a schema. The same object is used wherever a named type is.

    Attributes:
        kind: null, boolean, int, long, float, double, bytes, string, array, map, record, enum, fixed or union.
        name: the full name of a record, enum or fixed, else None.
        doc: of a record, enum or fixed, else None.
        props: other attributes, such as logicalType and connect.name.
        items: of an array, or the values of a map.
        fields: of a record.
        symbols: of an enum.
        default: of an enum, else None.
        size: of a fixed, in bytes.
        branches: of a union.
    """

    kind: str
    name: str | None = None
    doc: str | None = None
    props: Mapping[str, Any] = field(default_factory=dict)
    items: AvroType | None = None
    fields: list[AvroField] = field(default_factory=list)
    symbols: list[str] = field(default_factory=list)
    default: str | None = None
    size: int = 0
    branches: list[AvroType] = field(default_factory=list)

    @property
    def short_name(self) -> str | None:
        """The name without its namespace."""
        return self.name.rpartition(".")[2] if self.name else None

    @property
    def logical(self) -> str | None:
        """The logical type that is written, whether it fits the type or not."""
        found = self.props.get("logicalType")
        return found if isinstance(found, str) else None

    @property
    def nullable(self) -> AvroType | None:
        """The other type of a union of null and one type, else None."""
        if self.kind == "union" and len(self.branches) == 2:
            others = [branch for branch in self.branches if branch.kind != "null"]
            return others[0] if len(others) == 1 else None
        return None


@dataclass(eq=False, slots=True)
class AvroField:
    """A record's field. `default` is as the JSON has it, or `NO_DEFAULT`."""

    name: str
    type: AvroType
    doc: str | None
    default: Any


def parse(text: str, used: Iterable[str] = ()) -> AvroType:
    """The type that a schema's JSON describes.

    Args:
        text: the schema.
        used: schemas whose names it uses, each after those that it uses itself.

    Raises:
        DataError: it is not an Avro schema.
    """
    names: dict[str, AvroType] = {}
    try:
        for each in used:
            _read(json.loads(each), "", names)
        return _read(json.loads(text), "", names)
    except ValueError as error:
        raise DataError(f"an Avro schema is not JSON: {error}") from None
    except (KeyError, TypeError, AttributeError) as error:
        raise DataError(f"no Avro schema: {type(error).__name__} {error}") from None
    except RecursionError:
        raise DataError("an Avro schema is nested too deeply.") from None


def _read(node: Any, space: str, names: dict[str, AvroType]) -> AvroType:
    if isinstance(node, str):
        if node in PRIMITIVES:
            return AvroType(node)
        full = node if "." in node or not space else f"{space}.{node}"
        found = names.get(full) or names.get(node)
        if found is None:
            raise DataError(f'an Avro schema uses "{node}", which nothing in it defines.')
        return found
    if isinstance(node, list):
        if not node:
            raise DataError("no Avro schema: a union without a branch.")
        return AvroType("union", branches=[_read(branch, space, names) for branch in node])
    if not isinstance(node, dict):
        raise DataError(f"no Avro schema: {node!r}.")
    kind = node["type"]
    if isinstance(kind, (dict, list)):
        return _read(kind, space, names)
    props = {key: value for key, value in node.items() if key not in _STRUCTURE}
    if kind in PRIMITIVES:
        return AvroType(kind, props=props)
    if kind == "array":
        return AvroType(kind, props=props, items=_read(node["items"], space, names))
    if kind == "map":
        return AvroType(kind, props=props, items=_read(node["values"], space, names))
    if kind not in _NAMED:
        return _read(kind, space, names)
    return _read_named(kind, node, props, space, names)


def _read_named(
    kind: str, node: dict[str, Any], props: dict[str, Any], space: str, names: dict[str, AvroType]
) -> AvroType:
    name = str(node["name"])
    if "." in name:
        space = name.rpartition(".")[0]
    else:
        space = node.get("namespace", space) or ""
        name = f"{space}.{name}" if space else name
    if not _NAME.match(name):
        raise DataError(f'an Avro schema has the name "{name}"; a name is of letters, digits and _.')
    if name in names:
        raise DataError(f'an Avro schema defines "{name}" twice.')
    made = names[name] = AvroType("record" if kind == "error" else kind, name, node.get("doc"), props)
    if kind == "enum":
        made.symbols = [str(symbol) for symbol in node["symbols"]]
        made.default = node.get("default")
        _refuse_twice(name, "symbol", made.symbols)
    elif kind == "fixed":
        made.size = node["size"]
        if type(made.size) is not int or not 0 <= made.size <= _MOST_BYTES:
            raise DataError(
                f'an Avro schema gives "{name}" the size {made.size!r:.40}, which is not a number of bytes.'
            )
    else:
        made.fields = [
            AvroField(
                str(each["name"]),
                _read(each["type"], space, names),
                each.get("doc"),
                each.get("default", NO_DEFAULT),
            )
            for each in node["fields"]
        ]
        _refuse_twice(name, "field", [field.name for field in made.fields])
    return made


def _refuse_twice(name: str, what: str, given: list[str]) -> None:
    seen: set[str] = set()
    for each in given:
        if each in seen:
            raise DataError(f'an Avro schema gives "{name}" the {what} "{each:.80}" twice.')
        seen.add(each)
