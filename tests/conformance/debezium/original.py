"""Asks a transformation of the Java world what it makes of records."""

import json
from collections.abc import Sequence
from typing import Any

from connect import SinkRecord
from tests.conformance.converters.oracle import Answer, describe, plain, tagged
from tests.support.java import Oracle


class Original:
    """A transformation of the Java world behind a pipe.

    Args:
        java: a process that runs `Transform.java`.
    """

    def __init__(self, java: Oracle) -> None:
        self._java = java

    def ask(self, cls: str, cases: Sequence[tuple[dict[str, str], SinkRecord]]) -> list[Any]:
        """For each configuration and record what becomes of it: "error", None for dropped, or as `comparable` says."""
        answers = self._java.ask(
            [{"class": cls, "config": config, "record": _described(record)} for config, record in cases]
        )
        return ["error" if "error" in answer else _answered(answer["record"]) for answer in answers]


def comparable(record: SinkRecord | None) -> Any:
    """A record of ours in the form in which it is compared with Java's."""
    return None if record is None else _answered(json.loads(json.dumps(_described(record))))


def _described(record: SinkRecord) -> Answer:
    return {
        "topic": record.topic,
        "key_schema": describe(record.key_schema),
        "key": tagged(record.key_schema, record.key),
        "value_schema": describe(record.value_schema),
        "value": tagged(record.value_schema, record.value),
        "headers": [[h.key, describe(h.schema), tagged(h.schema, h.value)] for h in record.headers],
    }


def _answered(node: Answer | None) -> Any:
    if node is None:
        return None
    return (
        node["topic"],
        (_ordered(node["key_schema"]), plain(node["key"])),
        (_ordered(node["value_schema"]), plain(node["value"])),
        [(key, _ordered(schema), plain(value)) for key, schema, value in node["headers"]],
    )


def _ordered(schema: Answer | None) -> str:
    return json.dumps(schema, sort_keys=True)
