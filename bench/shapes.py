"""Records of every shape to measure with: schemas and values drawn from a seed, as JSON with and without a schema.

A class is what a schema and its values have in common: fields of plain types, optional ones, nulls, structs within
structs (with lists and maps, or to flatten), many fields, logical types, doubles with all their digits, long texts. How
many fields, in which order and of which types is drawn. The same class, seed and count give the same bytes. Every first
field is `id`, a required INT64.
"""

from __future__ import annotations

import base64
import json
import random
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

_LOGICAL: Final = "org.apache.kafka.connect.data."
_SCALE: Final = 2
_WORDS: Final = ("alpha", "Straße", "naïve", "日本", "omega", 'a "quoted" word', "tab\there", "back\\slash", "end.")
_FROM_S, _TO_S = 946_684_800, 1_893_456_000  # the years 2000 to 2030

Node = dict[str, Any]
Draw = Callable[[random.Random], Any]


@dataclass(frozen=True)
class Kind:
    """A field's type, and how its values are drawn.

    Attributes:
        node: the schema as JsonConverter writes it, without `optional` and `field`.
        draw: makes a value as it stands in JSON.
    """

    node: Mapping[str, Any]
    draw: Draw


@dataclass(frozen=True)
class Field:
    """A field of a drawn schema; `nulls` is the share of its values that are null."""

    name: str
    kind: Kind
    optional: bool = False
    nulls: float = 0.0


@dataclass(frozen=True)
class Shape:
    """A drawn schema.

    Attributes:
        name: of its class.
        seed: that it was drawn from, and its records are.
        fields: the first is `id`.
        leave_out: whether a null field is missing in JSON; otherwise it is written as null.
        cast, drop, rename: the fields that the chain of transformations changes.
        flatten: whether the chain begins with Flatten.
    """

    name: str
    seed: int
    fields: tuple[Field, ...]
    leave_out: bool
    cast: str
    drop: str
    rename: str
    flatten: bool = False

    @property
    def schema(self) -> Node:
        """The schema, as in `schema.content` and in the envelope."""
        return _struct(self.fields)

    @property
    def transforms(self) -> dict[str, str]:
        """ReplaceField, InsertField and Cast as a connector's properties."""
        java = "org.apache.kafka.connect.transforms"
        first = {"transforms.flatten.type": f"{java}.Flatten$Value", "transforms.flatten.delimiter": "_"}
        return {
            "transforms": ("flatten," if self.flatten else "") + "replace,insert,cast",
            **(first if self.flatten else {}),
            "transforms.replace.type": f"{java}.ReplaceField$Value",
            "transforms.replace.exclude": self.drop,
            "transforms.replace.renames": f"{self.rename}:renamed",
            "transforms.insert.type": f"{java}.InsertField$Value",
            "transforms.insert.static.field": "origin",
            "transforms.insert.static.value": "bench",
            "transforms.cast.type": f"{java}.Cast$Value",
            "transforms.cast.spec": f"{self.cast}:string",
        }

    def rows(self, count: int) -> Iterator[Node]:
        """So many records, as parsed JSON: the first of them are the same whatever the count."""
        chance = random.Random(f"{self.name} {self.seed} rows")
        for number in range(count):
            row: Node = {"id": number * 7919 % 1_000_003}
            for field in self.fields[1:]:
                value = None if chance.random() < field.nulls else field.kind.draw(chance)
                if value is not None or not self.leave_out:
                    row[field.name] = value
            yield row

    def payloads(self, count: int) -> Iterator[bytes]:
        """The records as JSON, without a schema."""
        return (_json(row) for row in self.rows(count))

    def enveloped(self, payload: bytes) -> bytes:
        """A record of `payloads` as JsonConverter writes it with schemas.enable=true."""
        return b'{"schema":%b,"payload":%b}' % (_json(self.schema), payload)


