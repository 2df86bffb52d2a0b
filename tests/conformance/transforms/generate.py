"""Chance: a configuration for each transformation and predicate, most of them for records that it is for."""

import random
from collections.abc import Callable, Sequence

from connect.data import Record, Schema, logical
from connect.data import schema as schemas

from .java import Case
from .records import MOMENTS, NAMES, TEXTS, TOPICS, Part, flat, moment, names_in, rows, scalars

Config = dict[str, str | None]
Make = Callable[[random.Random, Sequence[str]], Config]

TYPES = ["int8", "int16", "int32", "int64", "float32", "float64", "boolean", "string"]
_WRONG_TYPES = ["bytes", "INT8", "struct", "array", "int", "", "String", "timestamp", "decimal"]


def maybe(chance: random.Random, config: Config, key: str, *values: str | None, likely: float = 0.5) -> None:
    """Set a key now and then."""
    if chance.random() < likely:
        config[key] = chance.choice(values)


def _field(chance: random.Random, names: Sequence[str]) -> str:
    """A field's name: most often one that is there, and no name that a list of names cannot hold."""
    usable = [name for name in names if name and "," not in name]
    return chance.choice(usable) if usable and chance.random() < 0.85 else chance.choice([*NAMES, "absent"])


def _fields(chance: random.Random, names: Sequence[str], most: int = 3) -> str:
    return ",".join(_field(chance, names) for _ in range(chance.randint(1, most)))


def _with_replace(chance: random.Random, config: Config) -> Config:
    maybe(chance, config, "replace.null.with.default", "true", *["false"] * 9, "FALSE", "no", likely=0.4)
    return config


def cast(chance: random.Random, names: Sequence[str]) -> Config:
    types = TYPES if chance.random() < 0.97 else _WRONG_TYPES
    if chance.random() < (0.15 if names else 0.9):
        return _with_replace(chance, {"spec": chance.choice(types)})
    pairs = [f"{_field(chance, names)}:{chance.choice(types)}" for _ in range(chance.randint(1, 3))]
    if chance.random() < 0.03:
        pairs.append(chance.choice(["int8", "a:b:int8", ":", "a:", ":int8", ""]))
    return _with_replace(chance, {"spec": ",".join(pairs)})


def drop_headers(chance: random.Random, names: Sequence[str]) -> Config:
    return {"headers": chance.choice(["h", "h,a", "absent", "H", "", "h,,trace", " h , a "])}


def extract_field(chance: random.Random, names: Sequence[str]) -> Config:
    config: Config = {"field": _field(chance, names)}
    if chance.random() < 0.4:
        config["field.syntax.version"] = chance.choice(["V1", "V2", "V2", "V2", "v2", "V3"])
        if chance.random() < 0.5:
            path = [_field(chance, names), _field(chance, names)]
            config["field"] = ".".join(f"`{step}`" if chance.random() < 0.3 else step for step in path)
        if chance.random() < 0.1:
            config["field"] = chance.choice(
                ["`a", "a`", "a.`b", "`a`b", "..", ".", "a.", ".a", "`x.y`", "a\\`b", "`a\\`b`"]
            )
    return _with_replace(chance, config)


def flatten(chance: random.Random, names: Sequence[str]) -> Config:
    config: Config = {}
    maybe(chance, config, "delimiter", "_", "", ".", "--", " ", "é")
    return config


def header_from(chance: random.Random, names: Sequence[str]) -> Config:
    count = chance.randint(1, 3)
    config: Config = {
        "fields": ",".join(_field(chance, names) for _ in range(count)),
        "headers": ",".join(
            chance.choice(["h", "x", "trace", "größe"]) for _ in range(count + (chance.random() < 0.03))
        ),
        "operation": chance.choice(["move", "copy"]) if chance.random() < 0.97 else chance.choice(["MOVE", "drop", ""]),
    }
    return _with_replace(chance, config)


def hoist_field(chance: random.Random, names: Sequence[str]) -> Config:
    return {"field": chance.choice([*NAMES, "line"])}


def insert_field(chance: random.Random, names: Sequence[str]) -> Config:
    config: Config = {}
    for key in ("topic.field", "partition.field", "timestamp.field", "offset.field"):
        suffix = chance.choice(["", "", "?", "!"])
        maybe(chance, config, key, f"{chance.choice(['new', 'new', 'added', 'a', 'größe'])}{suffix}", likely=0.35)
    if chance.random() < 0.5:
        config["static.field"] = chance.choice(["new", "new", "new?", "static", "a", "b?", "b!", "!", "?", "x??"])
        maybe(chance, config, "static.value", "x", "", "5", "größe", likely=0.9)
    return _with_replace(chance, config)


def insert_header(chance: random.Random, names: Sequence[str]) -> Config:
    return {"header": chance.choice(["h", "new", "", "größe"]), "value.literal": chance.choice(TEXTS)}


