"""Chance: what JsonConverter may be given to read. Documents by their grammar, with and without schemas, and damage."""

import base64
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from .generate import NUMBERS, quoted, random_double

#: What breaks JSON, ends it, or only looks like it; put between and in the place of other bytes.
PIECES = [
    *(bytes([code]) for code in range(128)),
    *b'[ ] { } : , " \\ - + . 0 1 e E 00 "" "": "a" {} [] // # /**/ true false null NaN ,"a":1 ["\\ud800"]'.split(),
    *rb"\u0000 \u0061 \ud83d\ude00 \ud800 \udc00 \x \n \" \\ \/ 1e400 -0.0 e-5 E+5 e-2147483648".split(),
    *b"e-99999999999 E99999999999 0e2147483648 0.0e-9999999999 e-00000000000000000005 12345678901234567890".split(),
    *map(str.encode, "\x80\x85\xa0é\u2028\u3000\u20ac\ufeff\ufffe\uffff😀\U0010ffff"),
    # Halves of surrogate pairs, overlong forms, what is beyond Unicode, and bytes that UTF-8 never has.
    *b"\xed\xa0\x80 \xed\xb0\x80 \xc0\x80 \xc1\xbf \xe0\x80\x80 \xf0\x80\x80\x80 \xf4\x90\x80\x80".split(),
    *b"\xf8\x88\x80\x80\x80 \xfe \xff \x80 \xe2 \xe2\x82 \x00\x00 \x00\x00\x00".split(),
]
#: Byte order marks, some cut off, some of no encoding.
MARKS = [
    *b"\xef\xbb\xbf \xef\xbb \xef \xff\xfe \xfe\xff \xff \xfe \x00\x00\xfe\xff \xff\xfe\x00\x00".split(),
    *b"\x00\x00\xff\xfe \xfe\xff\x00\x00".split(),
]
ENCODINGS = ["utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"]
#: Around the largest exponent, and the longest number, that Java takes.
EXPONENTS = [(1 << 31) + step for step in (-1002, -500, -3, -2, -1, 0, 1, 2, 500, 1002)]
LENGTHS = [17, 19, 40, 308, 330, 499, 500, 501, 990, 998, 999, 1000, 1001, 1300]
LITERALS = ["null", "true", "false", "0", "-1", "1.5", '"a"', '""', "{}", "[]", '{"a":1}', "[null]"]
NAMES = ['"a"', '"b"', '"\\u0061"', '""', '"é"', '"schema"', '"payload"', '"a b"', '"\\ud83d\\ude00"']
TEXTS = [
    '"\\ud800"',
    '"\\udc00x"',
    '"\\u0000"',
    '"\\/"',
    '"e-9999999999"',
    '"0"',
    '"AAE="',
    '"]}"',
    '"\x7f"',
    '"\u2028"',
]


def records(chance: random.Random, make: Callable[[random.Random], str]) -> Iterator[bytes]:
    """What is to be read, without end: what was made, in some encoding, and whatever becomes of it by damage."""
    while True:
        if chance.random() < 0.15:
            yield _odd(chance)
            continue
        made = _encoded(chance, make(chance))
        yield made
        for _ in range(chance.randrange(4)):
            yield _damaged(chance, made)


def value(chance: random.Random, depth: int = 0) -> str:
    """A JSON value."""
    kind = chance.random()
    if depth < 4 and kind < 0.2:
        return "[" + ",".join(value(chance, depth + 1) for _ in range(chance.randrange(4))) + "]"
    if depth < 4 and kind < 0.5:
        entries = [f"{_name(chance)}:{value(chance, depth + 1)}" for _ in range(chance.randrange(4))]
        return "{" + ",".join(entries) + "}"
    if kind < 0.6:
        return number(chance)
    if kind < 0.7:
        return quoted(chance) if chance.random() < 0.5 else chance.choice(TEXTS)
    return chance.choice(LITERALS) if kind < 0.9 else chance.choice(NUMBERS)


def number(chance: random.Random) -> str:
    """A number, of any length and any exponent."""
    if chance.random() < 0.3:
        return repr(random_double(chance))
    sign = chance.choice(["", "", "-"])
    whole = chance.choice(["0", "0", "1", "00", "7", "000123", _digits(chance)])
    fraction = chance.choice(["", "", ".0", ".5", ".000", "." + _digits(chance)])
    mark = chance.choice("eE") + chance.choice(["", "+", "-"])
    size = chance.choice(["5", "400", str(chance.choice(EXPONENTS)), _digits(chance)])
    return sign + whole + fraction + (mark + size if chance.random() < 0.7 else "")