def shape(name: str, seed: int = 1) -> Shape:
    """The shape that a class draws from a seed.

    Raises:
        KeyError: there is no such class; see `CLASSES`.
    """
    return CLASSES[name](random.Random(f"{name} {seed}"), seed)


def _json(node: Any) -> bytes:
    return json.dumps(node, ensure_ascii=False, separators=(",", ":")).encode()


def _struct(fields: tuple[Field, ...]) -> Node:
    members = [{**each.kind.node, "optional": each.optional, "field": each.name} for each in fields]
    return {"type": "struct", "fields": members, "optional": False}


# Kinds.


def _plain(type_: str, draw: Draw) -> Kind:
    return Kind({"type": type_}, draw)


def _named(type_: str, name: str, draw: Draw, **parameters: str) -> Kind:
    more = {"parameters": parameters} if parameters else {}
    return Kind({"type": type_, "name": _LOGICAL + name, "version": 1, **more}, draw)


def _unscaled(chance: random.Random) -> str:
    number = chance.randrange(-(10**9), 10**12)
    length = (number + (number < 0)).bit_length() // 8 + 1
    return base64.b64encode(number.to_bytes(length, "big", signed=True)).decode()


def _any_size(chance: random.Random) -> float:
    number = chance.random() * 10.0 ** chance.randrange(-9, 16)
    return float(round(number)) if chance.random() < 0.1 else -number if chance.random() < 0.3 else number


def _long_text(chance: random.Random) -> str:
    return " ".join(chance.choices(_WORDS, k=chance.randrange(40, 240)))