def mask_field(chance: random.Random, names: Sequence[str]) -> Config:
    config: Config = {"fields": _fields(chance, names)}
    maybe(chance, config, "replacement", "***", "", "0", "5", "-1", "127", "128", "1.5", "1e400", *TEXTS, likely=0.5)
    return _with_replace(chance, config)


REGEXES = [
    ("(.*)", "$1"), ("(.*)-(.*)", "$2-$1"), ("orders", "bought"), ("o(r)ders.*", "x$1y"),
    ("(?<name>.*)", "${name}_new"), (".*", "$0"), (".*", "$1"), ("(.*)", "$10"), ("(o)(.*)", "$12"), (".*", "a\\$b"),
    (".*", "a\\\\b"), (".*", "$"), (".*", "\\"), (".*", "${absent}"), (".*", "${}"), (".*", "$x"), ("ORDERS", "x"),
    ("(?i)ORDERS", "x"), ("[^.]*\\.(.*)", "$1"), ("(\\w+)\\.(\\w+)\\.(\\w+)", "$3_$2"), ("x{40}", "short"),
    ("[", "x"), ("(", "x"), ("*", "x"), ("a|", "x"), ("(a)?.*", "<$1>"), ("(.*?)(-\\d+)?", "$1"),
    ("\\p{Alpha}+", "alpha"), ("gr\u00f6\u00dfe", "size"), ("", ""), ("(.*)", ""), ("\\Qa.b.c\\E", "abc"),
    ("(?<a>.)(?<b>.*)", "${b}${a}"), ("[a-z&&[^o]]+", "x"), ("\\p{IsLatin}+", "latin"), (".*+", "possessive"),
    ("(?>.*)", "atomic"), ("(?=o).*", "ahead"), ("(?<=^)o.*", "behind"), ("^orders$", "anchored"),
    ("(?x) o rders # comment", "x"), ("\\u006frders", "unicode"), ("[\\w-]+", "word"), ("\\$1", "dollar"),
    (".*", "größe"),
]  # fmt: skip


def regex_router(chance: random.Random, names: Sequence[str]) -> Config:
    regex, replacement = chance.choice(REGEXES)
    return {"regex": regex, "replacement": replacement}


def replace_field(chance: random.Random, names: Sequence[str]) -> Config:
    config: Config = {}
    maybe(chance, config, "exclude", _fields(chance, names), "", likely=0.4)
    maybe(chance, config, "include", _fields(chance, names), "", likely=0.4)
    if chance.random() < 0.5:
        others = ["renamed", "a", "b", "x.y"]
        config["renames"] = ",".join(
            f"{_field(chance, names)}:{chance.choice(others)}" for _ in range(chance.randint(1, 2))
        )
        if chance.random() < 0.05:
            config["renames"] = chance.choice(["a", "a:b:c", ":", "", ",", "a:", ":b", "a:b,a:c", "a:b,c:b", "a:b,b:a"])
    return _with_replace(chance, config)


def set_schema_metadata(chance: random.Random, names: Sequence[str]) -> Config:
    config: Config = {}
    maybe(chance, config, "schema.name", "n", "com.example.New", "", "größe", likely=0.6)
    maybe(chance, config, "schema.version", "0", "1", "7", "-1", "2147483648", "x", "", likely=0.6)
    return _with_replace(chance, config)


#: Formats and texts in them, as people write them; `dates.py` has more.
FORMATS = [
    "yyyy-MM-dd",
    "yyyy-MM-dd'T'HH:mm:ss.SSS'Z'",
    "yyyy-MM-dd HH:mm:ss",
    "yyyyMMdd",
    "HH:mm",
    "yyyy-MM-dd'T'HH:mm:ssXXX",
]


def timestamp_converter(chance: random.Random, names: Sequence[str]) -> Config:
    targets = ["string", "unix", "Date", "Time", "Timestamp"]
    config: Config = {
        "target.type": chance.choice(targets) if chance.random() < 0.97 else chance.choice(["String", "x", ""])
    }
    maybe(chance, config, "field", *[_field(chance, names) for _ in range(9)], "", likely=0.85 if names else 0.1)
    maybe(chance, config, "format", *FORMATS, likely=0.9 if config["target.type"] == "string" else 0.5)
    precisions = ["nanoseconds", "microseconds", "milliseconds", "seconds"]
    maybe(chance, config, "unix.precision", *precisions, *precisions, "Seconds", "", likely=0.5)
    return _with_replace(chance, config)


def timestamp_router(chance: random.Random, names: Sequence[str]) -> Config:
    config: Config = {}
    formats = [
        "${topic}-${timestamp}",
        "${timestamp}",
        "x",
        "${topic}${topic}",
        "$topic",
        "",
        "\\${topic}",
        "a$1${topic}",
    ]
    maybe(chance, config, "topic.format", *formats)
    maybe(chance, config, "timestamp.format", "yyyyMMdd", "yyyyMM", "yyyy-'W'ww", "HH", "", "'", "yyyy$1", "b")
    return config


