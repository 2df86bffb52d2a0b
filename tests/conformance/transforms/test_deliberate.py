"""Each difference that is on purpose is still there: a list that says more than is true hides what comes later."""

from decimal import Decimal
from typing import Any

from connect.data import Schema, SinkRecord, SourceRecord, logical
from connect.data import schema as schemas
from tests.support.java import Oracle

from .compare import alike
from .deliberate import DIFFERENCES, excused
from .java import Case, ask
from .ours import run
from .records import moment

_LEFT_OUT = Schema.struct({"a": schemas.INT32.replace(default=5), "b": schemas.INT32})
_PLAIN = Schema.struct({"a": schemas.INT32})

_REFUSED = ["[a-z&&[^o]]+", "\\p{L}+", "\\Gorders", "\\X+", "(?x)o r", "(?<=o+)r.*", "(x)\\2", "x{1}{2}"]


def case(name: str, config: dict[str, str | None], value: Any = None, schema: Schema | None = None) -> Case:
    return Case(name, config, [SinkRecord("orders", value, schema)])


#: At least one for each of `DIFFERENCES`.
EXAMPLES: list[Case] = [
    case("TimestampConverter$Value", {"target.type": "unix", "format": "X z"}, "+01 UTC"),
    case("TimestampConverter$Value", {"target.type": "string", "format": "yyyy"}, moment(-12_219_292_800_001)),
    case("ReplaceField$Value", {"renames": "x:a"}, {"a": 1}, _PLAIN),
    case("ReplaceField$Value", {"renames": "a:x,b:x"}, {"a": 1}, _PLAIN),
    case("predicates.HasHeaderKey", {"name": None}),
    case("InsertHeader", {"header": "h", "value.literal": "{}"}),
    case("Cast$Value", {"spec": "string"}, Decimal("1.50"), logical.decimal(2)),
    Case("InsertField$Value", {"offset.field": "a"}, [SourceRecord("orders", {"a": 1}, _PLAIN)]),
    case("TimestampConverter$Value", {"target.type": "Timestamp"}, 1 << 62, schemas.INT64),
    case("RegexRouter", {"regex": ".*", "replacement": "$1"}),
    Case("RegexRouter", {"regex": "(?:(a)*+b|.*)", "replacement": "x$1"}, [SinkRecord("ac", None)]),
    case("TimestampRouter", {"timestamp.format": "b"}),
    case("HeaderFrom$Value", {"fields": "a,", "headers": "h,i", "operation": "copy"}, {"a": 1}),
    *(case("predicates.TopicNameMatches", {"pattern": pattern}) for pattern in _REFUSED),
    case("Cast$Value", {"spec": "a:int8"}, {"a": 1}, Schema.struct({"a": schemas.INT32}, default={"a": 1})),
    case("MaskField$Value", {"fields": "b", "replace.null.with.default": "false"}, {"a": None, "b": 1}, _LEFT_OUT),
]


def test_each_difference_is_still_there(java: Oracle) -> None:
    reasons = set()
    for example, (theirs, *_) in zip(EXAMPLES, ask(java, EXAMPLES), strict=True):
        (ours,) = run(example)
        assert not alike(ours, theirs), f"no longer different: {example} {ours}"
        reason = excused(example, example.records[0], ours, theirs)
        assert reason, f"{example} {ours} {theirs}"
        reasons.add(reason)
    assert reasons == {difference.reason for difference in DIFFERENCES}