_INT32: Final = _plain("int32", lambda chance: chance.randrange(-(10**6), 10**6))
_INT64: Final = _plain("int64", lambda chance: chance.randrange(1 << 48))
_BOOLEAN: Final = _plain("boolean", lambda chance: chance.random() < 0.5)
_NAME: Final = _plain("string", lambda chance: f"customer {chance.randrange(100_000)}")
_PRICE: Final = _plain("double", lambda chance: chance.randrange(100, 100_000) / 100)
_FULL: Final = _plain("double", lambda chance: chance.uniform(1, 1000))
_SIZES: Final = _plain("double", _any_size)
_TEXT: Final = _plain("string", _long_text)
_DATE: Final = _named("int32", "Date", lambda chance: chance.randrange(_FROM_S // 86_400, _TO_S // 86_400))
_TIME: Final = _named("int32", "Time", lambda chance: chance.randrange(86_400_000))
_TIMESTAMP: Final = _named("int64", "Timestamp", lambda chance: chance.randrange(_FROM_S * 1000, _TO_S * 1000))
_DECIMAL: Final = _named("bytes", "Decimal", _unscaled, scale=str(_SCALE))
_PLAIN_KINDS: Final = (_INT32, _INT64, _BOOLEAN, _NAME, _PRICE)


def _list_of(kind: Kind) -> Kind:
    items = {**kind.node, "optional": False}
    return Kind(
        {"type": "array", "items": items}, lambda chance: [kind.draw(chance) for _ in range(chance.randrange(4))]
    )


def _map_of(kind: Kind) -> Kind:
    # One entry: Java's maps have an order of their own.
    node = {
        "type": "map",
        "keys": {"type": "string", "optional": False},
        "values": {**kind.node, "optional": False},
    }
    return Kind(node, lambda chance: {f"key {chance.randrange(100)}": kind.draw(chance)})


def _struct_of(*fields: Field) -> Kind:
    node = _struct(fields)
    del node["optional"]
    return Kind(node, lambda chance: {each.name: each.kind.draw(chance) for each in fields})


# Classes.

_ID: Final = Field("id", _INT64)


def _made(
    name: str,
    seed: int,
    chance: random.Random,
    kinds: list[Kind],
    *,
    optional: bool = False,
    nulls: float = 0.0,
    leave_out: bool = False,
    flatten: bool = False,
    cast: Kind,
) -> Shape:
    """A shape of these kinds in drawn order, with three more fields: to cast, to drop and to rename."""
    kinds = [*kinds, cast, _BOOLEAN, _NAME]
    roles = dict(zip(("cast", "drop", "rename"), range(len(kinds) - 3, len(kinds)), strict=True))
    order = chance.sample(range(len(kinds)), len(kinds))
    names = {at: f"{_short(kinds[at])}_{place}" for place, at in enumerate(order)}
    fields = (Field(names[at], kinds[at], optional, nulls) for at in order)
    chosen = {role: names[at] for role, at in roles.items()}
    return Shape(name, seed, (_ID, *fields), leave_out, **chosen, flatten=flatten)


def _short(kind: Kind) -> str:
    return str(kind.node.get("name", kind.node["type"])).removeprefix(_LOGICAL).lower()


def _plain_class(chance: random.Random, seed: int) -> Shape:
    return _made("plain", seed, chance, chance.choices(_PLAIN_KINDS, k=2), cast=_PRICE)


def _optional_class(chance: random.Random, seed: int) -> Shape:
    return _made("optional", seed, chance, [_TIMESTAMP], optional=True, cast=_FULL)


def _nulls_class(chance: random.Random, seed: int) -> Shape:
    kinds = [*chance.choices(_PLAIN_KINDS, k=3), _TIMESTAMP]
    return _made("nulls", seed, chance, kinds, optional=True, nulls=0.3, cast=_FULL)


def _missing_class(chance: random.Random, seed: int) -> Shape:
    kinds = [*chance.choices(_PLAIN_KINDS, k=3), _TIMESTAMP]
    return _made("missing", seed, chance, kinds, optional=True, nulls=0.3, leave_out=True, cast=_FULL)


def _address(chance: random.Random) -> Kind:
    place = _struct_of(Field("lat", _FULL), Field("lon", _FULL))
    inner = [Field(f"{_short(kind)}_{at}", kind) for at, kind in enumerate(chance.choices(_PLAIN_KINDS, k=3))]
    return _struct_of(*inner, Field("place", place))


def _nested_class(chance: random.Random, seed: int) -> Shape:
    kinds = [_address(chance), _list_of(_NAME), _list_of(_INT32), _map_of(_INT64)]
    return _made("nested", seed, chance, kinds, cast=_PRICE)


def _structs_class(chance: random.Random, seed: int) -> Shape:
    kinds = [_address(chance), *chance.choices(_PLAIN_KINDS, k=2)]
    return _made("structs", seed, chance, kinds, flatten=True, cast=_PRICE)


def _wide_class(chance: random.Random, seed: int) -> Shape:
    return _made("wide", seed, chance, chance.choices(_PLAIN_KINDS, k=chance.randrange(50, 60)), cast=_PRICE)


def _logical_class(chance: random.Random, seed: int) -> Shape:
    kinds = [_DATE, _TIME, _TIMESTAMP, _DECIMAL]
    more = chance.choices(kinds, k=1)
    return _made("logical", seed, chance, kinds + more, optional=True, cast=_TIMESTAMP)


def _doubles_class(chance: random.Random, seed: int) -> Shape:
    return _made("doubles", seed, chance, [_FULL, _SIZES, *chance.choices((_FULL, _SIZES), k=2)], cast=_SIZES)


def _text_class(chance: random.Random, seed: int) -> Shape:
    return _made("text", seed, chance, [_TEXT, *chance.choices((_TEXT, _NAME), k=1)], cast=_PRICE)


#: Each class by its name, as a function of chance and seed.
CLASSES: Final[Mapping[str, Callable[[random.Random, int], Shape]]] = {
    "plain": _plain_class,
    "optional": _optional_class,
    "nulls": _nulls_class,
    "missing": _missing_class,
    "nested": _nested_class,
    "structs": _structs_class,
    "wide": _wide_class,
    "logical": _logical_class,
    "doubles": _doubles_class,
    "text": _text_class,
}