def value_to_key(chance: random.Random, names: Sequence[str]) -> Config:
    return _with_replace(chance, {"fields": _fields(chance, names)})


def nothing(chance: random.Random, names: Sequence[str]) -> Config:
    return {}


def has_header_key(chance: random.Random, names: Sequence[str]) -> Config:
    return {"name": chance.choice(["h", "H", "a", "absent", "", " h "])}


def topic_name_matches(chance: random.Random, names: Sequence[str]) -> Config:
    return {"pattern": chance.choice([*(regex for regex, _ in REGEXES), *TOPICS])}


_BOTH: dict[str, Make] = {
    "Cast": cast,
    "ExtractField": extract_field,
    "Flatten": flatten,
    "HeaderFrom": header_from,
    "HoistField": hoist_field,
    "InsertField": insert_field,
    "MaskField": mask_field,
    "ReplaceField": replace_field,
    "SetSchemaMetadata": set_schema_metadata,
    "TimestampConverter": timestamp_converter,
}
#: How to configure each transformation and predicate, by the name that it has in Java's package.
MAKERS: dict[str, Make] = {f"{name}${part}": make for name, make in _BOTH.items() for part in ("Key", "Value")} | {
    "DropHeaders": drop_headers,
    "Filter": nothing,
    "InsertHeader": insert_header,
    "RegexRouter": regex_router,
    "TimestampRouter": timestamp_router,
    "ValueToKey": value_to_key,
    "predicates.HasHeaderKey": has_header_key,
    "predicates.RecordIsTombstone": nothing,
    "predicates.TopicNameMatches": topic_name_matches,
}


#: Texts that some of `FORMATS` read, and some that they do not.
TIMES = [
    "2024-02-29", "2024-02-30", "1969-12-31", "0001-01-01", "9999-12-31", "24-2-9", "20240229", "2024022",
    "2024-02-29x", "2024-02-29T12:34:56.789Z", "2024-02-29T12:34:56.7Z", "2024-02-29T24:00:00.000Z",
    "2024-02-29 12:34:56", "12:34", "25:61", "2024-02-29T12:34:56+01:00", "2024-02-29T12:34:56Z",
    "2024-02-29T12:34:56-0800", "", "x", "-0001-01-01", "10000-01-01",
]  # fmt: skip
_UNIX = [
    0,
    1,
    -1,
    999,
    -999,
    1_700_000_000,
    1_700_000_000_123,
    -62_135_596_800,
    253_402_300_799,
    253_402_300_800,
    1 << 62,
]


def times(chance: random.Random, count: int) -> list[Part]:
    """Moments in each form that TimestampConverter knows, by themselves or in fields."""
    forms: list[tuple[Schema, Callable[[], object]]] = [
        (schemas.STRING, lambda: chance.choice(TIMES)),
        (schemas.INT64, lambda: chance.choice(_UNIX)),
        (logical.TIMESTAMP, lambda: moment(chance.choice(MOMENTS))),
        (logical.DATE, lambda: moment(chance.choice(MOMENTS)).date()),
        (logical.TIME, lambda: moment(chance.choice(MOMENTS)).time()),
    ]
    if chance.random() < 0.6:
        forms = [chance.choice(forms)]
    shapes = chance.choice([(0, 1), (2, 3), (2, 3), (0, 1, 2, 3)])
    optional = chance.random() < 0.5
    made: list[Part] = []
    for _ in range(count):
        schema, draw = chance.choice(forms)
        value = None if optional and chance.random() < 0.2 else draw()
        schema = schema.replace(optional=optional, default=draw() if chance.random() < 0.2 else None)
        match chance.choice(shapes):
            case 0:
                made.append((schema, value))
            case 1:
                made.append((None, value))
            case 2:
                made.append((Schema.struct({"ts": schema, "a": schemas.OPTIONAL_STRING}), {"ts": value, "a": "x"}))
            case 3:
                made.append((None, {"ts": value, "a": "x"}))
    return made


#: What some are for, besides anything.
_VALUES: dict[str, list[Callable[[random.Random, int], list[Part]]]] = {
    "Cast": [scalars, flat, flat],
    "Flatten": [flat],
    "MaskField": [flat, flat],
    "TimestampConverter": [times, times, times, flat],
}


def case(chance: random.Random, name: str, count: int = 6) -> Case:
    """One configuration, and records for it."""
    values = chance.choice([None, *_VALUES.get(name.partition("$")[0], [])])
    records: list[Record] = rows(chance, count, values(chance, count) if values else None)
    config = MAKERS[name](chance, names_in(records))
    if config and chance.random() < 0.02:
        key = chance.choice(list(config))
        if chance.random() < 0.5:
            del config[key]
        else:
            config[key] = None
    return Case(name, config, records)