def _digits(chance: random.Random) -> str:
    if chance.random() < 0.9:
        return str(chance.getrandbits(chance.choice([3, 10, 33, 63, 64, 70])))
    return chance.choice("0123456789") * (chance.choice(LENGTHS) + chance.randrange(-1, 2))


def _name(chance: random.Random) -> str:
    return chance.choice(NAMES) if chance.random() < 0.9 else quoted(chance)


def _encoded(chance: random.Random, text: str) -> bytes:
    if chance.random() < 0.85:
        return text.encode("utf-8", "surrogatepass")
    mark = chance.choice(["", "", "\ufeff"])
    return (mark + text).encode(chance.choice([*ENCODINGS, "utf-8"]), "surrogatepass")


def _damaged(chance: random.Random, data: bytes) -> bytes:
    for _ in range(chance.choice([1, 1, 1, 2, 3])):
        start = chance.randrange(len(data) + 1)
        stop = min(len(data), start + chance.choice([0, 0, 0, 1, 1, 1, 2, 5, 40]))
        what = chance.random()
        if what < 0.7:
            data = data[:start] + chance.choice(PIECES) + data[stop:]
        elif what < 0.8:
            data = data[:start] + data[stop:]
        elif what < 0.85:
            data = data[:start] + data[start:stop] + data[start:]
        elif what < 0.9:
            data = data[:start]
        elif what < 0.95:
            data += chance.choice(PIECES)
        else:
            data = chance.choice(PIECES) + data
    return data


def _odd(chance: random.Random) -> bytes:
    """Bytes that no damage to a document makes often: a few bytes, a mark, what stands behind a value, extremes."""
    kind = chance.random()
    if kind < 0.25:
        return b"".join(chance.choices(PIECES, k=chance.randrange(1, 5)))
    if kind < 0.4:
        behind = chance.choices([b"", b" ", b"1", b"null", b"{}", b"\x00", b" \x00"], k=2)
        return chance.choice(MARKS) + b"".join(behind)
    if kind < 0.85:
        between = "".join(map(chr, chance.choices(range(0x180), k=chance.randrange(3))))
        return _encoded(chance, chance.choice(LITERALS) + between + chance.choice(["", "\ufeff", '{"a":1}', "\u3000"]))
    if kind < 0.97:
        return _encoded(chance, chance.choice(["%s", "[%s]", '{"a":%s}', '{"a":[1,%s],"b":"x"}']) % number(chance))
    return _long(chance) if kind < 0.972 else _deep(chance)


def _deep(chance: random.Random) -> bytes:
    """Nested about as deep as Java allows, or as deep as Python's stack is."""
    depth = chance.choice([60, 240, 330, 480, 997, 999, 1000, 1001, 1100]) + chance.randrange(-2, 3)
    if chance.random() < 0.1:
        schema = '{"type":"array","items":' * depth + '{"type":"int8"}' + "}" * depth
        return f'{{"schema":{schema},"payload":[]}}'.encode()
    opening, closing = chance.choice([("[", "]"), ('{"a":', "}"), ('[{"b":', "}]"), ('[1,"]",', "]"), ("[[],", "]")])
    depth //= opening.count("[") - opening.count("[]") + opening.count("{")
    inner = chance.choice(["1", "1e400", "01", "", "{}", "-0.0", "123456789012345678901"])
    return (opening * depth + inner + closing * chance.choice([depth, depth, depth, depth - 1])).encode()


