"""What is asked of Kafka Connect's own transformations and predicates, and its answers in a form to compare."""

import base64
import struct
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from connect.data import Record, SinkRecord
from tests.conformance.converters.oracle import Answer, describe, tagged
from tests.support.java import Oracle

TRANSFORMS = "org.apache.kafka.connect.transforms."
PREDICATES = TRANSFORMS + "predicates."


@dataclass(frozen=True)
class Case:
    """One configuration of one class, and the records that it is shown."""

    name: str
    config: dict[str, str | None]
    records: Sequence[Record] = field(repr=False)

    @property
    def cls(self) -> str:
        """The name of the class in Java."""
        return TRANSFORMS + self.name


@dataclass(frozen=True)
class Raised:
    """An error, Java's or ours, by the name of its class.

    Attributes:
        where: "configure" or "apply".
    """

    error: str
    message: str
    where: str = "apply"


#: What became of a record: a description of it, None where it was dropped, a predicate's yes or no, or an error.
Result = dict[str, Any] | bool | Raised | None


def ask(java: Oracle, cases: Sequence[Case]) -> list[list[Result]]:
    """What Java makes of each record of each case. An error of configuring stands for each record."""
    answers = java.ask([question(case) for case in cases])
    return [_results(case, answer) for case, answer in zip(cases, answers, strict=True)]


def question(case: Case) -> Answer:
    """The case as the Java side reads it."""
    records = [_question(record) for record in case.records]
    return {"op": "apply", "class": case.cls, "config": case.config, "records": records}


def _question(record: Record) -> Answer:
    asked = {
        "topic": record.topic,
        "partition": record.partition,
        "timestamp": record.timestamp,
        "keySchema": describe(record.key_schema),
        "key": tagged(record.key_schema, record.key),
        "valueSchema": describe(record.value_schema),
        "value": tagged(record.value_schema, record.value),
        "headers": [[h.key, describe(h.schema), tagged(h.schema, h.value)] for h in record.headers],
    }
    if isinstance(record, SinkRecord):
        asked |= {"offset": record.offset, "timestampType": record.timestamp_type}
    return asked


def _results(case: Case, answer: Answer) -> list[Result]:
    if "error" in answer:
        raise AssertionError(f"Java could not take {case}: {answer}")
    if "configure" in answer:
        raised = Raised(answer["configure"]["error"], answer["configure"]["message"], "configure")
        return [raised for _ in case.records or [None]]
    return [_result(result) for result in answer["results"]]


def _result(answer: Answer) -> Result:
    if "error" in answer:
        return Raised(answer["error"], answer["message"])
    if "test" in answer:
        return bool(answer["test"])
    record = answer["record"]
    if record is None:
        return None
    return record | {
        "keySchema": schema_form(record["keySchema"]),
        "key": form(record["key"]),
        "valueSchema": schema_form(record["valueSchema"]),
        "value": form(record["value"]),
        "headers": [(name, schema_form(schema), form(value)) for name, schema, value in record["headers"]],
    }


def schema_form(node: Answer | None) -> Any:
    """A schema as Java describes it, its default value in the form of `form`."""
    if node is None:
        return None
    made = dict(node)
    for inner in ("keys", "values"):
        if inner in made:
            made[inner] = schema_form(made[inner])
    if "fields" in made:
        made["fields"] = [(name, schema_form(schema)) for name, schema in made["fields"]]
    made["default"] = form(made["default"])
    return made


def form(node: Any) -> Any:
    """A tagged value such that equal values are equal: whatever order maps have, and however wide a number is.

    Python has one int and one float. A float of 32 bits is compared as the double that it is.
    """
    if not isinstance(node, list):
        return node
    match node[0]:
        case "list":
            return ("list", tuple(form(item) for item in node[1]))
        case "map":
            return ("map", frozenset((form(k), form(v)) for k, v in node[1]))
        case "struct" | "fields":
            # A field that was never set reads as null, as in Java.
            return ("struct", frozenset((name, form(v)) for name, v in node[-1] if v is not None))
        case "i8" | "i16" | "i32" | "i64":
            return ("int", node[1])
        case "f32":
            return ("float", _single(int(node[1])))
        case "f64":
            return ("float", _double(int(node[1])))
        case "bytes":
            return ("bytes", base64.b64decode(node[1]).hex())
    return tuple(node)


def _single(bits: int) -> str:
    return repr(struct.unpack(">f", struct.pack(">i", bits))[0])


def _double(bits: int) -> str:
    return repr(struct.unpack(">d", struct.pack(">q", bits))[0])