def _long(chance: random.Random) -> bytes:
    """A text about as long as Java allows a name to be, as value and as name."""
    character = chance.choice(["n", "é", "€", "😀", "\\n", "\\u20ac", '\\"', "\\\\"])
    size = {"é": 2, "€": 3, "\\u20ac": 3, "😀": 4}.get(character, 1)
    text = character * (50_000 // size + chance.randrange(-1, 2))
    shape = chance.choice(['{"%s":1}', '{"a":"%s"}', '{"a":1,"b":{"%s" : [1]}}', '["%s",{"a":2}]'])
    return _encoded(chance, shape % text)


@dataclass(frozen=True)
class Kind:
    """A schema.

    Attributes:
        text: what describes it, in JSON.
        payload: makes what mostly fits it.
    """

    text: str
    payload: Callable[[random.Random], str]


def envelope(chance: random.Random) -> str:
    """A schema and what may be a value of it."""
    made = kind(chance)
    parts = [f'"schema":{made.text}', f'"payload":{made.payload(chance)}']
    if chance.random() < 0.05:
        parts.append(f"{_name(chance)}:{value(chance)}")
    if chance.random() < 0.1:
        chance.shuffle(parts)
    blank = chance.choice(["", "", " "])
    return "{" + blank + f",{blank}".join(parts) + blank + "}"


def kind(chance: random.Random, depth: int = 0) -> Kind:
    """A schema that is right, but for some of its attributes."""
    which = chance.random()
    if which < 0.02:
        return Kind(value(chance), value)
    if depth < 3 and which < 0.3:
        return _struct(chance, depth)
    if depth < 3 and which < 0.4:
        items = kind(chance, depth + 1)
        return _of(chance, "array", f',"items":{items.text}', lambda chance: f"[{_some(chance, items.payload)}]")
    if depth < 3 and which < 0.5:
        return _map(chance, depth)
    name, payload = chance.choice(PRIMITIVES)
    more = chance.choice(LOGICAL) if chance.random() < 0.3 else ""
    return _of(chance, name, more, payload)


def flat(chance: random.Random) -> Kind:
    """A struct as there are many: fields of plain and logical types, none of them nested."""
    return _struct(chance, 3, chance.randrange(1, 6))


def _of(chance: random.Random, name: str, more: str, payload: Callable[[random.Random], str]) -> Kind:
    optional = chance.choice(["", ',"optional":true', ',"optional":false', ',"optional":true'])
    for attribute in ("default", "name", "version", "doc", "parameters", "type", "optional"):
        if chance.random() < 0.04:
            fitting = payload if attribute == "default" else chance.choice(ATTRIBUTES[attribute])
            more += f',"{attribute}":{(fitting if chance.random() < 0.8 else value)(chance)}'

    def mostly(chance: random.Random) -> str:
        which = chance.random()
        if which < 0.85:
            return payload(chance)
        return "null" if which < 0.93 else value(chance)

    return Kind(f'{{"type":"{name}"{optional}{more}}}', mostly)


def _struct(chance: random.Random, depth: int, count: int | None = None) -> Kind:
    names = [chance.choice(NAMES) for _ in range(chance.randrange(4) if count is None else count)]
    if chance.random() < 0.9:
        names = list(dict.fromkeys(name for name in names if name not in {'""', '"\\u0061"'}))
    fields = [(name, kind(chance, depth + 1)) for name in names]

    def payload(chance: random.Random) -> str:
        entries = [f"{name}:{field.payload(chance)}" for name, field in fields]
        if chance.random() < 0.1:
            entries.insert(chance.randrange(len(entries) + 1), f"{_name(chance)}:{value(chance)}")
        if entries and chance.random() < 0.1:
            del entries[chance.randrange(len(entries))]
        return "{" + ",".join(entries) + "}"

    described = ",".join(f'{{"field":{name},{field.text[1:]}' for name, field in fields if field.text[0] == "{")
    return _of(chance, "struct", f',"fields":[{described}]', payload)


def _map(chance: random.Random, depth: int) -> Kind:
    keys, values = kind(chance, 3), kind(chance, depth + 1)

    def payload(chance: random.Random) -> str:
        if keys.text.startswith('{"type":"string"'):
            return "{" + _some(chance, lambda chance: f"{_name(chance)}:{values.payload(chance)}") + "}"
        return "[" + _some(chance, lambda chance: f"[{keys.payload(chance)},{values.payload(chance)}]") + "]"

    return _of(chance, "map", f',"keys":{keys.text},"values":{values.text}', payload)


def _some(chance: random.Random, make: Callable[[random.Random], str]) -> str:
    return ",".join(make(chance) for _ in range(chance.randrange(4)))


def _whole(chance: random.Random) -> str:
    return str(chance.getrandbits(chance.choice([3, 7, 8, 16, 31, 32, 63, 64])) * chance.choice([1, -1]))


def _bytes(chance: random.Random) -> str:
    return f'"{base64.b64encode(chance.randbytes(chance.randrange(6))).decode()}"'


PRIMITIVES: list[tuple[str, Callable[[random.Random], str]]] = [
    *((name, _whole) for name in ("int8", "int16", "int32", "int64")),
    ("float", number),
    ("double", number),
    ("boolean", lambda chance: chance.choice(["true", "false"])),
    ("string", quoted),
    ("bytes", _bytes),
]
LOGICAL = [
    *(f',"name":"org.apache.kafka.connect.data.{name}"' for name in ("Date", "Time", "Timestamp", "Decimal")),
    ',"name":"org.apache.kafka.connect.data.Decimal","parameters":{"scale":"2"}',
    ',"name":"org.apache.kafka.connect.data.Timestamp","version":1',
]
ATTRIBUTES: dict[str, list[Callable[[random.Random], str]]] = {
    "default": [value],
    "name": [quoted],
    "version": [_whole, number],
    "doc": [quoted],
    "parameters": [lambda chance: "{" + _some(chance, lambda chance: f"{_name(chance)}:{quoted(chance)}") + "}"],
    "type": [lambda chance: f'"{chance.choice(PRIMITIVES)[0]}"'],
    "optional": [lambda chance: chance.choice(["true", "false"])],
}
